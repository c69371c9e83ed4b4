#!/bin/sh
# t1000 again with HDF5 1.14, that of Debian 13. With `vol`: the connector instead of the library.
# shellcheck source=t/trixie.sh
. "$(dirname "$0")/trixie.sh"
program=$T/h5steps
compile "$here/tests/hdf5/h5steps.c" "$program" -L/usr/lib/x86_64-linux-gnu/hdf5/serial -lhdf5 || not_ok 'the program is compiled'
grep VERS_INFO "$root/usr/include/hdf5/serial/H5public.h" | sed 's/^/# /' | head -n 1
if [ "${1:-}" != vol ]; then
	STEMMA_H5STEPS=$program sh "$here/t/t1000-hdf5.sh"
	exit
fi

other=${STEMMA_H5STEPS:-$BUILD/tests/h5steps}
connector
mkdir "$T/w" && cd "$T/w" || exit 1
export STEMMA_HOME="$T/record"
n=0 failed=0
is()
{
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		failed=1
		echo "not ok $n - $1"
		printf '# it is   %s\n# but not %s\n' "$2" "$3"
	fi
}
objects() { "$STEMMA" sql --csv "SELECT count(*) FROM file WHERE path LIKE '%/$1//%' AND versions > 0" | tr -d '\r' | sed 1d; }
# try WHAT FILE LOADED COMMAND...: so many objects are seen as the program says that it makes, by the connector (LOADED 1)
# or not.
try()
{
	what=$1 file=$2 want=$3
	shift 3
	LD_DEBUG=files timeout -k 5 120 "$STEMMA" run --hdf5=vol -- "$@" >"$T/out" 2>"$T/err"
	is "$what" "$(grep -c 'calling init: .*libstemma-hdf5-vol.so' "$T/err") $(grep -c ^write "$T/out") $(objects "$file")" "$want 9 9"
}
try 'HDF5 1.14 calls the connector' a.h5 1 "$program" make a.h5
# env carries the connector, too.
try 'over another connector' b.h5 2 env HDF5_VOL_CONNECTOR='pass_through under_vol=0;under_info={}' "$program" make b.h5
try 'asked for by its name' f.h5 2 env HDF5_VOL_CONNECTOR='stemma under_vol=0;under_info={}' "$program" make f.h5
try 'over another one that is over HDF5'"'"'s, as the user has it' g.h5 2 \
	env HDF5_VOL_CONNECTOR='stemma under_vol=pass_through;under_info={under_vol=0;under_info={}}' "$program" make g.h5
try 'where none may be loaded, the library before the functions sees it' c.h5 2 env HDF5_PLUGIN_PRELOAD=:: "$program" make c.h5
# What lies in its place is no connector, or one of another version of HDF5's: HDF5 works, and the library sees it.
good=$STEMMA tree=$(cd "$(dirname "$STEMMA")/.." && pwd -P)
mkdir -p "$T/bad/src/cmd" "$T/bad/src/capture/preload/library" "$T/bad/src/capture/hdf5/vol"
cp "$STEMMA" "$T/bad/src/cmd/stemma" && cp "$tree"/capture/preload/library/*.so "$T/bad/src/capture/preload/library" && cp "$tree/capture/hdf5/libstemma-hdf5.so" "$T/bad/src/capture/hdf5"
STEMMA=$T/bad/src/cmd/stemma bad=$T/bad/src/capture/hdf5/vol/libstemma-hdf5-vol.so
echo 'no library' >"$bad"
try 'where it is no library, the library before the functions sees it' h.h5 0 "$program" make h.h5
cat >"$T/old.c" <<'END'
#include <hdf5.h>
#include <H5PLextern.h>
#include <H5VLconnector.h>
static const H5VL_class_t old = {.version = 2, .value = 371, .name = "stemma", .conn_version = 1};
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }
const void *H5PLget_plugin_info(void) { return &old; }
END
compile "$T/old.c" "$bad" -shared -fPIC -Wl,-soname,libstemma-hdf5-vol.so || not_ok 'a connector of another version is compiled'
try '... and where it is of another version' i.h5 1 "$program" make i.h5
STEMMA=$good
if [ -x "$other" ]; then
	try 'as it does of another version of HDF5' d.h5 1 "$other" make d.h5
else
	n=$((n + 1))
	echo "ok $n - another version of HDF5 # SKIP HDF5 was not there when the tests were built"
fi

"$STEMMA" doctor >"$T/out" 2>"$T/err"
is 'doctor names the connector' "$(grep '^HDF5 objects' "$T/out" | grep -c 'a connector for 1.14')" 1

# A program that finds the functions itself: no library stands before those.
cat >"$T/found.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *h = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
	long (*create)(const char *, unsigned, long, long) = h ? (long (*)(const char *, unsigned, long, long))dlsym(h, "H5Fcreate") : 0;
	int (*close)(long) = h ? (int (*)(long))dlsym(h, "H5Fclose") : 0;
	return !create || !close || close(create(argv[2], 2, 0, 0)) < 0;
}
END
compile "$T/found.c" "$T/found" || not_ok 'the second program is compiled'
for how in --hdf5:0 --hdf5=vol:1; do
	timeout -k 5 120 "$STEMMA" run "${how%:*}" -- "$T/found" "$lib/libhdf5_serial.so.310" e.h5
	is "functions found by dlsym, ${how%:*}" "$? $(objects e.h5)" "0 ${how#*:}"
done

# A library whose constructor waits for a thread that makes the first call (t0249 has the other ways).
{
	echo 'int call(void);'
	sed '/"call.h"/d' "$here/tests/loader/call.c" "$here/tests/loader/joins.c"
} >"$T/joins.c"
{
	echo 'int call(void);'
	sed '/"call.h"/d' "$here/tests/loader/main.c"
} >"$T/late.c"
compile "$T/joins.c" "$T/libjoins.so" -D_GNU_SOURCE -DAPI_HDF5 -DJOINS -shared -fPIC -pthread -L/usr/lib/x86_64-linux-gnu/hdf5/serial -lhdf5 &&
	compile "$T/late.c" "$T/late" -D_GNU_SOURCE -DLATE -pthread || not_ok 'the library is compiled'
timeout -k 5 120 "$STEMMA" run --hdf5=vol -- "$T/late" load "$T/libjoins.so" >"$T/out" 2>"$T/err"
is 'a constructor waits for a thread' "$? $("$STEMMA" sql --csv "SELECT count(*) FROM file WHERE path LIKE '%/made-%.h5//group'" | tr -d '\r' | sed 1d)" '0 1'

# And all else, as with the library.
unset STEMMA_HOME
cd "$here" || exit 1
STEMMA_EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext} STEMMA=$STEMMA STEMMA_H5STEPS=$program STEMMA_H5HOW=--hdf5=vol \
	sh "$here/t/t1000-hdf5.sh" >"$T/all" 2>&1
is 'objects and their graph, as the library sees them' "$? $(grep -c '^not ok' "$T/all") $(grep -c '^1\.\.' "$T/all")" '0 0 1'
grep -a -A20 '^not ok' "$T/all" | sed 's/^/# /'
STEMMA_EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext} STEMMA=$STEMMA STEMMA_H5STEPS=$program STEMMA_H5VOL=vol, \
	sh "$here/t/t1004-hdf5-classes.sh" >"$T/all" 2>&1
is 'some classes of objects only' "$? $(grep -c '^not ok' "$T/all") $(grep -c '^1\.\.' "$T/all")" '0 0 1'
grep -a -A20 '^not ok' "$T/all" | sed 's/^/# /'
echo "1..$n"
exit "$failed"
