#!/bin/sh
# trust: six benchmark programs, ten runs each, a claim of each, and every kind of error in it (examples/benchmarks): what
# T must be is counted from what the programs print. Then claims of several runs, tolerances, and what cannot be judged.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

export STEMMA
if RUNS=${RUNS:-10} sh "$here/examples/benchmarks/errors.sh" "$T/bench" >"$out" 2>"$err"; then lines "$out" 8; else false; fi
check 'the table of errors is made'
cp "$out" "$T/table"
cd "$T/bench" || exit 1
# trust FILE FILTER: the JSON of a judgement.
judged()
{
	jq -e "$2" "$1.json" >"$T/jq" 2>>"$err" || {
		echo "not so of $1: $2" >>"$err"
		cat "$1.err" >>"$err"
		return 1
	}
}
for program in kmeans fuzzy apriori eclat dbscan dtree; do
	case $program in
	kmeans) set -- 2 -k 4 -s 7 points.txt ;;
	fuzzy) set -- 2 -k 4 -m 2.0 points.txt ;;
	dbscan) set -- 2 -e 0.35 -m 5 points.txt ;;
	dtree) set -- 1 -d 4 points.txt ;;
	*) set -- 1 -s 0.0075 baskets.txt ;;
	esac
	parameters=$1
	shift
	results=$("./$program" "$@" | cut -d: -f1 | sort -u | wc -l)
	inputs=$((parameters + 1))
	near="def near(x): . - x | fabs < 1e-9; .trust | near"
	judged "$program.correct" ".trust == 1 and .reproducible and .differences == [] and (.runs | length) == ${RUNS:-10}" &&
		judged "$program.correct" ".results_factor.seen == $results and .inputs_factor.seen == $inputs"
	check "$program: as it was, T is 1"
	judged "$program.changed-result" "$near(1 - 1 / $results)" && judged "$program.changed-result" '[.differences[] | .of] == ["result"] and .reproducible == false'
	check "$program: a changed result"
	judged "$program.changed-parameter" "$near(1 - 1 / $inputs)" && judged "$program.changed-parameter" '[.differences[] | [.of, .kind]] == [["parameter", "differs"]]'
	check "$program: a changed parameter"
	judged "$program.missing-input" "$near(1 - 1 / $inputs)" && judged "$program.missing-input" '[.differences[] | [.of, .kind]] == [["input", "not claimed"]]'
	check "$program: an input that the claim does not name"
	judged "$program.wrong-input" ".trust < 1 and .inputs_factor.differ == 1 and .reproducible == false" && judged "$program.wrong-input" 'any(.differences[]; .of == "input" and .kind == "differs")'
	check "$program: another version of the input"
	judged "$program.stale-binary" '.trust == 1 and .reproducible == false and any(.differences[]; .of == "invariant" and .name == "binary")'
	check "$program: another program of the name"
	judged "$program.other-library" '.trust == 1 and .reproducible == false and [.differences[] | .name] == ["library.libdata.so"]'
	check "$program: another library"
done
[ "$(grep -c '1\*' "$T/table")" = 6 ]
check 'the table marks what T does not see'

# ---- several runs, tolerances ----
cd "$T/work" || exit 1
cat >timer <<'END'
#!/bin/sh
read -r n <count
echo $((n + 1)) >count
echo "time: 1.0$n s"
echo "answer: 42"
END
chmod +x timer
echo 1 >count
cmd 0 bench run -n 5 --json -- ./timer && json '.results.time | .n == 5 and .median == 1.03 and .min == 1.01 and .max == 1.05 and (.same | not)' && json '.results.answer.same and .runs[0].id != null and .failed == 0'
check 'bench: median and spread'
claim()
{
	printf '{"format": 1, "results": {"answer": 42, "time": %s}, "inputs": {"count": null, "timer": null}}\n' "$1" >claim.json
}
claim 1.03 && cmd 1 trust bench: --claim claim.json --json && json '.results_factor.value == 1'
check 'a number is compared with the median'
cmd 1 trust bench: --claim claim.json && says "$out" 'time: the runs do not agree: ' && says_not "$out" 'answer: the runs do not agree'
check 'that the runs do not agree is said'
claim 1.04 && cmd 1 trust bench: --claim claim.json --tolerance 2% --json && json '.results_factor.value == 0.5 and .results_factor.value_eps == 1' && claim '{"value": 1.05, "statistic": "max"}' && cmd 1 trust bench: --claim claim.json --json && json '.results_factor.value == 1' && claim '{"value": 1.04, "tolerance": 0.001}' && cmd 1 trust bench: --claim claim.json --tolerance 50% --json && json '.results_factor.value_eps == 0.5'
check 'tolerances, and other figures than the median'
claim '[1.05, 1.01, 1.02, 1.04, 1.03]' && cmd 1 trust bench: --claim claim.json --json && json '.results_factor.value == 0.5 and .results_factor.value_eps == 1'
check 'all values, in whatever order'
cmd 0 trust bench: && says "$out" '5 runs on ' && says "$out" 'answer: 42'
check 'without a claim: what was seen'
cmd 0 trust bench: --json && json '.assumes == ["honest_reads"]' && claim '[1.05, 1.01, 1.02, 1.04, 1.03]' && cmd 1 trust bench: --claim claim.json --json && json '.assumes == ["honest_reads"]'
check 'both say that programs may hide what they read'
cmd 0 trust '@~4..@' --json && json '.runs | length == 5' && cmd 0 trust @ '@~1' @ --json && json '.runs | length == 2'
check 'sets of runs, each once'
cmd 0 sql --csv "SELECT count(*) FROM result WHERE name = 'answer' AND value = '42'" && grep -q '^5' "$out" && cmd 0 sql --csv "SELECT DISTINCT type FROM property ORDER BY 1" && says "$out" invariant && says "$out" variant
check 'SQL has them'

