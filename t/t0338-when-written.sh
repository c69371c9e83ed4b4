#!/bin/sh
# When a write was, and what it left: an empty file has nobody's content, a program has nothing of what it destroyed itself, and
# each read has something behind it (doc/graph.md, rules 1, 6 and 7).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
rec()
{
	"$STEMMA" run -q -- "$@" >"$out" 2>"$err" </dev/null
}
echo before >in
echo five >f1
echo other >f2
sleep 0.05
rec sh -c 'exec 3>>f1; cp f1 n0' && cmd 0 lineage n0 && says "$out" 'f1@{1}'
check 'a file that is held to append, and not written, is used'
rec bash -c 'exec 3>>f2; cp f2 n1; echo more >&3' && cmd 0 lineage n1 && says "$out" 'f2@{'
check '... or written later'

rec sh -c 'cat in >/dev/null; : >empty' && cmd 0 why empty && says "$out" 'made by' && cmd 0 lineage empty && says_not "$out" 'in@'
check 'an empty file came from nothing'
rec $PYTHON -I -c 'open("in").read(); open("hollow", "w").close()' && cmd 0 lineage hollow && says "$out" python3 '? in@{1}' &&
	cmd 0 lineage --certain hollow && says_not "$out" 'in@{1}' && says "$out" 'left out: ' 'input of a writer of an empty file' &&
	cmd 0 lineage --all hollow && says "$out" 'in@{1}' &&
	cmd 0 lineage --down in@{1} && says "$out" '? hollow@' && cmd 0 lineage --certain --down in@{1} && says_not "$out" hollow@
check '... and what its maker had read is possible, for that may be why it is empty'
rec $PYTHON -I -c 'import time; d = open("in").read(); open("log", "w").close(); time.sleep(0.05); open("result", "w").write(d)' && cmd 0 lineage result && says "$out" 'in@{1}'
check 'what is made beside it came from that'

echo destroyed >back
sleep 0.05
rec sh -c 'echo secret >back' && rec $PYTHON -I -c '
w = open("back", "w"); w.write("new"); w.flush()
d = open("back").read()
open("out", "w").write(d)' && cmd 0 lineage out && says_not "$out" 'back@{1}' 'echo secret' && says "$out" python3
check 'what a program has emptied it does not read back'

rec $PYTHON -I -c '
import os
fd = os.open("back", os.O_RDWR); os.ftruncate(fd, 1); os.write(fd, b"x"); os.close(fd)' && cmd 0 lineage --certain back && says_not "$out" 'back@{2}' && cmd 0 lineage back && says "$out" '? derived from'
check 'what became smaller may have been emptied'
echo old >emptied
sleep 0.05
rec sh -c 'echo secret >emptied' && rec $PYTHON -I -c '
import os
d = open("in", "rb").read()
fd = os.open("emptied", os.O_WRONLY); os.ftruncate(fd, 0); os.write(fd, d * 9); os.close(fd)' && cmd 0 lineage emptied && says "$out" in@ && says_not "$out" 'echo secret'
check 'what was emptied by its descriptor has nothing of what was there'
rec $PYTHON -I -c '
import os
fd = os.open("emptied", os.O_RDWR); os.ftruncate(fd, 4); os.write(fd, b"x"); os.close(fd)' && cmd 0 lineage emptied && says "$out" in@
check '... what was cut has'

# What is read when a mapping is gone is no input of what was written through it.
head -c 100 /dev/zero >map
echo later >after
echo first >soon
sleep 0.05
rec $PYTHON -I -c '
import mmap, time
f = open("map", "r+b"); d = open("soon", "rb").read()
m = mmap.mmap(f.fileno(), 0); m[:len(d)] = d; m.close(); f.close()
time.sleep(0.05)
for i in range(4):
    open("f1").close()
open("after").read()' && cmd 0 lineage map && says "$out" soon@ && says_not "$out" after@
check 'a mapped write ends when the mapping does'
rec $PYTHON -I -c '
import mmap
f = open("map", "r+b"); m = mmap.mmap(f.fileno(), 0); f.close()
d = open("after", "rb").read(); m[:len(d)] = d' && cmd 0 lineage map && says "$out" after@
check '... and not before'
finish
