#!/bin/sh
# stemma adopt of what build tools and recorders leave: ninja, compile_commands.json (the real programs), DVC, DataLad, MLflow, Darshan,
# the audit daemon, ReproZip (documents in their form; DataLad and ReproZip also by the real programs, where these are). The truths are by
# hand. What is hostile is at the end.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

# sources FILE: the names of the user's files that it is from, sorted, then the certainties, in $out
sources()
{
	cmd 0 lineage --json "$1" || return 1
	$PYTHON - "$out" "$1" "$T/work/" <<'E' >"$T/sources" && mv "$T/sources" "$out"
import json, os, sys
a = json.load(open(sys.argv[1]))
sure = {e['certainty'] for e in a['edges'] if e['type'] in ('used', 'wasGeneratedBy')}
names = {e['path'] for e in a['entities'] if e.get('path', '').startswith(sys.argv[3])}
names = sorted({os.path.basename(n) for n in names} - {os.path.basename(sys.argv[2])})
print(' '.join(names), '/', ' '.join(sorted(sure)))
E
}

# fresh FOLDER: a new record, and a folder to work in
fresh()
{
	rm -rf "$STEMMA_HOME"
	mkdir -p "$T/work/$1" && cd "$T/work/$1" || exit 1
	W=$T/work/$1
}

# ---- ninja, and compilers' commands ----

