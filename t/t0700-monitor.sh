#!/bin/sh
# What a task used: every figure of --summary is held against what the program says of itself (tests/prog/p-use.c), in each
# mode of capture, as root and as an ordinary user. Memory lies between its bounds; CPU time is never less than the truth, and
# more only by what a process uses when it starts and ends.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

USE=$PROGS/p-use
export STEMMA_HOME="$T/record"
cd "$T" || exit 1

# used NAME COMMAND...: runs it with $OPTIONS, the summary in used.json and its output in truth.
used()
{
	name=$1
	shift
	rm -f used.json
	# shellcheck disable=SC2086
	"$STEMMA" run $OPTIONS --summary used.json -- "$@" >truth 2>err </dev/null
	status=$?
}

# claims CLAIM...: of the last run.
claims()
{
	$PYTHON -B "$here/t/figures.py" used.json truth "$@" >why 2>&1
	result $? "$name ($mode)" why
}

# Whether the kernel tells of processes: not, "limited" to births and ends, "ok" with figures.
heard=$("$STEMMA" doctor --quick --json | jq -r '.checks[] | select(.name == "process events") |
	if .text | contains("observe every process") then .state else "not" end')
# A process is a copy of the recorder until its exec, and that is in its peak: with what the thread sanitizer has of its own, which
# was 13 MB. It also takes its time from a birth to the exec, after which a peak is no longer said to be certain;
# and the walks over a folder, which are as rare as they are dear, are seconds apart.
late=
export NAP=0.4
if grep -q __tsan_init "$STEMMA"; then
	export OWN=16777216 NAP=6
	late=" or True"
	echo "# under the thread sanitizer a peak of memory may be $OWN bytes more, and not certain; a file is there for $NAP s"
fi
peak="max(T['memory'], T.get('largest', 0))"
modes="notify tree off"
[ -z "$SLOW" ] || modes="notify trace exact tree off"
for mode in $modes; do
	case $mode in
	notify) OPTIONS= ;;
	trace) OPTIONS=--transport=trace ;;
	exact) OPTIONS=--exact ;;
	tree) OPTIONS=--capture=tree ;;
	off) OPTIONS=--capture=off ;;
	esac
	used "a CPU loop" "$USE" cpu 300
	claims "near('cpu_time', s('cpu'), 0, .02)" "complete('cpu_time')" "D['exit_type'] == 'normal' and D['exit_status'] == 0" \
		"v('user_time') + v('system_time') == v('cpu_time')" "v('end') - v('start') == v('wall_time')" \
		"v('wall_time') >= s('cpu')" "v('cores') <= 1.01"
	used "4 threads" "$USE" threads 4 150
	claims "near('cpu_time', s('cpu'), 0, .02)"
	used "children, one after the other" "$USE" children 60 5
	claims "near('cpu_time', s('cpu'), 0, .15)"
	used "posix_spawn" "$USE" spawn 5 40
	claims "near('cpu_time', s('cpu'), 0, .15)"
	used "static children" "$USE-static" children 20 5
	claims "near('cpu_time', s('cpu'), 0, .15)"
	used "static children by posix_spawn" "$USE-static" spawn 5 40
	claims "near('cpu_time', s('cpu'), 0, .15)" "'$mode' == 'off' or v('processes_total') == 6"
	if [ -x "$USE-go" ]; then
		used "a Go program, as a child" sh -c '"$0" 100 50; :' "$USE-go"
		claims "near('cpu_time', s('cpu'), 0, .1)" "holds('memory_resident_peak', T['largest'])" \
			"near('memory_resident_peak', T['largest'], .02, .15)" "v('threads_peak') >= 4" "'$mode' == 'off' or v('processes_total') == 2"
	else
		skip_ "a Go program ($mode)" "not built: there is no Go here"
	fi
	used "a session of its own" "$USE" session 200
	claims "near('cpu_time', s('cpu'), 0, .03)"
	used "a static program's memory" "$USE-static" memory 100
	claims "holds('memory_resident_peak', $peak)" "high('memory_resident_peak') <= 1.1 * float(low('memory_resident_peak')) + own"
	used "a spike of memory" "$USE" spike 64 5
	claims "holds('memory_resident_peak', $peak)" "high('memory_resident_peak') <= 1.1 * float(low('memory_resident_peak')) + own"
	used "memory that an exec gives back" "$USE" exec 64
	claims "holds('memory_resident_peak', $peak)"
	used "a child that has its parent's memory until its exec" "$USE" vfork 64
	claims "low('memory_resident_peak') <= $peak" "near('memory_resident_peak', $peak, .01, .06)"
	used "a file that is mapped" "$USE" map "$USE-static"
	claims "holds('memory_resident_peak', $peak)" "v('bytes_read') < T['mapped']"
	used "killed" "$USE" killed 64 100
	claims "holds('memory_resident_peak', $peak)" "near('cpu_time', s('cpu'), 0, .15)" \
		"D['exit_type'] == 'signal' and D['signal'] == 9 and D['exit_status'] is None"
	[ $status = 137 ] # as the command ended
	result $? "the status of what was killed ($mode)" err
	used "a killed child" "$USE" childkilled 64 100
	claims "low('memory_resident_peak') <= $peak" "near('cpu_time', s('cpu'), 0, .15)" "near('memory_resident_peak', $peak, .05, .05)"

	# Nothing read and written but what the program counts itself: against the same with an empty file.
	used "empty" "$USE-static" io file 0 4096
	cp used.json empty.json
	for buffer in 4096 100000; do
		used "bytes of reads and writes of $buffer" "$USE-static" io file 8 $buffer
		claims "v('bytes_read') - E('bytes_read') == T['read']" "v('bytes_written') == T['written']" \
			"v('read_calls') - E('read_calls') == T['reads'] - 1" "complete('bytes_read')"
	done

	case $mode in
	off)
		# Without a privilege the kernel tells of processes (Linux 6.6), with it also what each has used.
		if [ "$heard" = not ]; then
			skip_ "300 children ($mode)" "the kernel tells nobody of processes here"
		else
			used "300 children" "$USE" children 300 5
			# One more where a child's parent heard of its end before we did (doc/monitor.md).
			claims "v('processes_total') == T['processes'] == 301" "complete('processes_total')" "len(D['processes']) == 301" \
				"method('processes_total') == 'process events'" "near('cpu_time', s('cpu'), 0, .15)" \
				"v('processes_concurrent_peak') in (2, 3)"
		fi
		used "children that nobody waits for" "$USE" ignored 10 20
		claims "complete('cpu_time') is False or near('cpu_time', s('cpu'), 0, .1)"
		used "three large children" "$USE" three 40
		claims "low('memory_resident_peak') <= $peak * 1.01" \
			"complete('memory_resident_peak') is ('$heard' == 'ok')$late"
		;;
	*)
		used "how many there were" "$USE" children 30 2
		claims "v('processes_total') == T['processes']" "v('processes_concurrent_peak') == 2" "complete('processes_total')" \
			"len(D['processes']) == T['processes']"
		used "children that nobody waits for" "$USE" ignored 10 20
		claims "low('cpu_time') <= s('cpu') * 101 / 100 and s('cpu') <= high('cpu_time')" "near('cpu_time', s('cpu'), .005, .03)"
		used "the same, by SA_NOCLDWAIT" "$USE" nowait 10 20
		claims "near('cpu_time', s('cpu'), .005, .03)"
		used "three large children" "$USE" three 40
		claims "holds('memory_resident_peak', $peak)" "v('processes_concurrent_peak') == 4"
		used "a spike in a child" "$USE" childspike 64 5
		claims "holds('memory_resident_peak', $peak)" "high('memory_resident_peak') <= 1.1 * float(low('memory_resident_peak')) + own"
		used "memory copied on write" "$USE" cow 60 4
		claims "holds('memory_resident_peak', $peak)"
		used "shared memory" "$USE" shm 60 5
		claims "low('memory_shared_peak') <= 62 << 20 and high('memory_shared_peak') >= 60 << 20" "holds('memory_resident_peak', $peak)"
		;;
	esac
