#!/bin/sh
# Which programs stand for others: drivers of compilers, wrappers, shells given a command, launchers. Nothing else does.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

history <<'END'
h = History('01AAAAAAAAAAAAAAAAAAAAAAAA', argv=['make'])
def run(parent, *argv, exe=None, script=None):
    p = h.process(parent); h.exec(p, list(argv), exe=exe or '/usr/bin/' + argv[0], script=script); return p
def unlink(path):
    h.add('name', op=4, file=h.files[path], path=path)
make = run(0, 'make')
for src, gcc, exe in (('a', 'x86_64-linux-gnu-gcc-12', None), ('b', 'mpicc', '/usr/bin/dash')):
    sh = run(make, 'sh', '-c', '%s -c %s.c' % (gcc, src), exe='/usr/bin/dash')
    drv = run(sh, gcc, '-c', src + '.c', exe=exe, script='/usr/bin/mpicc' if exe else None)
    if exe:
        below = run(drv, 'gcc', '-c', src + '.c')
    else:
        below = drv
    tmp = '/tmp/cc%s.s' % src
    p = run(below, 'cc1', src + '.c', exe='/usr/lib/gcc/cc1'); h.read(p, h.file('/w/%s.c' % src)); h.read(p, h.file('/w/all.h'))
    h.write(p, h.file(tmp), size=9); h.exit(p)
    p = run(below, 'as', tmp); h.read(p, h.file(tmp)); h.write(p, h.file('/w/%s.o' % src), size=5); h.exit(p)
    unlink(tmp)
    h.exit(drv); h.exit(sh)
# the same, but what lies between is kept, so it is of interest to others
drv = run(make, 'gcc', '--save-temps', 'k.c')
p = run(drv, 'cc1', 'k.c'); h.read(p, h.file('/w/k.c')); h.write(p, h.file('/w/k.s'), size=9); h.exit(p)
p = run(drv, 'as', 'k.s'); h.read(p, h.file('/w/k.s')); h.write(p, h.file('/w/k.o'), size=5); h.exit(p); h.exit(drv)
# or somebody else read it before it went
drv = run(make, 'gcc', 'j.c')
p = run(drv, 'cc1', 'j.c'); h.read(p, h.file('/w/j.c')); h.write(p, h.file('/tmp/j.s'), size=9); h.exit(p)
q = run(make, 'spy'); h.read(q, h.file('/tmp/j.s')); h.write(q, h.file('/w/spied'), size=1); h.exit(q)
p = run(drv, 'as', 'j.s'); h.read(p, h.file('/tmp/j.s')); h.write(p, h.file('/w/j.o'), size=5); h.exit(p); h.exit(drv); unlink('/tmp/j.s')
# a script that starts tools, with a file between that is gone
py = run(make, 'python3', 'flow.py', script='/w/flow.py')
p = run(py, 'bwa', 'reads'); h.read(p, h.file('/w/reads')); h.write(p, h.file('/tmp/bam'), size=1); h.exit(p)
p = run(py, 'call', '-q', 'bam'); h.read(p, h.file('/tmp/bam')); h.write(p, h.file('/w/vcf'), size=1); h.exit(p); unlink('/tmp/bam'); h.exit(py)
# a driver that runs a shell that runs a tool
drv = run(make, 'gcc', '-plugin'); sh = run(drv, 'sh', '-c', 'gen', exe='/usr/bin/dash'); p = run(sh, 'gen')
h.write(p, h.file('/w/gen'), size=1); h.exit(p); h.exit(sh); h.exit(drv)
h.exit(make); h.end(); h.save(home, evtext)
END
cmd 0 why /w/a.o /w/b.o && says "$out" '/w/a.o@{1}: made by x86_64-linux-gnu-gcc-12 -c a.c from /w/a.c@{1}, /w/all.h@{1} by' && says "$out" '/w/b.o@{1}: made by mpicc -c b.c from /w/b.c@{1}, /w/all.h@{1} by'
check "a compiler's driver stands for what it starts; also where it is a script"
cmd 0 why --all /w/a.o && says "$out" 'made by as /tmp/cca.s from /tmp/cca.s@{1} by'
check 'with --all each by itself'
cmd 0 lineage /w/a.o && says "$out" '└─ x86_64-linux-gnu-gcc-12 -c a.c' && says "$out" ', 2 programs)' && says_not "$out" '/tmp/' && says_not "$out" 'cc1' && says "$out" '/w/all.h@{1}' && says "$out" '1 folded program or shell'
check 'one node in the tree'
cmd 0 lineage --all /w/a.o && says "$out" 'cc1 a.c' && says "$out" 'as /tmp/cca.s' && says "$out" '/tmp/cca.s@{1}' && says_not "$out" 'counts to'
check 'all of them with --all'
cmd 0 lineage --down /w/a.c && says "$out" 'gcc-12 -c a.c' && says "$out" '/w/a.o@{1}' && says_not "$out" 'cc1' && cmd 0 lineage --format dot /w/a.o && says "$out" 'gcc-12 -c a.c' && says_not "$out" 'cc1'
check 'descendants, and the picture'
cmd 0 lineage --json /w/a.o && json '[.executions[].argv[0]] | sort == ["as", "cc1"]' && json '[.executions[].representative] | length == 2 and .[0] == .[1] and .[0] != null' && json '[.entities[].path] | index("/tmp/cca.s") != null' &&
	cmd 0 why --json /w/a.o && json '.answers[0] | .makers[0].argv[0] == "as" and .makers[0].representative != null and .inputs[0].path == "/tmp/cca.s"'
