#!/bin/sh
# why FILE//DATASET[FROM:TO,...]: which programs wrote these elements, by the boxes that they wrote and the file's history. In each case the
# dataset as a whole has other makers, too; the truth was written down by hand.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

# ---- a series that is made longer by each run
cat >day.py <<'END'
import h5py, numpy, sys
day = numpy.loadtxt(sys.argv[1])
with h5py.File('ts.h5', 'a') as f:
    if 'v' not in f:
        f.create_dataset('v', (0, 2), maxshape=(None, 2), chunks=(5, 2))
    n = f['v'].shape[0]
    f['v'].resize((n + len(day), 2))
    f['v'][n:] = day
END
for day in 1 2 3; do
	seq "$day" "$((day + 19))" | paste - - >day$day.txt
	cmd 0 run -q --hdf5 -- $PYTHON day.py day$day.txt || break
done
check 'ten rows a day, on three days'
cmd 0 why 'ts.h5//v[0:10]' && says "$out" 'dataset ts.h5//v@{' && says "$out" '[0:10,0:2]: made by python3 day.py day1.txt from day1.txt@{1}, day.py@{1} by' && says_not "$out" day2.txt && says_not "$out" day3.txt && lines "$out" 1
check 'the first ten rows are of the first day alone'
cmd 0 why 'ts.h5//v[15:25]' && says "$out" '[20:25,0:2]: made by python3 day.py day3.txt' && says "$out" '[15:20,0:2]: made by python3 day.py day2.txt' && says_not "$out" day1.txt && lines "$out" 2
check 'rows of two days: each with its own'
cmd 0 why 'ts.h5//v[29,1]' && says "$out" '[29:30,1:2]: made by python3 day.py day3.txt' && lines "$out" 1 && cmd 0 why 'ts.h5//v[:]' && lines "$out" 3
check 'one element, and all of them'
cmd 0 why --json 'ts.h5//v[12:13,:]' && jq -e '.answers | length == 1 and (.[0] | .selection == "[12:13,0:2]" and .selection_certainty == "must" and (.makers[0].argv | index("day2.txt")))' "$out" >/dev/null
check 'as JSON'
cmd 2 why 'ts.h5//v[0:31]' && says "$err" "'[0:31]' is not a selection of this dataset" && cmd 2 why 'ts.h5//v[3:3]' && cmd 2 why 'ts.h5//v[a]' && cmd 2 why 'ts.h5//v[0,0,0]' && cmd 2 why 'ts.h5//v[0:99999999999999999999]'
check 'what does not fit the shape is refused'
cmd 1 why 'ts.h5//none[0]' && says "$err" "nothing is recorded about 'ts.h5//none[0]'"
check '... and what is not there is not known'

# ---- written over in part, and as a whole
cat >patch.py <<'END'
import h5py
fix = float(open('fix.txt').read())
with h5py.File('ts.h5', 'r+') as f:
    f['v'][4:6] = fix
END
echo 7 >fix.txt
cmd 0 run -q --hdf5 -- $PYTHON patch.py && cmd 0 why 'ts.h5//v[4:6]' && says "$out" 'made by python3 patch.py from fix.txt@{1}' && says_not "$out" day1.txt
check 'elements that were written over are of who did that'
cmd 0 why 'ts.h5//v[3:5]' && says "$out" '[4:5,0:2]: made by python3 patch.py' && says "$out" '[3:5,0:2]: made by python3 day.py day1.txt' && says_not "$out" day2
check '... beside those of before'
cmd 0 why 'ts.h5//v[20:22]' && says "$out" day3.txt && says_not "$out" patch.py
check '... and others are as they were'

# ---- a program that goes through a dataset in a loop
cat >loop.py <<'END'
import h5py, numpy, sys
step = int(sys.argv[2])
with h5py.File('big.h5', 'w') as f:
    x = f.create_dataset('x', (400,))
    for i in range(0, 400, step):
        x[i:i + step] = numpy.loadtxt('day1.txt')[0, 0] + i
with h5py.File(sys.argv[1], 'w') as f:
    half = f.create_dataset('half', (100,))
    half[::2] = 1.0
END
cmd 0 run -q --hdf5 -- $PYTHON loop.py out.h5 40 && cmd 0 why 'big.h5//x[30:100]' && says "$out" '[30:100]: made by python3 loop.py out.h5 40 from day1.txt@{1}'
check 'a loop that writes chunk by chunk wrote all between, for certain'
cmd 0 run -q --hdf5 -- $PYTHON loop.py out2.h5 10 && cmd 0 why 'big.h5//x[30:35]' && says "$out" '[30:35]: made by python3 loop.py out2.h5 10' && cmd 0 why 'big.h5//x[300:305]' && says "$out" '[300:305]?: made by python3 loop.py out2.h5 10'
check 'of more than 16 boxes the last ones are one, and what is in it is possible'
cmd 0 why 'out.h5//half[1:2]' && says "$out" '[1:2]?: made by python3 loop.py out.h5 40'
check '... as of a selection with gaps: none of these elements is surely written'
cat >some.py <<'END'
import h5py
with h5py.File('some.h5', 'w') as f:
    f.create_dataset('x', (10,))[2:4] = 1.5
END
cmd 0 run -q --hdf5 -- $PYTHON some.py && cmd 1 why 'some.h5//x[5:]' && says "$err" 'no program was seen writing these elements' && cmd 0 why 'some.h5//x[3:6]' && says "$out" '[3:4]: made by python3 some.py'
check 'elements that nobody wrote have the fill value'

# ---- what came with a copy, and a name with brackets
cmd 0 run -q --hdf5 -- cp some.h5 copy.h5 && cmd 0 run -q --hdf5 -- $PYTHON -c "import h5py; print(h5py.File('copy.h5')['x'][:])" && cmd 0 why 'copy.h5//x[2:4]' && says "$out" 'copy.h5//x[2:4]?: made by cp some.h5 copy.h5 from dataset some.h5//x'
check 'in a copied file all of it came with the copy'
$PYTHON - <<'END'
open('odd.py', 'w').write("import h5py\nwith h5py.File('odd.h5', 'w') as f:\n    f['x[0]'] = [1.0]\n")
END
cmd 0 run -q --hdf5 -- $PYTHON odd.py && cmd 0 why 'odd.h5//x[0]' && says "$out" 'odd.h5//x[0]: made by python3 odd.py from odd.py@{1}'
check 'a dataset that is called so is meant itself'
finish
