#!/bin/sh
# Who asks the daemon, as an attacker: askers that are killed, questions that are never read, half said, sent with
# descriptors; limits of what answers; what the process that answers can reach. The tracer is a false one. Most of it
# needs no privilege; several users, and looking into a process without capabilities, need root.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/daemon.sh
. "$here/t/daemon.sh"

start || { echo "Bail out! the daemon does not answer: $(tail -n 1 "$T/daemon")"; exit 1; }
: >"$err"
own=$T/base/users/$me/index
is_root && own=$T/base/all
{ login "$me"; program "$me" 200 maker /h/made 20; } | happens
ask "$me" 0 why /h/made || { echo "Bail out! no answer: $(cat "$err")"; exit 1; }

ticks()
{ # of the daemon's processor time, in user and kernel mode
	sed 's/.*) //' "/proc/$daemon/stat" | awk '{ print $12 + $13 }'
}
answering()
{ # the processes that answer
	pgrep -P "$daemon" | grep -vx "$(pgrep -P "$daemon" -x stemmad-helper)"
}
none_answers()
{
	[ -z "$(answering)" ]
}
one_answers()
{
	[ -n "$(answering)" ]
}
# hold FILE: nobody else gets the lock of the index; what answers waits for it, for as long as the test likes.
hold()
{
	cat >"$T/hold.py" <<'END'
import fcntl, sys
f = open(sys.argv[1], 'r+')
fcntl.flock(f, fcntl.LOCK_EX)
print('held', flush=True)
sys.stdin.read()
END
	rm -f "$T/held" "$T/letgo"
	mkfifo "$T/letgo"
	$PYTHON "$T/hold.py" "$1" <"$T/letgo" >"$T/held" 2>&1 &
	holder=$!
	exec 8>"$T/letgo"
	wait_for grep -q held "$T/held"
}
let_go()
{
	exec 8>&-
	wait "$holder"
}

# ---- an asker that is killed ----

hold "$own/index.db.lock"
"$STEMMA" --node why /h/made >/dev/null 2>&1 8>&- &
asker=$!
wait_for one_answers
kill -9 $asker
wait $asker 2>/dev/null
wait_for none_answers
check "an asker is killed: what answered ends, too"
before=$(ticks)
sleep 2
after=$(ticks)
echo "$((after - before)) ticks in two seconds" >>"$err"
[ $((after - before)) -lt 50 ]
check "... and the daemon has nothing to do with it any more"
n=0
while [ $n -lt "${ASKERS:-100}" ]; do
	"$STEMMA" --node why /h/made >/dev/null 2>&1 8>&- &
	asker=$!
	[ $((n % 2)) = 0 ] || sleep 0.02
	kill -9 $asker
	wait $asker 2>/dev/null
	n=$((n + 1))
done
wait_for none_answers
check "... and a hundred of them"
let_go
ask "$me" 0 why /h/made && says "$out" 'made by maker' && "$DAEMON" --stats >"$out" && grep -q '^questions .* ([1-9][0-9]* abandoned)' "$out" && ! grep -q 'granularity down' "$T/daemon"
check "... others are answered, no less is recorded, and the figures say how many were given up"

# ---- messages ----

cat >"$T/messages.py" <<'END'
import array, os, socket, struct, sys, time
path = sys.argv[1]
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(5)
    s.connect(path)
    return s
def send(s, text, fds=()):
    try:
        if fds:
            s.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))])
        else:
            s.send(text)
        return s.recv(70000)[:4]
    except OSError as e:
        return type(e).__name__.encode()
said = {}
def note(what, word):
    said.setdefault(what, set()).add(word)
# Sockets whose close takes half a minute, for what was sent is never read.
def slow():
    l = socket.socket(); l.bind(('127.0.0.1', 0)); l.listen(1)
    l.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    a = socket.socket(); a.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 30))
    a.connect(l.getsockname()); a.setblocking(False)
    try:
        while True: a.send(b'x' * 65536)
    except OSError:
        pass
    return l, a
for i in range(3):
    l, a = slow()
    note('slow', send(connect(), b'stats', [a.fileno()]))
    fd = os.dup(a.fileno()); a.detach()
    os.set_blocking(fd, True)
    # The sender's own copy is closed by a child, which may wait for as long as it takes.
    if os.fork() == 0:
        os._exit(0)
    held = (l, fd)
null = os.open('/dev/null', os.O_RDONLY)
for i in range(20):
    note('many', send(connect(), b'nothing', [null] * 250))
    time.sleep(0.06)
for i in range(60):
    s = connect()
    note('bytes', send(s, os.urandom(1 + i * 68)))
    time.sleep(0.06)
for words in (b'', b'store\0own', b'store ' + b'../' * 300, b'store all', b'granularity access job ' + bytes(range(1, 120)), b'stats ' + b'%n%s' * 500):
    note('words', send(connect(), words))
    time.sleep(0.06)
for i in range(30):  # answers that are never read
    s = connect()
    try:
        s.send(b'stats')
    except OSError:
        pass
    held = (held, s)
    time.sleep(0.06)
print(said)
os._exit(0)
END
before=$(ticks)
fds=$(find "/proc/$daemon/fd" -type l | wc -l)
$PYTHON "$T/messages.py" "$T/run/socket" >"$out" 2>"$err"
answers >/dev/null && wait_for none_answers && kill -0 "$daemon" && ask "$me" 0 why /h/made
check "messages of any bytes, with descriptors, answers that are not read: it answers on"
wait_for test "$(find "/proc/$daemon/fd" -type l | wc -l)" -le "$((fds + 2))"
check "... and keeps nothing of what was sent"

