#!/bin/sh
# Signals sent to `stemma run` reach the command once, in every way to record, as process 1 of a pid namespace, and on a terminal.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# Writes down each signal that it gets, in order; ends with 9 some time after the first SIGTERM.
cat >"$T/told.py" <<'END'
import os, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
over = []
def note(number, frame):
    os.write(log, (signal.Signals(number).name + '\n').encode())
    if number == signal.SIGTERM:
        over.append(1)
for name in ('HUP', 'INT', 'QUIT', 'USR1', 'USR2', 'WINCH', 'TERM'):
    signal.signal(getattr(signal, 'SIG' + name), note)
os.write(log, b'ready\n')
while not over:
    time.sleep(0.01)
time.sleep(0.2) # what comes twice comes in this time
sys.exit(9)
END
# to.py FILE PREFIX... -- STEMMA...: runs it, sends each signal to the recorder alone, and says what came.
cat >"$T/to.py" <<'END'
import os, signal, subprocess, sys, time
log, python, told = sys.argv[1:4]
at = sys.argv.index('--')
prefix, recorder = sys.argv[4:at], sys.argv[at + 1:]
def text():
    try:
        return open(log).read()
    except FileNotFoundError:
        return ''
def until(what, least=1):
    for _ in range(2000):
        if text().count(what) >= least:
            return
        time.sleep(0.01)
    sys.exit('no %s in %r' % (what, text()))
def child(pid):
    for _ in range(2000):
        kids = open('/proc/%d/task/%d/children' % (pid, pid)).read().split()
        if kids:
            return int(kids[0])
        time.sleep(0.01)
def state(pid):
    return open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()[0]
def command(pid):
    "The process of the command: the only one whose file is open for it."
    for _ in range(2000):
        for d in os.listdir('/proc'):
            try:
                if d.isdigit() and open('/proc/%s/cmdline' % d, 'rb').read().split(b'\0')[1:4] == [b'-S', told.encode(), log.encode()]:
                    return int(d)
            except (OSError, IndexError):
                pass
        time.sleep(0.01)
p = subprocess.Popen(prefix + recorder + [python, '-S', told, log], preexec_fn=os.setpgrp)
until('ready')
pid = child(p.pid) if prefix else p.pid # of unshare -f: what it forked
for name in ('HUP', 'INT', 'QUIT', 'USR1', 'USR2', 'WINCH'):
    os.kill(pid, getattr(signal, 'SIG' + name))
    until('SIG' + name)
job = command(pid)
os.kill(pid, signal.SIGTSTP)
for _ in range(2000):
    if state(job) in 'Tt': # stopped, perhaps under a tracer
        break
    time.sleep(0.01)
else:
    print('SIGTSTP did not stop the command')
os.kill(pid, signal.SIGCONT)
for _ in range(2000):
    if state(job) not in 'Tt':
        break
    time.sleep(0.01)
else:
    print('SIGCONT did not let it go on')
os.kill(pid, signal.SIGTERM)
print(p.wait(), ' '.join(text().split()))
END
want='9 ready SIGHUP SIGINT SIGQUIT SIGUSR1 SIGUSR2 SIGWINCH SIGTERM'

# sends NAME PREFIX -- OPTION...
sends()
{
	name=$1
	shift
	prefix=
	while [ "$1" != -- ]; do
		prefix="$prefix $1"
		shift
	done
	shift
	rm -rf "$T/log" "${T:?}/home"
	# shellcheck disable=SC2086 # words
	STEMMA_HOME=${HOME_FOR:-$T/home} timeout -s KILL 120 $PYTHON -S "$T/to.py" "$T/log" "$PYTHON" "$T/told.py" $prefix -- "$STEMMA" run -q "$@" -- >"$T/got" 2>&1
	[ "$(cat "$T/got")" = "$want" ]
	result $? "$name" "$T/got"
}
modes="default trace safe proc off nowhere"
[ -n "$SLOW" ] && modes="$modes count exact tree"
for m in $modes; do
	HOME_FOR=
	case $m in
	default) o=--level=3 ;;
	trace) o=--transport=trace ;;
	safe) o=--capture=safe ;;
	proc) o=--transport=proc ;;
	tree) o=--capture=tree ;;
	off) o=--capture=off ;;
	count) o=--count ;;
	exact) o=--exact ;;
	nowhere) o=--level=3 HOME_FOR=/proc/nowhere ;;
	esac
	sends "$m: each signal to the recorder alone reaches the command once" -- $o
done
HOME_FOR=
if unshare -pf --mount-proc true 2>/dev/null; then
	ns="unshare -pf --mount-proc"
elif unshare -Urpf --mount-proc true 2>/dev/null; then
	ns="unshare -Urpf --mount-proc"
else
	ns=
fi
for m in default off; do
	if [ -z "$ns" ]; then
		skip_ "$m: as process 1" "no pid namespace may be made"
		continue
	fi
	o=--level=3
	[ $m = default ] || o=--capture=off
	# shellcheck disable=SC2086 # words
	sends "$m: as process 1 of a pid namespace, too" $ns -- $o
done

# On a terminal the kernel signals the whole foreground group: the command has it already.
cat >"$T/keys.py" <<'END'
import fcntl, os, pty, struct, sys, termios, time
log, python, told = sys.argv[1:4]
recorder = sys.argv[4:]
def text():
    try:
        return open(log).read()
    except FileNotFoundError:
        return ''
def until(what):
    for _ in range(2000):
        if what in text():
            return
        time.sleep(0.01)
    sys.exit('no %s in %r' % (what, text()))
pid, fd = pty.fork()
if pid == 0:
    os.execv(recorder[0], recorder + [python, '-S', told, log])
until('ready')
os.write(fd, b'\x03')
until('SIGINT')
os.write(fd, b'\x1c')
until('SIGQUIT')
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 30, 90, 0, 0))
until('SIGWINCH')
os.kill(pid, 15)
status = os.waitpid(pid, 0)[1]
print(os.waitstatus_to_exitcode(status), ' '.join(text().split()))
END
for o in --level=3 --transport=trace --capture=safe --capture=off; do
	rm -rf "$T/log" "${T:?}/home"
	STEMMA_HOME=$T/home timeout -s KILL 120 $PYTHON -S "$T/keys.py" "$T/log" "$PYTHON" "$T/told.py" "$STEMMA" run -q $o -- >"$T/got" 2>&1
	[ "$(cat "$T/got")" = '9 ready SIGINT SIGQUIT SIGWINCH SIGTERM' ]
	result $? "${o#--}: keys of a terminal reach the command once" "$T/got"
done

# timeout, which signals the recorder and then its own group.
for o in --level=3 --capture=off; do
	rm -rf "$T/log" "${T:?}/home"
	STEMMA_HOME=$T/home timeout --foreground -s TERM 3 "$STEMMA" run -q $o -- "$PYTHON" -S "$T/told.py" "$T/log" >"$T/got" 2>&1
	echo "$? $(paste -sd' ' "$T/log")" >>"$T/got"
	grep -q '^124 ready SIGTERM$' "$T/got"
	result $? "${o#--}: timeout --foreground" "$T/got"
	rm -f "$T/log"
	STEMMA_HOME=$T/home timeout -s TERM 3 "$STEMMA" run -q $o -- "$PYTHON" -S "$T/told.py" "$T/log" >"$T/got" 2>&1
	echo "$? $(paste -sd' ' "$T/log")" >>"$T/got"
	grep -q '^124 ready SIGTERM' "$T/got"
	result $? "${o#--}: timeout" "$T/got"
done
finish
