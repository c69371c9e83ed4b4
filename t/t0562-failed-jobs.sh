#!/bin/sh
# Jobs of Snakemake that failed and left no file have their names: by the log, which has the command of a job that
# failed, or by the order of scripts. check says of which rule a job could not be checked, and why. Which of the words of
# jupyter nbconvert is the notebook.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- by the log alone: a script that does as Snakemake does ----
mkdir -p bin
echo hello >in.txt
cat >bin/snakemake <<'END'
#!/bin/bash
if [ "$1" = --target-jobs ]; then
	exit 1
fi
mkdir -p .snakemake/log .snakemake/scripts
log=.snakemake/log/2026-11-21T120000.000000.snakemake.log
job() # rule number output wildcards
{
	printf '\n[Sat Nov 21 12:00:00 2026]\nrule %s:\n    input: in.txt\n    output: %s\n    jobid: %s\n' "$1" "$3" "$2"
	[ -z "$4" ] || printf '    wildcards: %s\n' "$4"
	printf '    resources: tmpdir=/tmp\n'
}
failed() # rule number command
{
	printf '\n[Sat Nov 21 12:00:01 2026]\nError in rule %s:\n    jobid: %s\n    input: in.txt\n' "$1" "$2"
	[ -z "$3" ] || printf '    shell:\n        \n        %s\n        (one of the commands exited with non-zero exit code; note that snakemake uses bash strict mode!)\n' "$3"
	printf '\n'
}
{
	echo 'Building DAG of jobs...'
	job good 1 good.txt
	job loud 2 loud.txt
	job part 3 part_a.txt n=a
	job part 4 part_b.txt n=b
	job plot 5 plot.pdf
	job code 6 code.txt
	job inner 7 inner.txt
	failed loud 2 'cat in.txt >/dev/null; exit 3'
	failed part 4 'cat in.txt >/dev/null
        
        test b = c'
	failed part 3 'cat in.txt >/dev/null
        
        test a = c'
	failed plot 5
	failed inner 7
	failed code 6
} >$log
bash -c 'set -euo pipefail;  cat in.txt >good.txt'
bash -c 'set -euo pipefail;  cat in.txt >/dev/null; exit 3'
bash -c 'set -euo pipefail;  
        cat in.txt >/dev/null

        test a = c'
bash -c 'set -euo pipefail;  
        cat in.txt >/dev/null

        test b = c'
echo 'exit 4' >.snakemake/scripts/tmpabc.plot.sh
echo 'exit 5' >.snakemake/scripts/tmpabd.code.sh
bash -c 'set -euo pipefail;  /bin/sh ./.snakemake/scripts/tmpabc.plot.sh'
bash -c 'set -euo pipefail;  /bin/sh ./.snakemake/scripts/tmpabd.code.sh'
snakemake --target-jobs inner: --allowed-rules inner --cores 1
rm -f .snakemake/scripts/tmp*
exit 1
END
chmod +x bin/snakemake
PATH=$T/work/bin:$PATH
cmd 1 run -q -- snakemake -j1
for rule in loud part plot code inner; do
	cmd 0 log "stage $rule and exit failed" && lines "$out" 2
	check "log finds the run by the rule $rule, of which a job failed"
done
cmd 0 find --execs --json 'stage loud and exit failed' && json 'any(.executions[]; .exit.status == 3) and (any(.executions[]; .exit.status == 4) | not)' &&
	cmd 0 find --execs --json 'stage plot and exit failed' && json 'any(.executions[]; .exit.status == 4) and (any(.executions[]; .exit.status == 5) | not)' &&
	cmd 0 find --execs --json 'stage code and exit failed' && json 'any(.executions[]; .exit.status == 5) and (any(.executions[]; .exit.status == 4) | not)'
check 'each with its own programs'
cmd 0 find --execs --json 'stage "part:n=b"' && json '[.executions[].argv | join(" ")] | any(contains("test b = c")) and (any(contains("test a = c")) | not)'
check 'wildcards are those of the job with that command'
cmd 1 log 'stage nosuch' && says "$err" 'no such run'
check 'and no other rule'
cmd 1 check && says "$out" '7 jobs could not be checked:' '  rule good: Snakemake' && says "$out" '  rule loud: it failed' '  rule part, 2 jobs: it failed' && says "$out" '  rule plot: it failed'
check 'check names the rules that it could not check, and says why'
cmd 1 check --json && json '[.unknown[] | [.name, .why]] | any(. == ["plot", "it failed"])' && json '.jobs == 7'
check '... in the JSON; each job is counted once'

# ---- Snakemake itself ----
rm -r bin/snakemake .snakemake
if command -v snakemake >/dev/null; then
	cat >Snakefile <<'END'
rule all:
    input: "one.txt", "py.txt", "ok.txt", "run.txt"
rule one:
    input: "in.txt"
    output: "one.txt"
    shell: "grep nosuch {input} >/dev/null"
rule py:
    input: "in.txt"
    output: "py.txt"
    log: "py.log"
    script: "fail.py"
rule ok:
    input: "in.txt"
    output: "ok.txt"
    shell: "cat {input} >{output}"
rule run:
    input: "in.txt"
    output: "run.txt"
    run:
        raise ValueError("no")
END
	echo 'raise SystemExit(3)' >fail.py
	"$STEMMA" run -q -- snakemake -j1 -k >"$out" 2>"$err" </dev/null
	for rule in one py; do
		cmd 0 log "stage $rule and exit failed and command 'snakemake -j1 -k'" || cmd 0 log "stage $rule and exit failed"
		check "a failed job of Snakemake itself: rule $rule"
	done
	cmd 1 check && says "$out" '1 of 4 jobs read only' && says "$out" '  rule one: it failed' && says "$out" '  rule py: it failed' && says "$out" '  rule run: it failed'
	check 'its jobs are four, and check says which failed'
else
	skip 'failed jobs of Snakemake itself' 'snakemake is not installed'
fi

# ---- notebooks ----
cat >bin/jupyter-nbconvert <<'END'
#!/bin/sh
cat report.ipynb >/dev/null
echo out >report.out.ipynb
echo fig >fig.png
END
chmod +x bin/jupyter-nbconvert && echo '{}' >report.ipynb
cmd 0 run -q -- jupyter-nbconvert --to notebook --execute --output report.out.ipynb report.ipynb && cmd 0 lineage --stages fig.png && says "$out" 'notebook report.ipynb' && says_not "$out" 'notebook report.out.ipynb'
check 'the notebook is not the value of --output'
cmd 0 run -q -- jupyter-nbconvert --execute report.ipynb --output=report.out.ipynb && cmd 0 lineage --stages fig.png && says "$out" 'notebook report.ipynb'
check '... however that is written'
finish
