#!/bin/sh
# digest = lazy: digests of what a run made, made when it is over, and what they are good for: rerun, why of a copy.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$T
for v in SLURM_JOB_ID SLURM_JOBID PBS_JOBID LSB_JOBID FLUX_JOB_ID _CONDOR_JOB_AD SGE_TASK_ID OAR_JOB_ID LOADL_STEP_ID; do unset $v; done
if grep -qE '/(slurm|pbs|lsf|flux-|condor|sge|oar)' /proc/self/cgroup; then
	echo '1..0 # SKIP this is a batch job, where nothing is made lazily'
	exit 0
fi

# digested RUN NAME: the record has the digest of that output of the run, sooner or later
digested()
{
	n=0
	while [ $n -lt 200 ]; do
		"$STEMMA" rerun "$1" --check >/dev/null 2>&1 # indexes
		"$STEMMA" trust "$1" --report 2>/dev/null | jq -e --arg n "$2" '.results[$n]' >/dev/null 2>&1 && return 0
		sleep 0.1
		n=$((n + 1))
	done
	return 1
}
id()
{
	"$STEMMA" log -n 1 --json | jq -r '.runs[0].id'
}

cat >work.sh <<'END'
#!/bin/sh
sort data.txt >sorted.txt
head -c 17000000 /dev/zero >large.bin
echo gone >gone.txt && rm gone.txt
END
chmod +x work.sh
printf 'c\na\nb\n' >data.txt
cmd 0 run -q --digest=lazy -- ./work.sh && run=$(id) && digested "$run" sorted.txt
check 'the digest of an output comes when the run is over'
cmd 0 trust "$run" --report && json '[.results | .. | strings | select(startswith("sha256:"))] | length == 1'
check 'of small outputs that are there, and nothing else'
rm -f sorted.txt large.bin && cmd 1 rerun "$run" --json && json '[.compared[] | select(.handed | not) | [.name, .by, .verdict]] | sort == [["large.bin", "size", "alike"], ["sorted.txt", "digest", "identical"]]'
check 'rerun judges by it though the file is gone'

# ---- where it would cost somebody something ----
SLURM_JOB_ID=7 cmd 0 run -q --digest=lazy -- sh -c 'echo in a job >job.txt' && job=$(id)
cmd 0 run -q --digest=off -- sh -c 'echo off >off.txt' && off=$(id)
STEMMA_DIGEST=lazy cmd 0 run -q -- sh -c 'echo later >later.txt' && later=$(id) && digested "$later" later.txt
check 'the setting'
cmd 0 trust "$job" --report && json '[.results | .. | strings | select(startswith("sha256:"))] | length == 0' && cmd 0 trust "$off" --report && json '[.results | .. | strings | select(startswith("sha256:"))] | length == 0'
check 'not in a batch job, and not with off'
cmd 2 run -q --digest=some -- true && says "$err" 'off, lazy, on'
check 'another word'
text=$(timeout 60 "$STEMMA" run -q --digest=lazy -- sh -c 'head -c 16000000 /dev/zero >some.bin; echo said' 2>&1) && [ "$text" = said ]
check 'who reads its output does not wait for the digests'

# ---- a copy that nobody recorded ----
mkdir other
cmd 0 run -q --digest=lazy -- sh -c 'sort -r data.txt >result.txt' && run=$(id) && digested "$run" result.txt
cp result.txt other/copy.txt
cmd 0 why other/copy.txt && says "$out" 'other/copy.txt, the same bytes as result.txt@{1}: made by sort -r data.txt from data.txt@{1} by '
check 'why of a copy'
cmd 0 why other/copy.txt --json && json '.answers | length == 1 and .[0].same_bytes.entity.path == "'"$PWD"'/result.txt" and (.[0].same_bytes.makers | length) >= 1 and (.[0].digest | startswith("sha256:")) and .[0].path == "'"$PWD"'/other/copy.txt"'
check 'as JSON'
mv result.txt "$T/away.txt" && cmd 0 why "$T/away.txt" && rm "$T/away.txt" && cmd 0 why other/copy.txt && says "$out" 'the same bytes as'
check 'also where the file itself is gone'
cmd 0 run -q -- cat other/copy.txt && cmd 0 why other/copy.txt && says "$out" 'copy.txt@{1}, the same bytes as ' 'made by sort -r'
check 'a copy that a run read, and that came from outside'
cmd 0 why other/copy.txt --json && json '.answers[0].entity.origin == "external" and (.answers[0].same_bytes.makers | length) >= 1'
check 'as JSON, too'
echo 'other bytes' >other/not.txt && cmd 1 why other/not.txt && says "$err" 'not.txt' && : >other/empty.txt && cmd 0 run -q --digest -- sh -c ': >made.empty' && cmd 1 why other/empty.txt
check 'other bytes, and an empty file, are nobody'"'"'s'
cmd 0 why other/copy.txt && cp "$out" "$T/before" && cmd 0 index --rebuild && cmd 0 why other/copy.txt && cmp "$out" "$T/before"
check 'the same when the index is made anew'
cmd 0 forget "$run" && cmd 1 why other/copy.txt
check 'what is forgotten is no answer'
finish
