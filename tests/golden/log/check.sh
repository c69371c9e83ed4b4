#!/bin/sh
# check.sh EVTEXT: the segments of this folder are read as their text says, and made from it (see README.md). TAP.
evtext=$(realpath "$1") || exit 1
cd "$(dirname "$0")" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0
check() { # what, status
	n=$((n + 1))
	if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}
for segment in *.stl; do
	name=${segment%.stl}
	"$evtext" dump "$segment" >"$tmp/text" 2>"$tmp/damage"
	diff "$name.jsonl" "$tmp/text" >&2
	check "$name is read" $?
	if [ -e "$name.damage" ]; then
		diff "$name.damage" "$tmp/damage" >&2
		check "$name: damage is told" $?
	else
		cat "$tmp/damage" >&2
		[ ! -s "$tmp/damage" ]
		check "$name is whole" $?
		case $name in
		future | kinds) continue ;;            # fields have come since, which are written
		corners | keeping | told) continue ;; # what is empty at an event's end is not written any more
		esac
		case $name in
		*packed) how=pack ;;
		*) how=make ;;
		esac
		"$evtext" $how "$tmp/made" <"$name.jsonl" && cmp "$segment" "$tmp/made" >&2
		check "$name is made" $?
	fi
done
# Whoever adds a kind or a field adds it here, too: a later reader must go on reading it.
sed -n 's/^EVENT([0-9]*, \([a-z0-9_]*\), .*/\1/p; s/^\(FIELD\|TAIL\)(\([a-z0-9_]*\), [a-z0-9]*, \([a-z0-9_]*\), .*/\2 \3/p' \
	../../../src/event/events.def | while read -r kind field; do
	grep -q "\"k\":\"$kind\"[,}]${field:+.*\"$field\":}" ./*.jsonl || echo "no segment has $kind${field:+ with $field}"
done >"$tmp/lack"
cat "$tmp/lack" >&2
[ ! -s "$tmp/lack" ]
check 'every kind is there, and every field with a value' $?
bad() { # what, line
	echo "$2" | "$evtext" make "$tmp/bad" 2>"$tmp/err"
	[ $? -eq 1 ] && grep -q '^stemma-evtext: line 1: ' "$tmp/err"
	check "refused: $1" $?
}
bad 'not JSON' '{"k":'
bad 'no kind' '{"seq":1}'
bad 'unknown kind' '{"k":"acess"}'
bad 'unknown field' '{"k":"access","fiel":1}'
bad 'field of another kind' '{"k":"access","path":"x"}'
bad 'negative' '{"k":"access","file":-1}'
bad 'too large' '{"k":"access","file":18446744073709551616}'
bad 'text for a number' '{"k":"access","file":"x"}'
bad 'number for a text' '{"k":"name","path":1}'
bad 'character above U+00FF' '{"k":"name","path":"\u0100"}'
bad 'session 0' '{"k":"access","session":"0000000000000000"}'
bad 'session not hex' '{"k":"access","session":"xyz"}'
bad 'session a number' '{"k":"access","session":1}'
bad 'seq 0' '{"k":"access","seq":0}'
echo "1..$n"
