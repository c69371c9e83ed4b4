#!/bin/sh
# What belongs to which stage, and what it is called: scripts that do as Snakemake, Nextflow, make and ninja do, with what each must be
# written down here; histories for Slurm and MPI. The tools themselves: t0345.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# ---- Snakemake: its log, its shells, a job that it starts as a Snakemake, a script that it copies, a file that it touches ----
mkdir -p bin data
echo 2 >data/A.txt
echo 1 >data/B.txt
echo 'cat work/A work/B >out/all' >merge.sh
cat >bin/snakemake <<'END'
#!/bin/bash
if [ "$1" = --target-jobs ]; then
	cp "work/${2##*=}.sorted" "work/${2##*=}"
	exit
fi
mkdir -p .snakemake/log .snakemake/scripts work out
log=.snakemake/log/2026-11-21T120000.000000.snakemake.log
job() # rule number wildcards output
{
	printf '\n[Sat Nov 21 12:00:00 2026]\nrule %s:\n    input: x\n    output: %s\n    jobid: %s\n' "$1" "$4" "$2"
	[ -z "$3" ] || printf '    wildcards: %s\n' "$3"
	printf '    resources: tmpdir=/tmp\n\n[Sat Nov 21 12:00:01 2026]\nFinished job %s.\n' "$2"
}
{
	echo 'Building DAG of jobs...'
	echo 'rule nothing'
	echo '    output: work/A.sorted'
	job sort 5 'sample=A, unit=1' work/A.sorted
	job sort 6 'sample=B, unit=a, b' 'work/other, work/B.sorted (pipe)'
	job count 2 sample=A work/A
	job count 3 sample=B work/B
	job merge 1 '' out/all
	job done 7 '' out/flag
	job folder 8 '' out/parts
} >$log
cat data/A.txt >.snakemake/solver.in
cat .snakemake/solver.in >/dev/null
for s in A B; do
	bash -c "set -euo pipefail; sort data/$s.txt | uniq >work/$s.sorted" # as a child of its own
	snakemake --target-jobs "count:sample=$s" --allowed-rules count --cores 1
done
cat merge.sh >.snakemake/scripts/tmpabcdef.merge.sh
bash -c 'set -euo pipefail; sh .snakemake/scripts/tmpabcdef.merge.sh'
rm .snakemake/scripts/tmpabcdef.merge.sh
bash -c 'set -euo pipefail; mkdir -p out/parts/a; sort out/all >out/parts/a/1; cp out/parts/a/1 out/parts/a/2'
bash -c 'set -euo pipefail; wc -l out/parts/a/2 >out/unlisted'
: >out/flag
END
chmod +x bin/snakemake
PATH=$T/work/bin:$PATH
cmd 0 run -- snakemake -j2
check 'a Snakemake is recorded'
cmd 0 lineage --stages out/all && says "$out" 'rule merge' 'rule count  sample=A' 'rule sort  sample=A unit=1' 'data/A.txt@{1}' 'rule count  sample=B' 'rule sort  sample=B unit=a, b' 'data/B.txt@{1}' && says "$out" 'merge.sh@{1}' &&
	says "$out" 'job 5, 3 programs' && says "$out" 'job 2, 2 programs' && says_not "$out" '.snakemake' && says_not "$out" 'set -euo' && says_not "$out" '[workflow]'
check 'each job by its rule, wildcards and number; what the workflow did for itself is none'
cmd 0 lineage --stages --json out/all &&
	json '[.stages[] | [.kind, .engine, .name, .job, .wildcards]] | sort == [["rule","snakemake","count","2",{"sample":"A"}],["rule","snakemake","count","3",{"sample":"B"}],["rule","snakemake","merge","1",{}],["rule","snakemake","sort","5",{"sample":"A","unit":"1"}],["rule","snakemake","sort","6",{"sample":"B","unit":"a, b"}]]' &&
	json '[.stages[] | .named_by] | sort == ["arguments","arguments","log","log","log"]' && json '[.stages[].workflow] | unique | length == 1' && json '.workflows | length == 1 and .[0].engine == "snakemake" and .[0].argv[-1] == "-j2"'
check 'the same as JSON'
json '.root as $r | [.stages[] | select(.outputs == [$r])] | length == 1 and (.[0].inputs | length == 3) and (.[0].executions | length >= 2)' &&
	json '.stages[] | select(.name == "sort" and .job == "5") | .cost | .cpu_time > 0 and .memory > 0 and .wall_time > 0' && json '[.edges[] | select(.certainty != "must")] | length == 0' &&
	json '(.stages | map(.id)) as $s | [.edges[] | select(.type == "used") | .from] | all(. as $f | $s | index($f) != null)'
