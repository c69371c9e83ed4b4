#!/bin/sh
# run.sh FOLDER - one question across five formats: a table of readings becomes a Zarr store, an HDF5 file, a classic netCDF file
# and a picture, by five programs. Then: what did the picture come from? Not from the humidity, though each file on the way
# holds it, too, and only from the days that were asked for.
#
# Needs python3 with zarr and h5py, nccopy and ncdump (netcdf-bin), gnuplot. STEMMA and PYTHON name other programs.
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
stemma=${STEMMA-stemma} python=${PYTHON:-python3}
mkdir -p "$1"
cd "$1"
for program in nccopy ncdump gnuplot; do
	command -v $program >/dev/null || {
		echo "run.sh: no $program" >&2
		exit 3
	}
done
"$python" -c 'import zarr, h5py' || exit 3

awk 'BEGIN {
	print "hour,station,temperature,humidity"
	for (h = 0; h < 240; h++)
		for (s = 0; s < 4; s++)
			printf "%d,%d,%.2f,%.2f\n", h, s, 10 + s + 5 * sin(h / 3.8) + h % 7 / 10, 60 + s - 10 * cos(h / 3.8) + h % 5 / 10
}' >readings.csv

recorded()
{
	${stemma:+"$stemma" run -q --hdf5 --} "$@"
}
recorded "$python" "$here/grid.py" readings.csv readings.zarr
recorded "$python" "$here/days.py" readings.zarr days.h5 2 9
recorded nccopy -k nc3 days.h5 days.nc
# shellcheck disable=SC2016 # what sh is to read
recorded sh -c 'ncdump -v mean_temperature days.nc | sed "1,/^ mean_temperature =/d; s/[,;]/ /g; /}/d" >temperature.txt
	gnuplot -e "set terminal png; set output \"temperature.png\"; plot \"temperature.txt\" using 1 with lines"'
[ -n "$stemma" ] || exit 0

echo '$ stemma lineage temperature.png'
"$stemma" lineage temperature.png
echo
echo '$ stemma why readings.zarr//temperature days.h5//mean_temperature days.nc//mean_temperature'
"$stemma" why readings.zarr//temperature days.h5//mean_temperature days.nc//mean_temperature