done
OPTIONS=
mode=notify

# ---- what is not known is not nothing
if [ -e /dev/nvidiactl ] || [ -e /proc/driver/nvidia/version ]; then
	skip_ "GPU figures where there is no GPU" "there is an NVIDIA driver"
else
	used "nothing on a GPU" true
	printf 'none 0\n' >truth
	claims "all('value' not in D[f] and D[f]['complete'] is False and 'NVIDIA' in D[f]['absent'] for f in ('gpus', 'gpu_time', 'gpu_memory_peak'))"
fi

# ---- who outlives the command
used "a daemon, as it is when the command ends" env P_USE_TRUTH="$T/daemon" "$USE" daemon 200 50
claims "len(D['escaped']) == 1 and 'p-use' in D['escaped'][0]" "v('cpu_time') >= s('cpu')"
for _ in $(seq 600); do
	[ -s daemon ] && ! grep -q ') still runs; its resource use is counted up to the end of the command' used.json && break
	sleep 0.1
done
cat daemon >>truth
name="a daemon, when it has ended"
claims "near('cpu_time', s('cpu'), 0, .1)" "holds('memory_resident_peak', T['memory']) or v('memory_resident_peak') > T['memory']" \
	"'later' in D['escaped'][0]"
rm -f daemon
OPTIONS=--orphans=wait
used "a daemon that is waited for" env P_USE_TRUTH="$T/daemon" "$USE" daemon 200 50
cat daemon >>truth
claims "near('cpu_time', s('cpu'), 0, .1)" "v('cores') <= 1.01" "'later' in D['escaped'][0]"
rm -f daemon
OPTIONS=--orphans=kill
used "a daemon that is killed" env P_USE_TRUTH="$T/daemon" "$USE" daemon 100000 10
[ ! -e daemon ] && claims "v('cpu_time') >= s('cpu')" "'killed' in D['escaped'][0]"
# A chain of processes that is longer than anybody goes down it.
cat >chain.sh <<'END'
[ "$1" -gt 0 ] || exec sleep 4321
sh chain.sh $(($1 - 1)) "$2" &
echo $! >>"$2"
wait
END
OPTIONS=--orphans=kill
: >chain
used "a chain" sh -c 'sh chain.sh 150 chain & until [ $(wc -l <chain) = 150 ]; do sleep .05; done'
left=0
for pid in $(cat chain); do
	kill -0 "$pid" 2>/dev/null && left=$((left + 1))
