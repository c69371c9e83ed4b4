#!/bin/sh
# stemma watch: what comes is told once, nothing that was there is, and nothing is missed.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# watch NAME ARG...: begins one whose lines come to $T/NAME; watch_end NAME STATUS: ends it by SIGINT.
watch()
{
	name=$1
	shift
	: >"$T/$name" >"$T/$name.err"
	"$STEMMA" watch "$@" >"$T/$name" 2>"$T/$name.err" &
	eval "pid_$name=$!"
	n=0
	while ! grep -q '^stemma: watching' "$T/$name.err" && [ $n -lt 600 ] && eval "kill -0 \$pid_$name" 2>/dev/null; do
		sleep 0.05
		n=$((n + 1))
	done
}
until_lines() # NAME N: waits until so many lines have come, half a minute at most
{
	n=0
	while [ "$(wc -l <"$T/$1" 2>/dev/null || echo 0)" -lt "$2" ] && [ $n -lt 600 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	cat "$T/$1" >"$out" 2>/dev/null
	cat "$T/$1.err" >"$err" 2>/dev/null
	[ "$(wc -l <"$out")" = "$2" ]
}
watch_end()
{
	eval "kill -INT \$pid_$1; wait \$pid_$1"
	got=$?
	[ $got = "$2" ] || {
		echo "status $got, not $2" >>"$err"
		return 1
	}
}

cmd 1 watch 'from in.txt' && says "$err" 'no runs have been recorded in'
check 'no record'
echo 1 >in.txt
echo x >other.txt
cmd 0 run -- sh -c 'cat in.txt >old.txt' && cmd 2 watch && cmd 2 watch 'from' && cmd 1 watch 'from nosuch.txt' && cmd 2 watch 'since never'
check 'what is no expression, or of nothing that is known'

# ---- a version that depends on a file; each once, none of what was there, none of others ----
watch made 'from in.txt'
says "$T/made.err" 'watching; Ctrl-C ends it'
check 'it says that it watches'
cmd 0 run -- sh -c 'cat other.txt >not.txt'
cmd 0 run -- sh -c 'cat in.txt >a.txt; sort a.txt >b.txt'
until_lines made 2 && says "$out" '  made   a.txt@{1}  by cat in.txt' '  made   b.txt@{1}  by sort a.txt' && says_not "$out" old.txt && says_not "$out" not.txt
check 'new versions that depend on a file'
cmd 0 run -- sh -c 'cat b.txt >c.txt' && until_lines made 3 && says "$out" 'c.txt@{1}  by cat b.txt'
check 'at each later run'

# ---- stale: what came from the version that was replaced, at most once; what was made again is not ----
echo 22 >in.txt
cmd 0 run -- sh -c 'cat in.txt >a.txt' && until_lines made 7 && says "$out" 'stale  old.txt@{1}: came from in.txt@{1}, and there is in.txt@{2}' 'stale  b.txt@{1}: came from in.txt@{1}' 'stale  c.txt@{1}: came from in.txt@{1}' 'made   a.txt@{2}  by cat in.txt' && says_not "$out" 'stale  a.txt'
check 'results that became stale'
cmd 0 run -- sh -c 'cat in.txt >/dev/null; sort a.txt >b.txt' && until_lines made 8 && says "$out" 'made   b.txt@{2}'
check 'none twice'
# As bwa index does: a program reads a file of its own again, makes another one with it, and writes to it once more.
cat >own.py <<'END'
open('own', 'w').write(open('in.txt').read())
open('index', 'w').write(open('own').read())
open('own', 'a').write('more')
END
cmd 0 run -- sh -c "$PYTHON own.py; cat index >d.txt" && until_lines made 12 && says "$out" 'made   d.txt@{1}  by cat index' && says_not "$out" 'stale  d.txt' && says_not "$out" 'stale  index'
check 'what a program made with a file of its own is not stale by what it wrote there later'
watch_end made 0
check 'SIGINT ends it with 0'

# ---- a run that goes on: a file when it is written, before the run's end ----
mkfifo go
watch live 'from in.txt' -n 2
"$STEMMA" run -q -- sh -c 'cat in.txt >first.txt; read x <go; cat in.txt >second.txt' >/dev/null 2>&1 &
run=$!
until_lines live 1 && says "$out" 'first.txt@{1}' && kill -0 $run
check 'of a run that goes on'
echo >go
wait $run
until_lines live 2 && says "$out" 'second.txt@{1}'
check 'and what it made later'
wait "$pid_live"
check '-n ends it'

# ---- runs, executions ----
watch runs runs that exit failed
watch execs execs that exe false
cmd 0 run -- true && cmd 3 run -- sh -c '/bin/false; exit 3' && cmd 143 run -- sh -c 'kill $$'
until_lines runs 2 && says "$out" '  run    ' '  3  sh -c' '  SIGTERM  sh -c' && until_lines execs 1 && says "$out" '  ended  x' '  1  false'
check 'runs that fail; executions'
watch_end runs 0 && watch_end execs 0
check 'both end'

# ---- nothing is missed: runs that begin before it has begun, and many at once ----
mkdir many && cd many || exit 1
echo 1 >in.txt
cmd 0 run -- cat in.txt
for i in 1 2 3 4 5 6; do
	"$STEMMA" run -q -- sh -c "sleep 0.1; cat in.txt >r$i.txt" >/dev/null 2>&1 &
done
watch many 'from in.txt'
for i in 7 8 9 10 11 12; do
	"$STEMMA" run -q -- sh -c "cat in.txt >r$i.txt" >/dev/null 2>&1 &
done
n=0
while [ "$("$STEMMA" find 'from in.txt' 2>/dev/null | wc -l)" -lt 12 ] && [ $n -lt 200 ]; do
	sleep 0.1
	n=$((n + 1))
done
missing=
for i in 7 8 9 10 11 12; do
	n=0
	while ! grep -q "r$i.txt@" "$T/many" && [ $n -lt 200 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	grep -q "r$i.txt@" "$T/many" || missing="$missing $i"
done
cat "$T/many" >"$out"
cat "$T/many.err" >"$err"
[ -z "$missing" ] && [ "$(sort -k4 "$out" | awk '{ print $3 }' | sort | uniq -d | wc -l)" = 0 ]
check 'each of many at once, and once'
watch_end many 0
cd ..

# ---- JSON ----
"$STEMMA" watch --json -n 2 'from in.txt' >"$T/json" 2>"$T/json.err" &
pid_json=$!
sleep 1
n=0
while kill -0 $pid_json 2>/dev/null && [ $n -lt 20 ]; do # it says nothing when it is ready: as often as needed
	n=$((n + 1))
	"$STEMMA" run -q -- sh -c "cat in.txt >j$n.txt"
	sleep 0.5
done
wait $pid_json && cp "$T/json" "$out"
jq -s -e 'length == 2 and all(.format == 1 and .event == "made" and .certainty == "must" and (.entity.path | test("j[0-9]+.txt$")))' "$T/json" >"$T/jq" 2>>"$err"
check 'as JSON, an object a line'

# ---- it waits, and does not look ----
watch idle 'from in.txt'
eval "before=\$(awk '{ print \$14 + \$15 }' /proc/\$pid_idle/stat)"
sleep 2
eval "after=\$(awk '{ print \$14 + \$15 }' /proc/\$pid_idle/stat)"
# shellcheck disable=SC2154 # set by eval
echo "$before $after" >"$out"
[ "$before" = "$after" ]
check 'where nothing is written it takes no time'
watch_end idle 0
finish
