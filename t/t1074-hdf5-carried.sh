#!/bin/sh
# Objects of an HDF5 file that came with the file's bytes: by cp, by ncrename, by a program that told of no objects. Each has two
# sources in the record, one of its own and one of the object beside it, which is the wrong one; the truth was written down by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

echo 1 >g.txt
echo 2 >k.txt
cat >w.py <<'END'
import h5py
k = float(open('k.txt').read())
with h5py.File('o.h5', 'w') as f:
    f['y'] = [k]
with h5py.File('o.h5', 'a') as f:
    f['x'] = [float(open('g.txt').read())]
    f['x'].attrs['unit'] = 'm'
END
cat >r.py <<'END'
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    open(sys.argv[2], 'w').write(str(f[sys.argv[3]][:]) + str(dict(f[sys.argv[3]].attrs)))
END
cat >bytes.py <<'END'
import sys
open(sys.argv[2], 'wb').write(open(sys.argv[1], 'rb').read())
END
cmd 0 run -q --hdf5 -- $PYTHON w.py && cmd 0 run -q --hdf5 -- cp o.h5 c.h5 && cmd 0 run -q --hdf5 -- cp c.h5 unread.h5 && cmd 0 run -q --hdf5 -- $PYTHON r.py c.h5 c.txt x
check 'a file is made, copied twice, and one object of the first copy is read'

# ---- cp
cmd 0 why c.h5//x && says "$out" 'dataset c.h5//x, in c.h5@{1}: made by cp o.h5 c.h5 from dataset o.h5//x? by' && cmd 0 why c.h5//x@unit && says "$out" 'attribute c.h5//x@unit, in c.h5@{1}: made by cp o.h5 c.h5 from attribute o.h5//x@unit? by'
check 'an object in a copy of a file came with the copy, from the same object of the file that was copied'
cmd 0 lineage c.h5//x && says "$out" 'dataset c.h5//x  (in c.h5@{1})' 'cp o.h5 c.h5' '? derived from dataset o.h5//x' 'w.py' 'g.txt@{1}' && says_not "$out" 'o.h5//y' && says_not "$out" 'o.h5@{1}'
check 'its lineage goes on there, and nowhere else'
cmd 0 lineage c.txt && says "$out" 'r.py' 'dataset c.h5//x' 'dataset o.h5//x' 'g.txt@{1}' && says_not "$out" 'o.h5//y' && cmd 0 why c.txt && says "$out" 'from dataset c.h5//x,'
check '... also the lineage of what was made from it'
cmd 0 why --json c.h5//x && jq -e '.answers[0] | .entity.origin == "external" and .in.entity.version == 1 and (.in.makers[0].argv[0] == "cp") and (.inputs[0].path | endswith("/o.h5//x"))' "$out" >/dev/null
check '... and so says the JSON'
cmd 0 find 'from o.h5//x' && says "$out" 'c.h5@{1}' 'dataset c.h5//x?' && says "$out" 'c.txt@{1}?' && cmd 0 lineage --down o.h5//x && says "$out" '? became dataset c.h5//x' && says "$out" 'c.txt@{1}'
check 'what came from an object has those of the copy'
cmd 0 find 'from o.h5//y' && says_not "$out" 'c.h5//x' && says_not "$out" c.txt && cmd 0 lineage --down o.h5//y && says_not "$out" 'c.h5//x' && says_not "$out" c.txt
check '... and not those that came from the object beside it'
cmd 0 find 'from g.txt' && says "$out" 'c.txt@{1}' && cmd 0 find 'from o.h5' && says "$out" 'c.txt@{1}'
check '... also from text, and from the file'

# ---- what nobody read
cmd 0 why unread.h5//x && says "$out" 'unread.h5//x, in unread.h5@{1}: made by cp c.h5 unread.h5 from c.h5@{1} by' && says "$err" 'no recorded program used this object' 'stemma why c.h5//x'
check 'of an object of a copy that nobody read the copy is told, and where to ask on'
cmd 0 why --json unread.h5//x && jq -e '.answers[0] | (.path | endswith("/unread.h5//x")) and .in.entity.version == 1 and (.same_object | endswith("/c.h5//x"))' "$out" >/dev/null
check '... in the JSON, too'
cmd 1 why g.txt//x && says "$err" 'nothing is recorded about' && cmd 1 why none.h5//x
check 'but not of a file that holds no objects'