# ---- limits ----

stop TERM
start -o answer_time=2s
hold "$own/index.db.lock"
ask "$me" 1 why /h/made 8>&- && says "$err" 'takes longer than the setting answer_time allows (2 s)'
check "an answer that takes too long ends, and the asker is told"
let_go
ask "$me" 0 why /h/made
check "... the next is answered"
stop TERM
start -o answer_memory=4M
if [ -z "${STEMMA_SANITIZED:-}" ] && ! "$DAEMON" --version | grep -q sanitize && ! ldd "$DAEMON" | grep -q 'libasan\|libtsan'; then
	awk -v uid="$me" -v ppid=$((100 + me % 100)) 'BEGIN {
		for (i = 0; i < 20000; i++) printf "file lo=%d hi=%d pid=%d uid=%d ops=create,open,closew path=/h/many/%d ino=%d size=9 mtime=%d nexec=1\n", 100 + i, 100 + i, ppid, uid, i, 100000 + i, 100 + i }' | happens
	ask "$me" 1 why /h/made && says "$err" 'memory'
	check "an answer that takes too much memory ends, and the asker is told"
	stop TERM
	start
	ask "$me" 0 why /h/made
	check "... with more it is answered"
else
	skip "an answer that takes too much memory" "a sanitizer takes its own"
	skip "an answer with more" "a sanitizer takes its own"
fi
stop KILL
start
hold "$own/index.db.lock"
"$STEMMA" --node why /h/made >"$out" 2>"$err" 8>&- &
asker=$!
wait_for one_answers
worker=$(answering)
status_of()
{
	sed -n "s/^$1:[	 ]*//p" "/proc/$worker/status"
}
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
gone()
{
	! kill -0 "$worker" 2>/dev/null || grep -q '^State:.*Z' "/proc/$worker/status"
}
wait_for gone
check "the daemon is killed: what answered ends, too"
wait $asker
let_go
start

# ---- what answers can reach ----

if is_root; then
	{ login 1000; login 1001; program 1000 310 secret /h/secret 310; program 1001 311 other /h/other 311; } | happens
	ask 1000 0 why /h/secret && ask 1001 0 why /h/other
	check "two users are answered"
	program 1000 312 again /h/again 312 | happens # what is new has to be indexed: the question waits for the lock
	hold "$T/base/users/1000/index/index.db.lock"
	setpriv --reuid 1000 --regid 1000 --clear-groups "$STEMMA" --node why /h/secret >"$out" 2>"$err" 8>&- &
	asker=$!
	wait_for one_answers
	worker=$(answering)
	confined()
	{
		[ "$(status_of Seccomp)" = 2 ]
	}
	wait_for confined
	[ "$(status_of CapEff)" = 0000000000000000 ] && [ "$(status_of CapPrm)" = 0000000000000000 ] && [ "$(status_of CapBnd)" = 0000000000000000 ] && [ "$(status_of NoNewPrivs)" = 1 ]
	check "what answers has no capability, none to gain, and a filter of system calls"
	kill -9 $asker
	wait $asker 2>/dev/null
	let_go
	# The logs of user 1001 in the place of 1000's: the process for 1000 would read them, if it could.
	if grep -q landlock /sys/kernel/security/lsm 2>/dev/null || { mkdir -p "$T/lsm" && unshare -m sh -c "mount -t securityfs none '$T/lsm' && grep -q landlock '$T/lsm/lsm'" 2>/dev/null; }; then
		wait_for none_answers
		rm -rf "$T/base/users/1000/index"
		mkdir -m 700 "$T/base/users/1000/index" && ln -s "$T/base/users/1001/logs" "$T/base/users/1000/index/logs"
		ask 1000 1 why /h/other
		got=$?
		! says "$out" 'made by other' && [ $got = 0 ]
		check "it reads the logs of the one user alone, wherever its folder leads"
		rm -rf "$T/base/users/1000/index"
		ask 1000 0 why /h/secret && says "$out" 'made by secret'
		check "... and answers again when its folder is as it was"
	else
		skip "the logs of one user alone" "this kernel has no Landlock, or it cannot be seen whether it has"
		skip "the logs again" "this kernel has no Landlock, or it cannot be seen whether it has"
	fi
	# One user holds all that one user may have; another asks.
	program 1000 313 more /h/more 313 | happens
	hold "$T/base/users/1000/index/index.db.lock"
	for i in 1 2 3 4 5 6; do
		setpriv --reuid 1000 --regid 1000 --clear-groups "$STEMMA" --node why /h/secret >/dev/null 2>&1 8>&- &
		askers="${askers:-} $!"
	done
	wait_for one_answers
	n=0 told=0
	while [ $n -lt 20 ]; do
		ask 1001 0 why /h/other && says "$out" 'made by other' && told=$((told + 1))
		n=$((n + 1))
	done
	[ $told = 20 ] && [ "$(answering | wc -l)" -le 2 ]
	check "one user's questions wait: another's twenty are answered"
	# shellcheck disable=SC2086
	kill_child 9 $askers
	wait_for none_answers
	let_go
else
	for what in users capabilities logs "logs again" wait; do
		skip "what answers can reach: $what" "needs root to be several users"
	done
fi
stop TERM
finish
