#!/bin/sh
# Variables of netCDF files in netCDF's own formats (classic, 64-bit offset, 64-bit data), by netCDF's functions: who made them
# from which others. The programs are nccopy, ncdump, nco's, cdo and Python's netCDF4; what each variable came from was written
# down by hand, from what the programs do.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
command -v ncgen >"$out" 2>"$err" && command -v nccopy >"$out" || {
	echo "1..0 # SKIP no netCDF tools"
	exit 0
}

# What a variable came from, of variables and text, and of what files stand beside them: "a.nc//x b.nc"
sources()
{
	cmd 0 lineage --json --depth 1 "$1" && jq -r --arg of "$PWD/$1" --arg here "$PWD/" '[.entities[] | select(.kind == "dataset" or (.path | endswith(".csv") or endswith(".nc"))) | .path | select(. != $of) | ltrimstr($here)] | sort | join(" ")' "$out" >"$T/sources" && is "$T/sources" "$2"
}

$PYTHON - >all.cdl <<'END'
import random
random.seed(2)
print('netcdf all { dimensions: time = UNLIMITED ; lat = 2 ; lon = 10 ; variables: double time(time) ; time:units = "days since 2000-01-01" ; double lat(lat) ; lat:units = "degrees_north" ; double lon(lon) ; lon:units = "degrees_east" ; double pr(time, lat, lon) ; double tas(time, lat, lon) ; data:')
print('lat = 10, 20 ; lon =', ', '.join(str(i * 5) for i in range(10)), ';')
print('time =', ', '.join(str(i) for i in range(30)), ';')
for name in 'pr', 'tas':
    print(name, '=', ', '.join('%.6f' % random.random() for i in range(600)), ';')
print('}')
END
cmd 0 run -q --hdf5 -- ncgen -o all.nc all.cdl && cp all.nc more.nc && cmd 0 why all.nc//pr && says "$out" 'all.nc//pr: made by ncgen' 'from all.cdl@{1}'
check 'a variable of a classic file has a maker'
copies()
{
	for kind in nc3 nc6 nc5 nc4; do
		cmd 0 run -q --hdf5 -- nccopy -k $kind all.nc $kind.nc && sources $kind.nc//pr all.nc//pr && sources $kind.nc//tas all.nc//tas && cmd 0 lineage --json --depth 1 $kind.nc//time && says "$out" all.nc//time || return 1
	done
}
copies
check 'nccopy, to each format: each variable from its own, and from nothing else'
cmd 0 run -q --hdf5 -- nccopy -k nc3 nc4.nc back.nc && sources back.nc//pr nc4.nc//pr && cmd 0 lineage back.nc//pr && says "$out" 'nc4.nc//pr' 'all.nc//pr' all.cdl && says_not "$out" //tas
check '... and back from netCDF-4, with the lineage across both'
cmd 0 lineage --down --json all.nc//tas && says "$out" 'nc3.nc//tas' 'back.nc//tas' && says_not "$out" '//pr'
check '... the same downwards'
cmd 0 run -q --hdf5 -- sh -c 'ncdump -v pr all.nc >pr.txt' && cmd 0 why pr.txt && says "$out" 'from dataset all.nc//pr' && says_not "$out" '//tas'
check 'text that ncdump made of one variable came from that'
# A run that is repeated is recorded without objects: that they are on one side only is no cause.
mkdir again && cp all.cdl again && printf 'ncgen -k nc4 -o r.nc all.cdl\nncdump r.nc >r.txt\ndate +%%N >>r.txt\n' >again/steps.sh && cp all.nc again/in.nc && echo 'ncdump in.nc >h.txt; date +%N >>h.txt' >>again/steps.sh
(cd again && cmd 0 run -q --hdf5 -- sh steps.sh) && cmd 1 rerun @ && says "$out" 'r.txt: different' 'h.txt: different' 'first cause: none was found' && says_not "$out" 'only in'
check 'neither objects nor the recorder are why a run that is repeated gives something else'
if command -v ncks >"$out" && command -v ncwa >"$out"; then
	cmd 0 run -q --hdf5 -- ncks -v tas -d time,5,20 all.nc some.nc && sources some.nc//tas all.nc//tas && sources some.nc//time all.nc//time
	check 'ncks: some steps of one variable, and the coordinate from the coordinate'
	cmd 0 run -q --hdf5 -- ncrcat all.nc more.nc joined.nc && sources joined.nc//pr 'all.nc//pr more.nc//pr'
	check 'ncrcat: from the variable in each of both files'
	cmd 0 run -q --hdf5 -- ncwa -v pr -a time all.nc mean.nc && cmd 0 lineage --json --depth 1 mean.nc//pr && says "$out" all.nc//pr && says_not "$out" all.nc//tas
	check 'ncwa computes: from what it read'
	cmd 0 run -q --hdf5 -- ncrename -v tas,temp some.nc && cmd 0 why some.nc//temp && says "$out" 'some.nc//temp' 'made by ncrename' 'from dataset some.nc//temp' && cmd 0 lineage some.nc//temp && says "$out" 'ncks -v tas' && says_not "$out" '?' && cmd 0 run -q --hdf5 -- ncks -v temp some.nc again.nc && sources again.nc//temp some.nc//temp
	check 'ncrename: a variable keeps what it came from'
	printf 'netcdf a { dimensions: x = 3 ; variables: double temp(x) ; temp:units = "K" ; data: temp = 1, 2, 3 ; }\n' >ren.cdl
	cmd 0 run -q --hdf5 -- sh -c 'ncgen -k nc4 -o ren.nc ren.cdl; ncrename -h -v temp,T ren.nc; nccopy ren.nc end.nc' &&
		cmd 0 lineage end.nc//T && says "$out" 'dataset ren.nc//T' && cmd 0 lineage end.nc && says "$out" 'ncrename -h -v temp,T ren.nc' 'ncgen -k nc4 -o ren.nc' 'ren.cdl@{1}'
	check '... and its file what gave it its name, which is in no attribute'
	cmd 0 find --execs 'into end.nc' && says "$out" 'ncrename -h' 'ncgen -k' && cmd 0 methods end.nc && says "$out" 'ncrename -h -v temp,T ren.nc'
	check '... in find and methods, too'
	cmd 0 lineage --certain ren.nc//T && says "$out" ncrename ncgen ren.cdl && says_not "$out" '?' && cmd 0 lineage --down --json ren.cdl && says "$out" ren.nc//T 'ncrename'
	check '... for certain, and downwards'
	printf 'netcdf p { dimensions: x = 3 ; group: g { variables: double temp(x) ; data: temp = 1, 2, 3 ; } }\n' >grp.cdl
	cmd 0 run -q --hdf5 -- sh -c 'ncgen -k nc4 -o grp.nc grp.cdl; ncrename -h -g g,k grp.nc; nccopy grp.nc after.nc' &&
		cmd 0 lineage after.nc && says "$out" 'grp.nc//k/temp' 'ncrename -h -g g,k grp.nc' grp.cdl && cmd 0 find --execs 'into after.nc' && says "$out" 'ncrename -h -g' && cmd 0 methods after.nc && says "$out" 'ncrename -h -g'
	check 'what is asked of a file names who renamed a group of its source'
