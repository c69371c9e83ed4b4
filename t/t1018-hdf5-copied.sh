#!/bin/sh
# H5Ocopy: what was copied came from its original, member by member and attribute by attribute, and from nothing else that the program
# used. The sources were written down by hand, from what each program does.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
# Or another one that is called python3, and --hdf5=vol: the connector instead of the library (t1011).
PYTHON=${STEMMA_H5PYTHON:-$PYTHON} HDF5=${STEMMA_H5HOW:---hdf5}
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

seq 1 9 >dark.csv
seq 11 19 >flat.csv
seq 21 29 >more.csv
cat >put.py <<'END'
import h5py, numpy, sys
with h5py.File(sys.argv[1], 'a') as f:
    f[sys.argv[2]] = numpy.loadtxt(sys.argv[3])
    f[sys.argv[2]].attrs['u'] = 'K'
END
cat >step.py <<'END'
import h5py, numpy, sys
step = sys.argv[1]
if step == 'group':  # reads text first, writes another file from it, copies, and then writes a dataset of its own
    more = numpy.loadtxt('more.csv')
    with h5py.File('other.h5', 'w') as o:
        o['x'] = more
    with h5py.File('raw.h5') as f, h5py.File('new.h5', 'w') as t:
        f.copy('g', t, 'all')
        t['own'] = more
elif step == 'changed':  # what was copied is written to afterwards
    more = numpy.loadtxt('more.csv')
    with h5py.File('raw.h5') as f, h5py.File('changed.h5', 'w') as t:
        f.copy('g', t, 'all')
        t['all/dark'][0] = more[0]
elif step == 'rewritten':  # the original is read, written and then copied
    more = numpy.loadtxt('more.csv')
    with h5py.File('work.h5', 'r+') as f, h5py.File('rewritten.h5', 'w') as t:
        f['x'][...] = f['x'][...] + more
        f.copy('x', t, 'y')
elif step == 'dataset':
    with h5py.File('raw.h5') as f, h5py.File('one.h5', 'w') as t:
        f.copy('g/dark', t, 'd')
        f.copy('g/sub/flat', t, 'bare', without_attrs=True)
elif step == 'within':
    with h5py.File('raw.h5', 'r+') as f:
        f.copy('g', 'again')
elif step == 'links':
    with h5py.File('links.h5', 'w') as t:
        t['from/hard'] = [1.0]
        t['from/same'] = t['from/hard']
        t['beside'] = [2.0]
        t['from/soft'] = h5py.SoftLink('/beside')
        t['from/out'] = h5py.ExternalLink('raw.h5', '/g/dark')
elif step == 'soft':
    with h5py.File('links.h5') as f, h5py.File('soft.h5', 'w') as t:
        f.copy('from', t, 'to', expand_soft=True)
elif step == 'out':
    with h5py.File('links.h5') as f, h5py.File('out.h5', 'w') as t:
        f.copy('from', t, 'to', expand_external=True)
elif step == 'deep':
    with h5py.File('links.h5') as f, h5py.File('deep.h5', 'w') as t:
        f.copy('from', t, 'to', expand_refs=True)
elif step == 'mean':
    with h5py.File('new.h5') as f:
        open('mean.txt', 'w').write(str(f['all/sub/flat'][:].mean()))
END
run() { cmd 0 run "$HDF5" -- "$@"; }
step() { run $PYTHON -B step.py "$@"; }
comes_from()
{ # FILE WORDS...
	file=$1
	shift
	"$STEMMA" lineage --json "$file" >"$out" 2>>"$err" && jq -r '.entities[1:][].path' "$out" | sed "s|^$T/work/||" | grep -v '^pipe:' | sort -u >"$T/got"
	printf '%s\n' "$@" | sort >"$T/want"
	diff "$T/want" "$T/got" >>"$err"
}
no_gap() { cmd 0 sql --csv "SELECT count(*) FROM gap WHERE reason = 'hdf5' AND run = (SELECT max(id) FROM run)" && [ "$(tr -d '\r' <"$out" | sed 1d)" = 0 ]; }
a_gap() { cmd 0 sql --csv "SELECT text FROM gap WHERE reason = 'hdf5' AND run = (SELECT max(id) FROM run)" && says "$out" 'the sources of some copied objects are unknown'; }

