#!/bin/sh
# Memory that no process has, or not for long: pages of the machine's pool, files in memory, segments, and peaks of several processes
# that never come together. tests/prog/p-memory.c says how much it was; the bounds must hold it, or the figure says that it is not whole,
# and of what.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

MEMORY=$PROGS/p-memory
export STEMMA_HOME="$T/record"
cd "$T" || exit 1
OWN=4194304 # the program itself
export OWN
grep -q __tsan_init "$STEMMA" && OWN=33554432

# used NAME CASE...: runs it with $OPTIONS, and asks for what is true of all: CLAIMS, too, if they are set.
used()
{
	name=$1
	shift
	rm -f used.json
	# shellcheck disable=SC2086
	"$STEMMA" run $OPTIONS --summary used.json -- "$MEMORY" "$@" >truth 2>err </dev/null
	status=$?
	if [ $status = 77 ]; then
		skip_ "$name ($mode)" "the machine has no such memory"
		return
	fi
	[ $status = 0 ] || {
		not_ok "$name ($mode)" err
		return
	}
	$PYTHON -B "$here/t/figures.py" used.json truth "low('memory_resident_peak') <= T['memory'] + own" \
		"holds('memory_resident_peak', T['memory']) or not complete('memory_resident_peak')" \
		"holds('memory_resident_peak', T['memory']) or 'when looked at' in method('memory_resident_peak')" ${CLAIMS:+"$CLAIMS"} >why 2>&1
	result $? "$name ($mode)" why
}

pool=/proc/sys/vm/nr_overcommit_hugepages
if [ "$(cat $pool 2>/dev/null)" = 0 ] && [ -w $pool ] && echo 40 2>/dev/null >$pool; then
	# Pages of the pool are lent for as long as this test lasts; none is taken before a program touches it.
	trap 'echo 0 >$pool; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
fi
shm=
[ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ] && shm=/dev/shm/stemma-t.$$

for mode in complete tree off; do
	OPTIONS=--capture=$mode
	CLAIMS="v('memory_resident_peak') >= T['memory'] * Decimal('.5')"
	used "huge pages of the pool, given back" huge 64
	used "huge pages of the pool, kept" hugekept 64
	used "huge pages that the kernel makes" thp 64
	used "a file in memory that is written" memfd 200 600
	used "a file in memory that was mapped" mapped 100 600
	used "a segment" sysv 100 600
	# With 200 MB the four would have 380: the value is what was there together.
	CLAIMS="v('memory_resident_peak') < T['memory'] * 3"
	used "four that never have it at once" spikes 95 4 250
	CLAIMS="high('memory_resident_peak') >= T['memory'] / 2"
	if [ "$shm" ]; then
		used "a file of tmpfs, closed" file 100 600 "$shm"
		rm -f "$shm"
	else
		skip_ "a file of tmpfs, closed ($mode)" "/dev/shm is none, or is not ours to write"
	fi
done

# The recorder sees that a file in memory is made: its peak may have been between two looks, and the figure says that.
mode=complete
OPTIONS=
CLAIMS="not complete('memory_resident_peak')"
used "what no look could miss is not taken for all" memfd 200 600
# A group of the run's own has each page, whoever has it mapped.
OPTIONS="--limit memory=4G"
CLAIMS="not 'control group' in method('memory_resident_peak') or complete('memory_resident_peak')"
used "a control group has it" memfd 200 600
used "... and what was mapped" mapped 100 600
# A program without any of it is as certain as ever, whatever others on this machine do.
OPTIONS=
printf 'memory 0\n' >truth
"$STEMMA" run --summary used.json -- sh -c 'echo x >out; cat out' >/dev/null 2>err </dev/null
$PYTHON -B "$here/t/figures.py" used.json truth "complete('memory_resident_peak')" "high('memory_resident_peak') < 64 << 20" \
	"'looked' not in method('memory_resident_peak')" >why 2>&1
result $? "nothing of it" why
finish