else
	for i in ncks ncrcat ncwa ncrename 'ncrename, asked of the file' 'ncrename, in find' 'ncrename, for certain' 'ncrename, of a group'; do
		skip "$i" 'no nco'
	done
fi
if command -v cdo >"$out"; then
	cmd 0 run -q --hdf5 -- cdo -s selname,pr all.nc cdo.nc && cmd 0 lineage --json --depth 1 cdo.nc//pr && says "$out" all.nc//pr && says_not "$out" all.nc//tas
	check 'cdo: what it selected, and not the other variable'
else
	skip cdo 'no cdo'
fi
if $PYTHON -c 'import netCDF4, numpy' 2>"$err"; then
	cat >py.py <<'END'
import netCDF4, numpy, os, sys
text = numpy.loadtxt('text.csv')
with netCDF4.Dataset('all.nc') as f, netCDF4.Dataset('py.nc', 'w', format='NETCDF3_64BIT_OFFSET') as t:
    t.createDimension('n', 20)
    f.set_auto_mask(False)
    for name in 'pr', 'tas':
        v = t.createVariable(name, 'f8', ('n',))
        v[:] = f[name][0].reshape(20)
    v = t.createVariable('changed', 'f8', ('n',))
    x = f['pr'][1].reshape(20)
    x[3] = text[0]
    v[:] = x
    v = t.createVariable('same', 'f8', ('n',))
    f['tas'][0]
    v[:] = numpy.array(t['pr'][:])
END
	seq 1 20 >text.csv
	cmd 0 run -q --hdf5 -- $PYTHON py.py && cmd 0 lineage --json --depth 1 py.nc//pr && says "$out" all.nc//pr && sources py.nc//changed 'all.nc//pr all.nc//tas text.csv'
	check "Python's netCDF4: what was changed in memory may have come from all that was read"
	cmd 0 run -q --hdf5 -- $PYTHON -c 'import os, netCDF4
f = netCDF4.Dataset("all.nc")
if os.fork() == 0:
    open("child.txt", "w").write(str(f["pr"][0, 0, 0]))
    os._exit(0)
os.wait()' && cmd 0 lineage --json --fork child.txt && says "$out" all.nc
	check 'a file that was open before a fork is among what a child used'
else
	skip "Python's netCDF4: what was changed in memory may have come from all that was read" "no netCDF4 for $PYTHON"
	skip 'a file that was open before a fork is among what a child used' "no netCDF4 for $PYTHON"
fi
cmd 0 show all.nc//pr && says "$out" 'dataset of an HDF5 or netCDF file'
check 'show names the kind'
cmd 0 run -q --hdf5=off -- nccopy -k nc3 all.nc plain.nc && cmd 0 why plain.nc && says "$out" 'from all.nc@{1}' && cmd 1 why plain.nc//pr
check 'without --hdf5 nothing of it is recorded'
cmp all.nc more.nc && nccopy -k nc3 all.nc alone.nc && cmp alone.nc nc3.nc
check 'the files are as without stemma'
finish