check 'the JSON has everything, and says what counts to what'
cmd 0 lineage /w/k.o && says "$out" '/w/k.s@{1}' && says "$out" '/w/k.c@{1}' && cmd 0 why /w/k.o && says "$out" 'made by gcc --save-temps k.c from /w/k.s@{1} by'
check 'a file between that is still there is shown'
cmd 0 lineage /w/j.o && says "$out" '/tmp/j.s@{1}' && says "$out" '/w/j.c@{1}' && cmd 0 lineage /w/spied && says "$out" '/tmp/j.s@{1}' && says "$out" 'gcc j.c' && says "$out" '/w/j.c@{1}'
check 'and one that somebody else read'
cmd 0 why /w/vcf && says "$out" 'made by call -q bam from /tmp/bam@{1}' && cmd 0 lineage /w/vcf && says "$out" 'call -q bam' && says "$out" 'bwa reads' && says "$out" '/tmp/bam@{1}' && says "$out" '/w/reads@{1}'
check 'what a script starts stands for itself'
cmd 0 why /w/gen && says "$out" 'made by gen by'
check 'what a shell below a driver starts too'
cmd 0 show @ && says "$out" 'x86_64-linux-gnu-gcc-12 -c a.c' && says "$out" 'make' && says_not "$out" 'cc1' && says_not "$out" 'sh -c' && says "$out" '+ 12 folded into others (--all)' && cmd 0 show --all @ && says "$out" 'cc1 a.c' && says "$out" 'sh -c' && says_not "$out" 'count to'
check 'the programs of a run'

# An MPI job: rank 0 reads, rank 1 writes; what is between is a pipe, and memory that they share.
history <<'END'
h = History('01JJJJJJJJJJJJJJJJJJJJJJJJ', argv=['mpirun', './solve', 'in.dat'], start=80000)
top = h.process(); h.exec(top, ['mpirun', '-n', '3', './solve', 'in.dat'], exe='/usr/bin/mpirun')
h.read(top, h.file('/w/hosts', size=5))
ranks = []
for i in range(3):
    r = h.process(top); h.exec(r, ['./solve', 'in.dat'], exe='/w/solve', env=['OMPI_COMM_WORLD_RANK=%d' % i, 'OMPI_COMM_WORLD_SIZE=3'])
    ranks.append(r)
segment = h.file('/dev/shm/vader_segment.h1.0', size=4096)
link = h.file('pipe:[5]', PIPE)
h.read(ranks[0], h.file('/w/in.dat', size=8))
h.write(ranks[0], segment, size=4096)
h.write(ranks[0], link, mode=WRITE, via=DESCRIPTOR, sure=0, evidence=1)
h.read(ranks[1], h.file('/dev/shm/vader_segment.h1.0')); h.read(ranks[1], link, via=DESCRIPTOR, sure=0)
h.add('name', op=4, file=segment, path='/dev/shm/vader_segment.h1.0')
h.write(ranks[1], h.file('/w/out.dat'), size=8)
other = h.process(top); h.exec(other, ['./post', 'out.dat'], exe='/w/post', env=['OMPI_COMM_WORLD_RANK=0'])
h.read(other, h.file('/w/out.dat')); h.write(other, h.file('/w/post.dat'), size=3)
for r in ranks + [other, top]:
    h.exit(r)
