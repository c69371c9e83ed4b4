"""pipelines_table.py - the pipelines of pipelines.py: files, script, and what a person would say of each output."""
import random


class Pipeline:
    """`truths` has a line for each output: its name, a colon, its sources; `?` behind one that may be. `known`: how many are missed, certain
    and false, certain and may be, at most."""

    def __init__(self, name, files, script, truths, needs=(), shell='bash', known=(0, 0, 0)):
        self.name, self.files, self.shell, self.needs, self.known = name, files, shell, needs, known
        self.scripts = [script] if isinstance(script, str) else script
        self.truths = {}
        for line in truths.strip().splitlines():
            output, sources = line.split(':')
            self.truths[output.strip()] = sources.split()


def numbered(word, count=20):
    return ''.join(f'{word}{i:02} {i * 7 % 13}\n' for i in range(count))


PIPELINES = [
    Pipeline('sort-join-uniq', {'people': numbered('k'), 'orders': numbered('k', 30), 'prices': numbered('k', 5)}, '''
sort -k1,1 people >people.sorted
sort -k1,1 orders | join people.sorted - | cut -d ' ' -f 3 | sort | uniq -c >report
sort -rn report | head -n 3 >best
''', '''
people.sorted: people
report: people.sorted orders
best: report'''),

    Pipeline('tar-gzip-zstd', {'src/a': numbered('a'), 'src/b': numbered('b'), 'notes': 'not packed\n'}, '''
tar cf - src | gzip -9 >src.tgz
gzip -dc src.tgz | zstd -q -o src.tar.zst
mkdir out; zstd -dcq src.tar.zst | tar xf - -C out
wc -l <notes >notes.lines
''', '''
src.tgz: src/a src/b
src.tar.zst: src.tgz
out/src/a: src.tar.zst
out/src/b: src.tar.zst
notes.lines: notes''', needs=('zstd',)),

    Pipeline('make-j2', {
        'Makefile': 'all: prog other\nprog: main.o util.o\n\tcc -o $@ main.o util.o\nother: other.o\n\tcc -o $@ other.o\n'
                    '%.o: %.c\n\tcc -c -o $@ $<\nmain.o util.o: util.h\n',
        'main.c': '#include "util.h"\nint main(void) { return util(); }\n', 'util.c': '#include "util.h"\nint util(void) { return 0; }\n',
        'util.h': 'int util(void);\n', 'other.c': '#include "other.h"\nint main(void) { return OTHER; }\n', 'other.h': '#define OTHER 0\n',
        'README': 'a text\n'}, 'make -s -j2', '''
main.o: main.c util.h Makefile?
util.o: util.c util.h Makefile?
other.o: other.c other.h Makefile?
prog: main.o util.o
other: other.o''', needs=('make', 'cc')),

    Pipeline('configure', {
        'configure': '''#!/bin/sh
exec 5>config.log
echo "started" >&5
cat >conftest.c <<E
int main(void) { return 0; }
E
if cc -o conftest conftest.c >&5 2>&1 && ./conftest; then works=yes; else works=no; fi
rm -f conftest conftest.c
cat >config.status <<E
#!/bin/sh
sed -e 's/@WORKS@/$works/' Makefile.in >Makefile
sed -e 's/#undef WORKS/#define WORKS 1/' config.h.in >config.h.tmp
mv config.h.tmp config.h
E
chmod +x config.status
./config.status
''', 'Makefile.in': 'all:\n\techo @WORKS@\n', 'config.h.in': '#undef WORKS\n', 'README': 'a text\n'}, './configure', '''
config.status: configure
config.log: configure
Makefile: Makefile.in config.status?
config.h: config.h.in config.status?''', needs=('cc',)),

    Pipeline('python-subprocess', {
        'main.py': '''import subprocess
limit = int(open('limit').read())
with open('table') as table, open('big', 'w') as big:
    for line in table:
        if int(line.split()[1]) > limit: big.write(line)
p = subprocess.Popen(['sort', '-k2'], stdin=open('big'), stdout=subprocess.PIPE)
data = p.communicate()[0]
open('sorted', 'wb').write(data)
subprocess.run(['cp', 'other', 'other.copy'], check=True)
''', 'limit': '4\n', 'table': numbered('t'), 'other': 'x\n', 'unused': 'y\n'}, '/usr/bin/python3 -I main.py', '''
big: limit table main.py
sorted: big limit table main.py
other.copy: other limit? table? big? main.py?'''),

    Pipeline('git', {'draft': numbered('d'), 'other': numbered('o'), 'unused': 'u\n'}, '''
git init -q repo && cd repo && git config user.name a && git config user.email a@b
cp ../draft a; git add a; git commit -q -m one
git checkout -q -b side; cp ../other b; git add b; git commit -q -m two
git checkout -q - && git checkout -q side
rm a; git checkout -q -- a
git show HEAD:b >../shown
''', '''
repo/a: draft other? repo/b?
repo/b: other draft? repo/a?
shown: other draft? repo/a? repo/b?''', needs=('git',), known=(0, 0, 7)),

    Pipeline('find-xargs', {'data/a.txt': numbered('a'), 'data/sub/b.txt': numbered('b'), 'data/skip.log': 'no\n'}, '''
find data -name '*.txt' -print0 | sort -z | xargs -0 cat >all
find data -name '*.txt' -exec grep -h 1 {} + >hits
find data -name '*.txt' | while read -r f; do wc -l <"$f" >"$f.lines"; done
''', '''
all: data/a.txt data/sub/b.txt
hits: data/a.txt data/sub/b.txt
data/a.txt.lines: data/a.txt
data/sub/b.txt.lines: data/sub/b.txt'''),

    Pipeline('while-read', {'table': 'x,1\ny,2\n', 'x.txt': 'words x\n', 'y.txt': 'words y\n', 'z.txt': 'words z\n'}, '''
mkdir out
while IFS=, read -r name value; do
    echo "$value" >>values
    tr a-z A-Z <"$name.txt" >"out/$name"
done <table
''', '''
values: table
out/x: x.txt table?
out/y: y.txt table?''', shell='dash', known=(0, 2, 2)),  # where the shell has not come to its wait yet

    Pipeline('process-substitution', {'a': numbered('a'), 'b': numbered('b'), 'c': numbered('c')}, '''
comm -3 <(sort a) <(sort b) >ab
paste <(cut -c 1-2 a) <(cut -c 2- c) | tr '\\t' ' ' >ac
''', '''
ab: a b
ac: a c'''),

    Pipeline('here-documents', {'params': 'rate 3\n', 'data': numbered('d'), 'sum.awk': '{ s += $2 } END { print s }\n', 'secret': 'no\n'}, '''
cat >conf <<E
# made
$(cat params)
E
awk -f sum.awk data >sum
/usr/bin/python3 -I - data >count <<E
import sys
print(len(open(sys.argv[1]).readlines()))
E
''', '''
conf: params
sum: data sum.awk
count: data''', shell='dash'),

    Pipeline('tee', {'in': numbered('i', 50), 'filter': 'i1\n', 'unused': 'u\n'}, '''
cat in | tee raw | grep -f filter | tee kept | wc -l >count
sort -r in | tee >(head -n 1 >first; : >first.end) >reversed
until [ -e first.end ]; do sleep 0.01; done
''', '''
raw: in
kept: in filter
count: in filter
reversed: in
first: in'''),

    Pipeline('redirections-in-loops', {f'{s}.txt': numbered(s) for s in 'ABC'} | {'header': 'name n\n'}, '''
exec 3<header
for s in A B C; do
    tr a-z A-Z <$s.txt >$s.up
    { cat header; grep -c 1 $s.up; } >$s.count
    cat $s.count >>summary
done
''', '''
A.up: A.txt
B.up: B.txt
C.up: C.txt
A.count: header A.up
B.count: header B.up
C.count: header C.up
summary: A.count B.count C.count''', shell='dash'),

    Pipeline('like-snakemake', {
        'flow.py': '''import os, subprocess, sys, time
rules = [line.split(' : ') for line in open(sys.argv[1]).read().splitlines()]
log = open('flow.log', 'w')
for output, command in rules:
    subprocess.run(['bash', '-c', command], check=True)
    now = time.time()
    os.utime(output, (now, now))
    log.write(f'{output} {os.stat(output).st_size}\\n')
''', 'rules': 'a.sorted : sort a >a.sorted\nb.sorted : sort b >b.sorted\nab : join a.sorted b.sorted >ab\nn : wc -l <ab >n\n',
        'a': numbered('k'), 'b': numbered('k'), 'unused': 'u\n'}, '/usr/bin/python3 -I flow.py rules', '''
flow.log: flow.py rules
a.sorted: a rules? flow.py?
b.sorted: b rules? flow.py?
ab: a.sorted b.sorted rules? flow.py?
n: ab rules? flow.py?'''),

    Pipeline('snakemake', {
        'Snakefile': '''rule all:
    input: 'n'
rule sort:
    input: '{x}.txt'
    output: '{x}.sorted'
    shell: 'sort {input} >{output}'
rule join:
    input: 'a.sorted', 'b.sorted'
    output: 'ab'
    shell: 'join {input} >{output}'
rule count:
    input: 'ab'
    output: 'n'
    run:
        with open(output[0], 'w') as out: out.write(str(len(open(input[0]).readlines())))
''', 'a.txt': numbered('k'), 'b.txt': numbered('k'), 'unused': 'u\n'}, 'snakemake -q -j1', '''
a.sorted: a.txt Snakefile?
b.sorted: b.txt Snakefile?
ab: a.sorted b.sorted Snakefile?
n: ab Snakefile? a.txt? b.txt? a.sorted? b.sorted?''', needs=('snakemake',), known=(0, 0, 1)),
]


