#!/bin/sh
# HDF5 files that were open for writing, and to which nothing was written: HDF5 itself writes to them, the same bytes. Their objects are as
# they were, made by who made them. But who writes to the file by itself may have changed any of them.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

seq 1 9 >in.csv
seq 1 5 >other.csv
cat >step.py <<'END'
import h5py, os, sys
step = sys.argv[1]
if step == 'make':
    with h5py.File('b.h5', 'w') as f:
        f['g/d'] = [float(x) for x in open('in.csv')]
        f['g/e'] = [0]
elif step == 'link':
    with h5py.File('a.h5', 'w') as f:
        f['own'] = [1]
        f['out'] = h5py.ExternalLink('b.h5', '/g/d')
elif step == 'follow':  # the file with the link is open for writing, so is the other one
    more = len(open('other.csv').read())
    with h5py.File('a.h5', 'r+') as f:
        f['sum'] = f['out'][:].sum() + more
elif step == 'look':
    more = len(open('other.csv').read())
    with h5py.File('b.h5', 'r+') as f:
        open('look.txt', 'w').write(str(f['g/d'][:]) + str(more))
elif step == 'patch':  # by HDF5 it only reads; the bytes of the file it writes by itself
    with h5py.File('b.h5', 'r') as f:
        at = f['g/d'].id.get_offset()
        f['g/e'][:]
    with open('b.h5', 'r+b') as f:
        f.seek(at)
        f.write(open('other.csv', 'rb').read(8))
elif step == 'write':
    more = len(open('other.csv').read())
    with h5py.File('b.h5', 'r+') as f:
        f['g/d'][:]
        f['g/e'][0] = more
elif step == 'read':
    with h5py.File('b.h5', 'r') as f:
        open(sys.argv[2], 'w').write(str(f['g/d'][:]))
END
step() { cmd 0 run --hdf5 -- $PYTHON -B step.py "$@"; }
comes_from()
{ # FILE WORDS...
	file=$1
	shift
	"$STEMMA" lineage --json "$file" >"$out" 2>>"$err" && jq -r '.entities[1:][].path' "$out" | sed "s|^$T/work/||" | sort -u >"$T/got"
	printf '%s\n' "$@" | sort >"$T/want"
	diff "$T/want" "$T/got" >>"$err"
}

step make && step link && before=$(stat -c %Y.%s b.h5 && sha256sum b.h5) && step follow && [ "$(sha256sum b.h5)" = "${before#*
}" ]
check 'the bytes are the same'
cmd 0 why b.h5//g/d && says "$out" 'made by' 'step.py make' && says_not "$out" 'written later' && cmd 0 why b.h5//g/e && says_not "$out" 'written later'
check 'what lies behind a link that was followed is as it was'
step read r1.txt && comes_from r1.txt b.h5//g/d step.py in.csv
check '... and what is read of it afterwards came from who made it'
comes_from a.h5//sum b.h5//g/d step.py in.csv other.csv
check 'what came of it came from its maker'
step look && step read r2.txt && comes_from r2.txt b.h5//g/d step.py in.csv && comes_from look.txt b.h5//g/d step.py in.csv other.csv && cmd 0 why b.h5//g/d && says "$out" 'step.py make' && says_not "$out" 'written later'
check 'a program that opens it to write, and only reads'
step write && step read r3.txt && comes_from r3.txt b.h5//g/d step.py in.csv && cmd 0 why b.h5//g/e && says "$out" 'step.py write'
check 'one that writes another object'
cmd 0 index --rebuild && comes_from r1.txt b.h5//g/d step.py in.csv && comes_from r3.txt b.h5//g/d step.py in.csv
check 'a rebuilt index'
step patch && cmd 0 why b.h5//g/d && says "$out" 'written later' && step read r4.txt && cmd 0 lineage --json r4.txt && json '[.executions[].argv | join(" ")] | any(contains("step.py patch"))' && json '[.entities[].path | sub(".*/work/"; "")] | (index("other.csv") != null) and (index("b.h5") != null)'
check 'one that writes to the file by itself may have changed any object'
finish
