#!/bin/sh
# A program reads what it wrote: that is the version which its writing ended with, for sure, and no earlier one.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cat >"$T/back.py" <<'PY'
import sys
for word in ('1', '22'):
    with open('f', 'w') as f:
        f.write(word)
open('f').close()
with open('out', 'w') as f:
    f.write('x')
PY

# What was sure to be read of f comes out as `f@N`.
for how in off always; do
	for try in 1 2 3 4; do
		: >"$T/why"
		rm -rf "${T:?}/home" "$T/d"
		mkdir "$T/d"
		(cd "$T/d" && STEMMA_INJECT=$how STEMMA_HOME=$T/home timeout -k 5 60 "$STEMMA" run -- $PYTHON -S "$T/back.py") >"$T/out" 2>&1 </dev/null || cat "$T/out" >>"$T/why"
		(cd "$T/d" && STEMMA_HOME=$T/home "$STEMMA" lineage --certain out) >"$T/out" 2>&1 || echo "no lineage" >>"$T/why"
		# On a busy machine the end of the writing may be seen too late for it to be sure: tried again.
		[ "$(grep -o ' f@{[0-9]*}' "$T/out" | sort -u)" = " f@{2}" ] || cat "$T/out" >>"$T/why"
		[ -s "$T/why" ] || break
	done
	[ ! -s "$T/why" ]
	result $? "a file is read back, code in the program: $how" "$T/why"
done
# A program that is through with most of what it writes, and not with one: that stands behind a number that another file had. It writes
# it to its end, so what it reads meanwhile is an input of it, for sure.
cat >"$T/behind.py" <<'PY'
import os
def write(name):
    with open(name, 'w') as f:
        f.write('x')
def read(name):
    with open(name) as f:
        f.read()
for i in range(4):
    write(f'w{i}')
    read('in')
fd = os.open('kept', os.O_WRONLY | os.O_CREAT)
os.dup2(fd, 0)  # as many descriptors as before, of the same numbers
os.close(fd)
read('in2')
os.write(0, b'y')
PY
rm -rf "${T:?}/home" "$T/d"
mkdir "$T/d"
echo 1 >"$T/d/in"
echo 2 >"$T/d/in2"
: >"$T/why"
(cd "$T/d" && STEMMA_INJECT=off STEMMA_HOME=$T/home timeout -k 5 60 "$STEMMA" run -- $PYTHON -S "$T/behind.py") >"$T/out" 2>&1 </dev/null || cat "$T/out" >>"$T/why"
(cd "$T/d" && STEMMA_HOME=$T/home "$STEMMA" lineage --certain kept) >"$T/out" 2>&1 || echo "no lineage" >>"$T/why"
grep -q 'in2@' "$T/out" || cat "$T/out" >>"$T/why"
(cd "$T/d" && STEMMA_HOME=$T/home "$STEMMA" lineage w3) >"$T/out" 2>&1 || echo "no lineage" >>"$T/why"
! grep -q 'in2@' "$T/out" || cat "$T/out" >>"$T/why"
[ ! -s "$T/why" ]
result $? "a file that is written behind an old number" "$T/why"
finish
