#!/bin/sh
# What came of objects of HDF5 files, asked of plain files: a picture, text, a table. The sources were written down by hand, from what each
# program does: it reads one dataset of a file in which there are others, made by others from other files.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

seq 1 100 >dark.csv
seq 101 200 >flat.csv
cat >put.py <<'END'
import h5py, numpy, sys
with h5py.File(sys.argv[1], 'a') as f:
    f[sys.argv[2]] = numpy.loadtxt(sys.argv[3]).reshape(10, 10)
    f[sys.argv[2]].attrs['u'] = 'K'
END
# Reads one dataset, writes text; and, where a third name is given, copies the whole file there.
cat >mean.py <<'END'
import h5py, shutil, sys
with h5py.File(sys.argv[1]) as f:
    mean = f[sys.argv[2]][:].mean()
if len(sys.argv) > 4:
    shutil.copyfile(sys.argv[1], sys.argv[4])
open(sys.argv[3], 'w').write('%f\n' % mean)
END
step() { cmd 0 run --hdf5 -- "$@"; }
# The lineage of a file has these files and objects, and no others; each once, as it is shown below the folder.
comes_from()
{ # FILE WORDS...
	file=$1
	shift
	"$STEMMA" lineage --json "$file" >"$out" 2>>"$err" && jq -r '.entities[1:][].path' "$out" | sed "s|^$T/work/||" | grep -v '^pipe:' | sort -u >"$T/got"
	printf '%s\n' "$@" | sort >"$T/want"
	diff "$T/want" "$T/got" >>"$err"
}
# What `why` names, in its order.
named()
{ # FILE WORDS...
	file=$1
	shift
	"$STEMMA" why --json "$file" >"$out" 2>>"$err" && jq -r '.answers[0].inputs[].path' "$out" | sed "s|^$T/work/||" >"$T/got"
	printf '%s\n' "$@" >"$T/want"
	diff "$T/want" "$T/got" >>"$err"
}

step $PYTHON -B put.py raw.h5 dark dark.csv && step $PYTHON -B put.py raw.h5 flat flat.csv &&
	step $PYTHON -B mean.py raw.h5 dark dark.txt && step $PYTHON -B mean.py raw.h5 flat flat.txt
named dark.txt raw.h5//dark mean.py && cmd 0 why dark.txt && says "$out" 'from dataset raw.h5//dark' mean.py && says_not "$out" 'raw.h5@' && says_not "$out" flat
check 'why, of a file: the dataset that it came from'
named flat.txt raw.h5//flat mean.py && comes_from dark.txt raw.h5//dark mean.py put.py dark.csv && comes_from flat.txt raw.h5//flat mean.py put.py flat.csv
check 'lineage: not what lies beside it, nor what that came from'
cmd 0 lineage dark.txt && says "$out" 'dataset raw.h5//dark' 'put.py raw.h5 dark' 'dark.csv' && says_not "$out" flat && says_not "$out" 'raw.h5@'
check '... and as text'
cmd 0 lineage --json dark.txt && json '.omitted.container > 0' && cmd 0 lineage --json --all dark.txt && json '[.entities[].path | select(endswith("/raw.h5"))] | length > 0'
check 'the file is left out, counted, and shown with --all'
cmd 0 lineage --json --certain=read dark.txt && json '[.entities[].path | sub(".*/work/"; "")] == ["dark.txt", "raw.h5//dark"]'
check 'what is known to have been read'

# Down, the same the other way round. The file is there, too, and what came of objects by which it came.
cmd 0 lineage --down --json dark.csv && json '[.entities[].path | sub(".*/work/"; "")] | (index("dark.txt") != null) and (index("raw.h5//dark") != null) and (index("raw.h5") != null) and (index("flat.txt") == null) and (index("raw.h5//flat") == null)'
check 'down: what came of a file by way of a dataset'
cmd 0 lineage --down --json raw.h5 && json '[.entities[].path | sub(".*/work/"; "")] | (index("flat.txt") != null)' && cmd 0 lineage --down --json 'raw.h5@{1}' && json '[.entities[].path | sub(".*/work/"; "")] | (index("dark.txt") != null)'
check 'down, from the HDF5 file itself: all who used it'
cmd 0 find files 'from dark.csv' && says "$out" dark.txt && says_not "$out" flat.txt && cmd 0 find files 'into dark.txt' && says "$out" raw.h5//dark && says "$out" dark.csv && says_not "$out" flat.csv && cmd 0 find files 'from raw.h5//dark' && says "$out" dark.txt && says_not "$out" flat.txt && cmd 0 find files 'into raw.h5//dark' && says "$out" dark.csv && says_not "$out" flat.csv
check 'find: from, into'