fresh ninja
printf '#include "a.h"\nint main(void) { return A; }\n' >a.c
echo '#define A 0' >a.h
echo unused >other.h
cat >CMakeLists.txt <<'E'
cmake_minimum_required(VERSION 3.18)
project(x C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_executable(prog a.c)
add_custom_command(OUTPUT two.txt one.txt COMMAND cp ${CMAKE_SOURCE_DIR}/a.h one.txt COMMAND cp one.txt two.txt DEPENDS a.h)
add_custom_target(texts ALL DEPENDS two.txt one.txt)
E
if command -v ninja >/dev/null 2>&1 && command -v cmake >/dev/null 2>&1 && cmake -G Ninja -B b >"$out" 2>"$err" && ninja -C b >"$out" 2>"$err"; then
	cmd 0 adopt && says "$out" 'ninja: ' ' jobs  (1 document)'
	check 'ninja: a job for each output of the log'
	sources b/prog && is "$out" 'a.c a.c.o a.h / may'
	check 'ninja: a header that only the compiler told of'
	sources b/two.txt && is "$out" 'a.h / may'
	check 'ninja: what the file of the build declares'
	cmd 0 lineage b/prog && says "$out" 'cc' 'a.c.o -c' && says "$out" 'another tool reported it'
	check 'ninja: the command of an object'
	touch a.h && sleep 0.02 && ninja -C b >"$out" 2>"$err" && cmd 0 adopt && sources b/prog && is "$out" 'a.c a.c.o a.h / may'
	check 'ninja: built again, the last build counts'
	rm -rf "$STEMMA_HOME" b && cmake -G 'Unix Makefiles' -B b >"$out" 2>"$err" && make -C b >"$out" 2>"$err" && cmd 0 adopt && says "$out" 'compile_commands.json: 1 job ' &&
		sources b/CMakeFiles/prog.dir/a.c.o && is "$out" 'a.c / may'
	check 'compile_commands.json beside make'
else
	skip 'ninja, and compile_commands.json' 'ninja or cmake is not installed'
fi
fresh ninja-by-hand
echo s >'in a' && echo t >in2 && echo 3 >dep && sleep 0.02 && echo o >out && printf '# ninja log v6\n5\t9\t%s\tout\tab12\n' "$(date -r out +%s%N)" >.ninja_log
cat >build.ninja <<'E'
two = in2
rule cp
  command = cp $in $out
build out | side: cp in$ a $
    ${two} | dep || order
build $
E
cmd 0 adopt && sources out && is "$out" 'dep in a in2 / may'
check 'build.ninja: blanks, variables, lines that go on, implicit inputs; what only orders is no input'
fresh ninja-long
sub=$(printf 'd%.0s' $(seq 100)) && mkdir "$sub" && echo s >"$sub/last" && sleep 0.02 && echo o >out && printf '# ninja log v6\n5\t9\t%s\tout\tab12\n' "$(date -r out +%s%N)" >.ninja_log
{
	echo "builddir = $W/$sub"
	printf 'build out: cp'
	seq -f ' $builddir/%g' 3000 | tr -d '\n'
	echo ' $builddir/last'
} >build.ninja
cmd 0 adopt && sources out && is "$out" "$(seq 3000 | LC_ALL=C sort | tr '\n' ' ')last / may"
check 'build.ninja: a variable has its value in each of many paths'
fresh ninja-never
echo o >out && printf '# ninja log v6\n5\t900000000000\t9999999999999999999\tout\tab12\n5\t900000000000\t9223372036854775807\tout\tab12\n' >.ninja_log
cmd 0 adopt && cmd 0 show --json @ && says_not "$out" 9223372036 '"-'
check '.ninja_log: a time that is none'

# ---- DVC ----

fresh dvc-lists
mkdir -p .dvc/cache/files/md5/ab d e && echo 1 >d/a && echo 2 >e/a && sleep 0.02 && echo o >one && echo o >two && echo o >three
echo '[{"md5": "1", "relpath": "a"}]' | tee .dvc/cache/files/md5/ab/cdef0123456789.dir >.dvc/cache/files/md5/ab/cdef0123456780.dir
printf 'stages:\n' >dvc.lock
for o in one two three; do
	printf '  %s:\n    cmd: x\n    deps:\n' $o
	printf '    - path: %s\n      md5: abcdef012345678%s.dir\n' d 9 e 0 e 9
	printf '    outs:\n    - path: %s\n' $o
done >>dvc.lock
$PYTHON - "$STEMMA" .dvc/cache/files/md5/ab/cdef0123456789.dir >"$T/opened" 2>"$err" <<'E'
import ctypes, os, struct, subprocess, sys
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(os.O_NONBLOCK)
assert fd >= 0 and libc.inotify_add_watch(fd, sys.argv[2].encode(), 0x30) > 0 # IN_OPEN, IN_CLOSE_NOWRITE
subprocess.check_call([sys.argv[1], 'adopt'], stdout=2)
print([mask for _, mask, _, _ in struct.iter_unpack('IIII', os.read(fd, 65536))])
E
cp "$T/opened" "$out" && is "$out" '[32, 16]' && cmd 0 lineage two && says "$out" d/a e/a
check 'DVC: the list of a folder is read once, whoever depends on it'

fresh dvc
mkdir -p data src .dvc/cache/files/md5/ab && echo raw >data/raw.csv && echo 'print()' >src/prep.py && echo 1 >'x y.txt' && sleep 0.02 && mkdir data/prepared && echo a >data/prepared/a.txt && echo b >data/prepared/b.txt
sleep 0.02 && echo m >model.pkl && echo '{}' >metrics.json
echo '[{"md5": "1", "relpath": "a.txt"}, {"md5": "2", "relpath": "b.txt"}]' >.dvc/cache/files/md5/ab/cdef0123456789.dir
cat >dvc.lock <<'E'
schema: '2.0'
stages:
  prepare:
    cmd: python src/prep.py data/raw.csv "data/prepared" --a-long-option-that-makes
      the line go on
    deps:
    - path: data/raw.csv
      hash: md5
      md5: 22a1a2931c8370d3aeedd7183606fd7f
      size: 4
    - path: src/prep.py
      hash: md5
      md5: 285af85d794bb57e5d09ace7209f3519
      size: 8
    params:
      params.yaml:
        prepare.seed: 20170428
        prepare.path: not/a/file
    outs:
    - path: data/prepared
      hash: md5
      md5: abcdef0123456789.dir
      size: 4
      nfiles: 2
  train@1:
    cmd:
    - "echo \"one: two\""
    - python train.py
    deps:
    - path: data/prepared
      md5: abcdef0123456789.dir
    - path: 'x y.txt'
      md5: 1
    outs:
    - md5: 0123
      path: model.pkl
    - path: metrics.json
      md5: 4567
      cache: false
E
cmd 0 adopt && says "$out" 'DVC: 2 jobs  (1 document)' && sources model.pkl && is "$out" 'a.txt b.txt prep.py raw.csv x y.txt / may'
check 'DVC: stages, through the files of a folder that the cache lists; parameters are no files'
cmd 0 show --json @ && json '[.things[0].executions[].argv[2] // empty] | sort == ["echo \"one: two\" && python train.py", "python src/prep.py data/raw.csv \"data/prepared\" --a-long-option-that-makes the line go on"]'
check 'DVC: a command over two lines, and a list of commands'
fresh dvc1
echo a >in && sleep 0.02 && echo b >out && cat >dvc.lock <<'E'
build:
  cmd: cp in out
  deps:
  - path: in
    md5: 1
  outs:
  - path: out
    md5: 2
E
cmd 0 adopt && sources out && is "$out" 'in / may'
check 'DVC: the first form of the document'

# ---- DataLad ----

fresh datalad
mkdir -p sub && echo 3 >in.txt && sleep 0.02 && echo 4 >out.txt && sleep 0.02 && echo 5 >sub/n.txt && cat >history.gitlog <<'E'
commit 1809180e77a69e5c8d65216a3f1a32486b8211b7
Author: t <t@t>

    [DATALAD RUNCMD] count
    
    === Do not change lines below ===
    {
     "chain": [],
     "cmd": "wc -l ../out.txt > n.txt",
     "dsid": "a9ee85ff-25a1-4611-b908-b7271ef4dbae",
     "exit": 0,
     "extra_inputs": [],
     "inputs": ["../out.txt", "*.csv"],
     "outputs": ["n.txt"],
     "pwd": "sub"
    }
    ^^^ Do not change lines above ^^^

commit 6f3195adf9b998bb8daa4012f4b5819ac81332cb

    nothing
E
mkdir -p .datalad/runinfo && echo '{"cmd": ["sort", "in.txt"], "exit": 0, "inputs": ["in.txt"], "outputs": ["out.txt"], "pwd": "."}' >.datalad/runinfo/0123456789abcdef
cmd 0 adopt && says "$out" 'DataLad: 2 jobs  (2 documents)' && sources sub/n.txt && is "$out" 'in.txt out.txt / may'
check 'DataLad: messages of commits and a sidecar, by the directory of each; a pattern is no name'
if command -v datalad >/dev/null 2>&1 && git config --global user.name t && git config --global user.email t@t; then
	fresh datalad-real
	datalad create -c text2git ds >"$out" 2>"$err" && cd ds && printf 'b\na\n' >in.txt && datalad save -m in >"$out" 2>"$err" && datalad run -i in.txt -o out.txt 'sort {inputs} > {outputs}' >"$out" 2>"$err" &&
		datalad run -i out.txt -o n.bin 'gzip -c {inputs} > {outputs}' >"$out" 2>"$err" && git log >h.gitlog && cmd 0 adopt && says "$out" 'DataLad: 2 jobs' && sources n.bin && says "$out" 'in.txt' 'out.txt'
	check 'DataLad: the real program, with a result behind a link'
	chmod -R u+w .
else
	skip 'DataLad: the real program' 'it is not installed'
fi

# ---- MLflow ----

fresh mlflow
now=$(date +%s)
run=mlruns/0/0123456789abcdef0123456789abcdef
mkdir -p $run/params $run/tags $run/artifacts/model && echo x >train.py && echo m >$run/artifacts/model/model.pkl && echo p >$run/artifacts/plot.png
printf 0.5 >$run/params/alpha && printf 'a b' >$run/params/kind && printf '%s' "$W/train.py" >$run/tags/mlflow.source.name
touch -d "@$((now - 60))" train.py
printf "artifact_uri: file://%s\nend_time: %s\nentry_point_name: ''\nexperiment_id: '0'\nlifecycle_stage: active\nrun_id: 0123456789abcdef0123456789abcdef\nrun_name: bold-crane-1\nsource_type: 4\nstart_time: %s\nstatus: 3\n" "$W/$run/artifacts" "$((now + 60))000" "$((now - 30))000" >$run/meta.yaml
printf 'artifact_location: file:///x\nexperiment_id: "0"\nname: Default\n' >mlruns/0/meta.yaml
cmd 0 adopt && says "$out" 'MLflow: 1 job  (1 document)' && sources $run/artifacts/model/model.pkl && is "$out" 'train.py / may'
check 'MLflow: a run with its artifacts and script; an experiment is no run'
cmd 0 show --json @ && json ".things[0].executions[] | select(.argv[1] == \"alpha=0.5\") | .argv == [\"$W/train.py\", \"alpha=0.5\", \"kind=a b\"] and .exit.status == 0"
check 'MLflow: parameters and status'

# ---- Darshan ----

fresh darshan
echo i >in.dat && sleep 0.02 && echo o >out.dat && touch read-not && t=$(date -r out.dat +%s)
touch -d "@$((t - 100))" in.dat
cat >sim.darshan.txt <<E
# darshan log version: 3.41
# compression method: ZLIB
# exe: ./sim --n 4 $W/in.dat
# uid: 1000
# jobid: 4478544
# start_time: $((t - 10))
# end_time: $((t + 1))
# nprocs: 4

#<module>	<rank>	<record id>	<counter>	<value>	<file name>	<mount pt>	<fs type>
POSIX	-1	1	POSIX_OPENS	4	$W/in.dat	/	ext4
POSIX	-1	1	POSIX_READS	8	$W/in.dat	/	ext4
POSIX	-1	1	POSIX_WRITES	0	$W/in.dat	/	ext4
POSIX	-1	1	POSIX_BYTES_READ	800	$W/in.dat	/	ext4
POSIX	-1	2	POSIX_READS	0	$W/out.dat	/	ext4
POSIX	-1	2	POSIX_BYTES_WRITTEN	800	$W/out.dat	/	ext4
POSIX	-1	2	POSIX_BYTES_READ	-1	$W/read-not	/	ext4
STDIO	0	3	STDIO_BYTES_WRITTEN	80	<STDOUT>	UNKNOWN	UNKNOWN
E
cmd 0 adopt && says "$out" 'Darshan: 1 job  (1 document)' && sources out.dat && is "$out" 'in.dat / may' && cmd 0 why out.dat && says "$out" 'sim --n 4'
check 'Darshan: what was read and written, by the counters'

# ---- Slurm ----

fresh slurm
echo i >in.txt && sleep 0.02 && echo o >fit-4711_3.out && s=$(date -r fit-4711_3.out +%s) && touch -d "@$((s - 100))" in.txt
{
	echo 'JobID|JobName|State|ExitCode|Start|End|WorkDir|SubmitLine|StdOut|StdErr|StdIn|User'
	echo "4711_3|fit|COMPLETED|3:0|$(date -d "@$((s - 5))" +%Y-%m-%dT%H:%M:%S)|$(date -d "@$((s + 1))" +%Y-%m-%dT%H:%M:%S)|$W|sbatch job.sh|%x-%A_%a.out|%N.err|in.txt|me"
	echo '4711_3.batch|batch|COMPLETED|0:0|Unknown|Unknown||||||'
	echo '4712|other|PENDING|0:0|Unknown|Unknown|/x||/dev/null|/dev/null|/dev/null|me'
} >jobs.sacct
cmd 0 adopt && says "$out" 'Slurm: 1 job; 1 more names no output  (1 document)' && sources fit-4711_3.out && is "$out" 'in.txt / may'
check 'Slurm: the standard streams of a job, with patterns in their names; a step is no job'
cmd 0 show --json @ && json '.things[0].executions[] | select(.argv[2] == "sbatch job.sh") | .exit.status == 3'
check 'Slurm: command line and status'
fresh slurm-bars
echo o >out.txt && echo u >uniq && echo 1 >4711
{
	echo 'JobID|ExitCode|JobName|SubmitLine|StdOut|WorkDir'
	echo "1|0:0|a|sbatch --wrap sort a|uniq|out.txt|$W"
	echo "2|0:0|b|sbatch x|uniq"
	echo "4711|0:0|c|sbatch x|out.txt|$W"
} >jobs.sacct
cmd 0 adopt && says "$out" 'Slurm: 1 job; 2 more name no output' && cmd 0 show --json @ && says_not "$out" '/uniq"'
check 'Slurm: a line with a bar in a text, or with too few fields, names no file'
rm -rf "$STEMMA_HOME" && printf 'JobID|ExitCode|StdOut\n1|0:0|out.txt|uniq|uniq\n2|0:0|out.txt\n' >jobs.sacct
cmd 0 adopt && says "$out" 'Slurm: 1 job; 1 more names no output' && cmd 0 show --json @ && says_not "$out" '/uniq"'
check 'Slurm: a column that the table lacks is not taken from behind its last'

# ---- the audit daemon ----

fresh audit
echo i >in.txt && sleep 0.02 && echo o >out.txt && echo j >noise && s=$(date -r out.txt +%s) && touch -d "@$((s - 100))" in.txt noise && touch -d "@$s.5" out.txt
cat >audit.log <<E
type=SYSCALL msg=audit($s.100:1): arch=c000003e syscall=59 success=yes exit=0 a0=5 a1=6 a2=7 a3=8 items=2 ppid=1 pid=100 auid=0 uid=0 comm="sh" exe="/usr/bin/dash" key=(null)
type=EXECVE msg=audit($s.100:1): argc=3 a0="sh" a1="-c" a2=736F727420696E2E747874203E206F75742E747874
type=CWD msg=audit($s.100:1): cwd="$W"
type=PATH msg=audit($s.100:1): item=0 name="/bin/sh" inode=1 dev=fd:00 mode=0100755 nametype=NORMAL
type=SYSCALL msg=audit($s.200:2): arch=c000003e syscall=257 success=yes exit=3 a0=ffffff9c a1=5 a2=241 a3=1b6 items=2 ppid=1 pid=100 comm="sh" exe="/usr/bin/dash"
type=CWD msg=audit($s.200:2): cwd="$W"
type=PATH msg=audit($s.200:2): item=0 name="$W/" inode=2 nametype=PARENT
type=PATH msg=audit($s.200:2): item=1 name="out.txt" inode=3 nametype=CREATE
type=SYSCALL msg=audit($s.300:3): arch=c000003e syscall=58 success=yes exit=101 a0=0 a1=0 a2=0 a3=0 items=0 ppid=1 pid=100 comm="sh" exe="/usr/bin/dash"
type=SYSCALL msg=audit($s.310:4): arch=c000003e syscall=59 success=yes exit=0 a0=5 a1=6 a2=7 a3=8 items=2 ppid=100 pid=101 comm="sort" exe="/usr/bin/sort"
type=EXECVE msg=audit($s.310:4): argc=2 a0="sort" a1="in.txt"
type=CWD msg=audit($s.310:4): cwd="$W"
type=PATH msg=audit($s.310:4): item=0 name="/usr/bin/sort" inode=1 nametype=NORMAL
type=SYSCALL msg=audit($s.400:5): arch=c000003e syscall=257 success=yes exit=4 a0=ffffff9c a1=5 a2=0 a3=0 items=1 ppid=100 pid=101 comm="sort" exe="/usr/bin/sort"
type=CWD msg=audit($s.400:5): cwd="$W"
type=PATH msg=audit($s.400:5): item=0 name="in.txt" inode=4 nametype=NORMAL
type=SYSCALL msg=audit($s.410:6): arch=c000003e syscall=257 success=no exit=-13 a0=ffffff9c a1=5 a2=0 a3=0 items=1 ppid=100 pid=101 comm="sort" exe="/usr/bin/sort"
type=PATH msg=audit($s.410:6): item=0 name="noise" inode=5 nametype=NORMAL
type=SYSCALL msg=audit($s.600:7): arch=c000003e syscall=231 success=yes exit=0 a0=3 a1=0 a2=0 a3=0 items=0 ppid=100 pid=101 comm="sort" exe="/usr/bin/sort"
type=EOE msg=audit($s.600:7):
E
cmd 0 adopt && says "$out" 'audit log: 2 jobs  (1 document)' && sources out.txt && is "$out" 'in.txt / may'
check 'audit: a redirection, by who may have written; what failed is not taken'
cmd 0 show --json @ && json '[.things[0].executions[] | select(.argv[0] == "sort")] | length == 1 and .[0].exit.status == 3' && json '[.things[0].executions[] | select(.argv == ["sh", "-c", "sort in.txt > out.txt"])] | length == 1'
check 'audit: words in hexadecimal, exit status'

# ---- ReproZip ----

fresh reprozip
echo i >in.txt && echo n >noise && sleep 0.05 && echo m >mid.txt && sleep 0.05 && echo o >out.txt
$PYTHON - <<'E'
import os, sqlite3
os.makedirs('.reprozip-trace')
w = os.getcwd()
db = sqlite3.connect('.reprozip-trace/trace.sqlite3')
db.executescript('''
CREATE TABLE processes(id INTEGER NOT NULL PRIMARY KEY, run_id INTEGER NOT NULL, parent INTEGER, timestamp INTEGER NOT NULL, is_thread BOOLEAN NOT NULL, exitcode INTEGER);
CREATE TABLE opened_files(id INTEGER NOT NULL PRIMARY KEY, run_id INTEGER NOT NULL, name TEXT NOT NULL, timestamp INTEGER NOT NULL, mode INTEGER NOT NULL, is_directory BOOLEAN NOT NULL, process INTEGER NOT NULL);
CREATE TABLE executed_files(id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL, run_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, process INTEGER NOT NULL, argv TEXT NOT NULL, envp TEXT NOT NULL, workingdir TEXT NOT NULL);
''')
end = os.stat('out.txt').st_mtime_ns
base = 10 ** 13 - end
at = lambda name, plus=0: os.stat(name).st_mtime_ns + base + plus
db.execute('INSERT INTO processes VALUES(1,0,NULL,?,0,0)', (at('in.txt', 10 ** 7),))
db.execute("INSERT INTO executed_files VALUES(1,'/bin/sh',0,?,1,?,'',?)", (at('in.txt', 2 * 10 ** 7), 'sh\0run.sh\0', w))
db.execute('INSERT INTO opened_files VALUES(1,0,?,?,2,0,1)', (w + '/mid.txt', at('mid.txt', -10 ** 6)))
db.execute('INSERT INTO processes VALUES(2,0,1,?,0,0)', (at('mid.txt', -9 * 10 ** 5),))
db.execute("INSERT INTO executed_files VALUES(2,'/bin/sort',0,?,2,?,'',?)", (at('mid.txt', -8 * 10 ** 5), 'sort\0in.txt\0', w))
db.execute('INSERT INTO opened_files VALUES(2,0,?,?,1,0,2)', (w + '/in.txt', at('mid.txt', -7 * 10 ** 5)))
db.execute('INSERT INTO opened_files VALUES(3,0,?,?,4,1,2)', (w, at('mid.txt', -6 * 10 ** 5)))
db.execute('INSERT INTO opened_files VALUES(4,0,?,?,8,0,2)', (w + '/noise', at('mid.txt', -6 * 10 ** 5)))
db.execute('INSERT INTO opened_files VALUES(5,0,?,?,2,0,1)', (w + '/out.txt', at('out.txt', -10 ** 6)))
db.execute('INSERT INTO processes VALUES(3,0,1,?,0,4)', (at('out.txt', -9 * 10 ** 5),))
db.execute("INSERT INTO executed_files VALUES(3,'/usr/bin/uniq',0,?,3,?,'',?)", (at('out.txt', -8 * 10 ** 5), 'uniq\0mid.txt\0', w))
db.execute('INSERT INTO opened_files VALUES(6,0,?,?,1,0,3)', (w + '/mid.txt', at('out.txt')))
db.commit()
db.close()
os.utime('.reprozip-trace/trace.sqlite3', ns=(end, end))
E
cmd 0 adopt && says "$out" 'ReproZip: 3 jobs  (1 document)' && sources out.txt && is "$out" 'in.txt mid.txt / may'
check 'ReproZip: through two redirections of a shell; what was only looked at is no input'
cmd 0 show --json @ && json '[.things[0].executions[] | select(.argv == ["uniq", "mid.txt"])] | length == 1 and .[0].exit.status == 4'
check 'ReproZip: words and exit status'
if command -v reprozip >/dev/null 2>&1; then
	fresh reprozip-real
	printf 'b\na\n' >in.txt && reprozip trace sh -c 'sort in.txt >mid.txt; uniq -c mid.txt >out.txt' </dev/null >"$out" 2>"$err" && cmd 0 adopt && sources out.txt && is "$out" 'in.txt mid.txt / may'
	check 'ReproZip: the real program'
else
	skip 'ReproZip: the real program' 'it is not installed'
fi

# ---- what is hostile ----

fresh bad
$PYTHON - <<'E'
import os, sqlite3, struct
def put(name, data):
    os.makedirs(os.path.dirname(name) or '.', exist_ok=True)
    open(name, 'wb').write(data if isinstance(data, bytes) else data.encode())
put('a/dvc.lock', 'stages:\n  a:\n    cmd: "' + 'x\\' * 5000 + '\n    deps:\n    - path: ' + '../' * 3000 + 'etc/passwd\n    - path: |\n    outs:\n' + '    - ' * 2000 + '\n  \x1b]0;x\x07:\n    outs:\n    - path: o\n      md5: ../../etc.dir\n')
put('b/dvc.lock', b'\xff\0- - -\n:\n: :\n' + b'  ' * 50000 + b'x:\n')
put('c/dvc.lock', 'schema: 2.0\n')
put('d/.ninja_log', '# ninja log v5\n1\t2\n9\t1\t5\tx\ty\n1\t2\t99999999999999999999999\t' + 'p' * 100000 + '\th\n0\t1\t1700000000000000000\to\th\n')
put('d/build.ninja', 'build o: r ' + '$a' * 1000 + '\na = ' + '$a$a' * 100 + '\nbuild : :\nbuild\nbuild o: phony | | | || |@ $\n$')
put('d/.ninja_deps', b'# ninjadeps\n' + struct.pack('<I', 4) + struct.pack('<I', 8) + b'a\0\0\0' + struct.pack('<I', 0xffffffff) + struct.pack('<I', 0x80000010) + struct.pack('<IIII', 0, 0, 0, 77) + struct.pack('<I', 0x7fffffff))
put('e/.ninja_log', '# ninja log v99\n')
put('f/compile_commands.json', '[1, {"directory": "/", "file": "x", "arguments": ["-o"]}, {"directory": "/", "file": "' + 'y' * 9000 + '", "output": "z"}]')
put('g/meta.yaml', "run_id: '\nartifact_uri: x\nstart_time: 99999999999999999999\nstatus: -1\nrun_name: \x1b[31m\n")
os.makedirs('g/artifacts'); os.symlink('/etc', 'g/artifacts/etc'); os.symlink('/etc/passwd', 'g/artifacts/p')
put('h/x.gitlog', '=== Do not change lines below ===\n{"cmd": ' + '[' * 5000 + '\n^^^ Do not change lines above ^^^\n=== Do not change lines below ===\n{"cmd": "x", "pwd": "/", "outputs": ["etc/passwd", 5, "\\u0000"]}^^^ Do not change lines above ^^^')
put('h/.datalad/runinfo/x', 'no JSON\n{"cmd": []}\n')
put('i/x.darshan.txt', '# darshan log version: 3\n# start_time: 1e308\nPOSIX\t0\t1\tPOSIX_WRITES\t9\t/' + '../' * 2000 + '\n\t\t\t\t\t\n')
put('j/audit.log', 'type=SYSCALL msg=audit(1.000:1): arch=c000003e syscall=2 success=yes pid=1 a1=1\ntype=PATH msg=audit(1.000:1): item=0 name=zz\ntype=PATH msg=audit(1.000:1): item=99 name="x"\ntype=EXECVE msg=audit(1.000:1): argc=99999999999 a0="x\n msg=audit(')
head = 'type=SYSCALL msg=audit(1700000000.000:%d): arch=c000003e syscall=%d success=yes exit=%d pid=7 a1=1\n'
put('q/audit.log', ''.join(head % (n, 2, 3) + 'type=PATH msg=audit(1700000000.000:%d): item=0 name="/q/%d"\n' % (n, n) + head % (100000 + n, 57, 8 + n) for n in range(20000)) +
    head % (300000, 59, 0) + 'type=EXECVE msg=audit(1700000000.000:300000): argc=99999' + ''.join(' a%d="x"' % n for n in range(60000)) + '\ntype=EXECVE' + ' ' * (1 << 21) + ' msg=audit(1700000000.000:300000): argc=1 a0="long"\n')
put('p/x.sacct', 'JobID|StdOut|ExitCode|Start\n|\n1|%|999999999999999999999999:0|2026-99-99T99:99:99\n2|' + '../' * 3000 + '|:0|x\n3|%j%|\n4' + '|' * 5000 + '\n5')
put('k/trace.sqlite3', b'SQLite format 3\0' + os.urandom(4096))
db = sqlite3.connect('l.sqlite3'); db.execute("CREATE VIEW processes AS SELECT 1 AS id"); db.execute('CREATE TABLE opened_files(x)'); db.commit(); db.close()
os.makedirs('l'); os.rename('l.sqlite3', 'l/trace.sqlite3')
db = sqlite3.connect('m.sqlite3')
db.executescript("CREATE TABLE processes(id, run_id, parent, timestamp, is_thread, exitcode); CREATE TABLE opened_files(id, run_id, name, timestamp, mode, is_directory, process); CREATE TABLE executed_files(id, name, run_id, timestamp, process, argv, envp, workingdir);")
db.execute("INSERT INTO processes VALUES('x', 0, 'y', 9223372036854775807, 1, -1)"); db.execute("INSERT INTO processes VALUES(-1, 0, -1, -9223372036854775807, 0, 999)")
db.execute("INSERT INTO opened_files VALUES(1, 0, ?, 5, 3, 0, -1)", (b'/etc/passwd\0x',)); db.execute("INSERT INTO opened_files VALUES(2, 0, NULL, 5, 3, 0, NULL)"); db.execute("INSERT INTO executed_files VALUES(1, NULL, 0, 5, -1, NULL, NULL, ?)", ('/' * 9000,))
db.commit(); db.close(); os.makedirs('m'); os.rename('m.sqlite3', 'm/trace.sqlite3')
for name in ('dvc.lock', 'meta.yaml', '.ninja_log', 'trace.sqlite3', 'audit.log', 'x.gitlog', 'x.darshan.txt', 'compile_commands.json'):
    os.makedirs('n', exist_ok=True)
    os.symlink('/dev/zero', 'n/' + name)
    os.makedirs('o/' + name)
E
cmd 0 adopt && says "$err" 'c/dvc.lock: it contains no stage' 'e/.ninja_log: it is not a log of ninja' 'k/trace.sqlite3: it is not a trace of ReproZip' 'l/trace.sqlite3: it is not a trace of ReproZip' && cmd 0 fsck && cmd 0 log
check 'hostile documents: what can be read is, the rest is said'
cmd 0 lineage /etc/passwd && says_not "$out" "$(printf '\033')"
check 'a name is shown without its escapes'
finish