done
echo "$left left" >>err
[ $left = 0 ]
result $? "150 processes, each below the other, are killed" err
OPTIONS=

# ---- the recorder is killed
for how in '' --transport=trace --capture=tree --capture=safe; do
	mode=${how:-notify}
	OPTIONS=$how
	used "killed recorder" sh -c '"$0" cpu 100; sleep .3; kill -9 $PPID; "$0" cpu 200; exit 7' "$USE"
	[ $status = 7 ]
	result $? "the status of a command whose recorder is killed ($mode)" err
	claims "D['exit_status'] == 7" "D['exit_type'] == 'normal'" "not complete('cpu_time')" "v('wall_time') > .39" \
		"low('cpu_time') <= s('cpu') * Decimal('1.1')" "'$mode' == '--transport=trace' or near('cpu_time', s('cpu'), 0, .1)" \
		"'recorder was killed' in D['escaped'][0]" "D['command'][0] == 'sh' and D['run'] and D['user']" \
		"v('processes_total') >= 1 or absent('processes_total')"
	echo '{"format": 1}' >used.json
	"$STEMMA" run $how --summary used.json -- sh -c 'read x x x keeper x </proc/$PPID/stat; kill -9 $keeper $PPID; sleep .1' >out 2>err
	[ ! -e used.json ]
	result $? "an older summary does not pass for that of a run that was killed altogether ($mode)" err
