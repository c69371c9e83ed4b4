#!/bin/sh
# gc: what is old or too much goes, but not what files that are still there came from.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cmd 1 gc --older-than 90d && cmd 2 gc && cmd 2 gc x --max-size 1
check 'no record, and nothing asked for'
if ! "$STEMMA" run -- sh -c 'echo one >mid' 2>"$err"; then
	skip 'gc' "nothing can be recorded here: $(head -n 1 "$err")"
	finish
	exit
fi
"$STEMMA" run -- sh -c 'cat mid >final' 2>>"$err"
"$STEMMA" run -- sh -c 'echo nothing-left >junk' 2>>"$err"
"$STEMMA" run -- sh -c 'cat final >/dev/null; : only-read' 2>>"$err"
rm -f junk mid
cmd 2 gc --older-than soon && says "$err" "'soon' is no time" && cmd 2 gc --max-size much && cmd 2 gc --max-size 1X && cmd 2 gc --max-size -1 && cmd 2 gc --max-size 1KK
check 'what makes no sense'
cmd 0 gc --older-than 90d && says "$err" 'nothing is to go' && cmd 0 gc --max-size 2G && says "$err" 'nothing is to go' && cmd 0 log && lines "$out" 5
check 'nothing is old, nothing too much'
cmd 0 gc -n --older-than now && says "$out" 'nothing-left' && says "$out" 'cat final' && says_not "$out" 'cat mid' && says_not "$out" 'echo one' && says "$out" 'would take out' && says "$err" '2 runs are kept' && cmd 0 log && lines "$out" 5
check 'a dry run: what a file that is there came from stays, though what was between is gone'
cmd 0 gc -n --json --older-than now && json '.format == 1 and .dry_run and (.runs | length) == 2 and .kept == 2 and (.runs | map(.bytes > 100) | all) and .events > 10'
check 'JSON'
STEMMA_GC_OLDER_THAN=now cmd 0 gc -n && says "$out" 'nothing-left' && STEMMA_GC_MAX_SIZE=1 cmd 0 gc -n && says "$out" 'nothing-left' && STEMMA_GC_OLDER_THAN=now cmd 0 gc -n --older-than 90d && says "$err" 'nothing is to go'
check 'the settings, and the options over them'
cmd 0 why --json final && jq -S .answers "$out" >"$T/why"
cmd 0 gc --older-than now && says "$out" 'took out' && cmd 0 log && lines "$out" 3 && says_not "$out" 'nothing-left' && ! LC_ALL=C grep -rqaF nothing-left "$STEMMA_HOME" && cmd 0 why --json final && jq -S .answers "$out" | cmp - "$T/why" && cmd 0 lineage final && says "$out" 'echo one' && cmd 0 fsck
check 'it is done, and the rest is as it was'
cmd 0 gc --older-than now && says "$err" 'nothing is to go'
check 'again: nothing more'
"$STEMMA" run -- sh -c 'echo older >old1; rm old1' 2>>"$err" && "$STEMMA" run -- sh -c 'echo newer >new1; rm new1' 2>>"$err"
size=$(cat "$STEMMA_HOME"/logs/*/*/*.stl | wc -c)
cmd 0 gc --max-size $((size - 10)) && cmd 0 log && says "$out" 'echo newer' && says_not "$out" 'echo older' && cmd 0 gc --max-size 1 && cmd 0 log && says_not "$out" 'echo newer' && says "$out" 'cat mid'
check 'by size: the oldest go first, until it fits'
"$STEMMA" run -- sh -c 'echo moved >before' 2>>"$err" && "$STEMMA" run -- mv before after 2>>"$err" && "$STEMMA" run -- sh -c 'echo gone >gone; rm gone' 2>>"$err"
cmd 0 gc --older-than now && cmd 0 gc --older-than now && says "$err" 'nothing is to go' && cmd 0 log && says "$out" 'echo moved' && says "$out" 'mv before after' && says_not "$out" 'echo gone' && cmd 0 why after && says "$out" 'echo moved'
check 'the run that gave a file its name stays with it'
rm after && cmd 0 gc --older-than now && cmd 0 log && says_not "$out" 'mv before after' && says_not "$out" 'echo moved'
check 'and goes with it'
cp final copy && mv copy final && cmd 0 gc --older-than now && cmd 1 log
check 'another file has taken the place: its record may go'
"$STEMMA" run -- sh -c 'echo two >other' 2>>"$err" && cmd 0 gc --older-than now && says "$err" '1 run is kept' && cmd 0 gc --force --older-than now && cmd 1 log && cmd 1 why other
check '--force takes it'
[ "$(find "$STEMMA_HOME/logs" -type f ! -name '*.stl' | wc -l)" = 0 ] && cmd 0 fsck
check 'nothing lies about'
finish
