#!/bin/sh
# The connector for HDF5 1.14 and the library that stands before the functions tell the same of the same programs: in C, each step of
# tests/hdf5/h5steps.c, and in Python, by the h5py of Debian 13. What the record should have is t1000's and t1001's affair, which run
# here again with the second Python.
# shellcheck source=t/trixie.sh
. "$(dirname "$0")/trixie.sh"
connector
n=0 failed=0
ok() # STATUS WHAT
{
	n=$((n + 1))
	[ "$1" = 0 ] && echo "ok $n - $2" && return
	failed=1
	echo "not ok $n - $2"
	sed 's/^/# /' "$T/why" | head -n 60
}
libs=/usr/lib/x86_64-linux-gnu
compile "$here/tests/hdf5/h5steps.c" "$T/h5steps" -L$libs/hdf5/serial -lhdf5 || not_ok 'the program is compiled'
grep VERS_INFO "$root/usr/include/hdf5/serial/H5public.h" | sed 's/^/# /' | head -n 1

# All that the record has of objects, without times and identities. What a step says and writes is kept beside it.
dump()
{
	for what in "SELECT path, kind, versions FROM file WHERE path LIKE '%//%'" \
		"SELECT x.argv, f.path, i.api, i.direction, i.calls, i.failed, i.bytes, i.last > 0, i.spent > 0 FROM io i JOIN file f ON f.id = i.file JOIN execution x ON x.id = i.execution WHERE f.path LIKE '%//%'" \
		"SELECT e.type, x.argv, f.path, v.n FROM edge e JOIN version v ON v.id IN (e.to_id, e.from_id) JOIN file f ON f.id = v.file JOIN execution x ON x.id IN (e.from_id, e.to_id) WHERE f.path LIKE '%//%' AND e.type IN ('used', 'wasGeneratedBy')" \
		"SELECT a.path, b.path, e.certainty FROM edge e JOIN version v ON v.id = e.from_id JOIN version w ON w.id = e.to_id JOIN file a ON a.id = v.file JOIN file b ON b.id = w.file WHERE e.type = 'wasDerivedFrom' AND a.path LIKE '%//%'" \
		"SELECT path, direction, first, last, elements, calls, members FROM hdf5_part" \
		"SELECT DISTINCT path, type, shape FROM hdf5_object" \
		"SELECT n.path, f.path, n.ended IS NULL FROM name n JOIN file f ON f.id = n.file WHERE n.path LIKE '%//%'" \
		"SELECT x.argv, g.text FROM gap g LEFT JOIN execution x ON x.id = g.execution WHERE g.reason = 'hdf5'"; do
		echo "== $what"
		"$STEMMA" sql --csv "$what" | tr -d '\r' | sed "s|$1/||g" | LC_ALL=C sort
	done
}
steps >"$T/steps"
for how in none --hdf5 --hdf5=vol; do
	mkdir -p "$T/$how/w" && cd "$T/$how/w" && cp "$T/h5steps" . || exit 1
	export STEMMA_HOME="$T/$how/record"
	while read -r steps; do
		sleep 0.03 # as in lib.sh: file times have the grain of the kernel's tick
		# shellcheck disable=SC2086 # words
		if [ $how = none ]; then
			timeout -k 5 60 ./h5steps $steps
		else
			timeout -k 5 60 "$STEMMA" run $how -- ./h5steps $steps
		fi >>"$T/$how/said" 2>&1
		echo "$steps: $?" >>"$T/$how/said"
	done <"$T/steps"
	[ $how = none ] || dump "$PWD" >"$T/$how/dump" 2>&1
done
cd "$T" || exit 1
cmp -- none/said --hdf5/said >why 2>&1 && [ "$(wc -l <none/said)" -gt 100 ]
ok $? 'the program says the same alone and with the library'
# One call that fails is among them: HDF5's message about it has the functions in it through which a connector passes the call on, and
# comes once.
for how in none --hdf5=vol; do grep -v '^ ' "./$how/said" >"./$how/short"; done
diff -- none/short --hdf5=vol/short >why 2>&1 && grep -q '^HDF5-DIAG' none/short
ok $? 'and with the connector'
diff -- --hdf5/dump --hdf5=vol/dump >why 2>&1 && [ "$(grep -c '^./h5steps' <./--hdf5/dump)" -gt 100 ] && ! grep -i -A3 'no such' ./--hdf5/dump >>why
ok $? 'and the record of both is the same'

