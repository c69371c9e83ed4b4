#!/bin/sh
# The daemon from outside: logs of users, who is told what, touch files, overload, kills, full disks, logs that are taken
# away. The tracer is a false one, told through a FIFO what has happened, so that no privilege is needed; several users
# need root.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/daemon.sh
. "$here/t/daemon.sh"

start || { echo "Bail out! the daemon does not answer: $(tail -n 1 "$T/daemon")"; exit 1; } # else what happens is told to nobody, for ever
: >"$err"
{ login "$me"; program "$me" 200 maker /h/made 20; } | happens
ask "$me" 0 why /h/made && says "$out" 'made by maker' && ask "$me" 0 log && says "$out" maker && ask "$me" 0 show /h/made && ask "$me" 0 lineage --json /h/made
check "what has happened a moment ago is told"
ask "$me" 2 run -- true && says "$err" 'cannot be used with --node' && ask "$me" 2 forget @
check "what would change a record cannot be asked of the daemon"
if is_root; then
	chmod 711 "$T/home"
	{ login 1000; login 1001; program 1000 300 one /h/one 30; program 1001 301 two /h/two 31; cat <<END; } | happens
fork t=20 pid=302 ppid=101 uid=1001
exec t=21 pid=302 uid=1001 exe=/bin/reader ino=99 argv=reader,--of,x cwd=/h nexec=1
file lo=22 hi=23 pid=302 uid=1001 ops=open,closer path=/h/one ino=30 nexec=1
file lo=24 hi=25 pid=302 uid=1001 ops=create,open,closew path=/h/three ino=33 size=9 mtime=24 nexec=1
exit t=26 pid=302 uid=1001 status=0
END
	ask 1000 0 log && says "$out" one && says_not "$out" two && says_not "$out" reader && ask 1000 1 why /h/two && says "$err" 'does not exist, and nothing is recorded about it'
	check "a user is told of the own executions, and of no others"
	ask 1001 0 lineage /h/three && says "$out" 'reader --of x' && says "$out" '/h/one@{1}  (external)' && says_not "$out" 'one  ('
	check "what another user made came from outside"
	ask 0 0 lineage /h/three && says "$out" 'reader --of x' && says "$out" '─ one  ('
	check "root is told of all, from user to user"
	ask 1002 1 log && says "$err" 'nothing of yours'
	check "who has no record is told so"
	bad=
	for path in base base/users base/users/1001 base/users/1001/index/index.db base/all/index.db; do
		setpriv --reuid 1000 --regid 1000 --clear-groups test -r "$T/$path" -a -x "$T" && bad=$path
	done
	[ -z "$bad" ] || echo "$bad can be read by another user" >>"$err"
	[ -z "$bad" ]
	check "the record itself is root's alone"
	grep -q '^CapEff:.*0000000000000000$\|^CapEff:	000000c000000000$' "/proc/$daemon/status" && grep -q '^CapBnd:	0000000000000000$' "/proc/$daemon/status"
	check "few capabilities are left, and none for what it starts"
	helper=$(pgrep -P "$daemon" -x stemmad-helper)
	grep -q '^CapEff:.*0000000000000000$\|^CapEff:	0000000000280004$' "/proc/$helper/status" && grep -q '^CapBnd:	0000000000000000$' "/proc/$helper/status" && grep -q '^NoNewPrivs:	1$' "/proc/$helper/status"
	check "... and other few to its helper"
else
	for what in users others root record capabilities helper; do
		skip "who is told what: $what" "needs root to be several users"
	done
fi

# ---- granularity ----

