#!/bin/sh
# What a Snakemake that was started for one job made by itself (run:) is made by that rule: why says so, in the place of its long command.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >snakemake <<'X'
#!/bin/sh
# snakemake ... --target-jobs RULE:WILDCARDS INPUT OUTPUT
while [ $# -gt 2 ]; do shift; done
read -r line <"$1"
echo "$line" >"$2"
X
cp snakemake other
chmod +x snakemake other
echo data >in
cmd 0 run -q -- ./snakemake --snakefile /a/long/path/to/a/Snakefile --target-jobs merge: in merged && cmd 0 why merged && says "$out" 'made by snakemake rule merge from in@{1}'
check 'a rule'
cmd 0 run -q -- ./snakemake --cores 2 --target-jobs call:s=B,u=1 in called && cmd 0 why called && says "$out" 'made by snakemake rule call s=B,u=1 from in@{1}'
check 'a rule with wildcards'
cmd 0 why -a called && says "$out" '--target-jobs call:s=B,u=1'
check 'the command with -a'
cmd 0 run -q -- ./snakemake --target-jobs "$(printf 'a\033[31mb:')" in hostile && cmd 0 why hostile && says_not "$out" "$(printf '\033')"
check 'a name that is none'
cmd 0 run -q -- ./other --target-jobs merge: in no && cmd 0 why no && says_not "$out" 'rule merge'
check 'another program'
cmd 0 run -q -- ./snakemake --target-jobs merge in without && cmd 0 why without && says_not "$out" 'rule merge'
check 'an argument that names no job'
finish