done
OPTIONS=
mode=notify

# ---- a process that is there already
"$USE" cpu 700 >truth &
"$STEMMA" run --pid $! --summary used.json 2>err
[ $? = 0 ] && wait && name="a process that was there" && mode=pid && claims "D['command'] == ['$USE', 'cpu', '700'] and D['user'] == '$(id -un)' and D['cwd'] == '$PWD'" "low('cpu_time') <= s('cpu') * 102 / 100 and s('cpu') <= high('cpu_time')" \
	"complete('cpu_time') is ('$heard' == 'ok')" \
	"D['exit_status'] == 0" "v('memory_resident_peak') > 0"
if [ "$heard" = ok ]; then
	# It begins when it is watched.
	mkfifo begin
	sh -c 'read x <begin; exec "$@"' - "$USE" children 300 5 >truth &
	watched=$!
	"$STEMMA" run --pid $watched --series series --summary used.json 2>err &
	watcher=$!
	for _ in $(seq 3000); do
		[ -s series ] && [ "$(wc -l <series)" -gt 1 ] && break
		sleep .02
	done
	echo >begin
	wait $watcher
	name="300 children of a process that was there"
	claims "v('processes_total') == T['processes'] == 301" "complete('processes_total')" "len(D['processes']) == 301" \
		"near('cpu_time', s('cpu'), 0, .15)" "low('cpu_time') <= s('cpu') * 101 / 100" "complete('cpu_time')" \
		"all(p['exit'] == {'status': 0} and p['user_time'] + p['system_time'] >= 0.005 for p in D['processes'])"
	rm -f series
	sh -c 'read x <begin; exec "$@"' - "$USE-static" io file 8 100000 >truth &
	watched=$!
	"$STEMMA" run --pid $watched --series series --summary used.json 2>err &
	watcher=$!
	for _ in $(seq 3000); do
		[ -s series ] && [ "$(wc -l <series)" -gt 1 ] && break
		sleep .02
	done
	echo >begin
	wait $watcher
	name="bytes of a process that was there"
	claims "low('bytes_written') <= T['written'] <= high('bytes_written') <= T['written'] + 1023" \
		"low('bytes_read') - 20000 <= T['read'] <= high('bytes_read')" "complete('bytes_read')"
	rm -f series
	"$USE" threads 4 300 >truth &
	"$STEMMA" run --pid $! --summary used.json 2>err
	wait
	name="4 threads of a process that was there"
	claims "near('cpu_time', s('cpu'), .01, .01)" "complete('cpu_time')" "high('cpu_time') < low('cpu_time') * Decimal('1.05')"
else
	skip_ "300 children of a process that was there" "the kernel does not tell what processes have used: $heard"
fi
sleep 60 &
watched=$!
bad=0
for signal in INT TERM HUP; do
	# A shell without job control has what is in the background ignore INT.
	env --default-signal=INT "$STEMMA" run --pid $watched --series series --summary used.json --report 2>err &
	watcher=$!
	for _ in $(seq 3000); do
		[ -s series ] && [ "$(wc -l <series)" -gt 2 ] && break
		sleep .02
	done
	kill -$signal $watcher
	wait $watcher && grep -q 'memory resident peak .*iB' err && grep -q '"exit_type": null' used.json || {
		bad=1
		break
	}
	rm -f series used.json
done
kill -0 $watched 2>>err || bad=1
kill $watched
wait $watched 2>/dev/null
[ $bad = 0 ]
result $? "who interrupts is told what there is so far, and the process goes on" err
"$STEMMA" run --pid 4194305 --report 2>err
[ $? = 125 ] && grep -q 'cannot watch process 4194305: No such process' err
result $? "a process that is not there" err
if [ "$(id -u)" != 0 ]; then
	"$STEMMA" run --pid 1 --report 2>err
	[ $? = 125 ] && grep -q 'cannot watch process 1: Operation not permitted' err
	result $? "a process of somebody else's" err
