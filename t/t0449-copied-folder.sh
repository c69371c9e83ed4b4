#!/bin/sh
# A folder that was copied: each copy came from the file that was opened for it, and from no other, upwards and downwards. Truths by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir d
for n in p q s; do
	echo "data $n" >$n
done
echo 'data r' >d/r
ln q q2
cmd 0 run -q -- cp -r . ../zc && diff -r . ../zc >"$out"
check 'a folder is copied'
for n in p s d/r; do
	cmd 0 why ../zc/$n && says "$out" "from $n@{1} by" && cmd 0 lineage ../zc/$n && says "$out" "derived from $n@{1}" 'cp -r . ../zc'
	check "$n is from $n"
done
cmd 0 find 'from p' && sed "s|$T||" "$out" >"$T/o" && is "$T/o" '/zc/p@{1}'
check 'found'
cmd 0 find 'from q' && sed "s|$T||" "$out" | sort >"$T/o" && is "$T/o" '/zc/q2@{1}
/zc/q@{1}'
check 'a file of two names has two copies'
cmd 0 lineage --down s && says "$out" 'became' 'zc/s@{1}' && says_not "$out" 'zc/p@'
check 'downwards'
cmd 0 lineage --certain ../zc/s && says "$out" 's@{1}' && says_not "$out" 'p@{1}'
check 'surely'
for n in p s d/r; do # in which order they were copied is not known
	"$STEMMA" lineage --all ../zc/$n
done >"$out" 2>"$err" && [ "$(grep -c ' p@{1}\| s@{1}\| d/r@{1}' "$out")" -gt 3 ]
check '--all has what the program read'
for edges in off all; do
	STEMMA_ADJACENCY=$edges cmd 0 find 'from d/r' && lines "$out" 1 && says "$out" 'zc/d/r@{1}'
	check "with the edges beside the index: $edges"
done

mkdir to
cmd 0 run -q -- cp p q to && cmd 0 find 'from p and path to/*' && is "$out" 'to/p@{1}' && cmd 0 find 'from q and path to/*' && is "$out" 'to/q@{1}'
check 'two files into a folder'
cmd 0 run -q -- install -m 644 p s ../zc/d && cmd 0 why ../zc/d/s && says "$out" 'from s@{1} by'
check 'install'
cmd 0 run -q -- cp p one && cmd 0 lineage one && says_not "$out" 'derived from' && says "$out" 'p@{1}'
check 'one file is shown as before'

# Not a copy: a program of the same name that is the user's own.
cat >cp <<'X'
#!/usr/bin/python3 -I
a = open('p').read()
open('mixed1', 'w').write(a)
b = open('q').read()
open('mixed2', 'w').write(a + b)
X
chmod +x cp
cmd 0 run -q -- ./cp && cmd 0 lineage mixed2 && says "$out" ' p@{1}' ' q@{1}'
check 'who writes a program of that name is not believed'
finish