check 'inputs, outputs, executions, cost and edges'
cmd 0 lineage --stages=programs out/all && says "$out" '· sort data/A.txt' && says "$out" '· uniq' && says "$out" '· sh .snakemake/scripts/tmpabcdef.merge.sh'
check 'the programs within, when asked for'
cmd 0 lineage --stages --down data/A.txt && says "$out" 'rule sort  sample=A' 'rule count  sample=A' 'rule merge' 'out/all@{1}' && says_not "$out" '[workflow]' && cmd 0 lineage --stages --down merge.sh && says "$out" 'rule merge' 'out/all@{1}'
check 'downwards, and from a script that was copied'
cmd 0 lineage --stages out/parts/a/2 && says "$out" 'rule folder' && lines "$out" 19
check 'a file in a folder that a rule makes'
cmd 0 lineage --stages out/unlisted && says "$out" 'rule ?' && cmd 0 lineage --stages --json out/unlisted && json '.stages[0] | .name == null and .named_by == null and .kind == "rule"'
check 'a job that the log does not tell of has no name'
cmd 0 lineage --stages out/flag && says "$out" 'rule done' 'made by the workflow itself' && cmd 0 lineage --stages --json out/flag && json '.stages | length == 1 and .[0].executions == [] and .[0].name == "done"'
check 'what the workflow touched for a job is of that job'
cmd 0 lineage --stages -f dot out/all && says "$out" 'rule count  sample=A' && says_not "$out" 'set -euo'
check 'the picture'
cmd 0 lineage out/all && says "$out" '.snakemake/scripts' && cmd 2 lineage --stages=x out/all && cmd 2 lineage --stages --all out/all
check 'without --stages as ever; what cannot be meant'

# ---- by name ----
cmd 0 find --files 'stage sort' && lines "$out" 2 && says "$out" 'work/A.sorted@{1}' 'work/B.sorted@{1}' && cmd 0 find 'stage "count:sample=A"' && lines "$out" 1 && says "$out" 'work/A@{1}' && cmd 0 find --execs 'stage mer* and exe sh' && lines "$out" 2
check 'find by stage'
cmd 1 find 'stage evil' && cmd 0 log 'stage merge' && says "$out" 'snakemake -j2' && cmd 1 log 'stage nosuch'
check 'log by stage; what there is not'

