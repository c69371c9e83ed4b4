#!/bin/sh
# Objects of HDF5 files in Fortran. The truth is what the program prints of each step (tests/hdf5/h5steps.f90).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
# shellcheck disable=SC2046 # words
if ! gfortran -o h5steps "$here/tests/hdf5/h5steps.f90" $(pkg-config --cflags --libs-only-L hdf5-serial) -lhdf5_fortran -lhdf5 >"$out" 2>&1 || ! ./h5steps make alone.h5 >"$out" 2>&1; then
	echo "1..0 # SKIP gfortran makes no program with HDF5 here: $(head -n 1 "$out")"
	exit
fi

sql() { "$STEMMA" sql --csv "$@" 2>>"$err" | tr -d '\r' | sed 1d; }
step()
{ # WHAT ARG...
	what=$1
	shift
	cmd 0 run --hdf5 -- ./h5steps "$@" && sort "$out" >"$T/did" && [ -s "$T/did" ] && sql "SELECT DISTINCT CASE type WHEN 'used' THEN 'read' ELSE 'write' END || ' ' || substr(f.path, length('$T/work/') + 1)
		FROM edge e JOIN version v ON v.id = CASE type WHEN 'used' THEN e.to_id ELSE e.from_id END JOIN file f ON f.id = v.file
		JOIN execution x ON x.id = CASE type WHEN 'used' THEN e.from_id ELSE e.to_id END
		WHERE type IN ('used', 'wasGeneratedBy') AND f.kind IN ('group', 'dataset', 'attribute', 'datatype')
		AND x.run = (SELECT max(id) FROM run)" | sort >"$T/seen" && diff "$T/did" "$T/seen" >>"$err"
	check "$what"
}
step 'what is made is seen' make in.h5
step 'what is read and made is seen' mean in.h5 out.h5
cmd 0 lineage --json out.h5//mean@rate && json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//raw/trace", "in.h5//raw/trace@rate", "out.h5//mean@rate"]'
check 'an attribute came from what was read before'
# Fortran counts rows and columns the other way round: (5, 10) is 10 x 5 in the file.
: >"$err" && sql "SELECT first, last, elements FROM hdf5_part WHERE direction = 'read'" >"$out" && is "$out" '"2,0","5,4",20'
check 'which part, in the order of the file'
cmd 0 sql "SELECT text FROM gap WHERE reason = 'hdf5'" && lines "$out" 0
check 'without a gap'
finish
