#!/bin/sh
# h5py as a wheel brings it: with an HDF5 of its own under another name, in a folder of its own, loaded with RTLD_LOCAL; alone, and
# with the machine's HDF5 in the same process. Results and what is recorded are those of the machine's.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD LD_LIBRARY_PATH HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}
command -v patchelf >/dev/null || {
	echo '1..0 # SKIP no patchelf to rename a library'
	exit 0
}

# What auditwheel does: the libraries beside the package under names with a hash, and the modules need those names.
mkdir -p site/h5py.libs
cp -r "$($PYTHON -c 'import h5py, os; print(os.path.dirname(h5py.__file__))')" site/h5py
find site/h5py -name '*.so' >modules
hdf5=$(sed 's/.*/ldd &/' modules | sh 2>/dev/null | awk '$1 ~ /^libhdf5.*\.so/ { print $1, $3 }' | sort -u)
echo "$hdf5" | while read -r name path; do
	cp -L "$path" "site/h5py.libs/${name%%.so*}-3f9c1b7a.so.${name##*.so.}"
done
for lib in site/h5py.libs/*; do
	patchelf --set-soname "${lib##*/}" "$lib"
	# shellcheck disable=SC2016 # the loader's word
	patchelf --force-rpath --set-rpath '$ORIGIN' "$lib"
done
# shellcheck disable=SC2046 # words
set -- $(echo "$hdf5" | while read -r name path; do printf '%s %s ' "$name" "${name%%.so*}-3f9c1b7a.so.${name##*.so.}"; done)
while IFS= read -r module; do
	up=$(dirname "${module#site/}" | sed 's,[^/]*,..,g')
	patchelf --force-rpath --set-rpath "\$ORIGIN/$up/h5py.libs" "$module"
done <modules
while [ $# -gt 0 ]; do
	# shellcheck disable=SC2046 # no blanks in them
	patchelf --replace-needed "$1" "$2" $(cat modules) site/h5py.libs/*
	shift 2
done
cat >where.py <<'END'
import h5py
maps = {line.split()[-1] for line in open('/proc/self/maps') if 'libhdf5' in line and 'libstemma' not in line}
print(h5py.__file__.split('/work/')[-1], *sorted(m.split('/')[-2] for m in maps))
END
PYTHONPATH=site $PYTHON -B where.py >"$out" 2>"$err" && says "$out" 'site/h5py/__init__.py h5py.libs' && says_not "$out" serial && says_not "$out" gnu
check 'a package with an HDF5 of its own'

cat >make.py <<'END'
import h5py, numpy, sys
with h5py.File(sys.argv[1], 'w', track_order=False) as f:
    f.create_dataset('raw/trace', data=numpy.arange(800.0).reshape(8, 100), track_times=False)
    f['raw/trace'].attrs['rate'] = 500.0
    f.create_dataset('raw/unused', data=numpy.arange(10), track_times=False)
END
cat >use.py <<'END'
import h5py, sys
with h5py.File(sys.argv[1], 'r') as a, h5py.File(sys.argv[2], 'w') as b:
    part = a['raw/trace'][2:4, 10:20]
    a['raw/unused']
    b.create_dataset('grp/mean', data=part.mean(axis=1), track_times=False)
    b['grp/mean'].attrs['rate'] = a['raw/trace'].attrs['rate']
END
both()
{
	"$@" $PYTHON -B make.py in.h5 && "$@" $PYTHON -B use.py in.h5 out.h5
}
recorded()
{
	cmd 0 sql --csv "SELECT substr(path, instr(path, '/work/') + 6) AS path, api, direction, sum(calls), sum(bytes) FROM io JOIN file ON file.id = io.file WHERE api IN ('data', 'attr', 'create', 'h5open', 'flush') GROUP BY path, api, direction ORDER BY 1, 2, 3"
}
both env >"$out" 2>"$err" && mv in.h5 in.alone && mv out.h5 out.alone && both cmd 0 run --hdf5 -- && recorded && cp "$out" "$T/machine" && says "$out" 'raw/trace,data,read,1,160'
check "the machine's HDF5"
rm -rf "$STEMMA_HOME" in.h5 out.h5
export PYTHONPATH="$PWD/site"
both cmd 0 run --hdf5 -- && cmp in.alone in.h5 >>"$err" && cmp out.alone out.h5 >>"$err"
check 'the same files, byte by byte'
recorded && diff "$T/machine" "$out" >>"$err"
check 'the same objects and calls'
cmd 0 lineage --json out.h5//grp/mean && json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//raw/trace", "out.h5//grp/mean"]' && cmd 0 sql "SELECT text FROM gap WHERE reason = 'hdf5'" && lines "$out" 0
check 'the same lineage, without a gap'

# Both in one process: each of them opens, reads and writes its own file.
cat >two.py <<'END'
import ctypes, ctypes.util, glob, os, sys
other = ctypes.CDLL(sys.argv[1], mode=os.RTLD_GLOBAL)  # the machine's, in everybody's scope
other.H5open()
import h5py
with h5py.File('in.h5', 'r') as a, h5py.File('two.h5', 'w') as b:
    b.create_dataset('sum', data=a['raw/trace'][:].sum())
maps = {line.split()[-1] for line in open('/proc/self/maps') if 'libhdf5' in line and 'libstemma' not in line and '_hl' not in line}
print(len(maps))
END
machine=$(echo "$hdf5" | awk '$1 !~ /_hl/ { print $2; exit }')
cmd 0 run --hdf5 -- $PYTHON -B two.py "$machine" && says "$out" 2 && cmd 0 lineage --json two.h5//sum && json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//raw/trace", "two.h5//sum"]'
check 'with the HDF5 of the machine in the same process'
finish
