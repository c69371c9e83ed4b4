#!/bin/sh
# The example examples/formats: what a picture came from, through classic netCDF, HDF5 and Zarr to a table. The right sources were
# written down by hand: the temperature of seven days, and no humidity.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH
STEMMA=$STEMMA PYTHON=$PYTHON sh "$here/examples/formats/run.sh" "$T/work" >"$T/told" 2>"$err"
got=$?
[ $got != 3 ] || {
	echo "1..0 # SKIP $(tail -n 1 "$err")"
	exit 0
}
[ $got = 0 ] && [ -s temperature.png ]
check 'the example runs'
says "$T/told" 'temperature.png@{1}' 'days.nc//mean_temperature' 'days.h5//mean_temperature' 'readings.zarr//temperature (7 of 10 chunks)' 'readings.csv@{1}'
check 'one lineage goes through all formats'
cmd 0 lineage --json temperature.png && jq -r '.entities[].path' "$out" >"$T/paths" && says_not "$T/paths" mean_humidity && ! grep -q 'humidity/[0-9]' "$T/paths" && [ "$(grep -c 'readings.zarr/temperature/[0-9.]*$' "$T/paths")" = 7 ]
check '... and through nothing of the humidity, and seven days only'
cmd 0 why days.nc//mean_temperature && says "$out" 'made by nccopy -k nc3 days.h5 days.nc from dataset days.h5//mean_temperature by' && cmd 0 why days.h5//mean_temperature && says "$out" 'from readings.zarr//temperature (7 of 10 chunks)' && cmd 0 why readings.zarr//temperature && says "$out" '(10 of 10 chunks): made by python3' 'grid.py from readings.csv@{1}'
check 'each part has its own answer'
cmd 0 lineage --down readings.csv && says "$out" temperature.png && cmd 0 lineage --down --json days.h5//mean_humidity && says "$out" days.nc//mean_humidity && says_not "$out" temperature.png
check 'and downwards'
STEMMA='' PYTHON=$PYTHON sh "$here/examples/formats/run.sh" "$T/alone" >"$out" 2>"$err" && cmp "$T/alone/temperature.txt" temperature.txt && cmp "$T/alone/days.nc" days.nc
check 'the same results without stemma'
finish
