#!/bin/sh
# What is said of objects in HDF5 files: which of several inputs comes first, what is counted and not named, versions, what differs
# between two of them, and objects among what is found. The truth was written down by hand, from what the programs do.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

# ---- two versions of a dataset: what differs is the text that it was made of
cat >w.py <<'END'
import h5py
with h5py.File('o.h5', 'w') as f:
    f['x'] = [float(open('g.txt').read())]
END
echo 1 >g.txt
cmd 0 run -q --hdf5 --digest -- $PYTHON w.py && echo 2 >g.txt && cmd 0 run -q --hdf5 --digest -- $PYTHON w.py
cmd 1 diff o.h5//x && says "$out" 'first cause   an input: g.txt' && says "$out" 'outputs       o.h5//x  another version' && says "$out" 'reaches the only output'
check 'two versions of a dataset differ, by the same cause as their files'
cmd 1 diff o.h5 && says "$out" 'first cause   an input: g.txt' && cmd 1 diff --json o.h5//x && jq -e '.first_cause.subject | endswith("/g.txt")' "$out" >/dev/null
check '... and so says the JSON'
cmd 0 why o.h5//x && says "$out" 'dataset o.h5//x@{2}: made by python3 w.py from g.txt@{2}' && cmd 0 why 'o.h5//x@{1}' && says "$out" 'dataset o.h5//x@{1}: made by python3 w.py from g.txt@{1}'
check 'where there are several versions, which one it is is said'

# ---- attributes
cat >make.py <<'END'
import h5py
with h5py.File('raw.h5', 'w') as f:
    for name, rate in ('pres', 300.0), ('temp', 500.0):
        f[name] = [float(i) / rate for i in range(100)]
        f[name].attrs['rate'] = rate
        f[name].attrs['unit'] = 'K'
    f.attrs['NAME'] = 'site 7'
END
cat >calib.py <<'END'
import h5py
k = float(open('k.txt').read())
with h5py.File('raw.h5') as f, h5py.File('cal.h5', 'w') as t:
    pres, temp = f['pres'][:], f['temp'][:]
    unit, other = f['temp'].attrs['unit'], f['pres'].attrs['rate']
    t['temp_c'] = temp * k
    t['temp_c'].attrs['rate'] = f['temp'].attrs['rate']
    t['pres'] = pres
    t.attrs['NAME'] = f.attrs['NAME']
END
echo 3 >k.txt
cmd 0 run -q --hdf5 -- $PYTHON make.py && cmd 0 run -q --hdf5 -- $PYTHON calib.py
cmd 0 why cal.h5//temp_c@rate && says "$out" 'attribute cal.h5//temp_c@rate: made by python3 calib.py from attribute raw.h5//temp@rate?, attribute raw.h5//pres@rate?, attribute raw.h5//temp@unit?, '
check 'of an attribute the attributes come first, those of its name before the others, the one that was read last before all'
cmd 0 why cal.h5//temp_c && says "$out" 'from dataset raw.h5//pres?, dataset raw.h5//temp?, k.txt@{1}, '
check 'of a dataset they come last'
cmd 0 why cal.h5//@NAME && says "$out" 'from attribute raw.h5//@NAME?,'
check 'the name of a file is no housekeeping'

# ---- what was moved is certain, what is computed is possible
cmd 0 lineage --down raw.h5//pres && says "$out" '? dataset cal.h5//temp_c' && says "$out" 'became dataset cal.h5//pres' && says_not "$out" '? became dataset cal.h5//pres' && cmd 0 lineage --down --certain raw.h5//pres && says "$out" 'cal.h5//pres' && says_not "$out" temp_c
check 'what a dataset was moved to came from it, what was computed in the same program may have'
cmd 0 lineage cal.h5//temp_c && says "$out" '? dataset raw.h5//temp' && says "$out" '─ k.txt@{1}' && cmd 0 lineage --certain cal.h5//temp_c && says "$out" k.txt && says_not "$out" 'raw.h5//' && cmd 0 lineage --certain cal.h5//pres && says "$out" 'raw.h5//pres' make.py
check '... upwards as well, and files are certain'
cmd 0 why cal.h5 && says "$out" 'dataset raw.h5//temp,' && cmd 0 find 'from raw.h5//pres' && says "$out" 'dataset cal.h5//temp_c?' && grep -qx 'dataset cal.h5//pres' "$out"
check '... and find says the same'
cmd 0 lineage --certain=computed cal.h5//temp_c && says "$out" '? dataset raw.h5//temp' make.py && cmd 0 lineage --json cal.h5//temp_c && jq -e '[.edges[] | select(.computed)] | length > 0 and all(.certainty == "may")' "$out" >/dev/null && cmd 0 lineage --certain=computed --down raw.h5//temp && says "$out" '? dataset cal.h5//temp_c' && cmd 2 lineage --certain=all cal.h5//temp_c
check '... --certain=computed follows these, and the JSON names them'
cat >single.py <<'END'
import h5py
with h5py.File('raw.h5') as f, h5py.File('half.h5', 'w') as t:
    t['x'] = f['temp'][:] / 2
