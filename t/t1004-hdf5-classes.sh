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
gaps 'IS NULL' >"$out" && is "$out" 'excluded by --hdf5: group attribute datatype link'
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

# without times: the same objects, the same lineage; of times nothing is known, which is not that they are 0
rm -rf "$STEMMA_HOME"
cmd 0 run "--hdf5=${VOL}untimed" -- ./h5steps make in.h5 && gaps 'IS NULL' >"$out" && is "$out" 'excluded by --hdf5: times' && gaps 'IS NOT NULL' >"$out" && lines "$out" 0
check 'that times are not recorded is said of the run'
cmd 0 run "--hdf5=${VOL}dataset,untimed" -- ./h5steps columns in.h5 plain.h5 && gaps 'IS NULL' >"$out" && is "$out" 'excluded by --hdf5: group attribute datatype link times'
check 'times and classes can be left out together'
cmd 0 run "--hdf5=${VOL}untimed" -- ./h5steps scale in.h5 out.h5
cmd 0 lineage --json out.h5//scaled/trace && made_by '["make in.h5", "scale in.h5 out.h5"]' && has_not_file in.h5 &&
	json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//calib/gain", "in.h5//raw/trace", "in.h5//raw/trace@rate", "out.h5//scaled/trace"]'
check 'a lineage without times is whole'
cmd 0 stat --hdf5 --json @ && json '.total.calls | (.read.calls, .written.calls) > 3 and .read.failed == 0 and .read.largest == 6400 and
	([.read, .written | .spent_ns, .first, .last] | all(. == null))'
check 'stat: calls and bytes are known, times are not'
cmd 0 stat --hdf5 @ && [ "$(awk '$NF == "H5Dread" { print $1, $2, $(NF - 1) }' "$out")" = '2 0 ?' ]
check '... as text'
cmd 0 stat --hdf5 --times --json @ && json '.over_time == [] and .untimed == .total.calls.read.calls + .total.calls.written.calls' && cmd 0 stat --hdf5 --times @ && says "$out" 'calls of unknown time' && says_not "$out" 1970
check 'stat --times: none, and how many calls are without'
cmd 1 stat --hdf5 --json --at "$(date -u +%Y-%m-%dT%H:%M:%SZ)" @ && json '.under_way == [] and .untimed > 0'
check 'stat --at: the same'
cmd 0 stat --hdf5 --tsv @ && awk -F '\t' 'NR > 1 && ($8 != "0" || $11 != "?" || $12 != "?" || $13 != "?") { bad = 1 } END { exit bad || NR < 5 }' "$out"
check 'stat --tsv: failed calls are known, times are not'
sql "SELECT count(*), count(i.spent), count(i.first), count(i.last), sum(i.calls) > 9 FROM io i JOIN execution x ON x.id = i.execution WHERE x.$latest" >"$out" && grep -qE '^[1-9][0-9]*,0,0,0,1$' "$out"
check 'sql: NULL'
cmd 0 export --format provio out.h5//scaled/trace && says "$out" 'stemmaio:count' 'a provio:Read' && says_not "$out" ':elapsed'
check 'PROV-IO: no elapsed time'
cmd 137 run "--hdf5=${VOL}untimed" -- ./h5steps killed k.h5 && sql "SELECT count(*) FROM edge e JOIN version v ON v.id = e.from_id JOIN file f ON f.id = v.file WHERE type = 'wasGeneratedBy' AND f.path LIKE '%/k.h5//a'" >"$out" && is "$out" 1
check 'what a killed program wrote is in the record'
# That no clock is looked at: all looks of the program go through a function of ours.
cat >"$T/clock.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
static long looks;
int clock_gettime(clockid_t c, struct timespec *t)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	looks++;
	return real(c, t);
}
__attribute__((destructor)) static void say(void) { fprintf(stderr, "looks %ld\n", looks); }
END
looks() { # WORDS READS: looks at a clock of a program that reads an attribute so often
	cmd 0 run "--hdf5=$VOL$1" -- sh -c "LD_PRELOAD=\$LD_PRELOAD:$T/clock.so exec ./h5steps attr in.h5 $2" && sed -n 's/^looks //p' "$err"
}
if cc -shared -fPIC -o "$T/clock.so" "$T/clock.c" -ldl >"$out" 2>&1; then
	few=$(looks attribute,untimed 100) many=$(looks attribute,untimed 1100) timed=$(looks attribute 100) more=$(looks attribute 1100)
	: >"$err" && echo "untimed $few $many, timed $timed $more" >"$out" && [ "$few" -gt 0 ] && [ "$few" = "$many" ] && [ $((more - timed)) = 2000 ]
	check 'no clock is looked at: two looks for each read with times, none without'
else
	skip 'no clock is looked at' 'no compiler'
fi

# words
cmd 2 run --hdf5=datasets -- true && says "$err" datatype && cmd 2 run --hdf5=on,dataset -- true && cmd 2 run --hdf5=dataset, -- true && cmd 2 run --hdf5= -- true && says "$err" '= needs a value'
check 'words that there are not'
STEMMA_HDF5=dataset cmd 0 run -- ./h5steps columns in.h5 set.h5 && cmd 0 lineage set.h5//cut && gaps 'IS NULL' >"$out" && is "$out" 'excluded by --hdf5: group attribute datatype link'
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