# Asynchronous calls, and connectors over and under ours. The program says what it wrote and read; what the record has is held
# against that.
compile "$here/tests/hdf5/h5async.c" h5async -L$libs/hdf5/serial -lhdf5 || not_ok 'the second program is compiled'
mkdir alone with && export STEMMA_HOME="$T/async"
sql() { "$STEMMA" sql --csv "$1" 2>>why | tr -d '\r' | sed "1d;s|$T/with/||"; }
# try WHAT FAILED HOW FILE ALONE [WITH [VALUE]]: ALONE and WITH are the connectors without and with ours; so many writes fail.
try()
{
	what=$1 want=$2 how=$3 file=$4 alone=${5:-} with=${6:-} value=${7:-}
	(cd alone && timeout -k 5 60 ../h5async "$how" "$file" ${alone:+"$alone"}) >said 2>why
	done=$?
	(cd with && timeout -k 5 60 "$STEMMA" run "${by:---hdf5=vol}" -- ../h5async "$how" "$file" ${with:+"$with" $value}) >out 2>>why
	[ "$done $?" = '0 0' ] && cmp said out >>why 2>&1 && cmp "alone/$file" "with/$file" >>why 2>&1 && grep -q "failed $want," said
	ok $? "$what: the same results and the same bytes"
	grep -E '^(read|write) ' said | sort -u >did
	sql "SELECT CASE type WHEN 'used' THEN 'read' ELSE 'write' END || ' ' || f.path FROM edge e JOIN version v ON v.id = CASE type WHEN 'used' THEN e.to_id ELSE e.from_id END
		JOIN file f ON f.id = v.file WHERE type IN ('used', 'wasGeneratedBy') AND f.path LIKE '$T/with/$file//%'" | sed "s|$T/with/||" | sort -u >seen
	moved=$(sql "SELECT sum(calls), sum(failed), sum(bytes) FROM io JOIN file f ON f.id = io.file WHERE f.path LIKE '$T/with/$file//%' AND api = 'data'")
	[ "$want" = 0 ] && is="7,0,5600" || is="5,1,4000"
	[ "$moved" = "$is" ] || echo "$moved, not $is" >>why
	diff did seen >>why && [ "$moved" = "$is" ] && [ -s did ]
	ok $? "$what: what was done is recorded, and how it ended"
}
try 'asynchronous calls' 0 plain plain.h5
by=--hdf5
try 'asynchronous calls, by the library' 0 plain library.h5
by=
try 'over a connector that works later' 0 later later.h5 none stemma
try 'what fails later' 1 fails fails.h5 none stemma
try 'under such a connector' 0 top top.h5 native 'stemma under_vol=0;under_info={}' 371

# Python
wants usr/lib/python3/dist-packages/h5py/__init__.py python3-h5py
wants usr/lib/x86_64-linux-gnu/libpython3.13.so.1 libpython3.13
cat >py.c <<END
#include <stdlib.h>
int Py_BytesMain(int, char **);
int main(int argc, char **argv) { return setenv("PYTHONHOME", "$root/usr", 1) ? 1 : Py_BytesMain(argc, argv); }
END
mkdir bin && compile py.c bin/python3 -l:libpython3.13.so.1 "-Wl,-rpath,$lib/blas:$lib/lapack" || not_ok 'a Python is linked'
bin/python3 -c 'import h5py; print("# h5py", h5py.__version__, "HDF5", h5py.version.hdf5_version)' | tee why | grep 'HDF5 1[.]14'
ok $? 'h5py is there'
unset STEMMA_HOME
for how in --hdf5 --hdf5=vol; do
	for what in 't1001-h5py:objects, the graph and the same bytes' 't1008-hdf5-deleted:objects that are deleted' 't1009-hdf5-elsewhere:what lies in other files'; do
		(cd "$here" && STEMMA_EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext} STEMMA=$STEMMA STEMMA_H5PYTHON=$T/bin/python3 STEMMA_H5HOW=$how sh "t/${what%%:*}.sh") >all 2>&1
		done=$?
		grep -a -A20 '^not ok' all >why
		[ "$done $(grep -a -c '^not ok' all) $(grep -a -c '^1\.\.' all)" = '0 0 1' ]
		ok $? "${what#*:} with Python, $how"
	done
done
echo "1..$n"
exit "$failed"
