#!/bin/sh
# why -a names all inputs, however many there are and of whatever role.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

for n in 1 2 3 4 5 6 7 8 9; do
	echo $n >a-rather-long-name-of-an-input-$n.dat
done
echo x >.settings
cmd 0 run -q -- sh -c 'cat a-rather-long-name-of-an-input-?.dat .settings >out'
cmd 0 why out && says "$out" ' more' && says_not "$out" .settings && says_not "$out" input-9.dat
check 'a line has a few of them'
cmd 0 why -a out && says_not "$out" ' more' && says "$out" .settings@{1}
for n in 1 2 3 4 5 6 7 8 9; do
	says "$out" "input-$n.dat@{1}" || break
done
check 'with -a it has all'
COLUMNS=80 cmd 0 why -a out && says "$out" input-1.dat@{1} input-9.dat@{1}
check 'whatever the width'
finish
