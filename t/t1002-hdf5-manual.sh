#!/bin/sh
# The examples of stemma-hdf5(7), in order, with the files that the page shows.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

page=$here/man/stemma-hdf5.7
unset LD_PRELOAD PYTHONPATH
if command -v mandoc >"$out" 2>"$err"; then
	(cd "$here/man" && mandoc -Tlint stemma-hdf5.7) 2>"$err" | grep -v ': referenced manual not found: ' >"$out"
	[ ! -s "$out" ]
	check 'mandoc finds nothing wrong'
else
	skip 'mandoc finds nothing wrong' 'mandoc is not installed'
fi
/usr/bin/python3 -c 'import h5py' 2>"$err" || {
	skip 'the examples' 'no h5py'
	finish
	exit
}
for f in $(sed -n 's/^\.\\" file: //p' "$page"); do
	awk -v f="$f" '$0 == ".\\\" file: " f { on = 1; next } on && /^\.Ed/ { exit } on && !/^\.Bd/ { print }' "$page" >"$f"
done
mkdir "$T/bin" && ln -s "$STEMMA" "$T/bin/stemma"
sed -n 's/^\.Dl \$ //p' "$page" | sed 's/\\-/-/g; s/\\(dq/"/g' >"$T/examples"
while IFS= read -r line; do
	PATH="$T/bin:$PATH" sh -c "$line" >"$out" 2>"$err" </dev/null
	check "$line"
	n=$((${n:-0} + 1))
	cp "$out" "$T/out.$n"
done <"$T/examples"
# and they say what the page says that they say
says "$T/out.3" means.py 'from dataset raw.h5//run1/trace?, attribute raw.h5//run1/trace@rate?, means.py@{1}'
check 'who made it'
says "$T/out.4" means.py measure.py 'raw.h5//run1/trace' && says_not "$T/out.4" notes
check 'from what'
says "$T/out.6" '0,2' '59,4'
check 'from which columns'
says "$T/out.7" 'means.h5//mean'
check 'what came of it'
says "$T/out.$n" 'mean[0:2]: made by python3 means.py'
check 'who wrote some elements'
finish
