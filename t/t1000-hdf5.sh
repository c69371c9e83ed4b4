#!/bin/sh
# What programs do with objects of HDF5 files, and what the commands make of it. The truth is what the program prints of each
# step (tests/hdf5/h5steps.c), which knows nothing of the record.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

H5=${STEMMA_H5STEPS:-$BUILD/tests/h5steps}
[ -x "$H5" ] || {
	echo '1..0 # SKIP HDF5 was not there when the tests were built'
	exit 0
}

# Or --hdf5=vol: the connector instead of the library that stands before the functions (t1010).
HDF5=${STEMMA_H5HOW:---hdf5}

# The program must have the library that it was linked with, and nothing else of the caller's.
unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
cp "$H5" ./h5steps

sql() { "$STEMMA" sql --csv "$@" 2>>"$err" | tr -d '\r' | sed 1d; }
# The objects that the latest run read and wrote, as the program prints them.
seen()
{
	sql "SELECT CASE type WHEN 'used' THEN 'read' ELSE 'write' END || ' ' || substr(f.path, length('$T/work/') + 1)
		FROM edge e JOIN version v ON v.id = CASE type WHEN 'used' THEN e.to_id ELSE e.from_id END JOIN file f ON f.id = v.file
		JOIN execution x ON x.id = CASE type WHEN 'used' THEN e.from_id ELSE e.to_id END
		WHERE type IN ('used', 'wasGeneratedBy') AND f.kind IN ('group', 'dataset', 'attribute', 'datatype')
		AND x.run = (SELECT max(id) FROM run)" | sort -u >"$T/seen"
}
# step WHAT ARG...: a step runs as without stemma, and the record has what it says that it did.
step()
{
	what=$1
	shift
	cmd 0 run "$HDF5" -- ./h5steps "$@" && sort -u "$out" >"$T/did" && seen && diff "$T/did" "$T/seen" >>"$err" && [ -s "$T/did" ]
	check "$what"
}

step 'what is made is seen' make in.h5
step 'what is read and made is seen, and not what is only opened' scale in.h5 out.h5
step 'a part of a dataset is read' columns in.h5 cut.h5

part=$(sql "SELECT direction, first, last, elements FROM hdf5_part WHERE path = '$T/work/in.h5//raw/trace' AND run = (SELECT max(id) FROM run)")
: >"$err" && echo "$part" >"$out" && is "$out" 'read,"0,10","7,19",80'
check 'which columns is recorded'
shape=$(sql "SELECT DISTINCT type, shape FROM hdf5_object WHERE path = '$T/work/in.h5//raw/trace'")
: >"$err" && echo "$shape" >"$out" && is "$out" 'float:8,"8,100"'
check 'and type and shape'

step 'attributes are opened and made by the names of what they belong to' named in.h5 named.h5
cmd 0 lineage --json named.h5//copy@rate && json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//raw/trace@rate", "named.h5//copy@rate"]' && json '[.executions[].argv[1]] | sort == ["make", "named"]'
check '... and have the lineage of these'

cmd 0 why in.h5//raw/trace@rate && cp "$out" "$T/plain" && cmd 0 why in.h5//.//raw/././trace@rate && cmp -s "$T/plain" "$out" && cmd 0 why in.h5//@name && cp "$out" "$T/plain" && cmd 0 why in.h5//./@name
check 'dots in a path'