# ---- a copy of a copy
cmd 0 run -q --hdf5 -- $PYTHON r.py unread.h5 u.txt y && cmd 0 lineage unread.h5//y && says "$out" '? derived from dataset o.h5//y' 'k.txt@{1}' && says_not "$out" 'o.h5//x' && says_not "$out" g.txt
check 'through two copies, the first of which nobody read the object of'
cmd 0 find 'from o.h5//y' && says "$out" 'dataset unread.h5//y?' && says "$out" 'u.txt@{1}?' && says_not "$out" 'c.txt'
check '... and downwards'

# ---- by digest, and by a program that only may have copied
cmd 0 run -q --hdf5 --digest -- $PYTHON bytes.py o.h5 d.h5 && cmd 0 run -q --hdf5 -- $PYTHON r.py d.h5 d.txt x && cmd 0 why d.h5//x && says "$out" 'in d.h5@{1}: made by python3 bytes.py o.h5 d.h5 from dataset o.h5//x, bytes.py@{1} by'
check 'equal digests prove it, whatever the program is'
cmd 0 run -q --hdf5 -- $PYTHON bytes.py o.h5 e.h5 && cmd 0 run -q --hdf5 -- $PYTHON r.py e.h5 e.txt x && cmd 0 why e.h5//x && says "$out" 'dataset e.h5//x, in e.h5@{1}: made by python3 bytes.py o.h5 e.h5 from o.h5@{2}, bytes.py@{1} by' && cmd 0 lineage e.h5//x && says "$out" 'derived from e.h5@{1}' 'bytes.py o.h5 e.h5' && says "$out" g.txt && says "$out" k.txt
check 'without them a program that is none for copying may have put anything there: all of the file counts'
cmd 0 find 'from o.h5//y' && says "$out" 'dataset e.h5//x' && says_not "$out" 'd.h5//x'
check '... downwards as well'

# ---- a program that says of its objects what it did, behind one that does not
cat >own.py <<'END'
import h5py
with h5py.File('c.h5', 'a') as f:
    f['own'] = [float(open('more.txt').read())]
END
echo 3 >more.txt
cmd 0 run -q --hdf5 -- $PYTHON own.py && cmd 0 run -q --hdf5 -- $PYTHON r.py c.h5 later.txt y && cmd 0 why c.h5//y && says "$out" 'dataset c.h5//y, in c.h5@{1}: made by cp o.h5 c.h5 from dataset o.h5//y? by' && cmd 0 lineage later.txt && says_not "$out" more.txt && says "$out" k.txt
check 'who wrote another object since has not made this one'
cmd 0 why c.h5//own && says "$out" 'dataset c.h5//own: made by python3 own.py from more.txt@{1}'
check '... and that one did not come with the copy'
cmd 0 run -q --hdf5 -- cp d.h5 c.h5 && cmd 0 run -q --hdf5 -- $PYTHON r.py c.h5 after.txt x && cmd 0 lineage after.txt && says "$out" 'cp d.h5 c.h5'
check 'a later copy over the file is not forgotten'

# ---- ncrename, which copies by cp and then gives another name
if command -v ncrename >/dev/null && command -v ncgen >/dev/null; then
	cat >values.py <<'END'
import h5py
with h5py.File('ts2.nc') as f:
    open('w.txt', 'w').write(str(f['w'][:]))
END
	printf 'netcdf ts { dimensions: t = 3 ; variables: double v(t) ; double other(t) ; data: v = 1.5, 2.5, 3.5 ; other = 4.5, 5.5, 6.5 ; }\n' >ts.cdl
	cmd 0 run -q --hdf5 -- ncgen -4 -o ts.nc ts.cdl && cmd 0 run -q --hdf5 -- ncrename -O -v v,w ts.nc ts2.nc && cmd 0 run -q --hdf5 -- $PYTHON values.py
	cmd 0 why ts2.nc//w && says "$out" 'dataset ts2.nc//w' 'made by ncrename' 'from dataset ts2.nc//w@{1}' && cmd 0 lineage ts2.nc//w && says "$out" 'dataset ts.nc//v' 'ts.cdl' && says_not "$out" 'ts.nc//other'
	check 'ncrename: the variable by its name before'
	cmd 0 find 'from ts.nc//v' && says "$out" 'dataset ts2.nc//w' && says "$out" w.txt && cmd 0 find 'from ts.nc//other' && says_not "$out" 'ts2.nc//w' && says_not "$out" w.txt
	check '... and downwards'
else
	skip 'ncrename: the variable by its name before' 'no nco or no ncgen'
	skip '... and downwards' 'no nco or no ncgen'
fi
finish
