#!/bin/sh
# Runs that stemma rerun made are told from others: in log, where "@" takes one, and in log --by-inputs.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

printf '#!/bin/sh\nsort data.txt >sorted.txt\n' >work.sh && chmod +x work.sh
printf 'b\na\n' >data.txt
cmd 0 run -q -- ./work.sh && cmd 0 log --json && id=$(jq -r '.runs[0].id' "$out") && short=${id#??????????????????}
cmd 0 rerun @ && says_not "$err" 'stemma rerun made' && cmd 0 log && lines "$out" 3 && says "$out" "(rerun of $short) work.sh" && [ "$(grep -c 'rerun of' "$out")" = 1 ]
check 'log marks the run that rerun made, and names the one that it repeats'
cmd 0 log --json && json "(.runs | map(.rerun_of)) == [\"$id\", null]"
check '... in the JSON, too'
cmd 0 stat @ && says "$err" "@ is a run that stemma rerun made; it repeats $short" && cmd 0 show @ && says "$err" "@ is a run that stemma rerun made; it repeats $short" && cmd 0 stat '@~1' && says_not "$err" 'stemma rerun made'
check 'a command that takes one by @ says so'
"$STEMMA" diff >"$out" 2>"$err"
says "$err" '@ is a run that stemma rerun made' && says_not "$out" 'first cause   the environment: TMPDIR'
check 'diff of the two latest, too'
cmd 0 run -q --label rerun=no -- ./work.sh && cmd 0 stat @ && says_not "$err" 'stemma rerun made' && cmd 0 log && [ "$(grep -c 'rerun of' "$out")" = 1 ]
check 'a label of the user that names no run marks none'
cmd 0 log --by-inputs work.sh && says "$out" '2 runs of work.sh: all with the same inputs and settings' 'left out: 1 run of stemma rerun' && says_not "$out" 'stemma-rerun.' && cmd 0 log --by-inputs work.sh --json && json '.runs == 2 and .reruns == 1'
check 'they are in no group by inputs, and counted'
cmd 0 log --by-inputs work.sh "label rerun=$id" && says "$out" '1 run of work.sh'
check '... unless they are asked for'
mkdir -p .snakemake/metadata && for i in 1 2 3 4; do
	echo "$i" >.snakemake/metadata/x$i && cmd 0 run -q -- cat data.txt ".snakemake/metadata/x$i"
done
cmd 0 log --by-inputs cat && says_not "$out" 'input .snakemake'
check 'what a workflow system keeps of what it did is no input'
finish
