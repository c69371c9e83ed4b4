#!/bin/sh
# diff and export name objects of HDF5 files as sources: a run that read a dataset differs where that dataset was written anew, and not where
# another one in its file was. Formats that are about files keep these.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

seq 1 9 >dark.csv
seq 11 19 >flat.csv
cat >put.py <<'END'
import h5py, numpy, sys
with h5py.File(sys.argv[1], 'a') as f:
    f[sys.argv[2]] = numpy.loadtxt(sys.argv[3])
END
cat >twice.py <<'END'
import h5py, sys
with h5py.File('raw.h5', 'r+') as f:
    f[sys.argv[1]][...] = f[sys.argv[1]][...] * 20
    f.attrs[sys.argv[1]] = 'more and more text, so that the file is another size'
END
cat >mean.py <<'END'
import h5py
with h5py.File('raw.h5') as f:
    mean = f['dark'][:].mean()
open('mean.txt', 'w').write('%f\n' % mean)
END
step() { cmd 0 run --hdf5 -- $PYTHON -B "$@"; }

step put.py raw.h5 dark dark.csv && step put.py raw.h5 flat flat.csv && step mean.py && step twice.py flat && step mean.py && cmd 1 diff --json '@~2' @ && says_not "$out" raw.h5 && says_not "$out" twice.py
check 'another dataset of the file was written: no input differs'
cmd 1 diff '@~2' @ && says_not "$out" raw.h5
check '... and as text'
step twice.py dark && step mean.py && cmd 1 diff '@~2' @ && says "$out" 'an input: raw.h5//dark' && says "$out" 'changed by' 'twice.py dark' && says_not "$out" 'raw.h5  '
check 'the dataset itself was: that is the first cause'
cmd 1 diff --json '@~2' @ && json '[.. | strings | select(endswith("raw.h5//dark"))] | length > 0'
check '... and as JSON'
# Not recorded: the file is what differs.
cmd 0 run --hdf5=off -- $PYTHON -B mean.py && step twice.py flat && cmd 0 run --hdf5=off -- $PYTHON -B mean.py && cmd 1 diff '@~2' @ && says "$out" 'an input: raw.h5 ' 'twice.py flat' && says_not "$out" raw.h5//dark
check 'without --hdf5 the file differs'

step mean.py
for format in prov-json prov-n turtle openlineage; do
	cmd 0 export --format $format mean.txt && says "$out" 'raw.h5//dark' && says_not "$out" flat.csv && says "$out" dark.csv
	check "export, $format: the dataset"
done
cmd 0 export --format dvc-stage mean.txt && says "$out" 'mean.py' && grep -q '^ *- "raw.h5"' "$out" && says_not "$out" //
check 'export, dvc-stage: the file'
cmd 0 export --format ro-crate -o crate mean.txt && jq -r '.["@graph"][] | select(.["@type"] == "File") | .name' crate/ro-crate-metadata.json >"$out" && says "$out" 'raw.h5@' && says_not "$out" //
check 'export, ro-crate: the file'
finish
