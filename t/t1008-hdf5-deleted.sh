#!/bin/sh
# Objects of HDF5 files that are there no more. The truth is what HDF5 itself lists in the file.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
# Or another one that is called python3, and --hdf5=vol: the connector instead of the library (t1011).
H5PYTHON=${STEMMA_H5PYTHON:-/usr/bin/python3} HDF5=${STEMMA_H5HOW:---hdf5}
"$H5PYTHON" -c 'import h5py' 2>"$err" || {
	skip 'objects that are deleted' 'no h5py'
	finish
	exit
}
cat >step.py <<'PY'
import h5py, sys
step, name = sys.argv[1:3]
if step == 'make':
    with h5py.File(name, 'w') as f:
        for n in 'a', 'b', 'g/x', 'g/deep/y', 'h/z', 'moved':
            f[n] = [1, 2, 3]
        f['a'].attrs['u'] = f['b'].attrs['u'] = f['b'].attrs['v'] = 1.0
        f['hard'] = f['h/z']
elif step == 'use':
    with h5py.File(name) as f, h5py.File(sys.argv[3], 'w') as o:
        o['sum'] = f['a'][:] + f['g/x'][:]
elif step == 'delete':
    with h5py.File(name, 'r+') as f:
        del f['a'], f['g'], f['h/z'], f['b'].attrs['u']
        f.move('moved', 'there')
elif step == 'remake':
    with h5py.File(name, 'r+') as f:
        f['a'] = [4, 5]
        f.create_group('g')['new'] = 1
        f['b'].attrs['u'] = 3
elif step == 'anew':
    with h5py.File(name, 'w') as f:
        f['b'] = [7]
elif step == 'list':
    with h5py.File(name) as f:
        def say(n, o):
            print(n)
            for a in o.attrs:
                print(n + '@' + a)
        f.visititems(say)
        for n in 'h/z', 'hard': # both are of one dataset
            if n in f:
                print(n)
PY
step() { cmd 0 run "$HDF5" -- "$H5PYTHON" step.py "$@"; }
all='a a@u b b@u b@v g g/x g/deep g/deep/y h h/z hard moved there'
# Of those that the record knows: which it calls deleted, and which HDF5 does not find. What has another name is not deleted.
gone_are()
{
	"$H5PYTHON" step.py list "$1" | sort -u >"$T/there" && : >"$T/want" && : >"$T/got"
	for n in $all; do
		"$STEMMA" show --json "$1//$n" >"$out" 2>/dev/null || continue
		case $n in h/z | moved) [ "$2" = all ] || continue ;; esac
		grep -qx "$n" "$T/there" || echo "$n" >>"$T/want"
		json '.things[0].deleted' 2>"$T/no" && echo "$n" >>"$T/got"
	done
	diff "$T/want" "$T/got" >>"$err" && [ "$(wc -l <"$T/want")" = "$3" ]
}

step make d.h5 && step use d.h5 o.h5 && gone_are d.h5 all 0
check 'nothing is deleted yet'
step delete d.h5 && gone_are d.h5 one 6
check 'what is deleted is said to be, with all that lay in it, and nothing else'
for n in a a@u b@u g/x g/deep/y; do
	cmd 0 why "d.h5//$n" && says "$out" 'made by python3 step.py make d.h5' 'DELETED by python3 step.py delete d.h5 at 20' || break
done
check 'why: by whom and when'
cmd 0 why d.h5//b && says_not "$out" DELETED && says_not "$out" 'FILE was written' && cmd 0 why d.h5//b@v && says_not "$out" DELETED && says_not "$out" 'FILE was written'
check '... and the rest is as it was: who deletes only tells what he did'
cmd 0 why d.h5//h/z && says "$out" 'd.h5//hard' '(was d.h5//h/z)' && says_not "$out" DELETED && cmd 0 why d.h5//moved && says "$out" 'd.h5//there' && says_not "$out" DELETED
check 'one of two names; another name'
cmd 0 show d.h5//g/x && says "$out" 'now          deleted by python3 step.py delete d.h5 at 20' && cmd 0 why --json d.h5//a && json '.answers[0] | .disk == "deleted" and .deleted.by.argv[2] == "delete" and (.deleted.time | startswith("20"))'
check 'show, JSON'
cmd 0 lineage d.h5//a && says "$out" 'step.py make d.h5' && says "$err" "'d.h5//a' was deleted by python3 step.py delete d.h5 at 20" && cmd 0 lineage o.h5//sum && says "$out" 'dataset d.h5//a' 'dataset d.h5//g/x' && lines "$err" 0
check 'lineage: what it was before; what came of it'
cmd 0 stat --hdf5 @ && says "$out" '  delete'
check 'stat'
step remake d.h5 && cmd 0 why d.h5//a && says "$out" 'step.py remake' && says_not "$out" DELETED && cmd 0 why d.h5//b@u && says_not "$out" DELETED && cmd 0 why d.h5//g/x && says "$out" 'DELETED by python3 step.py delete'
check 'what is made again is there; what is not is not, though its group is'
cmd 0 why 'd.h5//g/x@{1}' && says_not "$out" DELETED
check 'a version that is asked for'
cmd 0 index --rebuild && cmd 0 why d.h5//g/x && says "$out" 'DELETED by python3 step.py delete'
check 'a rebuilt index'
mv d.h5 e.h5 && cmd 0 why e.h5//g/x && says "$out" 'DELETED by python3 step.py delete' && cmd 0 why e.h5//a && says_not "$out" DELETED
check 'in a file that has another name'
mv e.h5 d.h5
# A file that is made anew has nothing of what was in it.
step anew d.h5 && cmd 0 why d.h5//a && says "$out" 'DELETED by python3 step.py anew d.h5' && cmd 0 why d.h5//b@v && says "$out" 'DELETED by python3 step.py anew' && cmd 0 why d.h5//b && says "$out" 'made by' 'python3 step.py anew' && says_not "$out" DELETED
check 'a file that is made anew'
step make u.h5 && STEMMA_HDF5=untimed step delete u.h5 && cmd 0 why u.h5//g/x && says "$out" 'DELETED by python3 step.py delete u.h5' && cmd 0 why u.h5//b@u && says "$out" 'DELETED by python3 step.py delete u.h5'
check 'without times'
finish
