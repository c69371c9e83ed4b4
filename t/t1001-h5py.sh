#!/bin/sh
# The objects that Python programs read and write with h5py, whose HDF5 nobody else in the process sees (RTLD_LOCAL); and with
# netCDF-4, which is HDF5 underneath.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
# Or another Python, and --hdf5=vol: the connector instead of the library that stands before the functions (t1011).
H5PYTHON=${STEMMA_H5PYTHON:-$PYTHON} HDF5=${STEMMA_H5HOW:---hdf5}
$H5PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $H5PYTHON"
	exit 0
}

cat >make.py <<'END'
import h5py, numpy
with h5py.File('in.h5', 'w') as f:
    f['raw/trace'] = numpy.arange(800.0).reshape(8, 100)
    f['raw/trace'].attrs['rate'] = 500.0
    f['raw/unused'] = numpy.arange(10)
    table = numpy.zeros(5, dtype=[('time', 'f8'), ('x', 'f4'), ('y', 'f4')])
    f['table'] = table
END
cat >use.py <<'END'
import h5py
with h5py.File('in.h5', 'r') as a, h5py.File('out.h5', 'w') as b:
    trace = a['/raw/trace']
    unused = a['raw/unused']
    part = trace[2:4, 10:20]
    x = a['table'].fields('x')[:]
    d = b.create_dataset('grp/mean', data=part.mean(axis=1), maxshape=(None,), chunks=(4,))
    d.attrs['rate'] = trace.attrs['rate']
    d.attrs['name \u00e9/x'] = 'Gr\u00f6\u00dfe'
END
objects() { json "[.entities[].path | select(contains(\"//\")) | sub(\".*/work/\"; \"\")] | sort == $1"; }
cmd 0 run "$HDF5" -- $H5PYTHON -B make.py && cmd 0 run "$HDF5" -- $H5PYTHON -B use.py
check 'two programs'
mkdir alone && (cd alone && $H5PYTHON -B ../make.py && $H5PYTHON -B ../use.py) >"$out" 2>"$err" && cmp in.h5 alone/in.h5 >>"$err" && cmp out.h5 alone/out.h5 >>"$err"
check 'write the same files, byte for byte, as they do alone'
cmd 0 lineage --json out.h5//grp/mean && objects '["in.h5//raw/trace", "in.h5//table", "out.h5//grp/mean"]'
check 'a dataset came from datasets; not from one that was opened only, nor from an attribute read after it was written'
cmd 0 lineage --json out.h5//grp/mean && json '[.executions[].argv | last | select(endswith(".py"))] | sort == ["make.py", "use.py"]'
check 'through both programs'
cmd 0 lineage --json out.h5//grp/mean && json '[.entities[].path] | any(endswith("/in.h5")) | not'
check 'and the file is left out'
cmd 0 lineage --json 'out.h5//grp/mean@name é/x' && objects '["in.h5//raw/trace", "in.h5//raw/trace@rate", "in.h5//table", "out.h5//grp/mean@name é/x"]'
check 'an attribute with a slash and an accent in its name'
cmd 0 sql --csv "SELECT first, last, elements FROM hdf5_part WHERE path LIKE '%/in.h5//raw/trace' AND direction = 'read'" && tr -d '\r' <"$out" >"$T/o" && mv "$T/o" "$out" && says "$out" '"2,10","3,19",20'
check 'which rows and columns'
cmd 0 sql --csv "SELECT DISTINCT members FROM hdf5_part WHERE path LIKE '%/in.h5//table' AND direction = 'read'" && says "$out" x && says_not "$out" time
check 'which members of a compound type'
cmd 0 sql "SELECT text FROM gap WHERE reason = 'hdf5'" && lines "$out" 0
check 'without a gap'

# names come and go
cat >again.py <<'END'
import h5py, numpy
with h5py.File('again.h5', 'w') as f:
    f['a'] = numpy.ones((10, 10))
    del f['a']
    f['b'] = numpy.ones(3)
    f['c'] = numpy.ones(5)
    f['other'] = f['c']
    del f['other']
    f.move('c', 'd')
END
cmd 0 run "$HDF5" -- $H5PYTHON -B again.py
for name in b d; do cmd 0 why again.h5//$name && says "$out" "dataset again.h5//$name: made by"; done
check 'each has the name that it was left with'
cmd 0 stat --hdf5 --bytes again.h5//b && says "$out" 824
check 'and its own size, where a larger one was'

# a virtual dataset: HDF5 reads another one for it, which was made by a third program
cat >first.py <<'END'
import h5py, numpy
with h5py.File('virtual.h5', 'w') as f:
    f['source'] = numpy.arange(10)