def sequences():
    """A reference, and reads of it with a few differences."""
    chance = random.Random(1)
    reference = ''.join(chance.choice('ACGT') for _ in range(3000))
    sample = reference[:1500] + ('A' if reference[1500] != 'A' else 'C') + reference[1501:]
    reads = []
    for n in range(300):
        at = chance.randrange(0, 2900)
        reads.append(f'@r{n}\n{sample[at:at + 100]}\n+\n{"I" * 100}\n')
    return f'>ref\n{reference}\n', ''.join(reads)


REFERENCE, READS = sequences()
PIPELINES.append(Pipeline('reads', {'ref.fa': REFERENCE, 'reads.fq': READS, 'targets.bed': 'ref\t0\t3000\n', 'unused.bed': 'ref\t0\t10\n'}, [
    'bwa index -p index ref.fa', '''
bwa mem -v 1 index reads.fq | samtools sort -O bam -T tmp -o out.bam -
samtools index out.bam
bcftools mpileup -f ref.fa out.bam | bcftools call -m -v --ploidy 1 | bcftools view -T targets.bed >out.vcf
samtools flagstat out.bam >stats'''], '''
index.bwt: ref.fa
out.bam: index.bwt reads.fq
out.bam.bai: out.bam
out.vcf: out.bam ref.fa targets.bed
stats: out.bam''', needs=('bwa', 'samtools', 'bcftools')))
NEXTFLOW = '''import os, subprocess, sys
# What Nextflow does behind a process: a folder a task, its inputs as links, .command.sh, .command.run, logs beside it, outputs published.
def task(number, script, inputs, outputs):
    folder = f'work/{number:02x}/{number * 7919:030x}'
    os.makedirs(folder)
    for name, path in inputs.items(): os.symlink(os.path.abspath(path), f'{folder}/{name}')
    with open(f'{folder}/.command.sh', 'w') as out: out.write('#!/bin/bash -ue\\n' + script + '\\n')
    with open(f'{folder}/.command.run', 'w') as out:
        out.write('cd ' + os.path.abspath(folder) + '\\n'
                  '(bash -ue .command.sh 2>&1 1>&3 3>&- | tee .command.err >&2) 3>&1 1>.command.out\\n'
                  'printf 0 >.exitcode\\n')
    subprocess.run(['bash', f'{folder}/.command.run'], check=True, stderr=subprocess.DEVNULL)
    with open(f'{folder}/.exitcode') as status: assert status.read() == '0'
    for name in outputs: subprocess.run(['cp', '-fRL', f'{folder}/{name}', f'results/{name}'], check=True)
    return {name: f'{folder}/{name}' for name in outputs}
os.mkdir('results')
a = task(1, 'sort a.txt >a.sorted; echo sorted', {'a.txt': 'data/a.txt'}, ['a.sorted'])
b = task(2, 'sort b.txt | uniq >b.sorted', {'b.txt': 'data/b.txt'}, ['b.sorted'])
c = task(3, 'join a.sorted b.sorted >ab.txt; wc -l <ab.txt >ab.n', {**a, **b}, ['ab.txt', 'ab.n'])
'''

