#!/bin/sh
# Memory that a read of a dataset had filled, written as it was: the dataset that was written came from what was read, and from
# nothing else. The programs are h5repack, nccopy, nco's and cdo, and a few lines of h5py; what each dataset came from was written
# down by hand, from what the programs do. Where content is equal without having been moved nothing may be concluded.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
$PYTHON -c 'import h5py, numpy' 2>"$err" || {
	echo "1..0 # SKIP no h5py for $PYTHON"
	exit 0
}

# What a dataset came from, of datasets and text: "out.h5//x: a.h5//x b.h5//y"
sources()
{
	cmd 0 lineage --json --depth 1 "$1" && jq -r --arg of "$PWD/$1" --arg here "$PWD/" '[.entities[] | select(.kind == "dataset" or (.path | endswith(".csv"))) | .path | select(. != $of) | ltrimstr($here)] | sort | join(" ")' "$out" >"$T/sources" && is "$T/sources" "$2"
}

seq 1 200 >text.csv
cat >make.py <<'END'
import h5py, numpy
r = numpy.random.RandomState(1)
with h5py.File('in.h5', 'w') as f:
    f['pr'] = r.rand(40, 50)
    f['tas'] = r.rand(40, 50)
    f['zero'] = numpy.zeros(1000)
    f['also'] = numpy.zeros(1000)
    f['few'] = r.rand(4)
    f['words'] = ['word %d' % i for i in range(100)]
END
cat >move.py <<'END'
import h5py, numpy
text = numpy.loadtxt('text.csv')
with h5py.File('in.h5') as f, h5py.File('out.h5', 'w') as t:
    for name in 'pr', 'tas', 'zero', 'few', 'words':
        t[name] = f[name][...]
    t['part'] = f['pr'][10:20, :]
    changed = f['pr'][...]
    changed[3, 4] = text[0]
    t['changed'] = changed
    t['other'] = numpy.array(f['pr'][...])
    both = numpy.empty((80, 50))
    f['pr'].read_direct(both[:40])
    f['tas'].read_direct(both[40:])
    t['both'] = both
    f['pr'].read_direct(both[:40])
    f['tas'].read_direct(both[:40])
    t['latest'] = both[:40]
    both[79, 49] = text[0]
    t['rows'] = both
    slow = t.create_dataset('slow', (40, 50))
    for i in range(40):
        slow[i] = f['pr'][i]
    mostly = t.create_dataset('mostly', (40, 50))
    for i in range(40):
        mostly[i] = f['tas'][i] if i != 20 else text[:50]
    t['again'] = t['changed'][...]
END
cmd 0 run -q --hdf5 -- $PYTHON make.py && cmd 0 run -q --hdf5 -- $PYTHON move.py
all='in.h5//few in.h5//pr in.h5//tas in.h5//words in.h5//zero text.csv'
sources out.h5//pr in.h5//pr && sources out.h5//tas in.h5//tas && sources out.h5//part in.h5//pr
check 'what was read and written as it was came from that alone, and not from what the program also read'
sources out.h5//both 'in.h5//pr in.h5//tas'
check '... from two, where two reads filled it'
sources out.h5//latest in.h5//tas
check '... from the latest read of that memory'
sources out.h5//slow in.h5//pr
check '... row by row'
sources out.h5//changed "$all"
check 'where one element was changed it may have come from all'
sources out.h5//rows "$all" && sources out.h5//mostly "$all"
check '... also in one of several pieces, or in one of several writes'
sources out.h5//other "$all"
check 'equal content in other memory proves nothing'
sources out.h5//zero 'in.h5//pr in.h5//tas in.h5//zero text.csv'
check '... nor do zeros, which are equal everywhere'
sources out.h5//few 'in.h5//few in.h5//pr in.h5//tas in.h5//zero text.csv' && sources out.h5//words "$all"
check '... nor what is too small, or points elsewhere'
sources out.h5//again "in.h5//few in.h5//pr in.h5//tas in.h5//words in.h5//zero out.h5//changed text.csv"
check 'what a program wrote itself and read back came from all that it had read before'
cmd 0 why out.h5//pr && says "$out" 'out.h5//pr: made by python3 move.py from dataset in.h5//pr, move.py@{1} by'
check 'why names the one source'
cmd 0 lineage --json --all --depth 1 out.h5//pr && says "$out" text.csv
check 'lineage --all has all that the program used'
cmd 0 lineage --down --json text.csv && says "$out" 'out.h5//changed' && says_not "$out" 'out.h5//pr"' 'out.h5//both"' && cmd 0 lineage --down --json in.h5//tas && says "$out" 'out.h5//latest"' 'out.h5//both"' && says_not "$out" 'out.h5//pr"' 'out.h5//slow"'
check 'the same downwards'

