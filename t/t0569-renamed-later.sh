#!/bin/sh
# What why says of a file that another program renamed after it was made, and of a command that one shell was given; and what
# find says of what a shell put into the arguments of a program. Truths by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$T/work" || exit 1
printf '3\n1\n2\n' >a && echo 2 >n && echo x >w
cmd 0 run -q -- sort a -o u1 && cmd 0 run -q -- mv u1 u2 && cmd 0 why u2 && says "$out" 'u2@{1} (was u1): made by sort a -o u1 from a@{1} by '
check 'another program renamed it: the name that it was made by'
cmd 0 run -q -- sh -c 'sort a >t1; mv t1 t2' && cmd 0 why t2 && says "$out" 't2@{1} (was t1): made by sort a in sh -c' && says "$out" ' from a@{1} by '
check 'the same in a script'
cmd 0 why u1 && says "$out" 'u2@{1} (was u1): made by'
check 'who asks by the old name is told once'
cp a s && cmd 0 run -q -- sed -i s/1/9/ s && cmd 0 why s && says_not "$out" '(was'
check 'a program that gave its own file its name is not told of'
ln u2 u3 && cmd 0 run -q -- ln u2 u4 && cmd 0 why u4 && says_not "$out" '(was' && cmd 0 why u2 && says "$out" 'u2@{1} (was u1): '
check 'a further name is none before'
cmd 0 run -q -- mv w w2 && cmd 1 why w2 && says "$err" "only the name of 'w2' is recorded, not its content" 'it was w until'
check 'a file of which only names are recorded: the one that it had'

cmd 0 run -q -- sh -c 'sort a >b' && cmd 0 why b && says "$out" 'b@{1}: made by sort a from a@{1} by '
check 'a shell that was given one command is not named'
cmd 0 run -q -- sh -c 'sort a >b; wc -l b >c' && cmd 0 why c && says "$out" "made by wc -l b in sh -c 'sort a >b; wc"
check 'a shell that was given several is'

cmd 0 run -q -- sh -c 'head -n $(cat n) a | sort >h' && cmd 1 find 'from n' && says "$err" 'nothing found' 'fork, exec or shared memory' 'stemma lineage --down --fork FILE' && cmd 0 lineage --down --fork n && says "$out" 'h@{1}'
check 'what a shell put into arguments is not followed by find, and counted'
cmd 1 find 'from h' && says "$err" 'nothing found' && says_not "$err" '--fork'
check 'where there is no such edge nothing is said of it'
finish
