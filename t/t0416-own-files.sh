#!/bin/sh
# A file that a program wrote and read again stands in the lineage of what it made from it, if it is there still.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >steps.py <<'END'
import os
open('mid', 'w').write(open('in').read())
open('scratch', 'w').write(open('mid').read())
open('fin', 'w').write(open('scratch').read())
os.remove('scratch')
END
echo 1 >in
cmd 0 run -- $PYTHON steps.py
cmd 0 lineage fin && says "$out" 'steps.py' 'in@{1}' 'mid@{1}' && says_not "$out" scratch && says_not "$out" above && [ "$(grep -c 'steps.py  (' "$out")" = 1 ]
check 'up: the one that is there, and the program once'
cmd 0 lineage --down in && says "$out" 'mid@{1}' && says "$out" 'fin@{1}' && cmd 0 lineage --down mid && says "$out" 'fin@{1}'
check 'down'
cmd 0 why fin && says "$out" 'from in@{1}' && says_not "$out" mid
check 'why names what the user gave'
finish