# lineage, from object to object
cmd 0 lineage --json out.h5//scaled/trace
json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//calib/gain", "in.h5//raw/trace", "in.h5//raw/trace@rate", "out.h5//scaled/trace"]'
check 'a dataset came from datasets and attributes of other files'
json '.omitted.container > 0 and ([.entities[].path | select(test("[.]h5$"))] | length) == 0'
check 'and the files that they lie in are left out, and counted'
cmd 0 lineage --json --all out.h5//scaled/trace && json '[.entities[].path | select(test("in[.]h5$"))] | length > 0'
check 'but where all is asked for'
cmd 0 lineage --json out.h5 && json '([.entities[].path | select(test("/in[.]h5//"))] | length) > 0 and ([.entities[].path | select(test("/in[.]h5$"))] == [])'
check 'a file came from objects of other files, too'
cmd 0 lineage --down --json in.h5//calib/gain
json '[.entities[].path | select(contains("//")) | sub(".*/work/"; "")] | sort == ["in.h5//calib/gain", "out.h5//scaled", "out.h5//scaled/trace", "out.h5//scaled/trace@rate"]'
check 'what came of a dataset'
cmd 0 lineage --down --json in.h5//raw/time && json '[.executions[]] == []'
check 'nothing came of one that was opened and not read'
cmd 0 why out.h5//scaled/trace@rate && says "$out" 'h5steps scale in.h5 out.h5' 'in.h5//raw/trace@rate'
check 'why'
cmd 0 show in.h5//raw/trace && says "$out" 'dataset' 'made by'
check 'show'
cmd 1 why out.h5//scaled/none && says "$err" "out.h5//scaled/none" 'nothing is recorded about' 'other objects of the file are recorded'
check 'an object that is not there'
cmd 0 lineage ./out.h5///scaled//trace && says "$out" 'in.h5//calib/gain'
check 'with more slashes than needed'

./h5steps make plain.h5 >"$T/o" && cmd 0 run --hdf5=off -- ./h5steps scale plain.h5 unseen.h5 && cmd 0 stat --hdf5 @ && says "$err" 'no HDF5 objects are recorded: use stemma run --hdf5 with programs that use HDF5 as a shared library'
check 'a run without objects says so'

# versions
step 'a dataset is written over' over in.h5
cmd 0 lineage --json 'in.h5//raw/time@{2}' && json '[.edges[] | select(.type == "wasDerivedFrom")] == []'
check 'and comes from nothing older'
step 'one element of it is changed' some in.h5
cmd 0 lineage --json in.h5//raw/time && json '[.edges[] | select(.type == "wasDerivedFrom" and .certainty == "must")] | length == 1'
check 'and the rest of it is from before'
cmd 0 lineage --json in.h5//raw/time && json '[.executions[].argv[1]] | sort == ["over", "some"]'
check 'so both made it'

# a dataset that becomes longer is another, and that is no H5Dwrite
step 'a dataset that can become longer' grow grow.h5
step 'it becomes longer' longer grow.h5
cmd 0 sql --csv "SELECT DISTINCT i.api, i.direction, i.calls, i.failed, i.bytes FROM io i JOIN file f ON f.id = i.file JOIN execution x ON x.id = i.execution
	WHERE f.path LIKE '%/grow.h5//grow' AND x.argv LIKE '%longer%' ORDER BY 1" && tr -d '\r' <"$out" | sed 1d >"$T/got" && is "$T/got" 'extent,write,1,0,0
h5open,read,1,0,0'
check '... by a call that is named as it is'
cmd 0 stat --hdf5 @ && says "$out" H5Dset_extent && says_not "$out" H5Dwrite
check '... and counted so'
cmd 0 lineage --json grow.h5//grow && json '[.executions[].argv[1]] | sort == ["grow", "longer"]'
check '... and what it is has come from both'
step 'a chunk is read as it lies in the file' chunk grow.h5 chunk.h5
cmd 0 lineage --json chunk.h5//chunk && json '[.executions[].argv[1]] | sort == ["chunk", "grow", "longer"]'
check '... and what came of it has its history'
if ./h5steps multi grow.h5 multi.h5 | grep -q none; then
	skip 'an element is read by the call for several datasets' 'HDF5 has it since 1.14'
else
	step 'an element is read by the call for several datasets' multi grow.h5 multi.h5
fi

