#!/bin/sh
# Objects are called, in every answer, by the path that a user would type: what h5py finds in the file is the truth. Python makes
# datasets without a name and gives them one afterwards; names move, and the file's own does.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

cat >make.py <<'END'
import h5py, numpy
with h5py.File('names.h5', 'w') as f:
    f['a/b/first'] = numpy.ones((10, 10))
    f.create_dataset('made', data=numpy.arange(6).reshape(2, 3), maxshape=(None, 3))
    f['made'].attrs['unit'] = 'K'
    f.move('a/b/first', 'a/c')
    f.move('a', 'z')
    f['z/b'].create_dataset('lat\u00e9', (4,), 'f8')[1:3] = 2
    f['grp/deep'] = [1, 2, 3, 4, 5]
    f.create_dataset(None, data=[1, 2, 3, 4, 5, 6, 7])
END
# What is in the file: path and extent of each dataset and attribute.
cat >truth.py <<'END'
import h5py, sys
def say(name, v):
    if isinstance(v, h5py.Dataset):
        print(name, ','.join(map(str, v.shape)))
    for a in v.attrs:
        print('%s@%s ' % (name, a))
with h5py.File(sys.argv[1]) as f:
    f.visititems(say)
END
# The same, as CSV says it of the file.
named() { tr -d '\r' <"$out" | sed -n "s/\"//g; s|^$T/work/$1//||p" | sed 's/,/ /' | sort >"$T/named"; }
same() { $PYTHON -B truth.py "$1" | sort >"$T/truth" && named "$1" && diff "$T/truth" "$T/named" >>"$err"; }
objects='SELECT DISTINCT path, shape FROM hdf5_object WHERE path IS NOT NULL'

cmd 0 run --hdf5 -- $PYTHON -B make.py && cmd 0 sql --csv "$objects" && same names.h5
check 'types and extents'
cmd 0 sql --csv 'SELECT count(*) FROM hdf5_object WHERE path IS NULL' && says "$out" 1
check 'what never had a name has none'
cmd 0 sql --csv "SELECT DISTINCT p.path, o.shape FROM hdf5_part p JOIN hdf5_object o ON o.path = p.path AND p.direction = 'write'" &&
	grep -v @ "$T/truth" >"$T/datasets" && named names.h5 && diff "$T/datasets" "$T/named" >>"$err"
check 'parts'
cmd 0 stat --hdf5 @ && says "$out" 'names.h5//z/c[0:9, 0:9]' 'names.h5//z/b/laté[1:2]' 'names.h5//grp/deep[0:4]' '(no name)[0:6]' && says_not "$out" '//['
check 'stat --hdf5: parts'
for form in '' --json; do
	# shellcheck disable=SC2086
	cmd 0 stat --hdf5 $form -n 50 @ && says "$out" names.h5//z/c names.h5//made names.h5//z/b/laté names.h5//grp/deep && says_not "$out" //a/ && says_not "$out" /first
	check "stat --hdf5 $form"
done
cmd 0 export --format provio @ && sed -n 's|^ *stemmaio:path "[^"]*/names.h5//\([^"]*\)".*|\1|p' "$out" | sort -u >"$T/named" &&
	sed 's/ [0-9,]*$//' "$T/truth" | sort | diff - "$T/named" >>"$err"
check "the export in PROV-IO's vocabulary"

# Another program moves one, and the file is moved, too.
echo "import h5py; f = h5py.File('names.h5', 'a'); f.move('grp/deep', 'top'); f.close()" >move.py
cmd 0 run --hdf5 -- $PYTHON -B move.py && cmd 0 run -- mv names.h5 moved.h5 && cmd 0 sql --csv "$objects" && same moved.h5 && says "$T/named" 'top 5'
check 'moved by a later program, in a file that was moved'
cmd 0 index --rebuild && cmd 0 sql --csv "$objects" && same moved.h5
check 'the same from the logs alone'
cmd 0 forget @~2 && cmd 0 sql --csv 'SELECT count(*) FROM hdf5_object' && says "$out" 0 && cmd 0 fsck
check 'and gone with the run'
finish
