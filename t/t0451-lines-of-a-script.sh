#!/bin/sh
# A program of another line of a script is no maker, though the shell held a pipe of it: process substitution, and a here-document later.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir raw
for n in b c d; do
	printf 'k,v\n1,%s\n' $n >raw/$n.csv
done
cat >lines.sh <<'X'
paste -d, <(cut -d, -f1 raw/b.csv) <(cut -d, -f2 raw/c.csv) >pasted.csv
cat <<Y >here.txt
x $(head -1 raw/d.csv)
Y
X
cmd 0 run -q -- bash lines.sh
cmd 0 why here.txt && says "$out" 'head -1 raw/d.csv | cat' && says_not "$out" 'cut'
check 'the programs of the line, and none of another'
cmd 0 why pasted.csv && says "$out" 'cut' 'paste' 'raw/b.csv@{1}' 'raw/c.csv@{1}' && says_not "$out" head && says_not "$out" raw/d.csv
check 'the other line'
cmd 0 run -q -- bash -c 'head -1 raw/d.csv | while read -r l; do echo "$l"; done >loop.txt' && cmd 0 why loop.txt && says "$out" 'head -1 raw/d.csv' 'raw/d.csv@{1}'
check 'a shell that reads a pipe itself'
finish