printf 'fork t=30 pid=400 ppid=%d uid=%d\nexec t=31 pid=400 uid=%d exe=/bin/job ino=77 argv=job nexec=1 env=SLURM_JOB_ID=4711\n' $((100 + me % 100)) "$me" "$me" | happens
asked()
{ # WORDS
	grep -q "^$1\$" "$T/fifo.set" 2>/dev/null
}
cmd 0 granularity access --job 4711 && wait_for asked 'set 3 400 1' && cmd 0 granularity open --job 4711 && wait_for asked 'set 3 400 0'
check "granularity of a job: its processes, on and off"
rm -f "$T/fifo.set"
: >"$T/run/touch/access.4711" && wait_for asked 'set 3 400 1' && rm "$T/run/touch/access.4711" && wait_for asked 'set 3 400 0'
check "... by a touch file, until it is removed"
cmd 1 granularity open --job 4711 && says "$err" 'no request for access by you is active there' && cmd 2 granularity access && cmd 2 granularity close --node && cmd 2 granularity access --job '$(x)'
check "what makes no sense is refused"
if is_root; then
	"$STEMMA" granularity access --user 1000 && wait_for asked 'set 1 1000 1' && setpriv --reuid 1000 --regid 1000 --clear-groups "$STEMMA" granularity access --node 2>"$err"
	[ $? = 1 ] && setpriv --reuid 1000 --regid 1000 --clear-groups "$STEMMA" granularity access --user 1001 2>"$err"
	[ $? = 1 ]
	check "for others and for the node administrators choose"
	setpriv --reuid 1000 --regid 1000 --clear-groups touch "$T/run/touch/access.4711" && sleep 0.3 && rm -f "$T/fifo.set" && sleep 1.3 && ! asked 'set 3 400 1'
	check "a touch file counts for its owner's processes"
	for u in 1000 1001; do
		printf 'fork t=32 pid=4%d ppid=%d uid=%d\nexec t=33 pid=4%d uid=%d exe=/bin/job ino=77 argv=job nexec=1 env=SLURM_JOB_ID=4712\n' $u $((100 + u % 100)) $u $u $u
	done | happens
	setpriv --reuid 1000 --regid 1000 --clear-groups "$STEMMA" granularity access --job 4712 && wait_for asked 'set 3 41000 1' &&
		setpriv --reuid 1001 --regid 1001 --clear-groups touch "$T/run/touch/access.4712" && wait_for asked 'set 3 41001 1' &&
		rm "$T/run/touch/access.4712" && wait_for asked 'set 3 41001 0' && ! asked 'set 3 41000 0'
	check "... and its removal takes nothing from another user who asked for the same job"
else
	skip "granularity of others" "needs root to be several users"
fi

# A launcher that reaches two nodes: each has a daemon of its own, told apart by its socket.
stop TERM
cat >"$T/launch" <<'END'
#!/bin/sh
[ "$1" = --job ] || exit 3
echo "$2" >>"$0.jobs"
shift 2
"$@" || exit 1
[ ! -e "$0.other" ] || STEMMA_NODE_SOCKET=$(cat "$0.other") "$@"
END
chmod 755 "$T/launch"
mkfifo "$T/fifo2"
STEMMA_FAKE_TRACER="$T/fifo2" STEMMA_NODE_SOCKET="$T/run3/socket" "$DAEMON" -o "base=$T/base3" -o "run=$T/run3" -o "launcher=$T/launch --job %j" 2>>"$T/daemon" &
second=$!
trap 'kill_child 9 $daemon $second; umount "$T/small" 2>/dev/null; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
start -o "launcher=$T/launch --job %j"
echo "$T/run3/socket" >"$T/launch.other"
other_answers()
{
	STEMMA_NODE_SOCKET="$T/run3/socket" "$DAEMON" --stats
}
wait_for other_answers
rm -f "$T/fifo.set" "$T/fifo2.set"
job="fork t=30 pid=400 ppid=$((100 + me % 100)) uid=$me
exec t=31 pid=400 uid=$me exe=/bin/job ino=77 argv=job nexec=1 env=SLURM_JOB_ID=4711"
{ login "$me"; echo "$job"; } | happens
{ login "$me"; echo "$job"; } >"$T/fifo2"
asked_there()
{ # WORDS
	grep -q "^$1\$" "$T/fifo2.set" 2>/dev/null
}
cmd 0 granularity access --job 4711 && wait_for asked 'set 3 400 1' && wait_for asked_there 'set 3 400 1' && cmd 0 granularity open --job 4711 && wait_for asked_there 'set 3 400 0' && is "$T/launch.jobs" '4711
4711'
check "... by the site's launcher, on every node of the job"
rm -rf "$T/launch.other"
echo "$T/nobody-there" >"$T/launch.other"
cmd 125 granularity access --job 4711 && says "$err" 'not changed on all nodes of job 4711'
check "... a node that is not reached is told"
cmd 0 granularity open --here --job 4711
kill "$second"
wait "$second" 2>/dev/null
stop TERM
start
{ login "$me"; program "$me" 200 maker /h/made 20; } | happens

