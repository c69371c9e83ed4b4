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
	used "a session of its own" "$USE" session 200
	claims "near('cpu_time', s('cpu'), 0, .03)"
	used "a static program's memory" "$USE-static" memory 100
	claims "holds('memory_resident_peak', $peak)" "high('memory_resident_peak') <= 1.1 * float(low('memory_resident_peak'))"
	used "a spike of memory" "$USE" spike 64 5
	claims "holds('memory_resident_peak', $peak)" "high('memory_resident_peak') <= 1.1 * float(low('memory_resident_peak'))"
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
		used "children that nobody waits for" "$USE" ignored 10 20
		claims "complete('cpu_time') is False or near('cpu_time', s('cpu'), 0, .1)"
		used "three large children" "$USE" three 40
		claims "low('memory_resident_peak') <= $peak * 1.01" "not complete('memory_resident_peak')"
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
		claims "holds('memory_resident_peak', $peak)" "high('memory_resident_peak') <= 1.1 * float(low('memory_resident_peak'))"
		used "memory copied on write" "$USE" cow 60 4
		claims "holds('memory_resident_peak', $peak)"
		used "shared memory" "$USE" shm 60 5
		claims "low('memory_shared_peak') <= 62 << 20 and high('memory_shared_peak') >= 60 << 20" "holds('memory_resident_peak', $peak)"
		;;
	esac
done
OPTIONS=
mode=notify

# ---- who outlives the command
used "a daemon, as it is when the command ends" env P_USE_TRUTH="$T/daemon" "$USE" daemon 200 50
claims "len(D['escaped']) == 1 and 'p-use' in D['escaped'][0]" "v('cpu_time') >= s('cpu')"
for _ in $(seq 200); do
	[ -s daemon ] && ! grep -q 'figures up to' used.json && break
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
OPTIONS=

# ---- a process that is there already
"$USE" cpu 700 >truth &
"$STEMMA" run --pid $! --summary used.json 2>err
[ $? = 0 ] && wait && name="a process that was there" && mode=pid && claims "low('cpu_time') <= s('cpu') * 102 / 100 and s('cpu') <= high('cpu_time')" "not complete('cpu_time')" \
	"D['exit_status'] == 0" "v('memory_resident_peak') > 0"
sleep 60 &
watched=$!
bad=0
for signal in INT TERM HUP; do
	# A shell without job control has what is in the background ignore INT.
	env --default-signal=INT "$STEMMA" run --pid $watched --series series --summary used.json --report 2>err &
	watcher=$!
	for i in $(seq 500); do
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
sleep 0.4
END
used "disk space" true
OPTIONS="--watch disk --watch disk"
used "disk space" sh disk.sh
claims "v('disk_footprint_peak') == T['bytes']" "v('files_peak') == 3" "v('directories_peak') == 1"
OPTIONS=
"$STEMMA" run --watch not-there -- touch started2 2>err
[ $? = 125 ] && [ ! -e started2 ] && grep -q "cannot watch 'not-there'" err
result $? "a folder that is not there is said before the command starts" err

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

# ---- where the summary goes
for where in missing/used.json /proc/used.json .; do
	"$STEMMA" run --summary $where -- touch started >out 2>err
	[ $? = 125 ] && [ ! -e started ] && grep -q "cannot write '$where'" err
	result $? "a summary that cannot be written to $where is found out before the command starts" err
done
(umask 027 && "$STEMMA" run --summary made.json -- true) && [ "$(stat -c %a made.json)" = 640 ]
result $? "the summary's mode is the user's"
chmod 600 made.json && "$STEMMA" run --summary made.json -- true && [ "$(stat -c %a made.json)" = 600 ] && [ "$(ls -A | grep -c made)" = 1 ]
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
