#!/bin/sh
# diff --trace on real programs: pairs of runs whose first divergence is known by construction (tests/prog/pairs: a mark
# in the source says the line), in both orders, with all that was traced and with what reached nothing taken back.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$T/work" || exit 1
echo 'int main(void) { return 0; }' >one.c
if ! "$STEMMA" cc --operands gcc -g one.c -o one >"$out" 2>&1 || ! mkdir traces || ! STEMMA_TRACE=$PWD/traces ./one; then
	echo "1..0 # SKIP programs cannot be traced here: $(head -n 1 "$out")"
	exit 0
fi

# traced PROGRAM DIR ARGS: its output is not asked for
traced()
{
	rm -rf "$2" && mkdir "$2"
	# shellcheck disable=SC2086,SC3045 # arguments; of any shell that is here
	(ulimit -c 0 && STEMMA_TRACE=$PWD/$2 STEMMA_TRACE_MODE=$mode "./$1" $3) >/dev/null 2>&1
	true
}

# told A B LINE KIND OUT1 OUT2: what diff says of the two. Where what reached nothing is taken back, it may also say that
# they part in that, and that the answer is partial.
first='[.threads[] | select(.divergences_total > 0)][0].divergences[0]'
told()
{
	"$STEMMA" diff --trace --json "$1" "$2" >"$out" 2>>"$err"
	[ $mode = full ] || ! jq -e "$first.kind == \"silent\" and ([.threads[].partial] | any)" "$out" >/dev/null || return 0
	case $4 in
	same) json '[.threads[].verdict] | unique == ["same"]' ;;
	data) json "[.threads[] | select(.verdict != \"same\") | [.verdict, .data.a.place.line]] == [[\"data\", $3]]" ;;
	build) json '[.threads[] | [.verdict, .build_differs]] | unique == [["same", true]]' ;;
	order) json "$first | [.place.line, .kind] == [$3, \"order\"]" &&
		{ [ -z "$5" ] || json "$first | [.a.next.place.function, .b.next.place.function] == [\"$5\", \"$6\"]"; } ;;
	*) json "$first | [.place.line, .kind, .a.at.outcome, .b.at.outcome] == [$3, \"$4\", \"$5\", \"$6\"]" ;;
	esac
}

for source in "$here"/tests/prog/pairs/*.c; do
	name=$(basename "$source" .c)
	link=$(sed -n 's/^ \* LINK //p' "$source")
	other=$(sed -n 's/^ \* BUILD //p' "$source")
	: >"$out" 2>"$err"
	# shellcheck disable=SC2086 # options
	"$STEMMA" cc --operands gcc -g -O0 -w "$source" -o "$name" $link >"$out" 2>"$err" && "$STEMMA" cc --operands gcc -g -O0 -w $other "$source" -o "$name.b" $link >>"$out" 2>>"$err"
	check "$name is built"
	grep '^ \* PAIR ' "$source" | sed 's/^ \* PAIR //; s/ \*\/$//' >pairs
	while IFS='|' read -r head second kind one two <&3; do
		pair=${head%%:*} args=${head#*: } kind=$(echo $kind) one=$(echo $one) two=$(echo $two)
		line=$(grep -n "@$pair\b" "$source" | head -n 1 | cut -d : -f 1)
		: >"$err"
		wrong=0
		for mode in full lazy; do
			if traced "$name" a "$args" && traced "$name.b" b "$second" && told a b "$line" "$kind" "$one" "$two" && told b a "$line" "$kind" "$two" "$one"; then
				continue
			fi
			echo "in mode $mode, wanted line $line $kind $one $two" >>"$err"
			jq -c '.threads[] | [.verdict, .divergences[0].text, .notes]' "$out" >>"$err"
			wrong=1
			break
		done
		[ $wrong = 0 ]
		check "$name: $pair"
	done 3<pairs
done
finish
