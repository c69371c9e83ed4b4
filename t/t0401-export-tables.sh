#!/bin/sh
# export: CSV and TSV against what PROV-JSON has, read by Python and by SQLite.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
from export_record import *
make(home, evtext)
END
cmd 0 export -f prov-json -o "$T/all.json" --all --fork
check 'PROV-JSON to compare with'
for f in csv tsv; do
	cmd 0 export -f $f -o "$T/$f" --all --fork && [ ! -s "$out" ] && [ "$(cd "$T/$f" && echo *)" = "activity.$f agent.$f csv-metadata.json entity.$f relation.$f" ] &&
		$PYTHON -B "$here/t/export_check.py" tables "$T/$f" $f "$T/all.json" >"$out" 2>"$err"
	check "$f: every value of PROV-JSON, in columns of a type"
done
grep -c "$(printf '\r')\$" "$T/csv/agent.csv" >"$out" && [ "$(cat "$out")" = "$(wc -l <"$T/csv/agent.csv")" ]
check 'csv: lines end as RFC 4180 says'
if command -v sqlite3 >/dev/null; then
	sqlite3 -csv :memory: ".import $T/csv/relation.csv r" ".import $T/csv/entity.csv e" 'SELECT count(*) FROM r' 'SELECT count(*) FROM e' >"$out" 2>"$err" &&
		jq -r '([to_entries[] | select(.key as $k | ["prefix", "agent", "entity", "activity"] | index($k) | not) | .value | length] | add), (.entity | length)' "$T/all.json" >"$T/want" && diff "$T/want" "$out" >>"$err" && [ ! -s "$err" ]
	check 'csv: SQLite reads as many rows'
else
	skip 'csv: SQLite reads as many rows' 'sqlite3 is not installed'
fi
# A directory is made whole or not at all, and nothing is written over.
mkdir "$T/there" "$T/empty" && touch "$T/there/file" && cmd 125 export -f csv -o "$T/there" && says "$err" 'File exists' && [ "$(ls "$T/there")" = file ] && cmd 0 export -f csv -o "$T/empty" && [ -s "$T/empty/entity.csv" ]
check 'only an empty directory gives way'
cmd 125 export -f csv -o "$T/no/such" && cmd 2 export -f csv && cmd 125 export -f tsv -o "$T/there/file" && [ ! -e "$T/no" ] && [ -z "$(find "$T/there" -name 'file.*')" ]
check 'mistakes leave nothing'
finish
