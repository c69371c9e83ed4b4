#!/bin/sh
# What a shell opens for a program is the program's: neither did the shell read it, nor write it. A change of a file's times is none of
# the file. Real shells, recorded.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

seq 100 >s1
seq 200 >s2

# sources FILE: those of s1 and s2 that it surely is from
sources()
{
	cmd 0 lineage --certain --json "$1" || return 1
	$PYTHON - "$out" <<'END_PY'
import json, os, sys
with open(sys.argv[1]) as f:
    entities = json.load(f)['entities']
print(' '.join(sorted({os.path.basename(e['path']) for e in entities if e.get('path') and os.path.basename(e['path']) in ('s1', 's2')})))
END_PY
}
# sure SHELL SCRIPT FILE SOURCES
sure()
{
	if ! command -v "$1" >/dev/null; then
		skip "$1: $2" "no $1 here"
		return
	fi
	rm -f o o1 o2
	cmd 0 run -- "$1" -c "$2" && got=$(sources "$3") && { [ "$got" = "$4" ] || { echo "$3 from $got" >"$out"; false; }; }
	check "$1: $2"
}
for sh in dash bash; do
	sure $sh 'tr 1 2 <s1 >o1; tr 1 2 <s2 >o2' o2 s2
	sure $sh 'tr 1 2 <s1 >o1; tr 1 2 <s2 >o2' o1 s1
	sure $sh 'sort <s1 >/dev/null; read x <s2; echo "$x" >o' o s2
	sure $sh 'read x <s1; cat s2 >o' o s2
	sure $sh 'exec 3<s1; cat s2 >o; true' o s2
	sure $sh 'cat s2 3<s1 >o; true' o s2
	sure $sh 'cat s1 >o; sleep 0.03; cat s2 >o; true' o s2
	sure $sh 'cat s1 >o; cat s2 >>o; true' o 's1 s2'
	sure $sh '{ cat s1; cat s2; } >o; true' o 's1 s2'
	sure $sh 'for i in s1 s2; do sort <$i; done >o; true' o 's1 s2'
	sure $sh 'while read x; do echo $x; done <s1 >o; true' o s1
	sure $sh '{ cat; cat s2; } <s1 >o; true' o 's1 s2'
done
rm -f o
cmd 0 run -- sh -c 'read x <s1; echo "$x" | cat s2 - >o; v=$(cat s1); expr "$v" : "\(.\)" >o2; true' && cmd 0 lineage o2 && says "$out" 's1@{1}'
check 'what a shell has read and gives a command as an argument is possible'

# Times are set: by the one who wrote, by another, by a descriptor and by a path. The content stays, and so does who made it.
if command -v touch >/dev/null; then
	rm -f o o1 o2
	cmd 0 run -- sh -c "sort s1 >o; touch o; cat o >o1; touch -d 2001-01-01 o1; sort o1 >o2; true" && [ "$(sources o2)" = s1 ] && cmd 0 why o o1 &&
		says "$out" 'o@{1}: made by sort s1' && says "$out" 'o1@{1}: made by cat o' && says_not "$out" touch
	check 'touch is no maker, and takes nothing away'
	cat >times.py <<'END_PY'
import os
open('o1', 'w').write(open('s2').read())
os.utime('o1', ns=(1, 978307200000000000))
os.utime('o1')
END_PY
	rm -f o1 o2
	cmd 0 run -- sh -c "$PYTHON times.py; cat o1 >o2; $PYTHON -c 'import os; os.utime(\"o2\")'; sort o2 >o; true" && [ "$(sources o)" = s2 ] && cmd 0 why o2 && says "$out" 'o2@{1}: made by cat o1'
	check 'times set by a program, by itself and by another one'
	rm -f o1 o2
	cmd 0 run -- sh -c 'cp -p s1 o1; chmod 600 o1; ln o1 o3; mv o1 o2; sort o2 >o' && [ "$(sources o)" = s1 ] && cmd 0 why o2 && says "$out" 'made by cp -p s1 o1'
	check 'cp -p, chmod, ln, mv'
	rm -f o o1 o2
	cmd 0 run -- sh -c 'sort s1 >o; cat o >o1; touch o; cat o >o2; true' && cmd 0 why o && says "$out" 'o@{1}: made by sort s1' && [ "$(sources o2)" = s1 ]
	check 'a file that was read before its times were set'
	printf 'x\n' >outside
	cmd 0 run -- sh -c 'cat outside >o; touch outside; cat outside >o1; true' && cmd 0 lineage o1 && says "$out" 'outside@{1}' && says_not "$out" 'outside@{2}'
	check 'a file from outside, whose times are set between two reads'
	rm -f o1 o2
	cmd 0 run -- sh -c 'sort s1 >o1; cat o1 >o2' && cmd 0 run -- touch -d 2001-02-03 o1 outside && cmd 0 run -- sh -c 'cat o1 outside >o2' &&
		cmd 0 why o1 o2 && says "$out" 'o1@{1}: made by sort s1' && says "$out" 'o1@{1}' && says "$out" 'outside@{1}' && [ "$(sources o2)" = s1 ]
	check 'times set in another run'
	rm -f o1
	cmd 0 run -- sh -c 'sort s1 >o1; cat o1 >/dev/null; touch o1' && printf more >>o1 && cmd 0 run -- touch o1 && cmd 0 run -- sh -c 'cat o1 >o2' && [ "$(sources o2)" = '' ]
	check 'times set after a change that nobody saw do not hide it'
	rm -f o2
	cmd 0 run -- sh -c 'sort s1 >o2; sort o2 >o'
	printf more >>o2 && cmd 0 run -- sh -c 'touch o2; sort o2 >o' && [ "$(sources o)" = '' ]
	check 'a change that nobody saw is still one'
else
	skip 'times' 'no touch here'
fi
finish