# ---- hammering, kills, disks ----

$PYTHON - "$T/run/socket" >"$out" 2>"$err" <<'END'
import os, socket, sys
path, held = sys.argv[1], []
answers = {}
for i in range(400):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(True)
    s.settimeout(5)
    try:
        s.connect(path)
        if i % 4 == 0:
            held.append(s)  # says nothing
            continue
        s.send([b'stats', b'x' * 60000, b'\0\xff', b'granularity access job ' + b'a' * 3000][i % 4])
        word = s.recv(70000)[:2]
    except OSError as e:
        word = type(e).__name__.encode()
    answers[word] = answers.get(word, 0) + 1
print(sorted(answers))
END
wait_for answers && sleep 6 && answers >/dev/null && grep -q "b'bu'" "$out" && [ "$(find "/proc/$daemon/fd" -type l | wc -l)" -lt 40 ]
check "who hammers the socket is put off, and holds nothing"
if is_root; then
	{ login 1000; program 1000 310 flooded /h/flooded 310; } | happens
	cat >"$T/flood.py" <<'END'
import os, socket, sys, time
path, how = sys.argv[1:]
os.setgroups([])
os.setgid(1000)
os.setuid(1000)
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    return s
if how == 'hold':
    held = [connect() for i in range(8)]
    print('held', flush=True)
    for s in held:
        while s.recv(10): pass
    sys.exit()
began, met = time.monotonic(), 0
while time.monotonic() - began < 3:
    s = connect()
    s.send(b'x')
    try:
        met += bool(s.recv(100))
    except OSError:
        pass
    s.close()
most = 500 * (time.monotonic() - began + 2)
print(met, 'were met, at most', int(most))
sys.exit(not 0 < met <= most)
END
	$PYTHON "$T/flood.py" "$T/run/socket" flood >"$T/flood" 2>&1 &
	flood=$!
	ask 0 0 why /h/flooded && says "$out" 'made by flooded' && wait $flood
	ended=$?
	cp "$T/flood" "$err"
	[ $ended = 0 ]
	check "a flood of connections is taken at a pace, and others are answered"
	$PYTHON "$T/flood.py" "$T/run/socket" hold >"$T/held" 2>&1 &
	wait_for grep -q held "$T/held"
	ask 1000 0 why /h/flooded && says "$out" 'made by flooded'
	check "a user who holds all own connections and says nothing is answered after all"
	wait $!
else
	skip "a flood" "needs root to be several users"
	skip "connections that are held" "needs root to be several users"
fi
stop KILL
start
{ login "$me"; program "$me" 500 after /h/after 50; } | happens
ask "$me" 0 why /h/after && ask "$me" 0 why /h/made && ask "$me" 0 sql "SELECT reason, text FROM gap WHERE reason = 'recorder_died'" && says "$out" 'was killed'
check "killed and started again: what was before is there, and the gap between"
{ program "$me" 230 early /h/early 230; } | happens
ask "$me" 0 why /h/early
kill -9 "$(pgrep -P "$daemon" -x stemmad-helper)"
wait "$daemon"
ended=$?
daemon=
[ $ended = 125 ] && says "$T/daemon" 'the helper has ended' && start && ask "$me" 0 why /h/early && says "$out" 'made by early' && ask "$me" 0 sql "SELECT text FROM gap WHERE reason = 'recorder_died'" && says "$out" 'helper ended'
check "without its helper it ends, and says so: $ended"
stop KILL
rm -rf "$T/base"
start
{ login "$me"; program "$me" 510 first /h/first 60; } | happens
ask "$me" 0 why /h/first
stop KILL
start
ask "$me" 0 sql "SELECT text FROM gap WHERE reason = 'recorder_died'" && says "$out" 'was killed'
check "... and if it was the first on this machine, killed at once"
stop TERM
start
{ login "$me"; program "$me" 501 later /h/later 51; } | happens
ask "$me" 0 sql "SELECT text FROM gap WHERE reason = 'lost'" && says "$out" 'was not running' && ask "$me" 0 why /h/first
check "stopped and started again: that gap is told, too"
rm -rf "$T/base/users/$me/logs"
{ program "$me" 502 gone /h/gone 52; } | happens
back()
{
	[ -n "$(find "$T/base/users/$me/logs" -name '*.stl' 2>/dev/null)" ]
}
i=0
until back || [ $i -gt 1200 ]; do
	i=$((i + 1))
	sleep 0.05
