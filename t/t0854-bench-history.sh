#!/bin/sh
# bench history: twenty benchmarks of one command. At the eleventh the program is another one, built with another flag of
# another commit: that is found, with what changed. Noise from benchmark to benchmark, and one outlier, are no change.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
if ! command -v gcc >/dev/null 2>&1 || ! command -v git >/dev/null 2>&1; then
	skip 'the history of a benchmark' 'no gcc or no git'
	finish
fi

# Of benchmark i: time is 1 (slow: 1.2) with up to 2 % of noise; size stays but for the fifth; steady never changes.
cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	int i = atoi(getenv("LANG_I")), k = atoi(getenv("LANG_K"));
	printf("time: %.4f\n", (SLOW ? 1.2 : 1.0) + 0.005 * (i * 7 % 5) + 0.001 * k);
	printf("size: %d\n", i == 5 ? 900 : 100 + i * 3 % 4);
	printf("steady: 42\n");
	return 0;
}
END
commit()
{
	git -c user.name=me -c user.email=me@example.org commit -q -m "$1"
}
git init -q . && printf 'record\nprog\n' >.gitignore && git add . && commit one
first=$(git rev-parse HEAD)
"$STEMMA" cc gcc -DSLOW=0 -o prog prog.c
for i in $(seq 1 20); do
	if [ "$i" = 11 ]; then
		echo '/* slower */' >>prog.c && git add prog.c && commit two
		second=$(git rev-parse HEAD)
		"$STEMMA" cc gcc -DSLOW=1 -o prog prog.c
	fi
	LANG_I=$i LANG_K=1 "$STEMMA" bench run -n 2 --json -- ./prog >"$T/ran.$i" 2>"$err" || break
done
[ -s "$T/ran.20" ]
check 'twenty benchmarks'
since=$(jq -r .bench "$T/ran.11")
cmd 0 bench history --json && cp "$out" "$T/j" && json '(.benches | length) == 20 and .benchmark == "./prog" and ([.series[].name] | sort) == ["size", "steady", "time", "wall time"] and all(.series[]; .judged)'
check 'all benchmarks of the command, and what they gave'
json '.series[] | select(.name == "time") | (.changes | length) == 1 and .noise < 0.02' && json ".series[] | select(.name == \"time\") | .changes[0] | .bench == \"$since\" and .p < 0.01 and ((.before - 1.011) | fabs) < 0.006 and ((.after - 1.211) | fabs) < 0.006"
check 'the change is found, at its benchmark, with its size'
# changed FILTER: so it is of what changed there.
changed()
{
	json ".series[] | select(.name == \"time\") | .changes[0].changed | $1"
}
changed '[.[] | select(.name == "binary")] | length == 1 and .[0].of == "invariant" and (.[0].before | startswith("sha256:")) and .[0].before != .[0].after' && changed '[.[] | select(.of == "build" and .name == "command")][0] | (.before | contains("-DSLOW=0")) and (.after | contains("-DSLOW=1"))' && changed "[.[] | select(.of == \"build\" and .name == \"commit\")][0] | .before == \"$first\" and .after == \"$second\""
check 'with the program, the flag and the commit that changed there'
changed 'all(.[]; .name | test("LANG_") | not)'
check 'what is another in each benchmark is no cause'
json 'all(.series[] | select(.name == "size" or .name == "steady"); .changes == [])' && json '.series[] | select(.name == "steady") | .noise == 0'
check 'an outlier, noise and what stays are no change'
cmd 0 bench history && says "$out" '20 benchmarks of ./prog, 40 runs, ' 'time: 1.011 → 1.211 (+19.8 %) since bench:' '  invariant binary: sha256:' '  build command: gcc -DSLOW=0 -o prog prog.c → gcc -DSLOW=1 -o prog prog.c' "  build commit: $(echo "$first" | cut -c1-12)… → $(echo "$second" | cut -c1-12)…" ' % between benchmarks are noise' && says "$out" 'size: no change; ' && says "$out" 'steady: no change; differences up to 0 % between benchmarks'
check 'as a text'
cmd 0 bench history "bench:$(echo "$since" | cut -c19-26)" --json && jq -S . "$out" >"$T/a" && jq -S . "$T/j" | cmp "$T/a" -
check 'asked by any of its benchmarks it is the same'

# ---- few, others, none ----
for i in 1 2 3; do
	LANG_I=$i LANG_K=$i "$STEMMA" bench run -n 1 -- ./prog other >/dev/null 2>"$err" || break
done
cmd 0 bench history && says "$out" '3 benchmarks of ./prog other, 3 runs' 'time: 3 benchmarks; fewer than 10 are not judged' && cmd 0 bench history --json && json 'all(.series[]; .judged == false and .changes == [])'
check 'another command is another benchmark; of few nothing is told'
cmd 1 bench run -n 1 -- sh -c 'exit 3' && cmd 1 bench history && says "$err" 'succeeded' && cmd 1 bench history bench:NOSUCH && cmd 2 bench history @ && cmd 2 bench history --by-run && cmd 2 bench history -n 3 && cmd 2 bench history bench: bench: && cmd 1 --store "$T/nothing" bench history
check 'what has no history'
finish