END
cmd 0 run -q --hdf5 -- $PYTHON single.py && cmd 0 why half.h5//x && says "$out" 'from dataset raw.h5//temp?, '
check 'also if a program read one dataset alone'

# ---- what is found
cmd 0 find 'used raw.h5//temp' && says "$out" 'cal.h5@{1}' && says "$out" 'dataset cal.h5//temp_c' && says "$out" 'attribute cal.h5//temp_c@rate' && cmd 0 find 'made o.h5//x' && says "$out" 'dataset o.h5//x@{1}' && says "$out" 'dataset o.h5//x@{2}'
check 'what used or made an object is found with objects'
cmd 0 find 'used k.txt' && says "$out" 'cal.h5@{1}' && says_not "$out" '//'
check '... and without them where a file was asked for'
cmd 0 find --runs 'made o.h5//x' && lines "$out" 3
check '... or runs'

cmd 1 why cal.h5//renamed && says "$err" "nothing is recorded about 'cal.h5//renamed'; other objects of the file are recorded" && cmd 0 find --all 'path cal.h5/?*' && says "$out" 'dataset cal.h5//pres'
check 'of a name that no object had, where the others are to be found'

# ---- versions that are not the latest
cmd 0 run -q --hdf5 -- $PYTHON -c "import h5py; open('s.txt', 'w').write(str(h5py.File('cal.h5')['temp_c'][:].sum()))"
echo 4 >k.txt
cmd 0 run -q --hdf5 -- $PYTHON calib.py && cmd 0 why s.txt && says "$out" 'from dataset cal.h5//temp_c@{1}' && cmd 0 lineage s.txt && says "$out" 'dataset cal.h5//temp_c@{1}' 'k.txt@{1}' && says_not "$out" 'k.txt@{2}'
check 'an input of which there is a later version is named with its own'

# ---- what HDF5 and netCDF keep for themselves
if command -v ncgen >/dev/null && command -v ncap2 >/dev/null; then
	printf 'netcdf ts { dimensions: t = 3 ; variables: double t(t) ; double v(t) ; v:units = "K" ; double u(t) ; data: t = 1, 2, 3 ; v = 1.5, 2.5, 3.5 ; u = 7, 8, 9 ; }\n' >ts.cdl
	cmd 0 run -q --hdf5 -- ncgen -4 -o ts.nc ts.cdl && cmd 0 run -q --hdf5 -- ncap2 -O -s 'z=v*2' ts.nc z.nc
	cmd 0 why z.nc//z && says "$out" 'from dataset ts.nc//v' && says_not "$out" '@_' && cmd 0 lineage z.nc//z && says_not "$out" '@_Netcdf4' && says_not "$out" '@CLASS' && says "$out" 'housekeeping attributes (--all)'
	check 'attributes by which netCDF keeps its dimensions are counted'
	cmd 0 lineage --json z.nc//z && jq -e '.omitted.housekeeping > 0' "$out" >/dev/null && cmd 0 lineage --all --json z.nc//z && says "$out" '@_Netcdf4Dimid' && cmd 0 find 'from ts.nc//v' && says "$out" 'dataset z.nc//z' && says_not "$out" '@CLASS' && says_not "$out" '_Netcdf4'
	check '... with --all they are shown, and find leaves them out, too'
	cmd 0 why z.nc//v@units && says "$out" 'from attribute ts.nc//v@units'
	check '... but not those of the user'
else
	skip 'attributes by which netCDF keeps its dimensions are counted' 'no ncgen or no nco'
	skip '... with --all they are shown, and find leaves them out, too' 'no ncgen or no nco'
	skip '... but not those of the user' 'no ncgen or no nco'
fi
finish
