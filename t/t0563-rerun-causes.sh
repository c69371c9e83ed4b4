#!/bin/sh
# The first cause that rerun names: dates alone, what the confinement refuses, and never a file in which a workflow system
# keeps what it did.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T

echo data >in.txt
cmd 0 run -q -- sh -c 'cat in.txt >same.txt; date "+made on %F %T.%N by me" >head.txt' && cmd 1 rerun @ &&
	says "$out" 'head.txt: different, only in dates' 'first cause: the date: the outputs differ only in dates and times'
check 'an output that has the time of writing in it'
cmd 1 rerun --json '@~1' && json '.verdict == "different" and (.compared[] | select(.name == "head.txt") | .only_dates) and (.cause | startswith("the date"))'
check '... in the JSON'
cmd 0 run -q -- sh -c 'date "+made on %F %T.%N" >head.txt; cat /proc/sys/kernel/random/uuid >random.txt' && cmd 1 rerun @ &&
	says "$out" 'head.txt: different, only in dates' 'random.txt: different' && says_not "$out" 'the outputs differ only in dates' && says_not "$out" 'random.txt: different, only'
check 'dates are no cause where more differs'

mkdir -p "$HOME/.cache/tool"
printf '#!/bin/sh\nif echo x >>"$HOME/.cache/tool/index"; then echo full; else echo empty; fi >result.txt\n' >tool.sh && chmod +x tool.sh
rm -f "$HOME/.cache/tool/index"
cmd 0 run -q -- ./tool.sh && cmd 1 rerun @ && says "$out" 'result.txt: different' "first cause: perhaps the confinement, which refuses what the recorded run did: it wrote, moved or removed $HOME/.cache/tool/index outside of its folder" && says "$err" 'hint: use --unconfined'
check 'what the run wrote outside of its folder is named as a cause'
cmd 1 rerun --json '@~1' && json ".outside == [\"$HOME/.cache/tool/index\"] and (.cause | contains(\"confinement\"))"
check '... in the JSON'
rm "$HOME/.cache/tool/index"
cmd 0 rerun --unconfined '@~2' && says "$out" 'identical'
check 'without confinement the outputs are the same'
cmd 0 run -q -- sh -c 't=$(mktemp) && cat in.txt >"$t" && cat "$t" >copy.txt && rm "$t"; cat /proc/sys/kernel/random/uuid >random.txt' && cmd 1 rerun @ && says_not "$out" 'confinement'
check 'a temporary file is no such write'
mkdir -p "$T/aside" "$T/tree" && echo x >"$T/tree/x"
cmd 0 run -q --digest -- cp -r "$T/tree" "$T/aside/" && cmd 1 rerun @ && says "$out" "first cause: perhaps the confinement, which refuses what the recorded run did: it wrote, moved or removed $T/aside/tree/x outside of its folder" && says "$err" 'hint: use --unconfined'
check 'what it left below the folder for temporary files is one'
cmd 0 run -q -- sh -c "chmod 600 '$T/tree/x' && echo ok >made.txt" && cmd 1 rerun @ && says "$out" 'made.txt: different: not made this time' 'first cause: none was found: perhaps the command needs what the confinement refuses' && says "$err" 'hint: use --unconfined'
check 'a command that fails only now was perhaps refused something'

mkdir -p .snakemake/metadata .snakemake/log
echo one >.snakemake/metadata/x
cmd 0 run -q -- sh -c 'cat .snakemake/metadata/x in.txt >/dev/null; cat in.txt >copy.txt; date +%s.%N >.snakemake/log/1.log' && echo two, later >.snakemake/metadata/x &&
	cmd 0 rerun @ && says "$out" '.snakemake/metadata/x: not required' 'left out   1 file of the workflow system' 'identical: 1 result or output compared'
check "a workflow system's own files are neither required nor compared"
cmd 0 rerun --json '@~1' && json '.verdict == "identical" and .engine_files == 1 and any(.files[]; .name == ".snakemake/metadata/x" and .state == "not required")'
check '... in the JSON'
finish