END
cat >second.py <<'END'
import h5py
with h5py.File('virtual.h5', 'a') as f:
    layout = h5py.VirtualLayout(shape=(10,), dtype='i8')
    layout[:] = h5py.VirtualSource('.', 'source', shape=(10,))
    f.create_virtual_dataset('view', layout)
END
cat >third.py <<'END'
import h5py
with h5py.File('virtual.h5') as f, h5py.File('seen.h5', 'w') as out:
    out['sum'] = f['view'][...].sum()
END
for step in first second third; do cmd 0 run "$HDF5" -- $H5PYTHON -B $step.py; done
cmd 0 lineage --json seen.h5//sum && json '[.executions[].argv | last | select(endswith(".py"))] | sort == ["first.py", "second.py", "third.py"]'
check 'what was read through a virtual dataset goes through the file'

# the same result with and without, and in a program that ends badly
cat >ends.py <<'END'
import h5py, os, sys
f = h5py.File('end.h5', 'w')
f['a'] = [1, 2, 3]
f.flush()
try:
    f['nothing']
except KeyError as e:
    print(e)
try:
    h5py.File('/nowhere/x.h5', 'r')
except OSError as e:
    print(e)
sys.stdout.flush()
os._exit(3)
END
$H5PYTHON -B ends.py >"$T/alone" 2>&1
cmd 3 run "$HDF5" -- $H5PYTHON -B ends.py && cmp "$T/alone" "$out" >>"$err" && cmd 0 lineage end.h5//a && says "$out" ends.py
check 'exceptions, and an end without closing'

# What was written since by who did not tell of objects: a version that is told may not be the last.
cat >later.py <<'END'
import h5py, sys
with h5py.File('later.h5', 'a') as f:
    f.require_dataset('mean', (1,), 'i8')[0] = int(sys.argv[1])
    f['mean'].attrs['rate'] = 3
END
since='its FILE was written later'
cmd 0 run "$HDF5" -- $H5PYTHON -B later.py 1 && cmd 0 why later.h5//mean later.h5//mean@rate && says_not "$out" "$since" && cmd 0 run "$HDF5" -- $H5PYTHON -B later.py 2 && cmd 0 why later.h5//mean && says_not "$out" "$since" &&
	cmd 0 run --hdf5=off -- $H5PYTHON -B later.py 3 && cmd 0 why later.h5//mean && says "$out" "$since" && cmd 0 why --json later.h5//mean@rate && json '[.. | .disk? // empty] == ["file-written"]'
check 'the file was written by a program that did not tell of its objects'
cmd 0 run "$HDF5" -- $H5PYTHON -B later.py 4 && cmd 0 why later.h5//mean && says_not "$out" "$since" && $H5PYTHON -B later.py 5 && cmd 0 why later.h5//mean && says "$out" "$since" &&
	cmd 0 run "${HDF5%%=*}=dataset" -- $H5PYTHON -B later.py 6 && cmd 0 why later.h5//mean && says_not "$out" "$since" && cmd 0 why later.h5//mean@rate && says "$out" "$since"
check 'by one that nobody recorded; by one that told of other objects only'

# Shapes and parts that leave out their run are the session's.
echo "import h5py; h5py.File('gone.h5', 'w').create_dataset('unforgettable', data=[1])" >gone.py
cmd 0 run "$HDF5" -- $H5PYTHON -B gone.py && holds unforgettable && cmd 0 sql "SELECT path FROM hdf5_object" && says "$out" gone.h5//unforgettable &&
	cmd 0 forget @ && cmd 0 sql "SELECT path FROM hdf5_object" && says_not "$out" gone.h5 && ! holds unforgettable && cmd 0 fsck
check 'a run that is forgotten takes its objects along'

if $H5PYTHON -c 'import netCDF4' 2>"$err"; then
	cat >nc.py <<'END'
import netCDF4, sys
import numpy
if sys.argv[1] == 'make':
    d = netCDF4.Dataset('a.nc', 'w')
    d.createDimension('x', 10)
    v = d.createVariable('t', 'f8', ('x',))
    v[:] = numpy.arange(10.0)
    v.units = 'K'
else:
    a, d = netCDF4.Dataset('a.nc'), netCDF4.Dataset('b.nc', 'w')
    d.createDimension('x', 10)
    d.createVariable('u', 'f8', ('x',))[:] = a['t'][:] * 2
d.close()
END
	cmd 0 run "$HDF5" -- $H5PYTHON -B nc.py make && cmd 0 run "$HDF5" -- $H5PYTHON -B nc.py use && cmd 0 lineage --json b.nc//u
	json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | any(. == "a.nc//t")'
	check 'netCDF-4 variables'
else
	skip 'netCDF-4' "no netCDF4 for $H5PYTHON"
fi
finish
