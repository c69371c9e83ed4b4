#!/bin/sh
# Slices of small programs, of which a person has written down what reaches what (t/slices).
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm

# The sources with the beginning $1, compiled and linked by $2, sliced.
slice_of()
{
	name=$1
	shift
	cmd 0 cc --slice "$@" -w -o "$name" "$here/t/slices/$name"* || return 1
	cmd 0 slice --json "./$name" || return 1
	cp "$out" "slices/$name.json"
}

mkdir slices
status=0
for p in $(sed '/^#/d' "$here/t/slices/truths.tsv" | cut -f1 | sort -u); do
	compiler=gcc
	[ ! -e "$here/t/slices/$p.cc" ] || compiler=g++
	command -v $compiler >/dev/null || compiler=$(echo $compiler | sed 's/gcc/cc/; s/g++/c++/')
	slice_of "$p" "$compiler" -O2 || status=1
done
[ $status = 0 ]
check "each program is built and has a slice"

$PYTHON "$here/t/slices/check.py" "$here/t/slices/truths.tsv" "$here/t/slices" slices >"$T/compared"
status=$?
sed 's/^/# /' "$T/compared"
[ $status = 0 ]
check "no dependence is taken for impossible"

proved=$(sed -n 's/.*proved \([0-9]*\)$/\1/p' "$T/compared")
[ "$proved" -ge 75 ]
check "most independences are proved ($proved)"

cmd 0 slice ./01-data && says "$out" '01-data.c:9 printf in main' && says "$out" 'may' 'argument 1' && says "$out" 'cannot' 'argument 2'
check "text names lines and inputs"

cmd 0 show ./01-data && says "$out" 'slices' 'stemma slice'
check "show says that there are slices"

mkdir elsewhere && mv 01-data elsewhere/moved && cmd 0 slice elsewhere/moved
check "a program is found by its build-id"

cmd 0 slice -o :9 -i 'argument 2' elsewhere/moved && lines "$out" 3 && says "$out" 'cannot' 'argument 2'
check "one output and one input"

cmd 1 slice -o nothing elsewhere/moved && says "$err" 'no such output'
check "an output that is not there"

finish
