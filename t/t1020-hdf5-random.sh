#!/bin/sh
# Random programs that read, write and copy objects of HDF5 files, and what came of it: no source is missing, and where all programs told of
# objects, none is there that is none. The truth is what the programs were told to do (t/hdf5_random.py). Other seeds: as arguments.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}
for way in told some; do
	for seed in ${*:-1 26 42}; do
		rm -rf "$STEMMA_HOME" "$T/work/$way$seed" && mkdir "$T/work/$way$seed" && cd "$T/work/$way$seed" &&
			$PYTHON -B "$here/t/hdf5_random.py" "$STEMMA" "$seed" $way >"$out" 2>"$err" && lines "$out" 1 && ! grep -q '^0 ' "$out"
		check "$way, seed $seed"
	done
done
finish