done
{ program "$me" 503 anew /h/anew 53; } | happens
ask "$me" 0 why /h/anew && says "$out" 'made by anew'
check "its logs taken away: it begins others"
stop TERM
# A log that cannot be begun: what was told meanwhile is told anew, or said to be missing.
rm -rf "$T/base/users/$me" && echo >"$T/base/users/$me"
start
{ login "$me"; program "$me" 520 unwritten /h/unwritten 520; echo "fork t=10 pid=521 ppid=$((100 + me % 100)) uid=$me"; echo "exec t=12 pid=521 uid=$me exe=/bin/stays ino=4521 argv=stays cwd=/h nexec=1"; } | happens
wait_for grep -q "the log of user $me: " "$T/daemon" && [ "$(grep -c "the log of user $me: " "$T/daemon")" = 1 ] &&
	rm "$T/base/users/$me" && kill -HUP "$daemon" && wait_for back &&
	echo "file lo=213 hi=215 pid=521 uid=$me ops=create,open,closew path=/h/stayed ino=522 size=9 mtime=214 nexec=1" | happens &&
	ask "$me" 0 why /h/stayed && says "$out" 'made by stays' && ask "$me" 0 sql "SELECT text, count FROM gap WHERE reason = 'lost'" && says "$out" 'the log could not be written'
check "a log that could not be begun: who is there is told again, and a gap says what is missing"
stop TERM
# All of its folder taken away: it is made again, and a kill is still told of.
start
rm -rf "$T/base"
wait_for test -s "$T/base/node/state" && "$DAEMON" -o "base=$T/base" -o "run=$T/run2" >"$out" 2>"$err"
[ $? = 125 ] && says "$err" 'another stemmad' && { login "$me"; program "$me" 530 kept /h/kept 530; } | happens && ask "$me" 0 why /h/kept && stop KILL && start && ask "$me" 0 sql "SELECT text FROM gap WHERE reason = 'recorder_died'" && says "$out" 'was killed' && ask "$me" 0 why /h/kept
check "its folder taken away: it has it again, alone, and the next one knows of a kill"
{ login "$me"; program "$me" 503 anew /h/anew 53; } | happens
ask "$me" 0 why /h/anew
kill -HUP "$daemon" && sleep 0.2
{ program "$me" 504 again /h/again 54; } | happens
ask "$me" 0 why /h/again && ask "$me" 0 why /h/anew && says "$T/daemon" 'settings were reread'
check "settings read again, logs begun again: nothing is lost"
"$DAEMON" --metrics >"$out" && tail -1 "$out" | grep -q '^# EOF$' && grep -q '^stemma_events_total [1-9]' "$out" && ! grep -v '^# \|^stemma_[a-z_]* [0-9.e+-]*$' "$out"
check "metrics"
"$DAEMON" -o "base=$T/base" -o "run=$T/run2" >"$out" 2>"$err"
[ $? = 125 ] && says "$err" 'another stemmad'
check "two daemons do not write to one place"
stop TERM
printf '# limits\n\nmax_events = 100000\nmax_evnts = 5\nmax_cpu=much\r\n' >"$T/conf"
start --config "$T/conf"
said()
{ # WORDS N: so many times since it began
	[ "$(grep -c -- "$1" "$T/daemon")" = "$2" ]
}
says "$T/daemon" "conf:4: unknown setting 'max_evnts'" && says "$T/daemon" "conf:5: 'much' is not a valid value of 'max_cpu'"
check "lines that are not settings: named with their place, and it records"
stay=$(grep -c 'settings are unchanged' "$T/daemon")
taken=$(grep -c 'settings were reread' "$T/daemon")
printf 'max_events = 40\nmax_cpu = lots\n' >"$T/conf"
kill -HUP "$daemon" && wait_for said 'settings are unchanged' $((stay + 1)) && says "$T/daemon" "conf:2: 'lots' is not a valid value"
check "... settings read again with such a line: all stay as they are"
rm "$T/conf" && mkdir "$T/conf"
kill -HUP "$daemon" && wait_for said 'settings are unchanged' $((stay + 2)) && says "$T/daemon" "cannot read '$T/conf': Is a directory"
check "... or with a folder in their place"
rmdir "$T/conf"
printf 'metrics = %s/metrics\nkeep = all\nmax_size = 1G\nbase = %s/elsewhere\n' "$T" "$T" >"$T/conf"
mkdir "$T/elsewhere" && mkdir "$T/elsewhere/node"
kill -HUP "$daemon" && wait_for said 'settings were reread' $((taken + 1)) && says "$T/daemon" "'keep' has changed; it applies at the next start" && says "$T/daemon" "'max_size' has changed" && wait_for test -s "$T/metrics" &&
	[ -z "$(find "$T/elsewhere" -type f)" ] && { program "$me" 505 there /h/there 55; } | happens && ask "$me" 0 why /h/there && stop KILL && start && ask "$me" 0 why /h/there
