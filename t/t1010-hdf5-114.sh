#!/bin/sh
# t1000 again with HDF5 1.14, that of Debian 13: a root folder of it is made once (debootstrap, as root, 400 MB) and kept in
# $STEMMA_TRIXIE, else /var/tmp/stemma-trixie. The program is compiled there and runs here, with the C
# library of that root. With `vol`: the connector instead of the library.
here=$(cd "$(dirname "$0")/.." && pwd -P)
root=${STEMMA_TRIXIE:-/var/tmp/stemma-trixie}
skip()
{
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(uname -m)" = x86_64 ] || skip 'for x86-64 only'
[ "$(id -u)" = 0 ] || skip 'the program is compiled in a root folder, which root only can change to'
if ! [ -e "$root/usr/include/hdf5/serial/hdf5.h" ]; then
	command -v debootstrap >/dev/null || skip "no Debian 13 in $root, and no debootstrap to make it"
	rm -rf "$root.new"
	timeout -k 5 1500 debootstrap --variant=minbase --include=libhdf5-dev,gcc,libc6-dev trixie "$root.new" >"$root.log" 2>&1 || skip "no Debian 13 could be fetched; see $root.log"
	rm -rf "$root" && mv "$root.new" "$root"
fi
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'rm -rf "$T"; rm -f "$root/tmp/h5steps.c" "$root/tmp/h5steps"' EXIT
program=$T/h5steps
lib=$root/usr/lib/x86_64-linux-gnu
not_ok()
{
	echo '1..1'
	echo "not ok 1 - $1"
	exit 1
}
# compile FILE.c TO ARG...: a program of that root that runs here.
compile()
{
	from=$1 to=$2
	shift 2
	made=$(mktemp -d "$root/tmp/h5.XXXXXX") && cp "$from" "$made/p.c" &&
		chroot "$root" gcc -O2 -I/usr/include/hdf5/serial -o "/tmp/${made##*/}/p" "/tmp/${made##*/}/p.c" "$@" \
			-Wl,--dynamic-linker="$root/lib64/ld-linux-x86-64.so.2" -Wl,--disable-new-dtags,-rpath,"$lib" && cp "$made/p" "$to"
	done=$?
	rm -rf "$made"
	return $done
}
chmod 755 "$T"
compile "$here/tests/hdf5/h5steps.c" "$program" -L/usr/lib/x86_64-linux-gnu/hdf5/serial -lhdf5 || not_ok 'the program is compiled'
grep VERS_INFO "$root/usr/include/hdf5/serial/H5public.h" | sed 's/^/# /' | head -n 1
if [ "${1:-}" != vol ]; then
	STEMMA_H5STEPS=$program sh "$here/t/t1000-hdf5.sh"
	exit
fi

# The connector is built as a user would, with the headers of that root, and put beside copies of what this build has.
BUILD=${BUILD:-$here/build}
STEMMA=${STEMMA:-$BUILD/src/cmd/stemma}
other=${STEMMA_H5STEPS:-$BUILD/tests/h5steps}
tree=$(dirname "$STEMMA")/..
command -v meson >/dev/null && command -v ninja >/dev/null || skip 'no meson and ninja to build the connector with'
meson setup "$T/b" "$here" -Dtests=false -Djava=disabled -Dbpf=disabled -Dspec=disabled -Dhdf5_vol=enabled \
	-Dhdf5_include="$root/usr/include/hdf5/serial" >"$T/log" 2>&1 &&
	ninja -C "$T/b" src/capture/hdf5/libstemma-hdf5.so src/capture/hdf5/vol/libstemma-hdf5-vol.so >>"$T/log" 2>&1 || {
	tail -n 20 "$T/log" | sed 's/^/# /'
	not_ok 'the connector is built'
}
mkdir -p "$T/src/cmd" "$T/src/capture/inject" "$T/src/capture/hdf5/vol" "$T/w"
cp "$STEMMA" "$T/src/cmd/stemma" && cp "$tree"/capture/inject/*.so "$T/src/capture/inject" && cp "$T"/b/src/capture/hdf5/*.so "$T/src/capture/hdf5" &&
	cp "$T"/b/src/capture/hdf5/vol/*.so "$T/src/capture/hdf5/vol" && rm -rf "$T/b" || not_ok 'the connector is put beside the rest'
cd "$T/w" || exit 1
export STEMMA_HOME="$T/record"
unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR
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
objects() { "$T/src/cmd/stemma" sql --csv "SELECT count(*) FROM file WHERE path LIKE '%/$1//%' AND versions > 0" | tr -d '\r' | sed 1d; }
# try WHAT FILE LOADED COMMAND...: so many objects are seen as the program says that it makes, by the connector (LOADED 1)
# or not.
try()
{
	what=$1 file=$2 want=$3
	shift 3
	LD_DEBUG=files timeout -k 5 120 "$T/src/cmd/stemma" run --hdf5=vol -- "$@" >"$T/out" 2>"$T/err"
	is "$what" "$(grep -c 'calling init: .*libstemma-hdf5-vol.so' "$T/err") $(grep -c ^write "$T/out") $(objects "$file")" "$want 9 9"
}
try 'HDF5 1.14 calls the connector' a.h5 1 "$program" make a.h5
try 'over another connector' b.h5 1 env HDF5_VOL_CONNECTOR='pass_through under_vol=0;under_info={}' "$program" make b.h5
try 'where none may be loaded, the library before the functions sees it' c.h5 0 env HDF5_PLUGIN_PRELOAD=:: "$program" make c.h5
if [ -x "$other" ]; then
	try 'as it does of another version of HDF5' d.h5 0 "$other" make d.h5
else
	n=$((n + 1))
	echo "ok $n - another version of HDF5 # SKIP HDF5 was not there when the tests were built"
fi

"$T/src/cmd/stemma" doctor >"$T/out" 2>"$T/err"
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
	timeout -k 5 120 "$T/src/cmd/stemma" run "${how%:*}" -- "$T/found" "$lib/libhdf5_serial.so.310" e.h5
	is "functions found by dlsym, ${how%:*}" "$? $(objects e.h5)" "0 ${how#*:}"
done

# And all else, as with the library.
unset STEMMA_HOME
cd "$here" || exit 1
STEMMA_EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext} STEMMA=$T/src/cmd/stemma STEMMA_H5STEPS=$program STEMMA_H5HOW=--hdf5=vol \
	sh "$here/t/t1000-hdf5.sh" >"$T/all" 2>&1
is 'objects and their graph, as the library sees them' "$? $(grep -c '^not ok' "$T/all") $(grep -c '^1\.\.' "$T/all")" '0 0 1'
grep -A20 '^not ok' "$T/all" | sed 's/^/# /'
STEMMA_EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext} STEMMA=$T/src/cmd/stemma STEMMA_H5STEPS=$program STEMMA_H5VOL=vol, \
	sh "$here/t/t1004-hdf5-classes.sh" >"$T/all" 2>&1
is 'some classes of objects only' "$? $(grep -c '^not ok' "$T/all") $(grep -c '^1\.\.' "$T/all")" '0 0 1'
grep -A20 '^not ok' "$T/all" | sed 's/^/# /'
echo "1..$n"
exit "$failed"