fi
"$STEMMA" run --pid 1 2>err
[ $? = 2 ] && "$STEMMA" run --pid 1 --report true 2>err
[ $? = 2 ]
result $? "--pid is used wrongly" err
mode=notify

# Where numbers are those of a container the kernel's are others: whoever listens there must not take them for its own.
if unshare -rpf --mount-proc true 2>err; then
	unshare -rpf --mount-proc "$STEMMA" doctor --quick --json 2>err | jq -e '.checks[] | select(.name == "process events") |
		.state == "limited" and (.text | contains("not available"))' >why 2>&1
	result $? "process events in a namespace of processes" why
else
	skip_ "process events in a namespace of processes" "none can be made: $(head -1 err)"
fi

# ---- the disk: hard links count once, holes not at all, what is deleted and open as long as it is
mkdir disk
cat >disk.sh <<'END'
head -c 3000000 /dev/urandom >disk/a
ln disk/a disk/b
truncate -s 1G disk/hole
exec 5>disk/gone
head -c 1000000 /dev/urandom >&5
rm disk/gone
echo bytes $(($(stat -c %b disk/a) * 512 + $(stat -Lc %b /proc/$$/fd/5) * 512 + $(stat -c %b disk) * 512))
sleep $NAP
END
used "disk space" true
OPTIONS="--watch disk --watch disk"
used "disk space" sh disk.sh
claims "v('disk_footprint_peak') == T['bytes']" "v('files_peak') == 3" "v('directories_peak') == 1"
OPTIONS=
"$STEMMA" run --watch not-there -- touch started2 2>err
[ $? = 125 ] && [ ! -e started2 ] && grep -q "cannot watch 'not-there'" err
result $? "a folder that is not there is said before the command starts" err

# ---- the files
mkdir files folder
echo 12345 >files/in
cat >files.sh <<'END'
exec 5<files/in
cat files/in files/in >folder/out.tmp
sleep .3
mv folder/out.tmp folder/out
mv folder moved
END
for mode in complete exact safe tree off; do
	rm -rf moved folder
	mkdir folder
	OPTIONS="--capture=$mode --file --interval 20ms"
	[ $mode != exact ] || OPTIONS=--exact
	used "files" sh files.sh
	jq -r --arg d "$T/" '.files[] | select(.path | startswith($d)) |
		"\(.path | ltrimstr($d)) \(.size) \(.read) \(.written) \(.how)"' used.json | grep -v -e ^truth -e ^err | sort >list
	case $mode in
	complete | exact | safe)
		printf '%s\n' 'files.sh '"$(stat -c %s files.sh)"' true false open' 'files/in 6 true false open' \
			'moved/out 12 false true open' | sort | diff - list
		;;
	*) # the descriptors that stand open; the others may be met, too
		printf '%s\n' 'files.sh '"$(stat -c %s files.sh)"' true false descriptor' 'files/in 6 true false descriptor' | sort >want
		grep -v '^folder/out' list | diff want -
		;;
	esac >why 2>&1 && [ "$(jq .files_complete used.json)" = "$(case $mode in complete | exact) echo true ;; *) echo false ;; esac)" ]
	result $? "the list of files ($mode)" why
done
mode=notify
OPTIONS=
"$STEMMA" run --file -- true 2>err
[ $? = 2 ] && grep -q -- '--file requires --summary with --summary-format=stemma' err
result $? "--file without a summary" err
used "many files" sh -c 'mkdir many; i=0; while [ $i -lt 1100 ]; do : >many/$i; i=$((i+1)); done'
: >truth
claims "len(D['files']) == 1000" "D['files_complete'] is False"

