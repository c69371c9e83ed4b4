#!/bin/sh
# A node with the real tracer, on which one user attacks the daemon while another works: the other's record is compared
# with what the work itself wrote down (tests/nodeload.c), and every question is answered. And who sees what of processes
# that change their user. Needs root and a kernel that lets it. Only a file system of its own is watched.
nodeload=${STEMMA_NODELOAD:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
DAEMON=${STEMMAD:-$BUILD/src/daemon/stemmad}
LOAD=${nodeload:-$BUILD/tests/stemma-nodeload}
SECONDS_OF_WORK=${NODE_SECONDS:-6}
bad=61001 good=61002 service=61003
export STEMMA_NODE_SOCKET="$T/run/socket"
daemon=
attackers=
trap 'kill_child 9 $attackers $daemon; pkill -9 -u $bad,$good; umount "$T/disk" 2>/dev/null; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(id -u)" = 0 ] || nothing "needs root"
[ -x "$DAEMON" ] || nothing "stemmad was not built"
if grep -q -e __asan_init -e __tsan_init "$DAEMON"; then
	nothing "a sanitizer takes what the daemon may not have"
fi
chmod 711 "$T" "$T/home"
# All that is tried happens here, so nothing that others do on this machine takes part.
if ! { mkdir "$T/disk" && mount -t tmpfs -o size=256m,mode=755 tmpfs "$T/disk" 2>/dev/null; }; then
	nothing "needs a file system of its own"
fi
as()
{ # UID COMMAND...
	who=$1
	shift
	setpriv --reuid "$who" --regid "$who" --clear-groups env HOME="$T/disk/$who" "$@"
}
as $good test -x "$LOAD" || nothing "the build folder is not for other users to read"
for who in $bad $good $service; do
	mkdir -m 755 "$T/disk/$who" && chown $who:$who "$T/disk/$who"
done
answers()
{
	"$DAEMON" --stats
}
start()
{ # RATE
	# What others do on this machine is no part of it, and the limits of the whole node are not what is tried here.
	"$DAEMON" -o "base=$T/base" -o "run=$T/run" -o "mount=$T/disk" -o max_events=10000000 -o max_cpu=1000 -o max_memory=1G -o "user_rate=$1" --keep=all 2>>"$T/daemon" &
	daemon=$!
	i=0
	until answers >/dev/null 2>&1; do
		i=$((i + 1))
		[ $i -gt 600 ] || ! kill -0 "$daemon" 2>/dev/null && nothing "stemmad cannot trace here: $(tail -1 "$T/daemon")"
		sleep 0.1
	done
}
start 64K
grep -q 'files:' "$T/daemon" && nothing "no files are seen here: $(grep 'files:' "$T/daemon")"

# ---- attacks of all kinds, while another works ----

cat >"$T/attack.py" <<'END'
import os, random, signal, socket, subprocess, sys, time
kind, run, stemma, folder = sys.argv[1:]
random.seed(20261123)
os.chdir(folder)
sys.stderr = open(os.devnull, 'w')
def forever(step):
    i = 0
    while True:
        try:
            step(i)
        except OSError:
            time.sleep(0.001)
        i += 1
def ask(i):  # and be killed before the answer
    p = subprocess.Popen([stemma, '--node', 'log'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() * 0.05)
    p.kill()
    p.wait()
held = []
def sock(i):  # half a question, no answer read, descriptors
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    s.connect(run + '/socket')
    what = i % 4
    if what == 0:
        held.append(s)
        del held[:-40]
    elif what == 1:
        s.send(b'store')
        held.append(s)
    elif what == 2:
        s.send(os.urandom(random.randrange(1, 4096)))
    else:
        socket.send_fds(s, [b'stats'], [0] * 200)
    time.sleep(0.002)
def touch(i):  # names of any bytes, links, FIFOs, folders in the folder that everybody may write to
    name = run.encode() + b'/touch/' + random.choice([b'access.', b'open.', b'']) + bytes(random.choice([b for b in range(1, 256) if b != 47]) for _ in range(random.randrange(1, 240)))
    make = (lambda: os.symlink('/etc/shadow', name), lambda: os.mkfifo(name), lambda: os.mkdir(name), lambda: os.close(os.open(name, os.O_CREAT | os.O_WRONLY)))[i % 4]
    make()
    (os.rmdir if i % 4 == 2 else os.unlink)(name)
    time.sleep(0.002)
def names(i):  # files whose names have every byte, in paths of nearly 4 KiB
    deep = b'd' * 200
    path = b'/'.join([deep] * (i % 15 + 1))
    os.makedirs(path, exist_ok=True)
    at = path + b'/' + bytes(b for b in range(1, 256) if b != 47)[i % 50:i % 50 + 200]
    with open(at, 'wb') as f:
        f.write(b'x')
    os.unlink(at)
def files(i):
    name = 'f%d' % (i % 5000)
    with open(name, 'w') as f:
        f.write('x')
    os.unlink(name)
def procs(i):
    pid = os.fork()
    if pid == 0:
        os.execv('/bin/true', ['/bin/true', 'a' * 20000] + ['b' * 3000] * 20)
    os.waitpid(pid, 0)
forever(globals()[kind])
END
# A process of the other user that makes a file now and then.
as $good sh -c 'cd "$1"; i=0; while sleep 0.3; do i=$((i + 1)); : >settled$i; echo $i >count.new; mv count.new count; done' - "$T/disk/$good" >/dev/null 2>&1 &
clock=$!
attackers=$clock
until [ -e "$T/disk/$good/count" ]; do
	sleep 0.1
done
for kind in ask sock touch names files procs; do
	as $bad $PYTHON "$T/attack.py" $kind "$T/run" "$STEMMA" "$T/disk/$bad" >/dev/null 2>&1 &
	attackers="$attackers $!"
done
as $good "$LOAD" marks "$T/disk/$good" "$SECONDS_OF_WORK" >"$T/truth" 2>"$T/load" &
work=$!
asked=0 told=0
while kill -0 $work 2>/dev/null; do
	asked=$((asked + 1))
	as $good "$STEMMA" --node log >"$out" 2>>"$err" && told=$((told + 1))
	sleep 0.2
done
wait $work
[ $? = 0 ] && [ "$asked" -gt 0 ] && [ $asked = $told ]
check "one user attacks, another works: every question of the other is answered ($told of $asked)"
pkill -9 -u $bad # nobody else has these numbers
attackers=$clock
# What the attack has left in the kernel's rings comes first, and on a busy machine the daemon is long at that. It has come to the end
# when a file that was made after the attack is in the record.
newest=$(cat "$T/disk/$good/count")
is_settled()
{
	as $good "$STEMMA" --node sql "SELECT path FROM file WHERE path LIKE '%/settled%'" 2>>"$err" | sed 's/.*settled//' |
		awk -v after=$((newest + 1)) '$1 > after { found = 1 } END { exit !found }'
}
i=0
until is_settled || [ $i -ge 120 ]; do
	i=$((i + 1))
	sleep 0.5
done
pkill -9 -u $good
as $good "$STEMMA" --node sql --json "SELECT path FROM file WHERE path LIKE '%/mark%'" >"$T/seen" 2>"$err"
as $good "$STEMMA" --node sql --json "SELECT began, ended FROM gap WHERE reason = 'lost'" >"$T/gaps" 2>>"$err"
# On a machine that gives the daemon no processor for long the kernel's rings run over: that is everybody's gap.
$PYTHON - "$T/truth" "$T/seen" "$T/gaps" >"$out" 2>>"$err" <<'END'
import json, sys
def rows(path):
    d = json.load(open(path))
    return d['rows'] if isinstance(d, dict) else d
def value(r, name, i): return r[name] if isinstance(r, dict) else r[i]
seen = {int(value(r, 'path', 0).rsplit('mark', 1)[1]) for r in rows(sys.argv[2])}
gaps = [(int(value(r, 'began', 0)), int(value(r, 'ended', 1))) for r in rows(sys.argv[3])]
made = [[int(w) for w in l.split()] for l in open(sys.argv[1])]
lost = [i for i, a, b in made if i not in seen]
silent = [i for i, a, b in made if i not in seen and not any(f <= b and a <= u for f, u in gaps)]
print(len(made), 'made,', len(lost), 'not recorded,', len(gaps), 'gaps of everybody,', len(silent), 'silently missing')
sys.exit(bool(silent) or not made or len(lost) > len(made) / 2 or (bool(lost) and not gaps))
END
check "... all that the other made is in the other's record: $(cat "$out")"
as $good "$STEMMA" --node sql "SELECT count, text FROM gap WHERE reason = 'limit'" >"$out" 2>"$err"
lines "$out" "$(grep -c '^count\|^COUNT' "$out")"
check "... and no bound of that user was reached"
grep -q 'granularity down' "$T/daemon" && cat "$T/daemon" >>"$err"
! grep -q 'granularity down' "$T/daemon" && kill -0 "$daemon"
check "... no less is recorded of anybody for that"
as $bad "$STEMMA" --node sql "SELECT text FROM gap WHERE reason = 'limit'" >"$out" 2>"$err"
[ "$(wc -l <"$out")" -gt 1 ] && says "$T/daemon" "user $bad" && ! grep -q "user $good" "$T/daemon"
check "... what the attacker's own record lacks is said there, and in the journal"

# ---- who sees what of a process that changes its user ----

# Another daemon: what root does on the rest of this machine is root's, too, and may be more than such a rate.
kill -TERM "$daemon" && wait "$daemon"
rm -rf "$T/base"
start 100M
# The kernel does not tell when a file was made, only the daemon knows that it was between two of its looks, which may be far apart on a
# busy machine: so each step waits until the daemon has seen the one before. What may have been before a change of user counts so.
cat >"$T/service.py" <<'END'
import os, sys
good, folder = int(sys.argv[1]), sys.argv[2]
def make(name):
    with open(f'{folder}/{name}', 'w') as f:
        f.write(name)
def step():
    os.write(1, b'x')
    os.read(0, 1)
make('before-as-root')
kept = open(f'{folder}/kept-open', 'w')
go, end = os.pipe()
if os.fork() == 0:  # a helper that stays root
    os.close(end)
    os.read(go, 1)
    make('helper-as-root')
    os._exit(0)
step()
os.setresgid(good, good, good)
os.setresuid(good, good, good)
step()
make(f'{good}/after-as-user')
if os.fork() == 0:
    make(f'{good}/child-as-user')
    os._exit(0)
os.wait()
kept.write('x')
os.close(end)
os.close(go)
os.wait()
END
looked()
{ # the daemon has seen what was there when this was called
	seen=$((${seen:-0} + 1))
	: >"$T/disk/looked$seen"
	i=0
	until "$STEMMA" --node sql "SELECT path FROM file WHERE path LIKE '%/looked$seen'" 2>>"$err" | grep -q looked || [ $i -ge 240 ]; do
		i=$((i + 1))
		sleep 0.25
	done
}
mkfifo "$T/go" "$T/steps"
$PYTHON "$T/service.py" $service "$T/disk" --secret-of-root <"$T/go" >"$T/steps" 2>"$err" &
work=$!
exec 7>"$T/go" 8<"$T/steps"
for _ in 1 2; do
	dd bs=1 count=1 <&8 >/dev/null 2>&1
	looked
	echo >&7
done
wait $work
exec 7>&- 8<&-
looked
seen()
{ # UID: what of it is in that user's record
	as "$1" "$STEMMA" --node sql "SELECT path FROM file" 2>>"$err" | grep -o '[a-z]*-as-[a-z]*' | sort -u | tr '\n' ' '
}
[ "$(seen $service)" = 'after-as-user child-as-user ' ] || { echo "$service sees: $(seen $service)" >>"$err"; false; }
check "a service that becomes a user: the user sees what it does from then on"
as $service "$STEMMA" --node log --all >"$out" 2>>"$err" && as $service "$STEMMA" --node sql "SELECT * FROM execution" >>"$out" 2>>"$err" && says_not "$out" secret-of-root
check "... and nothing of its arguments"
"$STEMMA" --node sql "SELECT path FROM file WHERE path LIKE '%-as-%'" >"$out" 2>"$err" && says "$out" before-as-root helper-as-root after-as-user child-as-user
check "... root is told of all of it"
kill -TERM "$daemon" && wait "$daemon"
daemon=
find "$T/base/users/0/logs" -name '*.stl' -exec "$EVTEXT" dump {} + 2>"$err" | grep '"k":"\(file\|name\)"' | grep -F "$T/disk" >"$out"
says "$out" before-as-root helper-as-root kept-open && says_not "$out" after-as-user && says_not "$out" child-as-user
check "... the log of root's has nothing of what came after"
finish
