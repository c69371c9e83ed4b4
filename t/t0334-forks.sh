#!/bin/sh
# Programs that fork and go on as themselves: one program to people, with what each process read told apart. Semaphores
# only coordinate. Real programs, recorded.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

rec()
{ # COMMAND...: recorded; its own output is of no interest
	"$STEMMA" run -q -- "$@" >/dev/null 2>"$err" </dev/null
}
me=$(id -un)
for i in 0 1; do
	echo $i >in$i
done
cat >pool.py <<'END2'
import multiprocessing, time
def work(i):
    time.sleep(0.3)  # so that each of the two takes one
    with open('in%d' % i) as f, open('out%d' % i, 'w') as to:
        to.write(f.read())
if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool:
        pool.map(work, [0, 1], 1)
END2
cat >fork.py <<'END2'
import os
text = open('in0').read()
if os.fork() == 0:
    with open('in1') as f, open('forked', 'w') as to:
        to.write(text + f.read())
    os._exit(0)
os.wait()
END2
if $PYTHON -c 'import multiprocessing; multiprocessing.Lock()' 2>/dev/null; then
	rec $PYTHON -I pool.py && cmd 0 why out0 out1 && lines "$out" 2 && says_not "$out" '/dev/shm' && says_not "$out" ' | ' &&
		says "$out" "out0@{1}: made by python3 -I pool.py from in0@{1}, " && says "$out" "out1@{1}: made by python3 -I pool.py from in1@{1}, " &&
		says "$out" " by $me@" && says_not "$out" 'by ?@'
	check "a pool: one program, its file's own input first, the user's name"
	cmd 0 why out0 && says_not "$out" 'in1@{1},' && says_not "$out" 'in1@{1} '
	check "what another process of the pool read is possible at most"
	cmd 0 lineage out0 && says_not "$out" '/dev/shm' && says_not "$out" 'pipe' && says_not "$out" 'fork of' && says "$out" "└─ python3 -I pool.py" &&
		says "$out" '─ in0@{1}' && says_not "$out" '─ in1@{1}' && says "$out" 'coordination edges' && says "$out" ' processes)' && [ "$(wc -l <"$out")" -lt 12 ]
	check "its lineage can be read"
	cmd 0 lineage --json out0 && json '[.entities[].path | select(contains("sem."))] | length == 0' && json '.omitted.sync > 0' &&
		json '[.executions[].user] | unique == ["'"$me"'"]' && cmd 0 lineage --all out0 && says "$out" 'fork of'
	check "the JSON has every process, and whose it is; --all shows them"
else
	skip 'a pool of processes' 'Python cannot make semaphores here'
fi
rec $PYTHON -I fork.py && cmd 0 why forked && says "$out" "forked@{1}: made by python3 -I fork.py from " && says "$out" 'in0@{1}' && says "$out" 'in1@{1}' && says_not "$out" '@{1}?' && says "$out" " by $me@"
check 'a child made it of what its parent had read'
# What a child wrote to a pipe is known if that was watched by then; a here-document is filled before it can be.
for sh in dash bash; do
	# shellcheck disable=SC2016 # for the shell under test
	rec $sh -c 'read v <in0; echo "$v" | tee told >/dev/null; tee here >/dev/null <<E
$v
E
read w <in1; echo "$w" >last' && cmd 0 why told here && lines "$out" 2 && [ "$(grep -cE "| tee .* from in0@\{1\}\\?? by" "$out")" = 2 ] && says_not "$out" 'in1@' &&
		says_not "$out" 'fork of' && cmd 0 why --json told here &&
		json '[.answers[].inputs[] | .path | sub(".*/"; "")] == ["in0", "in0"]'
	check "$sh: what the shell had read may be in what it wrote to a pipe or a here-document; what it read later is not"
done
cat >later.py <<'END2'
import os
r, w = os.pipe()
ready, go = os.pipe()
if os.fork() == 0:
    os.close(w)
    text = open('in0').read()
    os.write(go, b'x')
    with open('later', 'wb') as to:
        to.write(text.encode() + os.read(r, 100))
    os._exit(0)
os.close(r)
os.read(ready, 1)
os.write(w, open('in1', 'rb').read())
os.wait()
END2
rec $PYTHON -I later.py && cmd 0 why later && says "$out" 'in0@{1}, ' && says "$out" 'in1@{1}' && cmd 0 lineage later && says "$out" '─ in0@{1}' &&
	says "$out" 'in1@{1}'
check 'what the parent read after it forked is there by the pipe that it came through'
cat >nameless.py <<'END2'
import subprocess, tempfile
with tempfile.TemporaryFile() as t, open('in0', 'rb') as f:
    t.write(f.read())
    t.seek(0)
    subprocess.run(['tee', 'given'], stdin=t, stdout=subprocess.DEVNULL)
with tempfile.TemporaryFile() as t:
    subprocess.run(['cat', 'in1'], stdout=t)
    t.seek(0)
    with open('taken', 'wb') as f:
        f.write(t.read())
END2
rec $PYTHON -I nameless.py && cmp -s given in0 && cmp -s taken in1 && cmd 0 lineage given && says "$out" 'in0@{1}' && says_not "$out" 'in1@' &&
	says_not "$out" ' @{' && cmd 0 lineage taken && says "$out" 'in1@{1}'
check 'through a temporary file that never had a name, both ways'
rec sh -c 'mkfifo way; cat in0 >way & cat way in1 >piped; wait' && cmd 0 why piped && says "$out" 'from in0@{1}?, in1@{1} by' && cmd 0 lineage piped && says "$out" ' fifo ' &&
	cmd 0 why --json piped && json '[.answers[0].inputs[] | [(.path | sub(".*/"; "")), .certainty]] == [["in0", "may"], ["in1", "must"]]' &&
	json '[.answers[0].makers[].certainty] | index("must") != null'
check 'what came through a pipe is as possible in why as in lineage; both stand in the order of the arguments'
cmd 0 lineage --certain piped && says "$out" 'in1@{1}' && says_not "$out" 'in0@{1}' && says "$out" 'left out: '
check '--certain leaves it out, and says so'
rec sh -c 'cat in0 >way & sort way >sorted; wait; cp in0 copied; cp in1 other' && cmd 0 find 'from in0 and path *ed' && says "$out" 'sorted@{1}?' && says "$out" 'copied@{1}' && says_not "$out" 'copied@{1}?' &&
	cmd 0 find 'path sorted and not from in1' && is "$out" 'sorted@{1}' && cmd 0 find --json 'from in0 and path sorted' && json '[.entities[].certainty] == ["may"]' &&
	cmd 0 find --json 'from in0 and path copied' && json '[.entities[].certainty] == ["must"]'
check 'find: what is only possible has a question mark'
cat >memory.py <<'END2'
import os, subprocess
fd = os.memfd_create('x')
os.write(fd, open('in0', 'rb').read())
os.lseek(fd, 0, 0)
subprocess.run(['cat'], stdin=fd, stdout=open('through', 'w'), check=True)
END2
rec $PYTHON memory.py && cmd 0 why --json through && json '[.answers[0].inputs[].path | sub(".*/"; "")] | index("in0") != null' && cmd 0 lineage through && says "$out" 'in0@{1}'
check 'memory that a parent filled for a child'
finish
