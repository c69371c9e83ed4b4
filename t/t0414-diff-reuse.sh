#!/bin/sh
# stemma diff of runs of which the second takes over what the first made: what that came from is no difference. And what
# a workflow's settings changed is explained by the settings.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >build.sh <<'END'
# a small make: what is older than its source is made anew
[ a.o -nt a.c ] || tr a-z A-Z <a.c >a.o
[ b.o -nt b.c ] || sort b.c >b.o
cat a.o b.o >prog
END
printf 'b\na\n' >a.c
printf 'd\nc\n' >b.c
cmd 0 run -- sh build.sh
sleep 0.05
printf 'b\nx\na\n' >a.c
cmd 0 run -- sh build.sh && cmd 1 diff && says "$out" 'first cause   an input: a.c' && says "$out" 'b.c  only in A, 4 B; B reused a file that A had made from it' && says "$out" 'sort  only in A; B reused what A had made with it'
check 'an incremental build: the source that was changed'
cmd 1 diff --json && json '[.rungs[].differences[]] | map(select(.subject == "'"$T/work/b.c"'" and .reused and .rooted == false)) | length == 1'
check 'and as JSON'
cmd 1 diff @ @~1 && says "$out" 'first cause   an input: a.c' && says "$out" 'b.c  only in B, 4 B; A reused a file that B had made from it'
check 'and the other way round'

# What was not taken over is a difference still.
rm b.o
printf 'd\nc\n' >c.c
sed 's/b\.c/c.c/g' build.sh >n && cat n >build.sh
sleep 0.05
cmd 0 run -- sh build.sh && cmd 1 diff && says_not "$out" 'only in B, 4 B; A used'
check 'what was not taken over'

# A driver's settings change what its children are told: of one file, too, whose lineage has the driver and not the shells between.
cat >driver.py <<'END'
import subprocess
n = open('config').read().strip()
open('plan', 'w').write('1\n')
subprocess.run(['sh', '-c', 'head -qn %s in.txt plan >out.txt' % n], check=True)
END
echo 1 >config
seq 9 >in.txt
cmd 0 run -- $PYTHON driver.py
sleep 0.05
echo 2 >config
cmd 0 run -- $PYTHON driver.py && cmd 1 diff out.txt && says "$out" 'first cause' 'config'
check 'the setting and not the argument that it became'
finish
