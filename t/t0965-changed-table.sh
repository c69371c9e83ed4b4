#!/bin/sh
# A descriptor that is closed, and whose number is used again, while a large table is looked at: what was seen there first does not
# get the name of what is there later.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

most=$(ulimit -Hn)
[ "$most" != unlimited ] && [ "$most" -lt 6000 ] || most=6000
held=$((most - 1000))
if [ $held -lt 2000 ]; then
	skip_ "no object has the name of another" "only $most files may be open here"
	finish
	exit
fi
D=$T/churn
fresh "$D"
(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -q -- "$PROGS/many-churn" $held 15) >"$T/out" 2>"$T/err"
[ "$(cat "$T/out")" = $held ]
result $? "the program runs" "$T/err"

find "$T/home" -name '*.stl' -exec "$EVTEXT" dump {} + >"$T/events"
$PYTHON -B - "$T/events" >"$T/why" 2>&1 <<'PY'
import json, sys
pipes, wrong = 0, []
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e['k'] != 'file':
        continue
    path = e.get('path')
    if e['kind'] == 1: # a regular file
        if path and path.startswith('pipe:'):
            wrong.append(e)
        continue
    if e['kind'] not in (2, 3): # a named pipe, a pipe
        continue
    pipes += 1
    if path and path.startswith('/') or path and path.startswith('pipe:') and path != 'pipe:[%d]' % e['ino']:
        wrong.append(e)
print(pipes, 'pipes;', len(wrong), 'with the name of something else:')
print(*wrong, sep='\n')
sys.exit(bool(wrong) or pipes < 2)
PY
result $? "no object has the name of another" "$T/why"
finish