h.end(); h.save(home, evtext)
END
cmd 0 lineage /w/out.dat && says "$out" 'solve in.dat  [2 of 3 ranks]' && says "$out" '/w/in.dat@{1}' && says_not "$out" vader && says_not "$out" pipe && says_not "$out" mpirun
check 'the ranks of an MPI job are one node'
cmd 0 lineage --format svg /w/out.dat && says "$out" '2 of 3 ranks' && cmd 0 lineage --format dot /w/out.dat && says "$out" '2 of 3 ranks'
check 'and in a picture'
cmd 0 lineage --all /w/out.dat && says "$out" vader && says "$out" ' pipe '
check 'and each for itself with --all'
cmd 0 why /w/out.dat && says "$out" 'made by solve in.dat [rank 1 of 3] from /w/in.dat@{1}' && says_not "$out" vader
check 'why names the rank that wrote'
cmd 0 why /w/post.dat && says "$out" 'made by post out.dat from /w/out.dat@{1} by' && says_not "$out" rank
check 'one rank alone is a program like others'

# In a batch job each program has a rank, and no two of them: what runs twice is no MPI job.
history <<'END'
h = History('01KKKKKKKKKKKKKKKKKKKKKKKK', argv=['job.sh'], start=90000)
top = h.process(); h.exec(top, ['sh', 'job.sh'], exe='/usr/bin/dash', env=['SLURM_PROCID=0', 'SLURM_NTASKS=4'])
for i in range(2):
    p = h.process(top); h.exec(p, ['step', 'in'], exe='/w/step', env=['SLURM_PROCID=0', 'SLURM_NTASKS=4'])
    if i:
        h.read(p, h.file('/w/half'))
    h.write(p, h.file('/w/twice' if i else '/w/half'), size=1); h.exit(p)
h.exit(top); h.end(); h.save(home, evtext)
END
cmd 0 lineage /w/twice && [ "$(grep -c 'step in' "$out")" = 2 ] && says_not "$out" ranks && cmd 0 why /w/twice && says_not "$out" rank
check 'a command that one rank runs twice is no MPI job'

echo 1 >in
echo 2 >other
rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
rec sh -c 'nice env X=1 timeout 60 sort in > w1'
cmd 0 lineage w1 && says "$out" '└─ sort in' && says "$out" 'in@{1}' && says_not "$out" 'opened by' && says "$out" '1 folded program or shell' && cmd 0 lineage --all w1 && says "$out" "nice env X=1" &&
	cmd 0 why w1 && says "$out" "made by sort in in sh -c 'nice env X=1" && says "$out" 'from in@{1} by'
check 'nice, env, timeout'
printf '#!/bin/sh\nread x <other\nnice sh -c "sort in > w2"\n' >s.sh
chmod +x s.sh
rec ./s.sh
cmd 0 why w2 && says "$out" 'made by sort in in s.sh from in@{1} by' && cmd 0 lineage w2 && says "$out" 'sort in' && says "$out" 'in@{1}'
check 'where it was done is the script, not the wrappers in it'
printf 'w3: in\n\tsort in > w3\n' >Makefile
if command -v make >/dev/null; then
	rec make
	cmd 0 why w3 && says "$out" 'made by sort in in make from in@{1} by' && cmd 0 lineage w3 && says "$out" '└─ sort in' && says_not "$out" 'opened by'
	check "a recipe's shell"
else
	skip "a recipe's shell" 'make is not installed'
fi
rec sh -c 'read x <other; { sort in; echo "$x"; } > w4'
cmd 0 lineage w4 && says "$out" 'opened by sh -c' && says "$out" 'other@{1}' && says_not "$out" 'counts to'
check 'a shell with an input of its own is never left out'
finish