# ---- two threads that take turns with one buffer, and a forked child
cat >fork.py <<'END'
import h5py, numpy, os
with h5py.File('in.h5') as f:
    x = f['pr'][...]
    y = f['tas'][...]
if os.fork() == 0:
    with h5py.File('child.h5', 'w') as t:
        t['x'] = x
    os._exit(0)
os.wait()
with h5py.File('parent.h5', 'w') as t:
    t['x'] = x
END
cmd 0 run -q --hdf5 -- $PYTHON fork.py && sources parent.h5//x in.h5//pr && cmd 0 lineage --json --fork child.h5//x && says "$out" in.h5//pr
check 'a forked child begins anew, and its sources are those that its parent read'

# ---- programs of others
if command -v h5repack >/dev/null; then
	cmd 0 run -q --hdf5 -- h5repack -f GZIP=1 in.h5 repacked.h5 && sources repacked.h5//pr in.h5//pr && sources repacked.h5//tas in.h5//tas
	check 'h5repack'
else
	skip h5repack 'no h5repack'
fi
if command -v ncgen >/dev/null && command -v ncks >/dev/null; then
	$PYTHON - >all.cdl <<'END'
import random
random.seed(2)
print('netcdf all { dimensions: time = UNLIMITED ; x = 20 ; variables: double time(time) ; double pr(time, x) ; double tas(time, x) ; data:')
for name, n in ('time', 30), ('pr', 600), ('tas', 600):
    print(name, '=', ', '.join('%.6f' % v for v in sorted(random.random() for i in range(n))), ';')
print('}')
END
	ncgen -4 -o all.nc all.cdl && cp all.nc more.nc
	cmd 0 run -q --hdf5 -- nccopy -d 1 all.nc copied.nc && sources copied.nc//pr all.nc//pr && sources copied.nc//tas all.nc//tas && sources copied.nc//time all.nc//time
	check 'nccopy: each variable from its own'
	cmd 0 run -q --hdf5 -- ncks -v tas -d time,5,20 all.nc some.nc && sources some.nc//tas all.nc//tas && sources some.nc//time all.nc//time
	check 'ncks: some steps of one variable, and the coordinate from the coordinate'
	cmd 0 run -q --hdf5 -- ncrcat all.nc more.nc joined.nc && sources joined.nc//pr 'all.nc//pr more.nc//pr' && sources joined.nc//tas 'all.nc//tas more.nc//tas'
	check 'ncrcat: from the variable in each of both files'
	cmd 0 run -q --hdf5 -- ncwa -a time all.nc mean.nc && cmd 0 lineage --json --depth 1 mean.nc//pr && says "$out" all.nc//pr
	check 'ncwa computes: what it came from is among what is named'
else
	for i in nccopy ncks ncrcat ncwa; do
		skip "$i" 'no netCDF tools'
	done
fi

# ---- the golden history, whose lineage was written by hand
rm -rf "$STEMMA_HOME" && mkdir -p "$STEMMA_HOME/logs/h1/2001-01-01" && "$EVTEXT" make "$STEMMA_HOME/logs/h1/2001-01-01/0.stl" <"$here/tests/golden/graph/58-moved/a.jsonl" 2>>"$err"
golden() # OBJECT OPTION PATHS
{
	cmd 0 lineage --json $2 "$1" && [ "$(jq -r '[.entities[].path] | sort | join(" ")' "$out")" = "$3" ]
}
golden /y.h5//pr '' '/x.h5//a /y.h5//pr' && golden /y.h5//cat --certain '/x.h5//a /x.h5//b /y.h5//cat' && golden /y.h5//d '' '/in.txt /x.h5//a /x.h5//b /y.h5//d' && golden /y.h5//e '' '/in.txt /x.h5//a /x.h5//b /y.h5//e' && golden /y.h5//g '' '/in.txt /x.h5//a /x.h5//b /y.h5//g'
check 'the golden history'
finish
