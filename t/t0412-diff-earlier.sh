#!/bin/sh
# stemma diff FILE: the version before may be of another file, which had the name: programs remove a result and make it anew.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >link.sh <<'END'
rm -f prog
cat part.txt >prog
END
echo 1 >part.txt
cmd 0 run -- sh link.sh
cmd 2 diff prog && says "$err" "'prog' has no earlier version in the record"
check 'of a file that was made once there is none'
echo 22 >part.txt
cmd 0 run -- sh link.sh && cmd 1 diff prog && says "$out" 'first cause' 'part.txt' && says "$out" 'prog  2 B -> 3 B'
check 'a file that was removed and made anew'
cat part.txt >new && cmd 0 run -- sh -c 'cat part.txt part.txt >new; mv new prog' && cmd 1 diff prog && says "$out" 'prog  3 B -> 6 B' && cmd 1 diff --json prog && json '.a.file != .b.file and .a.size == 3 and .b.size == 6'
check 'one that another took the place of'
cmd 0 run -- sh -c 'cat part.txt >prog' && cmd 1 diff prog && says "$out" 'prog  6 B -> 3 B (@{'
check 'one that was written over is compared with itself'
finish
