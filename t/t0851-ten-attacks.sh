#!/bin/sh
# bench, trust: ten attacks on the record of a benchmark, each on a copy of one real record, and what finds them: edit,
# drop, reorder, duplicate, backdate, fork, seal later, a claim of the best, forget before sealing, cut. First by somebody
# who changes the logs (with right checksums); then by somebody who makes the whole chain anew, and is found by the head
# that was published. doc/trust.md, "What is found" has the same rows.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/chain.sh
. "$here/t/chain.sh"

cmd 0 bench run -n 12 --json -- ./bench.sh && cp "$out" "$T/ran" && json '(.results.time.median * 1000 | round) == 1155 and (.runs | length) == 12' && id=$(jq -r .bench "$out")
check 'a benchmark of twelve runs'
name=bench:$(echo "$id" | cut -c19-26)
cmd 0 trust --verify && is "$out" "$name: 12 runs planned, 12 made, 12 present, 0 forgotten
sound: 14 seals of 25 sessions, 0 forgotten, 0 resealed by forget or gc, 0 not sealed yet" && cmd 0 trust --verify --json && json '.sound and (.cut | not) and .plans == [{"bench": "'"$id"'", "planned": 12, "made": 12, "there": 12, "forgotten": 0, "over": true}]'
check 'sealed by itself: the plan, twelve repetitions, the end'
cmd 0 trust --seal && says "$out" 'nothing new to seal' && head=$(sed -n 's/^head //p' "$out") && [ ${#head} = 64 ] && cmd 0 trust --verify "$head"
check 'the head that is published'

keep
grep -v '"k":"session' "$T/text" | sed -n 1p >"$T/first" && says "$T/first" '"k":"plan"' '"runs":12' && grep -n '"k":"run"\|"step":1' "$T/text" | sed -n 1p >"$T/first" && says "$T/first" '"k":"seal"' && [ "$(grep -c '"k":"seal".*"step":2' "$T/text")" = 12 ] && jq -s '[.[] | select(.k == "plan") | .file[0], .digest[0]] | . == ["bench.sh", "sha256:'"$(sha256sum bench.sh | cut -d' ' -f1)"'"]' "$T/text" | grep -q true
check 'the plan is written and sealed before the first run, with the digest of its program'
# session VALUE: of the run that gave 1.VALUE.
session()
{
	jq -rs '.[] | select(.k == "run" and .id == "'"$(run "$1")"'") | .session' "$T/text"
}
best="$(run 10) $(run 11) $(run 12)"
# shellcheck disable=SC2086 # three ids
cmd 0 trust $best --report && cp "$out" best.json && cmd 0 trust "$name" --report && cp "$out" all.json && cmd 0 trust --claim all.json && says "$out" '12 of 12 runs of the same plan' && says_not "$out" 'other'
check 'the claim of all twelve is right'
jq -e --arg id "$id" '.plans == [{"bench": $id, "seal": .plans[0].seal}] and (.plans[0].seal | length) == 64' all.json >"$out" 2>"$err"
check 'the claim names the seal of its plan'

# ---- the ten ----
attacker replace 'time=1.13' 'time=1.03' && cmd 1 trust --verify && says "$out" 'was changed' 'NOT SOUND'
check '1 edit: another result'
back
attacker drop "$(session 21)" && cmd 1 trust --verify && says "$out" "session $(session 21) is sealed and missing" "$name: 12 runs planned, 12 made, 11 present, 0 forgotten" 'NOT SOUND'
check '2 drop: a slow run'
back
attacker swap "$(session 21)" && cmd 1 trust --verify && says "$out" "session $(session 21) was changed"
check '3 reorder: events of a run'
back
mkdir -p "$(dirname "$seg")" && attacker copy "$EVTEXT" "$(run 10)" "$(dirname "$seg")/7.stl" && cmd 1 trust --verify && says "$out" "of $name there is 1 run that no repetition of it names"
check '4 duplicate: the best run once more'
twin=$("$EVTEXT" dump "$(dirname "$seg")/7.stl" | jq -rs '.[] | select(.k == "run") | .id')
# shellcheck disable=SC2086
cmd 1 trust $best "$twin" --claim best.json --json && json '.reproducible == false and .plan.claimed == 4 and .plan.unsealed == 1'
check '4 duplicate: nor does a claim of it pass'
back
attacker unseal && rm "$known" && cmd 0 trust --seal && cmd 1 trust --verify && says "$out" "the seal of the plan of $name before its runs is missing: it was sealed later, or cut" "$name: 12 runs planned, 0 made"
check '7 seal later: what was sealed when it was made is sealed again'
back
cp -a "$STEMMA_HOME" "$T/fork"
cmd 0 bench run -n 3 -- ./bench.sh && cmd 0 trust --verify && main=$(sed -n 's/^hash //p' "$known") && mv "$STEMMA_HOME" "$T/main" && mv "$T/fork" "$STEMMA_HOME" && cmd 0 bench run -n 2 -- ./bench.sh && cmd 0 trust --verify && cmd 1 trust --verify "$main" && says "$out" "the expected hash is not in the chain"
check '6 fork: two histories from one beginning; whoever has the head of the other sees it'
cp "$(echo "$T"/main/logs/*/*/0.stl)" "$(dirname "$seg")/7.stl" && cmd 1 trust --verify && says "$out" 'there are two seals 15 of'
check '6 fork: both in one record'
rm -rf "$T/main"
back
cmd 1 trust --claim best.json && says "$out" '3 of 12 runs of the same plan; the other 9 give:' '  time: 1.' 'median 1.17' 'T of all 12 = 0' 'not reproducible: all runs of the plan together do not support the claim'
check '8 best of twelve: the claim is told from the rest'
cmd 1 trust --claim best.json --json && json '.trust == 1 and .reproducible == false and (.plan | .planned == 12 and .made == 12 and .claimed == 3 and .others == 9 and .trust == 0 and .verdict == "picked") and ([.plan.other_results.time.values[] | tonumber] | sort == [1.13, 1.14, 1.15, 1.16, 1.17, 1.18, 1.19, 1.2, 1.21])'
check '8 best of twelve: as JSON'
jq '.results.time = {"value": 1.11, "tolerance": "10%"}' best.json >wide.json && cmd 0 trust --claim wide.json --json && json '.plan.verdict == "fits" and .plan.trust == 0 and .plan.trust_eps == 1'
check '8 within the tolerance of the claim all twelve agree'
# shellcheck disable=SC2046
cmd 0 forget $(jq -r '.runs[].id' "$T/ran" | grep -v -e "$(run 10)" -e "$(run 11)" -e "$(run 12)") && cmd 0 trust --verify && says "$out" "$name: 12 runs planned, 12 made, 3 present, 9 forgotten" && cmd 0 trust --seal && cmd 0 trust --verify --json && json '.plans[0] | .made == 12 and .forgotten == 9'
check '9 forget before sealing: their number stays'
cmd 1 trust --claim best.json && says "$out" '3 of 12 runs of the same plan' '9 runs of the plan are no longer in the record: the results of them are unknown' 'T of all 12 is unknown' 'reproducibility is unknown: some runs of the plan are unknown' && cmd 1 trust --claim best.json --json && json '.reproducible == null and .plan.gone == 9 and .plan.trust == null'
check '9 and what they gave is not known'
back
: >"$seg" && cmd 1 trust --verify && says "$out" "the record is cut: seal 14 of " 'CUT: this host sealed records, but all seals are missing' && cmd 1 trust --verify --json && json '.cut and .sound == false and .seals == 0'
check '10 cut: all of it'
back
cp "$seg" "$T/whole" && head -c $(($(stat -c %s "$seg") / 2)) "$T/whole" >"$seg" && cmd 1 trust --verify && says "$out" "the record is cut: seal 14 of " "it has no end: it continues, was killed, or the record was cut" 'CUT: '
check '10 cut: the second half'
rm "$known" && : >"$seg" && cmd 1 trust --verify "$head" && says "$out" 'the record is cut: the expected seal is missing' 'CUT: this host sealed records, but all seals are missing'
check '10 cut: with what the host knew of it, for whoever has the head'
back
cmd 0 trust --verify "$head"
check 'as it was, it is sound'

# ---- by somebody who makes the whole chain anew ----
forged()
{
	attacker forge "$EVTEXT" "$known" "$@" && cmd 0 trust --verify && cmd 1 trust --verify "$head" && says "$out" "the expected hash is not in the chain" && back
}
forged result 'time=1.21' 'time=1.01'
check '1 edit, and all seals anew: only the published head shows it'
forged back 604800000000000
check '5 backdate by a week, and all seals anew: only the published head shows it'
attacker forge "$EVTEXT" "$known" back 604800000000000 && cmd 1 trust --claim all.json && says "$out" 'the record has no seal, or another one, for 1 plan that the claim names' 'not reproducible: the claim was made from another record, or the record was rewritten' && cmd 1 trust --claim all.json --json && json '.reproducible == false and .plan.verdict == "other" and .plan.not_sealed_so == 1'
check '5 backdate, and all seals anew: a claim that was published shows it, too'
back
for plans in '1' '[1]' '[{"bench": "x"}]' '[{"bench": "x", "seal": "12"}]' '[{"bench": 1, "seal": 2}]'; do
	jq ".plans = $plans" all.json >bad.json && cmd 2 trust --claim bad.json || break
done
check 'what are no plans of a claim'
# shellcheck disable=SC2086
forged best $best
check '2, 8 a plan of three, and all seals anew: only the published head shows it'
attacker forge "$EVTEXT" "$known" early "$(session 21)" 604800000000000 && cmd 1 trust --verify && says "$out" "repetition 6 of $name says that it began before its plan was sealed" 'NOT SOUND: 14 seals'
check '5 backdate one run, and all seals anew: it is older than its plan'
back
"$EVTEXT" dump "$seg" | sed '/"step":2,"repetition":5/s/"t":\([0-9]*\)/"t":1000000000000000000/' >"$T/early" && "$EVTEXT" make "$seg" <"$T/early" && cmd 1 trust --verify && says "$out" 'was changed' 'says that it is older than seal 5'
check '5 backdate: one seal'
back

# ---- what is no attack ----
cmd 0 bench run -n 3 -- ./bench.sh && cmd 0 trust --verify && says "$out" '3 runs planned, 3 made, 3 present'
check 'a second benchmark'
cmd 1 trust --claim all.json && says "$out" '12 of 15 runs of the same plan, in 2 benchmarks; the other 3 give:' 'T of all 15 = 0'
check 'of the same plan: one that was made before does not stand for both'
cat >wait.sh <<'END'
#!/bin/sh
: >ready
while ! [ -e go ]; do sleep 0.02; done
echo "time: 1"
END
chmod +x wait.sh
"$STEMMA" bench run -n 5 -- ./wait.sh >/dev/null 2>&1 &
killed=$!
while ! [ -e ready ]; do sleep 0.02; done
kill -9 $killed
wait $killed 2>/dev/null
: >go
cmd 0 trust --verify && says "$out" '5 runs planned, 0 made, 0 present, 0 forgotten; it has no end: it continues, was killed, or the record was cut' 'sound: '
check 'a benchmark that was killed: its plan has no end, and what is sealed is sound'
cat >behind.sh <<'END'
#!/bin/sh
while [ ! -e over ]; do sleep 0.02; done </dev/null >/dev/null 2>&1 &
echo "time: 1"
END
chmod +x behind.sh
cmd 0 bench run -n 2 -- ./behind.sh && cmd 0 trust --verify && says "$out" '2 runs planned, 2 made, 2 present, 0 forgotten' ' not sealed yet' 'sound: ' && says_not "$out" ' 0 not sealed yet'
check 'what a command leaves running is sealed when it is over, and is no attack'
: >over
n=0
until [ $n = 500 ] || { "$STEMMA" trust --seal >"$out" 2>"$err" && says_not "$out" 'still running'; }; do sleep 0.02 && n=$((n + 1)); done
cmd 0 trust --verify && says "$out" ' 0 not sealed yet' 'sound: '
check 'and then it is sealed'
"$STEMMA" run -l bench=mine -- true
cmd 0 trust @ && says "$out" 'no plan was sealed before this run: whether there were other runs is unknown' && cmd 0 trust @ --json && json '.plan == null'
check 'a run without a plan'
finish