check "... what is taken at the start alone stays, and is named; the rest is in force"
stop TERM
start -o max_events=50
i=0
while [ $i -lt 60 ] && ! grep -q 'granularity down to processes' "$T/daemon"; do
	awk -v uid="$me" 'BEGIN { for (i = 0; i < 200; i++) printf "uring t=1 pid=1 uid=%d\n", uid }' | happens
	sleep 0.2
	i=$((i + 1))
done
says "$T/daemon" 'granularity down to open: events' && says "$T/daemon" 'granularity down to processes: events' && asked 'files 0 0 0' && ask "$me" 0 sql "SELECT text FROM gap WHERE reason = 'limit'" &&
	says "$out" 'granularity down'
check "too many events: step by step less is looked at, and each step is in the record"
stop TERM
rm -f "$T/fifo.set"
start -o max_memory=64K
login "$me" | happens
wait_for grep -q "granularity down to processes: the daemon's memory" "$T/daemon" && says "$T/daemon" "granularity down to open: the daemon's memory" && asked 'files 0 0 0' &&
	ask "$me" 0 sql "SELECT text FROM gap WHERE reason = 'limit' AND text LIKE '%memory'" && says "$out" "down to open: the daemon's memory" && says "$out" "down to processes: the daemon's memory"
check "more memory than it may have: likewise"
stop TERM
# ---- a user of its own ----

