#!/bin/sh
# The unit of systemd, without systemd running: it is sound, it exposes little, and its list of system calls has what the
# daemon makes, as strace sees it: the daemon traces, records, is asked and stops. Needs root, systemd's programs, strace.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
DAEMON=${STEMMAD:-$BUILD/src/daemon/stemmad}
UNIT=$here/packaging/systemd/stemmad.service
export STEMMA_NODE_SOCKET="$T/run/socket" PATH="$PATH:/usr/sbin:/sbin"
tracer=
trap 'kill_child 9 $tracer; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

if ! command -v systemd-analyze >/dev/null || ! systemd-analyze syscall-filter @system-service >"$T/probe" 2>&1 || ! [ -s "$T/probe" ]; then
	echo "1..0 # SKIP systemd-analyze is not installed, or does not work here"
	exit 0
fi
sed "s|^ExecStart=/usr/sbin/stemmad|ExecStart=$DAEMON|; /^Documentation=/d" "$UNIT" >"$T/stemmad.service"
systemd-analyze verify "$T/stemmad.service" >"$out" 2>&1 && is "$out" '' 2>/dev/null || [ ! -s "$out" ]
check "the unit is sound"
systemd-analyze security --offline=true --threshold=45 "$T/stemmad.service" >"$out" 2>"$err" </dev/null
check "it exposes little: $(tail -n 1 "$out" | sed 's/.*: //; s/[^0-9A-Za-z. ]//g')"
grep -q '^RestrictAddressFamilies=AF_UNIX AF_NETLINK$' "$UNIT" && grep -q '^MemoryMax=' "$UNIT" && grep -q '^TasksMax=' "$UNIT" && grep -q '^NoNewPrivileges=yes' "$UNIT" && grep -q '^SystemCallFilter=@system-service$' "$UNIT"
check "memory, tasks, address families and system calls are limited"

why=
[ "$(id -u)" = 0 ] || why='needs root'
command -v strace >/dev/null || why='strace is not installed'
[ -x "$DAEMON" ] || why='stemmad was not built'
if [ -z "$why" ]; then
	strace -f -qq -o "$T/calls" "$DAEMON" -o "base=$T/base" -o "run=$T/run" -o "metrics=$T/metrics" -o max_cpu=1000 -o mount=/dev/shm 2>"$T/daemon" &
	tracer=$!
	i=0
	until "$DAEMON" --stats >/dev/null 2>&1; do
		i=$((i + 1))
		if [ $i -gt 600 ] || ! kill -0 $tracer 2>/dev/null; then
			why="stemmad cannot trace here: $(tail -n 1 "$T/daemon")"
			break
		fi
		sleep 0.1
	done
fi
if [ -n "$why" ]; then
	skip "the list of system calls" "$why"
	finish
	exit
fi
for n in 1 2 3; do
	sh -c "echo $n >/dev/shm/stemma-t.$$; cat /dev/shm/stemma-t.$$ >/dev/null; rm /dev/shm/stemma-t.$$"
	"$STEMMA" --node log >/dev/null 2>&1
	"$STEMMA" granularity access --node >/dev/null 2>&1
	"$STEMMA" granularity open --node >/dev/null 2>&1
	sleep 1
done
: >"$T/run/touch/access.77"
rm "$T/run/touch/access.77"
daemon=$(pgrep -P $tracer -x stemmad)
kill -HUP "$daemon"
sleep 11 # what is done every ten seconds is among it
kill -TERM "$daemon"
wait $tracer
tracer=
$PYTHON - "$UNIT" "$T/calls" >"$out" 2>"$err" <<'END'
import re, subprocess, sys
def members(name, seen={}):
    if not name.startswith('@'):
        return {name}
    if name not in seen:
        text = subprocess.run(['systemd-analyze', 'syscall-filter', name], capture_output=True, text=True, check=True).stdout
        words = [w.strip() for w in text.splitlines() if w.strip() and not w.strip().startswith('#')]
        seen[name] = set().union(*(members(w) for w in words if w != name))
    return seen[name]
allowed = set()
for line in open(sys.argv[1]):
    if line.startswith('SystemCallFilter='):
        words = line.strip().split('=', 1)[1]
        which = set().union(*(members(w) for w in words.lstrip('~').split()))
        allowed = allowed - which if words.startswith('~') else allowed | which
made = set()
for line in open(sys.argv[2], errors='replace'):
    m = re.match(r'\d+ +(?:<\.\.\. )?(\w+)(?: resumed|\()', line)
    if m:
        made.add(m[1])
# systemd itself executes the daemon; started by root without systemd, it has the right to become another user.
missing = made - allowed - {'execve'}
print(len(made), 'calls are made,', len(allowed), 'are allowed')
print('not allowed:', sorted(missing))
for word in ('ptrace', 'mount', 'init_module', 'kexec_load', 'setuid', 'process_vm_writev', 'keyctl', 'settimeofday', 'unshare'):
    if word in allowed and word != 'unshare':
        print('allowed:', word)
        missing.add(word)
sys.exit(bool(missing) or len(made) < 50)
END
check "the list of system calls has all that the daemon, its helper and what answers make"
finish