MPI = '''#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	char name[16], line[64] = "", last[64] = "";
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	sprintf(name, "in.%d", rank);
	FILE *in = fopen(name, "r");
	while (fgets(line, sizeof(line), in)) sscanf(line, "%63s", last);
	fclose(in);
	sprintf(name, "out.%d", rank);
	FILE *out = fopen(name, "w");
	fprintf(out, "%s\\n", last);
	fclose(out);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
}
'''

PIPELINES += [
    Pipeline('like-nextflow', {'main.py': NEXTFLOW, 'data/a.txt': numbered('k'), 'data/b.txt': numbered('k'), 'unused': 'u\n'}, '/usr/bin/python3 -I main.py', '''
results/a.sorted: data/a.txt main.py?
results/b.sorted: data/b.txt main.py? data/a.txt?
results/ab.txt: results/a.sorted? results/b.sorted? data/a.txt data/b.txt main.py?
results/ab.n: results/a.sorted? results/b.sorted? data/a.txt data/b.txt main.py?'''),

    Pipeline('autoconf', {
        'configure.ac': 'AC_INIT([tool], [1])\nAC_CONFIG_FILES([Makefile])\nAC_PROG_CC\nAC_CHECK_HEADERS([unistd.h])\nAC_CONFIG_HEADERS([config.h])\nAC_OUTPUT\n',
        'Makefile.in': 'CC = @CC@\ntool: tool.c config.h\n\t$(CC) -o $@ tool.c\n', 'config.h.in': '#undef HAVE_UNISTD_H\n',
        'tool.c': '#include "config.h"\nint main(void) { return HAVE_UNISTD_H - 1; }\n', 'README': 'a text\n'}, ['autoconf', './configure -q', 'make -s'], '''
configure: configure.ac
Makefile: Makefile.in configure config.h.in?
config.h: config.h.in configure Makefile.in?
tool: tool.c config.h Makefile? configure?''', needs=('autoconf', 'cc', 'make')),

    Pipeline('R', {
        'fit.R': 'source("model.R")\nd <- read.table("points", header = TRUE)\nm <- model(d)\nwrite.table(coef(m), "coefficients")\n'
                 'saveRDS(m, "model.rds")\nm <- readRDS("model.rds")\npdf("plot.pdf"); plot(d); invisible(dev.off())\n',
        'model.R': 'model <- function(d) lm(y ~ x, d)\n', 'points': 'x y\n1 1\n2 3\n3 4\n', 'unused': 'u\n'}, 'Rscript --vanilla fit.R', '''
coefficients: fit.R model.R points
model.rds: fit.R model.R points coefficients?
plot.pdf: fit.R model.R points model.rds coefficients?''', needs=('Rscript',)),

    Pipeline('latex', {
        'main.tex': '\\documentclass{article}\n\\begin{document}\n\\tableofcontents\n\\input{part}\n\\end{document}\n',
        'part.tex': '\\section{One}\nwords\n', 'unused.tex': 'no\n'},
        'pdflatex -interaction=batchmode main >said; pdflatex -interaction=batchmode main >said2', '''
main.toc: main.tex part.tex
main.pdf: main.tex part.tex main.toc
main.log: main.tex part.tex main.toc''', needs=('pdflatex',)),

    Pipeline('ffmpeg', {'unused': 'u\n'}, '''
ffmpeg -v error -f lavfi -i testsrc=duration=1:size=64x64:rate=5 -c:v mpeg4 in.avi
ffmpeg -v error -i in.avi -vf hflip -c:v mpeg4 out.avi
ffmpeg -v error -i out.avi -f rawvideo - | md5sum >sum
''', '''
out.avi: in.avi
sum: out.avi''', needs=('ffmpeg',)),

    Pipeline('mpi', {'job.c': MPI, 'in.0': numbered('a'), 'in.1': numbered('b'), 'unused': 'u\n'}, '''
mpicc -o job job.c
mpirun --allow-run-as-root --oversubscribe -n 2 ./job
cat out.0 out.1 >all
''', '''
job: job.c
out.0: in.0 in.1? job
out.1: in.1 in.0? job
all: out.0 out.1''', needs=('mpicc', 'mpirun')),
]
