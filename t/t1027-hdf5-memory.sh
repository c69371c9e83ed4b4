#!/bin/sh
# --hdf5 does not change what a read puts where: a virtual dataset that grows, and memory that only a device can read.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
here=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v h5cc >/dev/null || ! h5cc -shlib -O1 -o grows "$here/tests/hdf5/h5grows.c" -ldl 2>"$err"; then
	skip 'what a read puts where' 'h5cc is not installed'
	finish
	exit
fi
for case in virtual device; do
	rm -f ./*.h5
	./grows $case >alone 2>&1
	[ $? = 0 ] && rm -f ./*.h5 && cmd 0 run -q --hdf5 -- ./grows $case && cmp -s alone "$out"
	check "$case: as alone"
done
cmd 0 lineage x.h5//d && says "$out" 'grows device' && rm -f ./*.h5 && cmd 0 run -q --hdf5 -- ./grows virtual &&
	cmd 0 sql --csv "SELECT text FROM gap WHERE reason = 'hdf5' AND run = (SELECT max(id) FROM run)" && says "$out" 'virtual dataset'
check 'and the record has the objects, and the gap of the virtual one'
finish