# ---- a log that is not as recorded is not believed; nor what is in one ----
log=$(echo .snakemake/log/*.log)
cp -p "$log" log.was
sed -i 's/rule sort:/rule evil:/' "$log"
cmd 0 lineage --stages out/all && says_not "$out" evil && says "$out" 'rule ?' && says "$out" 'rule count  sample=A' && says "$out" "some names are unknown: $log has changed since it was recorded"
check 'a log that was changed is not read, and this is said'
rm "$log"
mkfifo "$log"
cmd 0 lineage --stages out/all && says "$out" 'rule ?' && rm "$log" && ln -s ../../log.was "$log" && cmd 0 lineage --stages out/all && says "$out" 'rule ?' && rm "$log" && cmd 0 lineage --stages --json out/all && json '.unnamed_for | length == 1'
check 'nor a FIFO, a link or nothing in its place'

mkdir hostile && cd hostile || exit 1
cat >snakemake <<'END'
#!/bin/bash
mkdir -p .snakemake/log
{
	printf 'rule :\n    output: out\nrule \033[31m:\n    output: out\nrule a\0b:\n    output: out\n'
	head -c 200000 /dev/zero | tr '\0' x
	printf '\nrule ok_1:\n    output: ,, , out\n    jobid: \033[2J\n    wildcards: a=\033]0;x\007, =, b\n    output'
} >.snakemake/log/x.snakemake.log
bash -c 'set -euo pipefail; echo x >out'
END
chmod +x snakemake
cmd 0 run -- ./snakemake && cmd 0 lineage --stages out && says "$out" 'rule ok_1' '\x1b' && ! grep -q "$(printf '\033')" "$out" && cmd 0 lineage --stages --json out && json '.stages[0].name == "ok_1"'
check 'a hostile log gives a name at most, and no control characters'
cd ..

# ---- Nextflow: the published layout of a work folder ----
mkdir nf && cd nf || exit 1
printf 'b\na\n' >reads.txt
cat >nextflow <<'END'
#!/bin/bash
task() # folder, head of .command.run, script
{
	mkdir -p "work/$1"
	printf '#!/bin/bash -ue\n%s\n' "$3" >"work/$1/.command.sh"
	printf '#!/bin/bash\n%s\nset -e\ncd "$(dirname "$0")"\nbash -ue .command.sh >.command.out 2>.command.err\n' "$2" >"work/$1/.command.run"
	bash "work/$1/.command.run"
}
task ab/cdef0123456789abcdef0123456789ab '# NEXTFLOW TASK: FLOW:ALIGN (s 1)' 'sort ../../../reads.txt >sorted'
task 12/3456780123456789abcdef0123456789 "### ---
### name: 'REPORT'
### ..." 'cat ../../ab/cdef0123456789abcdef0123456789ab/sorted >report; mkdir -p ../../../results; cp report ../../../results/report'
END
chmod +x nextflow
cmd 0 run -- ./nextflow && cmd 0 lineage --stages results/report && says "$out" 'process REPORT' '12/345678' 'sorted@{1}' 'process FLOW:ALIGN  tag=s 1' 'ab/cdef01' 'reads.txt@{1}'
check 'a task of Nextflow by its process, tag and folder'
cmd 0 lineage --stages --json results/report && json '[.stages[] | select(.kind == "task") | [.engine, .name, .job, .wildcards.tag, .named_by]] | sort == [["nextflow","FLOW:ALIGN","ab/cdef01","s 1","script"],["nextflow","REPORT","12/345678",null,"script"]]'
check 'as JSON'
cd ..

# ---- make and ninja do not say what they make: the recipe's output that an argument names ----
mkdir mk && cd mk || exit 1
mkdir -p sub
printf 'x\n' >a.in
printf 'all: out/c.txt\n\t@$(MAKE) -C sub\nout/c.txt: b.txt\n\tmkdir -p out\n\tcat b.txt > side; cat side > out/c.txt\n\techo more >> $@\nb.txt: a.in\n\tsort -o b.txt a.in\n' >Makefile
printf 'all: d.txt\nd.txt: ../out/c.txt\n\tcp ../out/c.txt d.txt\n' >sub/Makefile
if command -v make >/dev/null; then
	cmd 0 run -- make && cmd 0 lineage --stages sub/d.txt && says "$out" 'target d.txt' 'out/c.txt@{' 'target out/c.txt' 'target b.txt' 'a.in@{1}' && says_not "$out" '[workflow]'
	check 'targets, also those of a make in a make'
	cmd 0 lineage --stages --json sub/d.txt && json '[.stages[] | select(.kind == "target") | [.name, .engine, .named_by]] | sort == [["b.txt","make","arguments"],["d.txt","make","arguments"],["out/c.txt","make","arguments"]]' &&
		json '[.workflows[].argv | join(" ")] | length == 2' && json '.stages[] | select(.name == "out/c.txt") | .executions | length > 3'
	check 'lines of one recipe are one target'
else
	count=$((count + 1))
	echo "ok $count # SKIP no make"
fi
cd ..

# ---- workflows that share data: over runs, and of one run ----
mkdir wf && cd wf || exit 1
printf 'report: ../out/all\n\tsort ../out/all >report\n' >Makefile
printf 'x: report\n\tcp report x\n' >other.mk
printf 'touch scratch; make -s; make -s -f other.mk; cat x ../out/parts/a/1 >y; cat y scratch >z\n' >both.sh
if command -v make >/dev/null; then
	cmd 0 run -- sh both.sh && cmd 0 run -- cat z ../data/A.txt && cmd 0 lineage --workflows && says "$out" 'snakemake -j2  (7 stages)' 'made /' '/out/all@{1}: used by' '/out/parts/a/1@{1}: used by' 'sh both.sh' '  made z@{1}: used by' 'make -s  (1 stage)' '  made report@{1}: used by' 'make -s -f other.mk  (1 stage)' '  made x@{1}: used by' &&
		says "$out" '/out/all@{1}: used by' '  make -s' && says "$out" 'made x@{1}: used by' 'sh both.sh' && says "$out" 'made z@{1}: used by' 'cat z' && says_not "$out" '.snakemake' && says_not "$out" 'made y@' && says_not "$out" sorted
	check 'workflows that used what another one made'
	cmd 0 lineage --workflows --json && json '[.workflows[].engine] | sort == [null,null,"make","make","snakemake"]' && json '.shared | length == 5' && json '(.workflows | map({key: .id, value: .argv[0:2]}) | from_entries) as $w | (.entities | map({key: .id, value: .path}) | from_entries) as $e | [.shared[] | [($e[.entity] | split("/") | last), ($w[.made_by[0].workflow] | join(" ")), ([.used_by[] | $w[.workflow][0]] | join(" "))]] | sort | map(.[0]) == ["1","all","report","x","z"]'
	check 'as JSON'
	cmd 0 lineage --workflows ../data/A.txt && says "$out" '/data/A.txt@{1} external: used by' 'snakemake -j2' 'cat z' && cmd 0 lineage --workflows y && says "$out" 'sh both.sh' 'made y@{1}'
	check 'of one file: all that have to do with it'
	cmd 2 lineage --workflows a b && cmd 2 lineage --workflows --stages y && cmd 2 lineage -w -f dot
	check 'what cannot be meant'
else
	count=$((count + 1))
	echo "ok $count # SKIP no make"
fi
cd ..

# ---- Slurm and MPI are there where nothing else is; a rule is before both ----
history <<'END'
h = History('01SSSSSSSSSSSSSSSSSSSSSSSS', argv=['job.sh'])
step = ['SLURM_JOB_ID=77', 'SLURM_STEP_ID=%d']
top = h.process(); h.exec(top, ['bash', 'job.sh'], exe='/usr/bin/bash', script='/w/job.sh')
def run(parent, argv, reads, writes, env=()):
    p = h.process(parent); h.exec(p, argv, exe='/usr/bin/' + argv[0], env=env)
    for f in reads: h.read(p, h.file(f, size=1) if f not in h.files else h.file(f))
    for f in writes: h.write(p, h.file(f), size=2)
    h.exit(p); return p
a = [e % 0 if '%' in e else e for e in step]; b = [e % 1 if '%' in e else e for e in step]
run(top, ['pre', 'raw'], ['/w/raw'], ['/w/tmp1'], a)
run(top, ['pre2', 'tmp1'], ['/w/tmp1'], ['/w/mid'], a)
run(top, ['post', 'mid'], ['/w/mid'], ['/w/final'], b)
h.exit(top); h.end(); h.save(home, evtext)
END
cmd 0 lineage --stages /w/final && says "$out" 'step 77.1' '/w/mid@{1}' 'step 77.0' '/w/raw@{1}' && says_not "$out" '/w/tmp1' && cmd 0 lineage --stages --json /w/final && json '[.stages[] | [.kind, .name]] | sort == [["step","77.0"],["step","77.1"]]'
check 'steps of Slurm'
history <<'END'
h = History('01MMMMMMMMMMMMMMMMMMMMMMMM', argv=['make'], start=50000)
def job(parent, target, link):
    top = h.process(parent); h.exec(top, ['mpirun', '-n', '3', './solve', target], exe='/usr/bin/mpirun')
    ranks = []
    for i in range(3):
        r = h.process(top); h.exec(r, ['./solve', target], exe='/w/solve', env=['OMPI_COMM_WORLD_RANK=%d' % i, 'OMPI_COMM_WORLD_SIZE=3', 'SLURM_JOB_ID=8', 'SLURM_STEP_ID=2'])
        ranks.append(r)
    l = h.file(link, PIPE)
    h.read(ranks[0], h.file('/w/in.dat', size=8)); h.write(ranks[0], l)
    h.read(ranks[1], l); h.write(ranks[1], h.file('/w/' + target), size=9)
    for r in ranks: h.exit(r)
    h.exit(top)
job(0, 'alone.dat', 'pipe:[51]')
make = h.process(0); h.exec(make, ['make'], exe='/usr/bin/make')
job(make, 'made.dat', 'pipe:[52]')
h.exit(make); h.end(); h.save(home, evtext)
END
cmd 0 lineage --stages /w/alone.dat && says "$out" 'solve alone.dat  [2 of 3 ranks]' '/w/in.dat@{1}' && says_not "$out" 'step 8.2' && cmd 0 lineage --stages --json /w/alone.dat && json '.stages | length == 1 and .[0].kind == "mpi" and .[0].ranks == 2'
check 'an MPI job is before a step'
cmd 0 lineage --stages /w/made.dat && says "$out" 'target made.dat' '/w/in.dat@{1}' && says_not "$out" ranks && cmd 0 lineage --stages --json /w/made.dat && json '.stages | length == 1 and .[0].kind == "target" and (.[0].executions | length) >= 4'
check 'and a target before both'
finish