# a dataset at the address of one that was deleted
step 'a dataset takes the place of one that was deleted' again again.h5
for name in b d; do cmd 0 why again.h5//$name && says "$out" "dataset again.h5//$name: made by h5steps again"; done
check '... and has its own name'
bytes() # FILE: of each object in it, as was moved of its data
{
	cmd 0 sql --csv "SELECT f.path, sum(bytes) FROM io i JOIN file f ON f.id = i.file WHERE f.path LIKE '%/$1//_%' AND i.api IN ('data', 'attr') GROUP BY 1 ORDER BY 1" &&
		sed "1d;s/.*$1//" "$out" | tr -d '\r' >"$T/got"
}
bytes again.h5 && is "$T/got" '//b,824
//d,824'
check '... and its own size'
step 'and a copy that takes such a place' copy again.h5 copy.h5
cmd 0 why copy.h5//new && says "$out" 'dataset copy.h5//new: made by h5steps copy' && bytes copy.h5 && is "$T/got" '//new,824'
check '... too'
step 'an attribute takes the place of one of another shape' reshape reshape.h5
bytes reshape.h5 && is "$T/got" '//@a,32'
check '... and has its own'
step 'links are deleted by their numbers' numbered numbered.h5
cmd 0 sql --csv "SELECT n.path FROM name n WHERE n.path LIKE '%/numbered.h5//g/%' AND n.ended IS NULL ORDER BY 1" && sed '1d;s/.*numbered.h5//' "$out" | tr -d '\r' >"$T/got" && is "$T/got" '//g/a'
check '... and are names no more'
step 'a virtual dataset' virtual again.h5 virtual.h5
cmd 0 sql --csv "SELECT text FROM gap WHERE reason = 'hdf5' AND run = (SELECT max(id) FROM run)" && says "$out" 'virtual dataset'
check '... is a gap'

# names
cmd 0 run "$HDF5" -- ./h5steps move in.h5 && cmd 0 lineage in.h5//raw/clock && says "$out" 'h5steps some in.h5'
check 'a dataset that was moved keeps its history'
mv in.h5 renamed.h5 && cmd 0 run -- true && cmd 0 lineage renamed.h5//raw/clock && says "$out" 'h5steps over in.h5'
check 'and so does one in a file that was renamed behind the back of the record'
mv renamed.h5 in.h5

# What has which name now, told by HDF5's own tool (an attribute as a path, too) and by the record.
cmd 0 run "$HDF5" -- ./h5steps make m.h5 && cmd 0 run "$HDF5" -- ./h5steps regroup m.h5
if command -v h5dump >/dev/null; then
	h5dump -n 1 m.h5 | sed -nE 's/^ *(group|dataset|attribute) +//p' | sort >"$T/want" &&
		sql "SELECT DISTINCT substr(path, instr(path, '//') + 1) AS p FROM file WHERE path LIKE '%/m.h5//%' AND kind IN ('group', 'dataset', 'attribute')" |
		sed 's|/@|/|; s|@|/|' | sort >"$T/got" && grep -q deep/cooked/trace/rate "$T/want" && diff "$T/want" "$T/got" >"$out"
	check 'what lies below a group that is moved, and its attributes, have their new names'
else
	skip 'names below a group that is moved' 'no h5dump'
fi
cmd 0 why m.h5//deep/cooked/trace@rate && says "$out" 'make m.h5' && cmd 0 why m.h5//deep/cooked@unit && says "$out" 'make m.h5' && cmd 0 why m.h5//deep/cooked/trace@late && says "$out" 'regroup m.h5'
check 'and lead to who made them'

