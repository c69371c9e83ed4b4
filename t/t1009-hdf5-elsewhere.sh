#!/bin/sh
# What lies in other files: links to objects of other HDF5 files, data kept outside. The truth is what HDF5 itself finds by
# the same name.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
# Or another one that is called python3, and --hdf5=vol: the connector instead of the library (t1011).
H5PYTHON=${STEMMA_H5PYTHON:-/usr/bin/python3} HDF5=${STEMMA_H5HOW:---hdf5}
"$H5PYTHON" -c 'import h5py' 2>"$err" || {
	skip 'links to other files' 'no h5py'
	finish
	exit
}
mkdir data
cat >step.py <<'PY'
import h5py, sys
step = sys.argv[1]
if step == 'make':
    with h5py.File('data/b.h5', 'w') as f:
        f['g/d'] = [1, 2, 3]
        f['g/d'].attrs['u'] = 1.0
    with h5py.File('data/c.h5', 'w') as f:
        f['e'] = [4]
elif step == 'link':
    with h5py.File('data/a.h5', 'w') as f:
        f['own'] = [0]
        f['one'] = h5py.ExternalLink('b.h5', '/g/d')
        f['all'] = h5py.ExternalLink('b.h5', 'g')
        f['sub/two'] = h5py.ExternalLink(sys.argv[2] + '/data/c.h5', '/e')
        f['chain'] = h5py.ExternalLink('a.h5', '/one')
        f['circle'] = h5py.ExternalLink('a.h5', '/circle')
        f['nowhere'] = h5py.ExternalLink('none.h5', '/x')
elif step == 'read':
    with h5py.File('data/a.h5') as f, h5py.File('sum.h5', 'w') as o:
        o['s'] = f['one'][:].sum() + f['sub/two'][0]
elif step == 'unlink':
    with h5py.File('data/a.h5', 'r+') as f:
        del f['one']
        f['one'] = [9, 9]
elif step == 'soft':
    with h5py.File('data/s.h5', 'w') as f:
        f['own/d'] = [0]
        f['one'] = h5py.ExternalLink('b.h5', '/g/d')
        f['all'] = h5py.ExternalLink('b.h5', 'g')
        f['own/more'] = h5py.SoftLink('/all')
        for name, to in ('s', '/one'), ('own/s', 'more/d'), ('t', 's'), ('here', 'own/d'), ('u', '/u'), ('own/here', 'd'), ('v', 'own/s'):
            f[name] = h5py.SoftLink(to)
        f.move('s', 'own/s2')
        del f['t'], f['v'], f['own/s2']
elif step == 'outside':
    with h5py.File('x.h5', 'w') as f:
        f.create_dataset('d', (4,), 'i4', external=[('raw.bin', 0, 16)])[:] = [1, 2, 3, 4]
elif step == 'use':
    with h5py.File('x.h5') as f, h5py.File('y.h5', 'w') as o:
        o['t'] = f['d'][:].sum()
elif step == 'where':
    with h5py.File('data/a.h5') as f:
        o = f[sys.argv[2]]
        print(o.file.filename.split('/')[-1] + '/' + o.name)
PY
step() { cmd 0 run "$HDF5" -- "$H5PYTHON" step.py "$@"; }
leads() # NAME: to where HDF5 finds it, by the record
{
	"$H5PYTHON" step.py where "$1" >"$T/want" && "$STEMMA" why --json "data/a.h5//$1" >"$out" 2>>"$err" && jq -r '.answers[0].entity.path' "$out" | sed 's|.*/data/||; s|//|//|' >"$T/got" && diff "$T/want" "$T/got" >>"$err"
}

step make && step link "$T/work" && leads one && leads all/d && leads sub/two && leads chain && leads own
check 'a link to another file leads to what lies there, though nobody followed it'
cmd 0 why data/a.h5//one && says "$out" 'made by' 'python3 step.py make' '(linked as data/a.h5//one)' && cmd 0 lineage data/a.h5//all/d && says "$out" 'dataset data/b.h5//g/d' 'step.py make' && cmd 0 show data/a.h5//one && says "$out" 'data/b.h5//g/d' && cmd 0 why data/a.h5//one@u && says "$out" 'b.h5//g/d@u' 'step.py make'
check 'why, lineage, show; an attribute of it'
cmd 1 why data/a.h5//nowhere && cmd 1 why data/a.h5//circle && cmd 1 why data/a.h5//all/none
check 'a link that leads nowhere, one that leads to itself'
step read && cmd 0 lineage --json sum.h5//s && json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["data/b.h5//g/d", "data/c.h5//e", "sum.h5//s"]'
check 'what is read through it is its target'
mv data moved && cmd 0 why moved/a.h5//one && says "$out" 'made by' 'python3 step.py make' && mv moved data
check 'both files in another folder'
step unlink && leads one && cmd 0 why data/a.h5//one && says "$out" 'step.py unlink' && says_not "$out" linked
check 'a dataset in place of the link'
# A link that was made unrecorded, and is followed.
"$H5PYTHON" step.py link "$T/work" && step read && leads one && leads sub/two
check 'one that was made unrecorded'
cmd 0 index --rebuild && leads one && leads all/d && leads sub/two
check 'a rebuilt index'
# A soft link that stands for one: the file behind it is not opened when it is made, moved or deleted.
touch -d 2001-01-01 data/b.h5 && step soft && [ "$(stat -c %Y data/b.h5)" = "$(date -d 2001-01-01 +%s)" ] && cmd 0 show --json @ && says_not "$out" data/b.h5 && cmd 0 why data/s.h5//here && says "$out" 'step.py soft' && cmd 0 why data/s.h5//own/here && says "$out" 'step.py soft' && cmd 1 why data/s.h5//u
check 'a soft link to such a link: the other file is left alone'
# Data of a dataset in a file of their own.
step outside && cmd 0 run -- sh -c 'printf "\001\0\0\0" | dd of=raw.bin conv=notrunc status=none' && step use && cmd 0 lineage --json y.h5//t && json '([.entities[].path] | any(endswith("/raw.bin"))) and ([.executions[].argv | join(" ")] | any(contains("dd of=raw.bin")))'
check 'a dataset whose data are in another file: who wrote that'
cmd 0 why x.h5//d && says "$out" 'record incomplete' && cmd 0 sql --csv "SELECT DISTINCT text FROM gap WHERE reason = 'hdf5'" && says "$out" 'are in another file'
check '... and that is said'
cmd 0 forget data/a.h5 && ! holds a.h5//one && cmd 0 why data/b.h5//g/d
check 'a link is forgotten with its file'
finish
