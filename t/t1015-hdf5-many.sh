#!/bin/sh
# Many objects without a name, and many that are opened by reference: their names are right, and what they cost grows as the program's
# own work does.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}
cat >assign.py <<'END'
import h5py, sys
with h5py.File('many.h5', 'w') as f:
    for i in range(int(sys.argv[1])):
        f['d%d' % i] = i
END
cat >link.py <<'END'
import h5py, sys
n = int(sys.argv[1])
with h5py.File('refs.h5', 'w') as f:
    for i in range(n):
        f.create_group('in/g%d' % i)
    d = f.create_dataset('refs', (n,), dtype=h5py.special_dtype(ref=h5py.Reference))
    for i in range(n):
        d[i] = f['in/g%d' % i].ref
END
cat >follow.py <<'END'
import h5py
with h5py.File('refs.h5', 'r') as f:
    for r in f['refs'][:]:
        f[r].attrs.keys()
END
# CPU seconds of a command and its children, the least of three.
cpu()
{
	$PYTHON -c 'import os, subprocess, sys
least = 1e9
for _ in range(3):
    before = os.times()
    subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = os.times()
    least = min(least, after.children_user + after.children_system - before.children_user - before.children_system)
print(least)' "$@"
}
# The time that --hdf5 adds to four times as much work is not much more than four times as much.
grows()
{ # SCRIPT FEW MANY
	$PYTHON "link.py" "$2" && a=$(cpu $PYTHON "$1" "$2") && b=$(cpu "$STEMMA" run --hdf5 -- $PYTHON "$1" "$2") &&
		$PYTHON "link.py" "$3" && c=$(cpu $PYTHON "$1" "$3") && d=$(cpu "$STEMMA" run --hdf5 -- $PYTHON "$1" "$3") &&
		echo "plain $a $c, recorded $b $d" >"$out" && awk -v b="$b" -v c="$c" -v d="$d" 'BEGIN { exit !(d < 3 * c + 2 * b) }'
}

grows assign.py 1000 4000
check 'f[name] = value, 4,000 times'
grows follow.py 500 2000
check 'objects that are opened by reference, 2,000 times'
$PYTHON assign.py 0 && rm -f many.h5
cmd 0 run --hdf5 -- $PYTHON assign.py 40 && cmd 0 why many.h5//d39 && says "$out" assign.py
check 'a dataset that was assigned has its name'
$PYTHON link.py 40
rm -rf "$STEMMA_HOME"
cmd 0 run --hdf5 -- $PYTHON follow.py && find "$STEMMA_HOME/logs" -name '*.stl' -exec "$EVTEXT" dump {} + >"$out" &&
	[ "$(grep -o 'refs.h5//in/g[0-9]*' "$out" | sort -u | wc -l)" = 40 ]
check 'each object that was opened by reference has its name'
cat >moved.py <<'END'
import h5py
with h5py.File('refs.h5', 'r+') as f:
    refs = f['refs'][:]
    for r in refs[:20]:
        f[r].attrs.keys()
    f.move('in', 'out')
    for r in refs[20:]:
        f[r].attrs.keys()
END
rm -rf "$STEMMA_HOME"
cmd 0 run --hdf5 -- $PYTHON moved.py && find "$STEMMA_HOME/logs" -name '*.stl' -exec "$EVTEXT" dump {} + >"$out" &&
	[ "$(grep -o 'refs.h5//out/g[23][0-9]' "$out" | sort -u | wc -l)" = 20 ] && ! grep -q 'refs.h5//in/g[23][0-9]' "$out"
check 'a name that was learnt does not outlive a move'
finish
