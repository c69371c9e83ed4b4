#!/bin/sh
# gc while others record, index and ask: what it took out does not come back, what it had to keep is whole, and nothing is lost
# that it did not name.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

runs=${STEMMA_RACES:-8}
# Each run's files have its name, so that what is left of it is found in the logs, too. The results of every other run go away,
# so that nothing keeps these runs.
record()
{ # WRITER
	for i in $(seq "$runs"); do
		"$STEMMA" run -q --label "n=$1-$i" -- sh -c "echo $i >made-$1-$i-; cat made-$1-$i- >copy-$1-$i-" >/dev/null 2>>"$T/recorded"
		[ $((i % 2)) = 0 ] || rm "made-$1-$i-" "copy-$1-$i-"
	done
	: >"$T/done-$1"
}
ask()
{ # ARG...: again and again
	until [ -e "$T/stop" ]; do
		"$STEMMA" "$@" >/dev/null 2>&1
	done
}
ids()
{ # the runs: label, id, outputs
	"$STEMMA" log --json -n 100000 2>/dev/null | $PYTHON -c '
import json, sys
for r in json.load(sys.stdin)["runs"]:
    print(r["labels"].get("n", "?"), r["id"], r["outputs"] if r["end"] else "open")' 2>/dev/null
}
collect()
{ # ARG...: appends the runs that gc took out
	"$STEMMA" gc --json --older-than 2000-01-01 --max-size 1 "$@" 2>>"$T/collected" | $PYTHON -c '
import json, sys
try:
    for r in json.load(sys.stdin)["runs"]:
        print(r["id"])
except ValueError:
    pass' >>"$T/took"
}
: >"$T/took"
: >"$T/seen"
record a &
record b &
record c &
ask log &
ask why copy-a-4- &
ask index --rebuild &
until [ -e "$T/done-a" ] && [ -e "$T/done-b" ] && [ -e "$T/done-c" ]; do
	ids | cut -d ' ' -f 1,2 >>"$T/seen"
	collect
done
ids | cut -d ' ' -f 1,2 >>"$T/seen"
: >"$T/stop"
wait

sort -u "$T/took" >"$T/gone"
cat "$T/recorded" >"$err"
[ ! -s "$T/recorded" ]
check 'all was recorded'
ids | sort >"$T/left"
for writer in a b c; do
	for i in $(seq 2 2 "$runs"); do
		grep -q "^$writer-$i [^ ]* 2$" "$T/left" || echo "$writer-$i: $(grep "^$writer-$i " "$T/left")"
	done
done >"$err"
[ ! -s "$err" ]
check 'a run whose results are there is kept, with all that it made'
cut -d ' ' -f 2 "$T/left" | sort | comm -12 - "$T/gone" >"$err"
[ ! -s "$err" ]
check "none of the $(wc -l <"$T/gone") runs that it took out meanwhile is there"
sort -u "$T/seen" | while read -r label id; do
	grep -q " $id " "$T/left" || grep -qx "$id" "$T/gone" || echo "$label $id"
done >"$err"
[ ! -s "$err" ]
check 'no run is gone that it did not name'
: >"$err"
sort -u "$T/seen" | while read -r label id; do
	! grep -qx "$id" "$T/gone" || ! holds "made-$label-" || echo "$label is still there"
done >"$err"
[ ! -s "$err" ]
check 'nothing of what it took out is in the logs'
cmd 0 fsck && cmd 0 index --rebuild && ids | sort >"$T/anew" && cmp "$T/left" "$T/anew"
check 'an index that is made anew has the same'

# When nobody records any more, it takes out the others.
collect
sort -u "$T/took" >"$T/gone"
ids | sort >"$T/left"
! grep -E '^[abc]-[0-9]*[13579] ' "$T/left" >"$err" && [ "$(wc -l <"$T/gone")" -ge 3 ] && [ "$(grep -c ' 2$' "$T/left")" = $((runs / 2 * 3)) ]
check 'when nobody records any more it takes out all that nothing keeps'
finish