run $PYTHON -B put.py raw.h5 g/dark dark.csv && run $PYTHON -B put.py raw.h5 g/sub/flat flat.csv
step group && no_gap
check 'a group is copied, and nothing is unknown'
comes_from new.h5//all/dark raw.h5//g/dark step.py put.py dark.csv && comes_from new.h5//all/sub/flat raw.h5//g/sub/flat step.py put.py flat.csv
check 'what lies in it came from its original alone'
comes_from new.h5//all/dark@u raw.h5//g/dark@u step.py put.py dark.csv && cmd 0 why new.h5//all/sub/flat && says "$out" 'from dataset raw.h5//g/sub/flat' && says_not "$out" dark && says_not "$out" more.csv
check '... also an attribute; why'
comes_from other.h5//x step.py more.csv
check 'what the same program wrote elsewhere is as sure as ever'
cmd 0 lineage --json new.h5//own && json '[.entities[].path | sub(".*/work/"; "")] | index("more.csv") != null'
check 'what it wrote by itself came from all that it had read'
cmd 0 lineage --certain --json new.h5//all/dark && json '[.entities[].path | sub(".*/work/"; "")] | (index("dark.csv") != null) and (index("flat.csv") == null)' && cmd 0 lineage --all --json new.h5//all/dark && json '[.entities[].path | sub(".*/work/"; "")] | index("more.csv") != null'
check 'for sure; and --all has all that the program used'
step mean && comes_from mean.txt new.h5//all/sub/flat raw.h5//g/sub/flat step.py put.py flat.csv
check 'what came of a copy, asked of a plain file'
cmd 0 lineage --down --json flat.csv && json '[.entities[].path | sub(".*/work/"; "")] | (index("new.h5//all/sub/flat") != null) and (index("mean.txt") != null) and (index("new.h5//all/dark") == null)' && cmd 0 lineage --down --json dark.csv && json '[.entities[].path | sub(".*/work/"; "")] | index("mean.txt") == null'
check 'down: from the original to its copy'
cmd 0 lineage --down --json more.csv && json '[.entities[].path | sub(".*/work/"; "")] | (index("other.h5") != null) and (index("mean.txt") == null)' && cmd 0 lineage --down --json step.py && json '[.entities[].path | sub(".*/work/"; "")] | index("mean.txt") != null'
check '... and not from what else was read, but from the script'
step changed && no_gap && cmd 0 lineage --json changed.h5//all/dark && json '[.entities[].path | sub(".*/work/"; "")] | (index("more.csv") != null) and (index("raw.h5//g/dark") != null)' && comes_from changed.h5//all/sub/flat raw.h5//g/sub/flat step.py put.py flat.csv
check 'a copy that is written to afterwards came from more'
run $PYTHON -B put.py work.h5 x dark.csv && step rewritten && cmd 0 lineage --json rewritten.h5//y && json '[.entities[].path | sub(".*/work/"; "")] | (index("more.csv") != null) and (index("dark.csv") != null)'
check 'a copy of what the program had written itself'
step dataset && no_gap && comes_from one.h5//d raw.h5//g/dark step.py put.py dark.csv && comes_from one.h5//d@u raw.h5//g/dark@u step.py put.py dark.csv && comes_from one.h5//bare raw.h5//g/sub/flat step.py put.py flat.csv && cmd 1 why one.h5//bare@u
check 'a dataset with its attributes, and without'
step within && no_gap && comes_from raw.h5//again/sub/flat raw.h5//g/sub/flat step.py put.py flat.csv && comes_from raw.h5//again/dark raw.h5//g/dark step.py put.py dark.csv
check 'within a file'
run $PYTHON -B step.py links && step soft && no_gap && comes_from soft.h5//to/soft links.h5//beside step.py && comes_from soft.h5//to/hard links.h5//from/hard step.py
check 'soft links that are followed, two names of one dataset'
step out && a_gap && cmd 0 lineage --json out.h5//to/out && json '[.entities[].path | sub(".*/work/"; "")] | (index("raw.h5") != null) or (index("raw.h5//g/dark") != null)'
check 'a link to another file that is followed: that is said, and the file is there'
step deep && a_gap
check 'objects behind references: that is said'
cmd 0 index --rebuild && comes_from new.h5//all/sub/flat raw.h5//g/sub/flat step.py put.py flat.csv
check 'a rebuilt index'
if command -v h5copy >"$out" 2>"$err"; then
	run h5copy -p -i raw.h5 -o c.h5 -s g -d a/b && no_gap && comes_from c.h5//a/b/dark raw.h5//g/dark put.py dark.csv && comes_from c.h5//a/b/sub/flat raw.h5//g/sub/flat put.py flat.csv && cmd 0 why c.h5//a/b/sub/flat@u && says "$out" 'made by h5copy' 'from attribute raw.h5//g/sub/flat@u'
	check h5copy
else
	skip h5copy 'no h5copy'
fi
if command -v h5repack >"$out" 2>"$err"; then
	run h5repack c.h5 r.h5 && cmd 0 lineage --json r.h5//a/b/dark && json '[.entities[].path | sub(".*/work/"; "")] | index("dark.csv") != null'
	check h5repack
else
	skip h5repack 'no h5repack'
fi
cmd 0 forget new.h5 && ! holds new.h5//all && comes_from one.h5//d raw.h5//g/dark step.py put.py dark.csv
check 'a copy is forgotten with its file'

# The golden history, whose lineage was written by hand.
rm -rf "$STEMMA_HOME" && mkdir -p "$STEMMA_HOME/logs/h1/2001-01-01" && "$EVTEXT" make "$STEMMA_HOME/logs/h1/2001-01-01/0.stl" <"$here/tests/golden/graph/57-copies/a.jsonl" 2>>"$err"
golden() # OBJECT OPTION PATHS
{
	cmd 0 lineage --json $2 "$1" && [ "$(jq -r '[.entities[].path] | sort | join(" ")' "$out")" = "$3" ]
}
golden /y.h5//c/a '' '/x.h5//a /y.h5//c/a' && golden /y.h5//c/b --certain '/x.h5//b /y.h5//c/b' && golden /y.h5//d '' '/in.txt /x.h5//a /x.h5//b /y.h5//d' && golden /y.h5//e '' '/in.txt /x.h5//a /x.h5//b /y.h5//e'
check 'the golden history of copies'
finish
