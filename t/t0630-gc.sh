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
cmd 2 gc --older-than soon && says "$err" "'soon' is not a time" && cmd 2 gc --max-size much && cmd 2 gc --max-size 1X && cmd 2 gc --max-size -1 && cmd 2 gc --max-size 1KK
check 'what makes no sense'
cmd 0 gc --older-than 90d && says "$err" 'nothing to remove' && cmd 0 gc --max-size 2G && says "$err" 'nothing to remove' && cmd 0 log && lines "$out" 5
check 'nothing is old, nothing too much'
cmd 0 gc -n --older-than now && says "$out" 'nothing-left' && says "$out" 'cat final' && says_not "$out" 'cat mid' && says_not "$out" 'echo one' && says "$out" 'would remove' && says "$err" '2 runs are kept' && cmd 0 log && lines "$out" 5
check 'a dry run: what a file that is there came from stays, though what was between is gone'
cmd 0 gc -n --json --older-than now && json '.format == 1 and .dry_run and (.runs | length) == 2 and .kept == 2 and (.runs | map(.bytes > 100) | all) and .events > 10'
check 'JSON'
STEMMA_GC_OLDER_THAN=now cmd 0 gc -n && says "$out" 'nothing-left' && STEMMA_GC_MAX_SIZE=1 cmd 0 gc -n && says "$out" 'nothing-left' && STEMMA_GC_OLDER_THAN=now cmd 0 gc -n --older-than 90d && says "$err" 'nothing to remove'
check 'the settings, and the options over them'
cmd 0 why --json final && jq -S .answers "$out" >"$T/why"
cmd 0 gc --older-than now && says "$out" 'removed' && cmd 0 log && lines "$out" 3 && says_not "$out" 'nothing-left' && ! holds nothing-left && cmd 0 why --json final && jq -S .answers "$out" | cmp - "$T/why" && cmd 0 lineage final && says "$out" 'echo one' && cmd 0 fsck
check 'it is done, and the rest is as it was'
cmd 0 gc --older-than now && says "$err" 'nothing to remove'
check 'again: nothing more'
"$STEMMA" run -- sh -c 'echo older >old1; rm old1' 2>>"$err" && "$STEMMA" run -- sh -c 'echo newer >new1; rm new1' 2>>"$err"
size=$(cat "$STEMMA_HOME"/logs/*/*/*.stl | wc -c)
cmd 0 gc --max-size $((size - 10)) && cmd 0 log && says "$out" 'echo newer' && says_not "$out" 'echo older' && cmd 0 gc --max-size 1 && cmd 0 log && says_not "$out" 'echo newer' && says "$out" 'cat mid'
check 'by size: the oldest go first, until it fits'
"$STEMMA" run -- sh -c 'echo moved >before' 2>>"$err" && "$STEMMA" run -- mv before after 2>>"$err" && "$STEMMA" run -- sh -c 'echo gone >gone; rm gone' 2>>"$err"
cmd 0 gc --older-than now && cmd 0 gc --older-than now && says "$err" 'nothing to remove' && cmd 0 log && says "$out" 'echo moved' && says "$out" 'mv before after' && says_not "$out" 'echo gone' && cmd 0 why after && says "$out" 'echo moved'
check 'the run that gave a file its name stays with it'
rm after && cmd 0 gc --older-than now && cmd 0 log && says_not "$out" 'mv before after' && says_not "$out" 'echo moved'
check 'and goes with it'
cp final copy && mv copy final && cmd 0 gc --older-than now && cmd 1 log
check 'another file has taken the place: its record may go'
"$STEMMA" run -- sh -c 'echo two >other' 2>>"$err" && cmd 0 gc --older-than now && says "$err" '1 run is kept' && cmd 0 gc --force --older-than now && cmd 1 log && cmd 1 why other
check '--force takes it'
[ "$(find "$STEMMA_HOME/logs" -type f ! -name '*.stl' | wc -l)" = 0 ] && cmd 0 fsck
check 'nothing lies about'

# By itself.
gone() { "$STEMMA" run -- sh -c "echo $1 >tmp; rm tmp" 2>>"$err"; }
auto() { STEMMA_GC_AUTO=daily STEMMA_GC_OLDER_THAN=now cmd "$@"; }
rm -rf "$STEMMA_HOME"
gone word-one && "$STEMMA" run -- sh -c 'echo stays >kept' && cmd 0 config gc_auto && is "$out" off && STEMMA_GC_OLDER_THAN=now cmd 0 log && lines "$out" 3 && STEMMA_GC_AUTO=daily cmd 0 log && lines "$out" 3 && [ ! -e "$STEMMA_HOME/gc" ] && cmd 0 log && lines "$out" 3
check 'not where it is off, and not without a budget'
auto 0 log --no-index && auto 0 config && auto 0 gc -n && cmd 0 log && lines "$out" 3 && [ ! -e "$STEMMA_HOME/gc" ]
check 'nor by commands that do not index, nor by gc'
"$STEMMA" run -- env STEMMA_GC_AUTO=daily STEMMA_GC_OLDER_THAN=now "$STEMMA" log >"$out" 2>>"$err" && says "$out" word-one && "$STEMMA" --store "$T/other" run -- env STEMMA_GC_AUTO=daily STEMMA_GC_OLDER_THAN=now "$STEMMA" --store "$STEMMA_HOME" log >"$out" 2>>"$err" && says "$out" word-one && [ ! -e "$STEMMA_HOME/gc" ] && cmd 0 forget @ && cmd 0 log && lines "$out" 3 && says "$out" word-one
check 'nor inside a run'
auto 0 log && says "$out" word-one && says "$err" 'stemma: gc: 1 run was forgotten' && cmd 0 log && lines "$out" 2 && says "$out" stays && ! holds word-one && [ "$(stat -c %a "$STEMMA_HOME/gc")" = 600 ] && cmd 0 fsck
check 'a command that indexes: it answers, then what is old goes'
gone second && auto 0 log && says "$out" second && [ ! -s "$err" ] && auto 0 log && says "$out" second && auto 0 index && [ ! -s "$err" ]
check 'once a day'
touch -d '25 hours ago' "$STEMMA_HOME/gc" && auto 0 index && says "$err" '1 run was forgotten' && cmd 0 log && lines "$out" 2 && [ -n "$(find "$STEMMA_HOME/gc" -mmin -10)" ]
check 'the next day again'
gone third && touch -d '25 hours ago' "$STEMMA_HOME/gc" && mkfifo "$T/fifo" && { "$STEMMA" run -- sh -c "echo >$T/begun; read x <$T/fifo" 2>>"$err" & } && pid=$! && while [ ! -e "$T/begun" ]; do sleep 0.05; done
auto 0 log && says "$out" third && [ ! -s "$err" ] && auto 0 log && says "$out" third
good=$?
echo >"$T/fifo"
wait "$pid"
cmd 0 log && says "$out" third && [ $good = 0 ] && [ -z "$(find "$STEMMA_HOME/gc" -mmin -600)" ]
check 'while something is being recorded there it waits, and says nothing'
touch -d '25 hours ago' "$STEMMA_HOME/gc" && STEMMA_GC_AUTO=daily STEMMA_GC_MAX_SIZE=much cmd 0 log && says "$err" "gc_auto: 'much' is not a size" && says "$out" third
check 'a budget that makes no sense is said'
finish