# A soft link is a name of what it leads to, from when it was made or followed until it leads elsewhere.
cmd 0 run "$HDF5" -- ./h5steps make s.h5 && cmd 0 run "$HDF5" -- ./h5steps soft s.h5 && cmd 0 why s.h5//latest && says "$out" 'make s.h5' && cmd 1 why s.h5//gone
check 'a soft link leads to what made its target'
cmd 0 run "$HDF5" -- ./h5steps through s.h5 sum.h5 && cmd 0 lineage --json sum.h5//sum && json '[.executions[].argv[1]] | any(. == "make")' && json '[.entities[] | select(.path | contains("/s.h5//")) | .kind] == ["dataset"]'
check 'what is read through one is its target'
./h5steps make u.h5 >"$out" && ./h5steps soft u.h5 && cmd 0 run "$HDF5" -- ./h5steps through u.h5 v.h5 && cmd 0 lineage --down --json u.h5//latest && json '[.entities[].path] | any(endswith("v.h5//sum"))'
check '... also one that was made unrecorded'
of() { sql "SELECT DISTINCT v.file FROM edge e JOIN version v ON v.id = e.to_id JOIN execution x ON x.id = e.from_id WHERE e.type = 'used' AND x.argv LIKE '%through s.h5%' AND x.$latest AND v.file IN (SELECT file FROM name WHERE path LIKE '%/s.h5//$1')" | wc -l; }
latest='run = (SELECT max(id) FROM run)'
cmd 0 run "$HDF5" -- ./h5steps retarget s.h5 && cmd 0 run "$HDF5" -- ./h5steps through s.h5 sum.h5 && [ "$(of calib/gain) $(of raw/trace)" = '1 0' ] && cmd 0 lineage --down --json s.h5//calib/gain && json '[.entities[].path] | any(endswith("sum.h5//sum"))'
check 'one that leads elsewhere then'

# where files and objects meet
cmd 0 run "$HDF5" -- ./h5steps make a.h5 && cmd 0 run -- cp a.h5 b.h5 && cmd 0 run "$HDF5" -- ./h5steps columns b.h5 c.h5
cmd 0 lineage --json c.h5//cut && json '[.executions[].argv | join(" ")] | sort == ["./h5steps columns b.h5 c.h5", "./h5steps make a.h5", "cp a.h5 b.h5"]'
check 'a copy of a file leads on to what the file came from'
cmd 0 why c.h5//cut && says "$out" 'from dataset b.h5//raw/trace by' && cmd 0 lineage c.h5//cut && says "$out" 'dataset b.h5//raw/trace  (in b.h5@{1})' ' cp a.h5 b.h5' 'dataset a.h5//raw/trace'
check '... by the object that came with it'
cmd 0 lineage --down --json a.h5//raw/trace && json '[.entities[].path] | any(endswith("c.h5//cut"))'
check 'and back'
cmd 0 run --hdf5=off -- ./h5steps over a.h5 && cmd 0 run "$HDF5" -- ./h5steps scale a.h5 d.h5
cmd 0 lineage --json d.h5//scaled/trace && json '[.executions[].argv | join(" ")] | any(. == "./h5steps over a.h5")'
check 'a program that did not tell of objects may have changed any of them'

# a kill, a fork, many
cmd 137 run "$HDF5" -- ./h5steps killed k.h5
sort -u "$out" >"$T/did" && seen && diff "$T/did" "$T/seen" >>"$err"
check 'what a killed program did is in the record'
./h5steps make f.h5 >"$out" && cmd 0 run "$HDF5" -- ./h5steps fork f.h5 g.h5 && cmd 0 lineage --json g.h5//child
json '[.entities[].path | select(contains("//"))] | any(endswith("f.h5//raw/time"))'
check 'a forked child reads what its parent had open'
cmd 0 run "$HDF5" -- ./h5steps many many.h5 3000
: >"$err" && sql "SELECT count(*) FROM file WHERE kind = 'dataset' AND path LIKE '%/many.h5//d%' AND versions = 1" >"$out" && is "$out" 3000
check '3000 datasets'