# ---- the series
"$STEMMA" run --series s.tsv --interval 20ms -- "$USE" memory 30 >truth 2>err
"$STEMMA" run --series s.jsonl --interval 20ms --summary used.json -- "$USE" cpu 300 >truth 2>err
awk -F '\t' 'NR == 1 { n = NF; if ($1 != "time" || $3 != "cpu_time") exit 1 } NF != n { exit 1 }' s.tsv &&
	$PYTHON - s.jsonl <<'END' >why 2>&1
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
assert len(lines) >= 5, len(lines)
for a, b in zip(lines, lines[1:]):
    assert a['time'] < b['time'] and a['cpu_time'] <= b['cpu_time'], (a, b)
    assert b['since'] - a['since'] > 0.019, (a, b)
assert max(l['processes'] for l in lines) == 1 and max(l['memory_resident'] for l in lines) > 500000, lines
END
result $? "series, as TSV and as JSON lines" why
"$STEMMA" run --series missing/s.tsv -- touch started3 2>err
[ $? = 125 ] && [ ! -e started3 ] && "$STEMMA" run --series s.tsv --interval 0s -- true 2>err
[ $? = 2 ]
result $? "a series that cannot be" err

"$STEMMA" run --series /dev/full -- touch started4 2>err
[ $? = 125 ] && [ ! -e started4 ] && grep -q "cannot write '/dev/full': No space left on device" err
result $? "a series that cannot be written is found out before the command starts" err
ln -s /dev/full full.jsonl
"$STEMMA" run --series full.jsonl -- sh -c 'sleep .1; exit 3' 2>err
[ $? = 3 ] && grep -q "cannot write all of 'full.jsonl': No space left on device" err
result $? "... and where that comes later it is said at the end" err
"$STEMMA" run --series s.tsv --interval 1000d -- true 2>err && "$STEMMA" run --series s.tsv --interval 5x -- true 2>err
[ $? = 2 ] && grep -q "'5x' is not a time" err && "$STEMMA" run --series s.tsv --interval 10us -- true 2>err
[ $? = 2 ] && grep -q 'the shortest is 1ms' err
result $? "intervals" err

# ---- where the summary goes
for where in missing/used.json /proc/used.json .; do
	"$STEMMA" run --summary $where -- touch started >out 2>err
	[ $? = 125 ] && [ ! -e started ] && grep -q "cannot write '$where'" err
	result $? "a summary that cannot be written to $where is found out before the command starts" err
done
(umask 027 && "$STEMMA" run --summary made.json -- true) && [ "$(stat -c %a made.json)" = 640 ]
result $? "the summary's mode is the user's"
chmod 600 made.json && "$STEMMA" run --summary made.json -- true && [ "$(stat -c %a made.json)" = 600 ] && [ "$(find . -maxdepth 1 -name '*made*')" = ./made.json ]
result $? "it takes the place of the file, and its mode"
STEMMA_HOME=/proc/nowhere "$STEMMA" run --summary used.json -- sh -c 'echo cpu 1; exit 3' >truth 2>err
[ $? = 3 ] && name="no record can be kept" && claims "v('cpu_time') > 0" "D['exit_status'] == 3" "D['run'] is None"
"$STEMMA" run -- "$STEMMA" run --summary used.json -- sh -c 'echo cpu 1; exit 4' >truth 2>err
[ $? = 4 ] && name="a run inside a run" && claims "v('cpu_time') > 0" "D['exit_status'] == 4"
"$STEMMA" run --report -- sh -c 'exit 5' >out 2>err
[ $? = 5 ] && [ ! -s out ] && grep -q '^  cpu time ' err && grep -q 'exit status 5' err
result $? "a report, on standard error, after the command" err
"$STEMMA" run --summary used.json -- /nowhere/to/be/found 2>err
[ $? = 127 ] && : >truth && name="a command that is not there" && claims "D['exit_status'] == 127"
"$STEMMA" run --orphans=keep -- true 2>err
[ $? = 2 ] && grep -q 'detach, wait, kill' err
result $? "an unknown policy" err
finish