# ---- runs that fail ----
printf '#!/bin/sh\necho "answer: 42"\nexit "$(cat status)"\n' >fails && chmod +x fails && echo 3 >status
cmd 1 bench run -n 2 -- ./fails && cmd 0 trust bench: --report && cp "$out" claim.json && cmd 1 trust --claim claim.json && says "$out" 'T = 1' 'reproducible, but 2 of 2 runs failed' && cmd 1 trust --claim claim.json --json && json '.reproducible and .failed == 2 and .trust == 1'
check 'runs that failed and agree: reproducible, and no success'
cmd 1 trust @ --claim claim.json && says "$out" 'reproducible, but the run failed'
check 'one run of them'

# ---- what cannot be judged ----
echo 5 >in.txt
cmd 0 run -- sh -c 'cat in.txt >/dev/null' && echo 6 >in.txt && printf '{"format": 1, "inputs": {"in.txt": "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}' >claim.json
cmd 1 trust @ --claim claim.json --json && json '.judged == false and .trust == null and .reproducible == null and .low < 1 and any(.differences[]; .name == "in.txt" and (.why | contains("digest")))' && cmd 1 trust @ --claim claim.json && says "$out" 'T is unknown' && says_not "$out" 'T = 1'
check 'an input that is not as it was, and was not digested: no T'
echo 7 >in.txt
cmd 0 run --digest -- sh -c 'cat in.txt >/dev/null' && rm in.txt && cmd 0 trust @ --json && json '.inputs["in.txt"].values[0] == "sha256:10159baf262b43a92d95db59dae1f72c645127301661e0a3ce4e38b295a97c58"'
check 'an input that is gone, with its digest'
printf '{"format": 1, "results": {"x": 1}}' >claim.json
cmd 0 run -- true && cmd 1 trust @ --claim claim.json --json && json '.judged == false and (.differences[0].why | contains("no recorded results"))'
check 'no results were recorded'
wrong=0
for bad in '' '[]' '{"format": 1}' '{"format": 1, "result": {}}' '{"format": 9, "results": {}}' '{"format": 1, "results": {"x": 1, "x": 2}}'; do
	printf '%s' "$bad" >bad.json
	cmd 2 trust --claim bad.json && says "$err" "malformed" || {
		wrong=1
		break
	}
done
[ $wrong = 0 ]
check 'claims in the wrong form'
cmd 2 trust --claim nothing.json && cmd 2 trust --tolerance 5% && cmd 2 trust --claim claim.json --tolerance much && cmd 1 trust @~99 && cmd 1 trust bench:NOSUCH && cmd 2 trust --claim claim.json --report && cmd 2 trust --seal --verify
check 'what cannot be'

# ---- late logs: the same whatever comes first ----
seg=$(echo "$STEMMA_HOME"/logs/*/*/0.stl)
"$EVTEXT" dump "$seg" >"$T/text"
grep '"mode":"keeping"' "$T/text" | sed -n 's/.*"session":"\([0-9a-f]*\)".*/\1/p' >"$T/told"
grep -F -f "$T/told" "$T/text" >"$T/b.text"
grep -v -F -f "$T/told" "$T/text" >"$T/a.text"
# order FIRST SECOND: two logs, indexed one after the other; what is known then.
order()
{
	rm -rf "$T/other" && mkdir -p "$T/other/logs/h/d"
	for log; do
		"$EVTEXT" make "$T/other/logs/h/d/$log.stl" <"$T/$log.text" && "$STEMMA" index --store "$T/other" >/dev/null 2>>"$err" || return 1
	done
	for table in 'ulid, name, value, source, missing FROM result' 'ulid, moment, type, name, value FROM property'; do
		"$STEMMA" sql --store "$T/other" --csv "SELECT $table ORDER BY 1, 2, 3, 4, 5" 2>>"$err"
	done
	"$STEMMA" trust --store "$T/other" bench: --json 2>>"$err"
}
[ -s "$T/told" ] && order a b >"$T/ab" && order b a >"$T/ba" && cmp "$T/ab" "$T/ba" && "$STEMMA" index --store "$T/other" --rebuild 2>>"$err" >/dev/null && "$STEMMA" trust --store "$T/other" bench: --json >"$T/again" && tail -n "$(wc -l <"$T/again")" "$T/ab" | cmp - "$T/again" && [ "$(wc -l <"$T/ab")" -gt 100 ]
check 'what is told of runs is the same whatever log comes first'
cmd 0 trust bench: --report && cp "$out" "$T/report" && cmd 0 index --rebuild && cmd 0 trust bench: --report && cmp "$out" "$T/report"
check 'a rebuilt index says the same'

# What comes through a pipe from outside is no file: it is said that it is not judged.
mkdir "$T/fed" && cd "$T/fed" && seq 9 >points && seq 9 | "$STEMMA" run -q --digest -- sh -c 'cat >out' 2>"$err" && cmd 0 trust @ --report && cp "$out" claim.json && cmd 0 trust @ --claim claim.json && says "$out" 'an external pipe or socket could be read' && cmd 0 trust @ --claim claim.json --json && json '.fed == 1'
check 'a pipe from outside'
"$STEMMA" run -q --digest -- sh -c 'cat points | sort >out' </dev/null 2>"$err" && cmd 0 trust @ && says_not "$out" 'a pipe or socket' && says "$out" 'points: sha256'
check 'a pipe of its own'
finish
