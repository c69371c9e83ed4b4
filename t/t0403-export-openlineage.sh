#!/bin/sh
# export: OpenLineage events against what their specification requires, and against PROV-JSON.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
from export_record import *
make(home, evtext)
h = History('01DDDDDDDDDDDDDDDDDDDDDDDD', argv=['inner'], start=20000)
for line in h.lines:
    if line['k'] == 'run': line['outer'] = RUN_A
p = h.process(); h.exec(p, ['inner'], exe='/usr/bin/inner'); h.exit(p); h.end(); h.save(home, evtext)
END
for o in '' '--all' '--certain' '/w/top.csv'; do
	# shellcheck disable=SC2086 # options
	cmd 0 export -f prov-json -o "$T/all.json" $o && cmd 0 export -f openlineage -o "$T/all.jsonl" $o && [ -s "$T/all.jsonl" ]
	check "events${o:+ of $o}"
	$PYTHON -B "$here/t/export_check.py" openlineage "$T/all.jsonl" "$T/all.json" >"$out" 2>"$err"
	got=$?
	if [ $got = 77 ]; then
		skip "events${o:+ of $o} are valid and complete" 'python3-jsonschema is not installed'
	else
		[ $got = 0 ]
		check "events${o:+ of $o} are valid and complete"
	fi
done
cmd 0 export -f openlineage 01DDDD && jq -es --arg job "/w/fit.sh 'two words' '--sep=	'" '.[0].run.facets.parent.job.name == $job and (map(.eventType) == ["START", "COMPLETE", "START", "COMPLETE"])' "$out" >"$T/jq" 2>>"$err"
check 'a run within a run has it as its parent'
finish