if is_root && id nobody >/dev/null 2>&1; then
	nobody=$(id -u nobody)
	ids="$nobody $nobody $nobody $nobody"
	rm -f "$T/fifo.set"
	chmod 666 "$T/fifo"
	chmod 755 "$T/base/users" # what root has there becomes another's, whatever its mode
	echo secret >"$T/secret" && chmod 600 "$T/secret" && ln "$T/secret" "$T/base/second-name" && ln -s "$T/secret" "$T/base/link"
	printf 'max_events = 100000\n' >"$T/conf" && chmod 600 "$T/conf"
	start --config "$T/conf" --user nobody
	helper=$(pgrep -P "$daemon" -x stemmad-helper)
	id_of()
	{ # FIELD PID
		awk -v field="$1:" '$1 == field { $1 = ""; print substr($0, 2) }' "/proc/$2/status"
	}
	[ "$(id_of Uid "$daemon")" = "$ids" ] && [ "$(id_of Uid "$helper")" = "$ids" ] && [ "$(id_of Gid "$daemon" | tr -d ' ')" != 0000 ] && [ -z "$(id_of Groups "$daemon" | tr -d ' ')" ] &&
		[ -z "$(id_of Groups "$helper" | tr -d ' ')" ] && id_of CapEff "$daemon" | grep -q '^0000000000000000$\|^000000c000000000$' && id_of CapPrm "$helper" | grep -q '^0000000000000000$\|^0000000000280004$'
	check "started with --user: it and its helper are that user, of no other group, and have no more capabilities than as root"
	: >"$err"
	{ login "$me"; login 1000; program "$me" 610 own /h/own 610; program 1000 611 other /h/other 611; } | happens
	ask "$me" 0 why /h/own && ask "$me" 0 why /h/anew && says "$out" 'made by anew' && ask 1000 0 why /h/other && says "$out" 'made by other' && ask 1000 0 log && says "$out" other && says_not "$out" own
	check "... each user is told of the own executions, root of all, and of what was recorded as root"
	[ -z "$(find "$T/base" -user root ! -name second-name)" ] && [ "$(stat -c %u "$T/secret")" = 0 ]
	check "... what root had recorded is that user's, and nothing else of root's is"
	kill -HUP "$daemon" && wait_for grep -q 'settings are unchanged' "$T/daemon" && says "$T/daemon" "conf': Permission denied" && kill -0 "$daemon"
	check "... it can read no file that root keeps to itself, not even its settings, and says so"
	stop TERM
	chown -h 0:0 "$T/base/second-name" "$T/base/link"
	start --user nobody
	[ "$(stat -c %u "$T/base/link")" = 0 ] && ask 1000 0 why /h/other
	check "... once the folder is that user's, nothing is handed over any more"
	stop TERM
	rm -f "$T/base/second-name" "$T/base/link"
	"$DAEMON" -o "base=$T/base" -o "run=$T/run" --user no-such-user >"$out" 2>"$err"
	[ $? = 125 ] && says "$err" "no user 'no-such-user'" && says "$err" 'hint: useradd'
	check "... a user that there is not is said"
	chown -R 0:0 "$T/base" "$T/run" # for what follows
	rm -f "$T/fifo.set"
else
	for what in user told recorded files once unknown; do
		skip "a user of its own: $what" "needs root, and a user nobody"
	done
fi
answered()
{ # nobody is left but its helper
	[ "$(pgrep -P "$daemon" | wc -l)" = 1 ]
}
if is_root && mkdir "$T/small" && mount -t tmpfs -o size=4m tmpfs "$T/small" 2>/dev/null; then
	"$DAEMON" -o "base=$T/small/base" -o "run=$T/run" 2>>"$T/daemon" &
	daemon=$!
	wait_for answers
	login 0 | happens
	dd if=/dev/zero of="$T/small/fill" bs=1k 2>/dev/null
	i=600
	while [ $i -lt 900 ]; do
		program 0 $i "full$i" /h/full$i $i
		i=$((i + 1))
	done | happens
	sleep 1.5
	kill -0 "$daemon" && rm "$T/small/fill" && sleep 3 && { program 0 901 room /h/room 901; } | happens && ask 0 0 why /h/room && says "$out" 'made by room'
	check "a full disk: it goes on, and writes again when there is room"
	# What answered has ended, and what it leaves is gone: its room would count for the next.
	wait_for answered
	# Room for the copy, but not for it and the twentieth part that is kept free.
	left=$(($(du -k "$T/small/base/all/index.db" | cut -f 1) + 120))
	dd if=/dev/zero of="$T/small/fill" bs=1k count=$(($(df --output=avail "$T/small" | tail -n 1) - left)) 2>/dev/null
	ask 0 125 why /h/room
	[ $? = 0 ] || ask 0 1 why /h/room
	says "$err" "the disk of the node's record is nearly full" && rm "$T/small/fill" && ask 0 0 why /h/room
	check "a nearly full disk: no copies are made on it"
	stop TERM
	umount "$T/small"
else
	skip "a full disk" "needs root and a file system of its own"
fi
finish
