#!/bin/sh
# Stamps: a file that was copied, or changed after it was copied, finds the version that it was saved as; who forges one is not believed
# to be sure, and what leads nowhere is no answer.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
library=$BUILD/src/capture/app/libstemma-app.so.1
[ -e "$library" ] || {
	echo "1..0 # SKIP no $library"
	exit
}
export PYTHONPATH="$here/bindings/python" PYTHONDONTWRITEBYTECODE=1
has()
{
	for python in "$PYTHON" python3 /usr/bin/python3; do
		"$python" -c "import $1" >/dev/null 2>&1 && return 0
	done
	echo "ok $((count = count + 1)) # SKIP no Python here has $1"
	return 1
}

cat >save.py <<'END'
import stemma, sys
rows = open(sys.argv[1]).read()
with open('out.txt', 'w') as f:
    f.write(f'# {stemma.stamp("out.txt")}\n{rows}')
with open('out.csv', 'w') as f:
    f.write(rows)
stemma.stamp_beside('out.csv')
END
echo 1,2 >in.csv && echo other >other.csv && $PYTHON save.py in.csv && ! [ -e out.csv.stemma ] && is out.txt '# 
1,2' && rm out.txt out.csv
check 'without a recorder there is no stamp, and the program ends well'
cmd 0 run -q -- $PYTHON save.py in.csv && grep -q '^# stemma-stamp:[0-9A-Z]\{26\}:[0-9a-f]\{32\}$' out.txt &&
	grep -q '^stemma-stamp:' out.csv.stemma
check 'with one there is'
mkdir away && sed 's/1,2/3,4/' out.txt >away/changed.txt && cmd 0 why away/changed.txt && says "$out" 'changed.txt, with the stamp of ' 'out.txt@{1}: made by ' 'save.py from in.csv' && says_not "$out" 'same bytes'
check 'a changed copy says which version it is a copy of'
cmd 0 why --json away/changed.txt && json '.answers | length == 1 and .[0].stamp_of.entity.path == "'"$PWD"'/out.txt" and (.[0].stamp_of.inputs | map(.path) | index("'"$PWD"'/in.csv") != null) and (.[0] | has("same_bytes") | not)'
check '... as JSON'
cp out.csv away/x.csv && cp out.csv.stemma away/x.csv.stemma && cmd 0 why away/x.csv && says "$out" 'x.csv, with the stamp of ' 'out.csv@{1}: made by '
check 'a file beside carries the stamp'
cmd 0 run -q -- cat away/changed.txt && cmd 0 why away/changed.txt && says "$out" 'with the stamp of ' 'out.txt@{1}: made by '
check 'a copy that a run has read is known by its stamp, too'
cmd 0 why out.txt && says_not "$out" stamp && says "$out" 'out.txt@{1}: made by '
check 'the file itself needs none'
cmd 0 run -q -- $PYTHON save.py other.csv && sed 's/other/new/' out.txt >away/second.txt && cmd 0 why away/second.txt && says "$out" 'with the stamp of ' 'save.py from other.csv' &&
	cmd 0 why away/changed.txt && says "$out" 'out.txt@{1}: made by ' 'save.py from in.csv'
check 'each copy finds its own version'
cat away/changed.txt away/second.txt >away/both.txt && cmd 1 why away/both.txt && ! [ -s "$out" ]
check 'two stamps are none'
run=$(sed -n 's/^# stemma-stamp:\([^:]*\):.*/\1/p' out.txt)
echo "stemma-stamp:$run:00000000000000000000000000000000" >away/forged && cmd 1 why away/forged && ! [ -s "$out" ] &&
	echo "stemma-stamp:01HZZZZZZZZZZZZZZZZZZZZZZZ:$(sed -n 's/.*:\([0-9a-f]\{32\}\)$/\1/p' out.txt)" >away/forged2 && cmd 1 why away/forged2 && ! [ -s "$out" ]
check 'a stamp that nobody told is none'
head -c 5000000 /dev/zero >away/large && cat out.txt >>away/large && cmd 0 why away/large && says "$out" 'with the stamp of ' && mkfifo away/pipe && cmd 1 why away/pipe
check 'at the end of a large file; a pipe is not opened for it'
has matplotlib && {
	cat >plot.py <<'END'
import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt
import stemma
stemma.stamp_figures()
plt.plot([float(x) for x in open('in.csv').read().split(',')])
plt.savefig('a.png', metadata={'Title': 'mine'})
plt.savefig('a.pdf')
plt.savefig('a.svg')
plt.gcf().savefig('b')
plt.savefig(open('c.png', 'wb'))
END
	MPLCONFIGDIR=$T/mpl "$python" plot.py 2>"$err" && rm -f ?.png a.* && MPLCONFIGDIR=$T/mpl cmd 0 run -q -- "$python" plot.py && for one in a.png a.pdf a.svg b.png; do
		cp $one away/ && printf x >>"away/$one" && cmd 0 why "away/$one" && says "$out" "$one, with the stamp of $one@{1}: made by " 'plot.py from ' || break
	done && [ "$one" = b.png ] && cp c.png away/ && cmd 1 why away/c.png && grep -q mine a.png
	check 'figures of matplotlib: PNG, PDF, SVG'
}
has h5py && {
	cat >h5.py <<'END'
import h5py, stemma
with h5py.File('a.h5', 'w') as f:
    f['x'] = [1.0]
    f.attrs['stemma_stamp'] = stemma.stamp('a.h5')
END
	cmd 0 run -q -- "$python" h5.py && cp a.h5 away/b.h5 && printf x >>away/b.h5 && cmd 0 why away/b.h5 && says "$out" 'b.h5, with the stamp of ' 'a.h5@{1}: made by '
	check 'an attribute of an HDF5 file'
}
finish