# What is not known stays the whole file.
cmd 0 run --hdf5=off -- $PYTHON -B mean.py raw.h5 dark blind.txt && named blind.txt raw.h5 mean.py && comes_from blind.txt raw.h5 mean.py put.py dark.csv flat.csv
check 'a program without --hdf5 may have read all of the file'
step $PYTHON -B mean.py raw.h5 dark both.txt whole.h5 && cmd 0 why both.txt && says "$out" 'raw.h5@{2}' && comes_from whole.h5 raw.h5 raw.h5//dark mean.py put.py dark.csv flat.csv
check 'one that reads the file by itself, too'
step sh -c 'cat raw.h5 >copy.h5' && step $PYTHON -B mean.py copy.h5 dark late.txt && named late.txt copy.h5//dark mean.py && comes_from late.txt copy.h5//dark copy.h5 raw.h5 mean.py put.py dark.csv flat.csv
check 'a dataset of a copied file: it is named, and what the file came from is followed'
cmd 0 lineage --down --json dark.csv && json '[.entities[].path | sub(".*/work/"; "")] | (index("late.txt") != null) and (index("blind.txt") != null) and (index("whole.h5") != null)'
check 'down: through the bytes of the file'
cmd 0 run --hdf5=attribute -- $PYTHON -B mean.py raw.h5 dark some.txt && cmd 0 why some.txt && says "$out" 'raw.h5@{2}' && comes_from some.txt raw.h5 mean.py put.py dark.csv flat.csv
check 'one whose datasets were not recorded'
$PYTHON -B put.py raw.h5 extra flat.csv && step $PYTHON -B mean.py raw.h5 dark after.txt && named after.txt raw.h5//dark mean.py && comes_from after.txt raw.h5//dark raw.h5 mean.py put.py dark.csv flat.csv
check 'a file that was written unrecorded since: it is followed as well'
# From outside: there is nothing behind the objects.
cmd 0 run -- true && $PYTHON -B put.py given.h5 dark dark.csv && $PYTHON -B put.py given.h5 flat flat.csv && step $PYTHON -B mean.py given.h5 dark given.txt && named given.txt given.h5//dark mean.py && comes_from given.txt given.h5//dark mean.py
check 'of a file from outside the dataset alone'
step $PYTHON -B put.py given.h5 more flat.csv && step $PYTHON -B mean.py given.h5 dark again.txt && comes_from again.txt given.h5//dark mean.py && step $PYTHON -B mean.py given.h5 more more.txt && comes_from more.txt given.h5//more mean.py put.py flat.csv
check '... also when another one was added'
# A program that asks what there is, and reads none of it.
cat >names.py <<'END'
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    open(sys.argv[2], 'w').write(' '.join(f.keys()))
END
step $PYTHON -B names.py given.h5 names.txt && named names.txt given.h5 names.py
check 'who only asks for names used the file'
# The file of a folder that an argument names, objects of the file itself as it was before.
cat >scale.py <<'END'
import h5py, sys
with h5py.File(sys.argv[1], 'r+') as f:
    f['scaled'] = f['dark'][:] * 2
END
step $PYTHON -B scale.py given.h5 && cmd 0 why --json given.h5 && json '[.answers[0].inputs[] | select(.role == "earlier") | .path | sub(".*/work/"; "")] | index("given.h5//dark") != null'
check 'an object of the file that is asked for, as it was before'
cmd 0 index --rebuild && named dark.txt raw.h5//dark mean.py && comes_from flat.txt raw.h5//flat mean.py put.py flat.csv
check 'a rebuilt index'

# Other programs. What they read is what they print.
if command -v h5dump >"$out" 2>"$err"; then
	step h5dump -d /flat -o d1.txt raw.h5 && step sh -c 'h5dump -d /dark raw.h5 >d2.txt' && comes_from d1.txt raw.h5//flat raw.h5//flat@u raw.h5 put.py dark.csv flat.csv && named d2.txt raw.h5//dark raw.h5//dark@u && step h5dump -d /flat -o d3.txt given.h5 && comes_from d3.txt given.h5//flat given.h5//flat@u
	check 'h5dump'
else
	skip h5dump 'no h5dump'
fi
if command -v ncdump >"$out" 2>"$err" && command -v ncgen >"$out" 2>"$err"; then
	for v in dark flat; do
		printf 'netcdf x { dimensions: n = 3; variables: double dark(n); double flat(n); data: %s = 1, 2, 3; }\n' $v >$v.cdl
	done
	step ncgen -4 -o n.nc dark.cdl && step sh -c 'ncdump -v flat n.nc >n1.txt' && cmd 0 why --json n1.txt && json '[.answers[0].inputs[] | select(.kind == "dataset") | .path | sub(".*/work/"; "")] == ["n.nc//flat"]' && json '[.answers[0].inputs[] | select(.kind == "regular")] == []'
	check 'ncdump'
	if command -v ncks >"$out" 2>"$err"; then
		step ncks -O -v flat n.nc k.nc && cmd 0 why --json k.nc && json '[.answers[0].inputs[] | select(.kind == "dataset") | .path | sub(".*/work/"; "")] | (index("n.nc//flat") != null) and (index("n.nc//dark") == null)' && json '[.answers[0].inputs[] | select(.kind == "regular")] == []'
		check ncks
	else
		skip ncks 'no ncks'
	fi
else
	skip ncdump 'no ncdump or ncgen'
fi
if command -v gdal_translate >"$out" 2>"$err"; then
	step gdal_translate -q -of GTiff HDF5:given.h5://flat flat.tif && cmd 0 why --json flat.tif && json '[.answers[0].inputs[].path | sub(".*/work/"; "")] | sort == ["given.h5//flat", "given.h5//flat@u"]'
	check 'gdal_translate'
else
	skip gdal_translate 'no gdal_translate'
fi
if $PYTHON -c 'import matplotlib' 2>"$err"; then
	cat >fig.py <<'END'
import h5py, matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plot
with h5py.File('given.h5') as f:
    plot.imshow(f['flat'][:])
plot.savefig('fig.png')
END
	MPLCONFIGDIR="$T/home" step $PYTHON -B fig.py && cmd 0 why fig.png && says "$out" 'from dataset given.h5//flat' fig.py && cmd 0 why --json fig.png && json '[.answers[0].inputs[].path | select(contains("given.h5")) | sub(".*/work/"; "")] == ["given.h5//flat"]'
	check 'a picture of matplotlib'
else
	skip 'a picture of matplotlib' 'no matplotlib'
fi
finish