# nothing of it shows to the program; but the functions through which a connector passes a call on are on the stack, too
stack()
{
	case $HDF5 in
	*vol*) sed -E 's/ [0-9]+ errors//; s/^error [0-9]+ /error /; /^error H5VL_?_?[a-z]+_[a-z]+ /{/native/!d}' "$1" ;;
	*) cat "$1" ;;
	esac
}
./h5steps fail in.h5 >"$T/alone.out" 2>"$T/alone.err"
stack "$T/alone.out" >"$T/alone"
cmd 0 run "$HDF5" -- ./h5steps fail in.h5 && stack "$out" >"$T/with" && cmp "$T/alone" "$T/with" >>"$err" && cmp "$T/alone.err" "$err" && [ -s "$T/with" ]
check 'calls that fail: the same results, and the same errors on HDF5'"'"'s stack'
./h5steps make told.h5 >"$T/alone.out" && ./h5steps handler told.h5 >"$T/alone.out" 2>"$T/alone.err"
cmd 0 run "$HDF5" -- ./h5steps handler told.h5 && diff "$T/alone.out" "$out" >>"$err" && cmp "$T/alone.err" "$err" && says "$out" 'no file 1 told 10' 'old kind 1 1'
check '... and a function of the program'"'"'s that HDF5 tells of errors is told of each once, of either kind'

# an HDF5 that is not known
cat >"$T/fake.c" <<'END'
int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) { *a = 3, *b = 1, *c = 4; return 0; }
long H5Fopen(const char *n, unsigned f, long p) { (void)n, (void)f, (void)p; return 42; }
END
cat >"$T/user.c" <<'END'
#include <stdio.h>
long H5Fopen(const char *n, unsigned f, long p);
int main(void) { printf("%ld\n", H5Fopen("x", 0, 0)); return 0; }
END
if command -v cc >"$out" 2>"$err"; then
	cc -shared -fPIC -o "$T/work/libfake.so" "$T/fake.c" && cc -o user "$T/user.c" -L. -lfake -Wl,-rpath,"$T/work" &&
		cmd 0 run "$HDF5" -- ./user && is "$out" 42 && sql "SELECT text FROM gap WHERE reason = 'hdf5' AND run = (SELECT max(id) FROM run)" >"$out" && says "$out" '3.1.4'
	check 'of a version that is not known nothing is recorded, and that is said'
else
	skip 'a version that is not known' 'no compiler'
fi

# programs that cannot carry the library are left alone, and say nothing
echo 'int main(void) { return 7; }' >"$T/plain.c"
for how in 'gcc -m32' musl-gcc 'gcc -fsanitize=address' 'gcc -static'; do
	if $how -o plain "$T/plain.c" >"$out" 2>&1; then
		cmd 7 run "$HDF5" -- sh -c ./plain && lines "$err" 0 && cmd 7 run "$HDF5" -- ./plain && lines "$err" 0
		check "a program made by $how"
	else
		skip "a program made by $how" 'it makes none here'
	fi
done

# off
cmd 0 run --hdf5=off -- ./h5steps scale f.h5 off.h5 && cmd 1 lineage off.h5//scaled/trace && cmd 0 run -- env && says_not "$out" LD_PRELOAD
check 'off: there is nothing'
cmd 0 config hdf5 && is "$out" auto && STEMMA_HDF5=on cmd 0 run -- ./h5steps scale f.h5 on.h5 && cmd 0 lineage on.h5//scaled/trace
check 'a setting does the same'

# the same whatever is read when
cmd 0 sql --csv "SELECT path, versions FROM file WHERE kind IN ('dataset', 'group', 'attribute') ORDER BY path, pub" && cp "$out" "$T/before"
cmd 0 index --rebuild && cmd 0 sql --csv "SELECT path, versions FROM file WHERE kind IN ('dataset', 'group', 'attribute') ORDER BY path, pub" && cmp "$T/before" "$out" >>"$err"
check 'a rebuilt index is the same'
cmd 0 forget in.h5 && ! holds /in.h5// && cmd 1 lineage in.h5//raw/trace && cmd 0 lineage out.h5//scaled/trace
check 'what lies in a file that is forgotten goes with it'
finish
