#!/bin/sh
# forget and gc while others record, index and ask: nothing that was forgotten comes back, and nothing else is lost.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

runs=${STEMMA_RACES:-8}
# Each run's file has its name, so that what is left of it is found in the logs, too.
record()
{ # WRITER
	for i in $(seq "$runs"); do
		"$STEMMA" run -q --label "n=$1-$i" -- sh -c "echo $i >made-$1-$i-; cat made-$1-$i- >copy-$1-$i-" >/dev/null 2>>"$T/recorded"
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
{ # the runs that are over: label, id, outputs
	"$STEMMA" log --json -n 100000 2>/dev/null | $PYTHON -c '
import json, sys
for r in json.load(sys.stdin)["runs"]:
    print(r["labels"].get("n", "?"), r["id"], r["outputs"] if r["end"] else "open")' 2>/dev/null
}
record a &
record b &
record c &
ask log &
ask why copy-a-3- &
ask index --rebuild &
: >"$T/gone"
for _ in 1 2; do
	while :; do
		all=false
		[ -e "$T/done-a" ] && [ -e "$T/done-b" ] && [ -e "$T/done-c" ] && all=true
		ids >"$T/ids"
		while read -r label id outputs; do
			case $label in
			[ab]-3 | [ab]-6 | [ab]-8) ;;
			*) continue ;;
			esac
			[ "$outputs" != open ] && ! grep -qx "$label" "$T/gone" && "$STEMMA" forget "$id" >>"$T/forgot" 2>&1 && echo "$label" >>"$T/gone"
		done <"$T/ids"
		[ $all = false ] || break
	done
done
: >"$T/stop"
wait

cat "$T/recorded" >"$err"
[ ! -s "$T/recorded" ] && [ "$(wc -l <"$T/gone")" -ge 4 ]
check 'all was recorded, and some of it forgotten meanwhile'
ids | sort >"$T/left"
for writer in a b c; do
	for i in $(seq "$runs"); do
		grep -qx "$writer-$i" "$T/gone" || echo "$writer-$i"
	done
done | sort >"$T/wanted"
cut -d ' ' -f 1 "$T/left" | diff "$T/wanted" - >"$err"
check 'who was not forgotten is there, and nobody else'
! grep -vE ' 2$' "$T/left" >"$err"
check '... with all that it made'
while read -r label; do
	! holds "made-$label-" || echo "$label is still there" >>"$err"
done <"$T/gone"
[ ! -s "$err" ]
check 'nothing of what was forgotten is in the record'
cmd 0 fsck && cmd 0 index --rebuild && ids | sort >"$T/anew" && cmp "$T/left" "$T/anew"
check 'an index that is made anew has the same'
finish
