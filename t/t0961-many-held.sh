#!/bin/sh
# A program that holds very many files open and starts others: the recorder looks at all of them, and keeps nobody else waiting for
# that. What the others were given is in the record as ever.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

most=$(ulimit -Hn)
[ "$most" != unlimited ] && [ "$most" -lt 20000 ] || most=20000
held=$((most - 1000))
if [ $held -lt 5000 ]; then
	skip_ "others do not wait while a large table is looked at" "only $most files may be open here"
	skip_ "what was handed on is recorded" "the same"
	finish
	exit
fi
if ! [ "$(stat -c %s /proc/self/fd 2>/dev/null)" -gt 0 ]; then
	skip_ "others do not wait while a large table is looked at" "this kernel does not count descriptors (before Linux 6.2)"
	skip_ "what was handed on is recorded" "the same"
	finish
	exit
fi

D=$T/held
good=0
: >"$T/why"
# The best of some rounds: on a busy machine whoever has no processor waits, too.
for round in 1 2 3; do
	fresh "$D"
	rm -rf "${T:?}/home"
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -q -- "$PROGS/many-held" $held 3) >"$T/out" 2>"$T/err"
	read -r had spawn wait <"$T/out"
	echo "round $round: $had descriptors, a start took $spawn us, the longest call of another process meanwhile $wait us" >>"$T/why"
	cat "$T/err" >>"$T/why"
	# Half of the start is the look at the table as the program begins, half of it the one as it ends.
	if [ "$had" = $held ] && [ $((wait * 4)) -lt "$spawn" ]; then
		good=1
		break
	fi
done
[ $good = 1 ]
result $? "others do not wait while a large table is looked at" "$T/why"

find "$T/home" -name '*.stl' -exec "$EVTEXT" dump {} + >"$T/events"
$PYTHON -B - "$T/events" >"$T/why" 2>&1 <<'PY'
import json, sys
files, programs, given = {}, {}, set()
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['k'] == 'file':
        files[e['num']] = e.get('path', '?').split('/')[-1]
    elif e['k'] == 'exec':
        programs[e['p']] = e['argv'][0]
    elif e['k'] == 'access' and programs.get(e['p']) == 'true':
        given.add((e['p'], files.get(e['file'])))
    elif e['k'] == 'gap':
        print(e)
        sys.exit(1)
started = [p for p, a in programs.items() if a == 'true']
print(started, sorted(given, key=str))
sys.exit(not (len(started) == 3 and all((p, 'many-held.file') in given and (p, 'many-held.kept') not in given for p in started)))
PY
result $? "what was handed on is recorded" "$T/why"
finish
