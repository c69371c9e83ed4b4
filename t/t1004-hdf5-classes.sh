#!/bin/sh
# Classes of HDF5 objects that are recorded, and classes that are not: what is asked for is there, nothing else is, and no
# dependency is lost. The truth is what the program prints of each step (tests/hdf5/h5steps.c).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

H5=${STEMMA_H5STEPS:-$BUILD/tests/h5steps}
[ -x "$H5" ] || {
	echo '1..0 # SKIP HDF5 was not there when the tests were built'
	exit 0
}
# Or `vol,`: by the connector.
VOL=${STEMMA_H5VOL:-}

unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
cp "$H5" ./h5steps
latest='run = (SELECT max(id) FROM run)'
sql() { "$STEMMA" sql --csv "$@" 2>>"$err" | tr -d '\r' | sed 1d; }
# The names inside of kinds.h5 that the latest run has, with the kind before each.
names()
{
	sql "SELECT DISTINCT CASE WHEN n.path LIKE '%//' THEN 'file' WHEN n.path LIKE '%//link' THEN 'link' ELSE f.kind END || ' ' ||
		substr(n.path, length('$T/work/') + 1) AS line FROM name n JOIN file f ON f.id = n.file WHERE n.path LIKE '%//%'" | sort
}
gaps() { sql "SELECT text FROM gap WHERE reason = 'hdf5' AND $latest AND execution $1" | tr -d '"' | sort -u; }
# A dataset of in.h5 or out of it: programs that are in its lineage; is the file in it?
made_by() { json "[.executions[].argv | .[1:] | join(\" \")] | sort == $1"; }
has_file() { json "[.entities[].path | sub(\".*/work/\"; \"\")] | any(. == \"$1\")"; }
has_not_file() { json "[.entities[].path | sub(\".*/work/\"; \"\")] | any(. == \"$1\") | not"; }

./h5steps kinds kinds.h5 | sort >"$T/truth"
mv kinds.h5 alone.h5
# asked WORDS CLASSES: with these words these classes are recorded, and the file.
asked()
{
	cmd 0 run "--hdf5=$VOL$1" -- ./h5steps kinds kinds.h5
	grep -E "^(file|$2) " "$T/truth" >"$T/want"
	names >"$T/got"
	diff "$T/want" "$T/got" >>"$err" && cmp alone.h5 kinds.h5 >>"$err"
	check "${3:-$1}: these, and no others; the file that is made is the same"
	rm -rf kinds.h5 "$STEMMA_HOME"
}
asked group group
asked dataset dataset
asked attribute attribute
asked datatype datatype
asked link '-'
asked dataset,link 'dataset|link'
asked attribute,dataset,group 'group|dataset|attribute'
asked group,dataset,attribute,datatype,link '[a-z]+' 'all of them'
if [ -z "$VOL" ]; then
	cmd 0 run --hdf5 -- ./h5steps kinds kinds.h5 && names | diff "$T/truth" - >>"$err" && gaps 'IS NULL' >"$out" && lines "$out" 0 && gaps 'IS NOT NULL' >"$out" && lines "$out" 0
	check 'no word: all of them, and nothing is missing'
	rm -rf kinds.h5 "$STEMMA_HOME"
fi

# what is not recorded is said: of the run, and of programs through which data of it went
cmd 0 run "--hdf5=${VOL}dataset" -- ./h5steps kinds kinds.h5
gaps 'IS NULL' >"$out" && is "$out" 'not recorded, as asked for: group attribute datatype link'
check 'what was not asked for is said of the run'
gaps 'IS NOT NULL' >"$out" && lines "$out" 2 && says "$out" 'data of attributes' && says "$out" 'links were made'
check 'and what was done with it of the program'

# a lineage through what is not recorded goes by the file
cmd 0 run "--hdf5=${VOL}group,dataset,attribute,datatype,link" -- ./h5steps make in.h5
cmd 0 run "--hdf5=${VOL}dataset,attribute" -- ./h5steps columns in.h5 plain.h5
cmd 0 lineage --json plain.h5//cut && made_by '["columns in.h5 plain.h5", "make in.h5"]' && has_not_file in.h5
check 'a class that a program does not use changes nothing: its files are left out'
cmd 0 run "--hdf5=${VOL}dataset" -- ./h5steps scale in.h5 some.h5
cmd 0 lineage --json some.h5//scaled/trace && made_by '["make in.h5", "scale in.h5 some.h5"]' && has_file in.h5
check 'a program that read attributes, unrecorded: the file is in its lineage'
cmd 0 run "--hdf5=${VOL}dataset" -- ./h5steps rate in.h5
cmd 0 run "--hdf5=${VOL}dataset,attribute" -- ./h5steps scale in.h5 out.h5
cmd 0 lineage --json out.h5//scaled/trace && made_by '["make in.h5", "rate in.h5", "scale in.h5 out.h5"]' && has_file in.h5
check 'an attribute that was written unrecorded leads to who wrote it, by the file'
cmd 0 lineage --down --json in.h5//raw/trace@rate && json '[.executions[].argv[1]] | any(. == "scale")'
check 'and down'

cmd 0 run "--hdf5=${VOL}dataset,attribute" -- ./h5steps make f.h5
cmd 0 run "--hdf5=${VOL}attribute" -- ./h5steps some f.h5
cmd 0 run "--hdf5=${VOL}dataset" -- ./h5steps fork f.h5 g.h5
cmd 0 lineage --json g.h5//child && json '[.executions[].argv[1]] | any(. == "some")' && json '[.executions[].argv[1]] | any(. == "make")'
check 'a dataset that was written unrecorded, read by a forked child'
cmd 0 run "--hdf5=${VOL}attribute" -- ./h5steps fork f.h5 h.h5
sql "SELECT count(DISTINCT execution) FROM gap WHERE reason = 'hdf5' AND execution IS NOT NULL AND $latest" >"$out" && is "$out" 2
check 'what a parent and its forked child left out is said of each'

# words
cmd 2 run --hdf5=datasets -- true && says "$err" datatype && cmd 2 run --hdf5=on,dataset -- true && cmd 2 run --hdf5=dataset, -- true
check 'words that there are not'
STEMMA_HDF5=dataset cmd 0 run -- ./h5steps columns in.h5 set.h5 && cmd 0 lineage set.h5//cut && gaps 'IS NULL' >"$out" && is "$out" 'not recorded, as asked for: group attribute datatype link'
check 'the setting'

# Python makes datasets without a name, and names them then
if [ -z "$VOL" ] && $PYTHON -c 'import h5py' 2>"$err"; then
	echo 'import h5py; f = h5py.File("py.h5", "w"); f["a/b"] = [1.0, 2.0]; f.close()' >py.py
	cmd 0 run --hdf5=dataset -- $PYTHON -B py.py && sql "SELECT kind FROM file WHERE path LIKE '%/py.h5//a/b'" >"$out" && is "$out" dataset &&
		gaps 'IS NOT NULL' >"$out" && lines "$out" 0 && sql "SELECT count(*) FROM file WHERE path LIKE '%/py.h5//a'" >"$out" && is "$out" 0
	check 'the name that Python gives a dataset is its own, not a link'
else
	skip 'the name that Python gives a dataset' 'no h5py, or by the connector'
fi
finish
