#!/bin/sh
# Libraries that stemma has programs carry take no lock that the dynamic linker may hold: the first call that they stand before
# comes from a thread that a constructor waits for, from early constructors, signal handlers, and children of programs with
# threads. A program that works without them works with them.
# shellcheck source=tests/prog/lib.sh disable=SC2086 # options are words
. "$(dirname "$0")/../tests/prog/lib.sh"

from=$here/tests/loader
D=$T/d
export STEMMA_HOME="$T/home"
command -v cc >/dev/null || {
	echo "1..0 # SKIP there is no C compiler"
	exit 0
}
[ -d "${T%/*}" ] && chmod 755 "$T"

# build ARGUMENT...: in $D the libraries and programs of one interface; false where it cannot be built here.
build()
{
	rm -rf "$D"
	mkdir -m 777 "$D"
	cd "$D" || exit 1
	echo "word" >given
	echo 'int nothing;' >empty.c
	{
		cc -shared -fPIC -o libempty.so empty.c && "$@" -O1 -shared -fPIC -o libcall.so "$from/call.c" $libs &&
			cc -O1 -shared -fPIC -pthread -DJOINS -o libjoins.so "$from/joins.c" -L. -lcall -Wl,-rpath,"$D" &&
			cc -O1 -shared -fPIC -DEARLY -o libearly.so "$from/joins.c" -L. -lcall -Wl,-rpath,"$D" &&
			cc -O1 -shared -fPIC -o libsignal.so "$from/joins.c" -L. -lcall -Wl,-rpath,"$D" &&
			cc -O1 -pthread -o main "$from/main.c" -L. -lcall -Wl,-rpath,"$D" -ldl &&
			cc -O1 -pthread -DLATE -o late "$from/main.c" -ldl &&
			{ ! command -v c++ >/dev/null || c++ -O1 -shared -fPIC -o libstatics.so "$from/statics.cc" -L. -lcall -Wl,-rpath,"$D"; } &&
			for l in joins early signal statics; do
				[ ! -e lib$l.so ] || cc -O1 -pthread -DLATE -o begun-$l "$from/main.c" -Wl,--no-as-needed -L. -l$l -Wl,-rpath,"$D" -ldl || exit 1
			done
	} >"$T/err" 2>&1
}

# works NAME OPTIONS PROGRAM...: the same without stemma and with it. What hangs does so for ever.
works()
{
	name=$1
	options=$2
	shift 2
	timeout 20 "$@" >"$T/plain" 2>"$T/plain.err"
	plain=$?
	if [ $plain != 0 ]; then
		skip_ "$name" "it does not work without stemma either: status $plain $(head -n 1 "$T/plain.err")"
		return
	fi
	timeout -k 5 30 "$STEMMA" run $options -- "$@" >"$T/got" 2>"$T/err"
	status=$?
	{ [ $status = 0 ] && cmp "$T/plain" "$T/got" && [ ! -s "$T/err" ]; } >"$T/why" 2>&1 || {
		echo "status $status"
		cat "$T/err"
	} >>"$T/why"
	[ ! -s "$T/why" ]
	result $? "$name" "$T/why"
}

# all WHAT OPTIONS LIBRARY: every way to come to the first call; LIBRARY: that of stemma's which stands before it.
all()
{
	for l in joins early signal statics; do
		[ $l = joins ] || thorough || continue
		if [ ! -e lib$l.so ]; then
			skip_ "$1: $l" "there is no C++ compiler"
			continue
		fi
		works "$1: begun with $l" "$2" ./begun-$l begun
		works "$1: $l loaded" "$2" ./late load ./lib$l.so
	done
	works "$1: called" "$2" ./main call
	works "$1: called in what is loaded later" "$2" ./late call
	works "$1: in children of a program with threads" "$2" ./main fork
	# HDF5 itself, and a library that the child loads, wait for the linker's lock in the child, for ever.
	[ "$1" = HDF5 ] || works "$1: in children of a program that loads and unloads" "$2" ./main fork ./libempty.so
	works "$1: our library is closed" "$2" ./main unload "$3"
}

top=${STEMMA%/src/cmd/stemma}/src
# What was seen is in the record, whoever made the call.
libs=
if build cc; then
	all files --capture=safe "$top/capture/preload/library/libstemma-safe.so"
	rm -rf "$STEMMA_HOME"
	"$STEMMA" run --capture=safe -- ./late load ./libjoins.so >/dev/null 2>"$T/why" && "$STEMMA" log --json >>"$T/why" 2>&1 &&
		"$STEMMA" lineage --json given >>"$T/why" 2>&1 && "$STEMMA" sql "SELECT 1 FROM access a JOIN file f ON f.id = a.file WHERE f.path LIKE '%/given'" 2>>"$T/why" | grep -q 1
	result $? "files: the thread's accesses are in the record" "$T/why"
	# Without a record the library only passes on.
	for p in "./begun-joins begun" "./late load ./libjoins.so"; do
		if [ -e "$top/capture/preload/library/libstemma-safe.so" ]; then
			LD_PRELOAD=$top/capture/preload/library/libstemma-safe.so timeout -k 5 60 $p >"$T/got" 2>"$T/why"
			result $? "files: without a record: $p" "$T/why"
		else
			skip_ "files: without a record: $p" "it is not in the build folder"
		fi
	done
else
	not_ok "files: the programs are built" "$T/err"
fi

h5=$(pkg-config --cflags --libs hdf5 2>/dev/null || pkg-config --cflags --libs hdf5-serial 2>/dev/null)
libs=$h5
if [ -n "$h5" ] && build cc -DAPI_HDF5; then
	all HDF5 --hdf5 "$top/capture/hdf5/libstemma-hdf5.so"
	rm -rf "$STEMMA_HOME"
	"$STEMMA" run --hdf5 -- ./late load ./libjoins.so >/dev/null 2>"$T/why" &&
		"$STEMMA" sql "SELECT path FROM file WHERE path LIKE '%.h5//group'" 2>>"$T/why" | grep -q group
	result $? "HDF5: the thread's group is in the record" "$T/why"
	works "HDF5 and files: joins" "--hdf5 --capture=safe" ./late load ./libjoins.so
else
	skip_ HDF5 "there is no HDF5 to build with"
fi

libs="-L. -lmpi -Wl,-rpath,$D"
mpi()
{
	cc -O1 -shared -fPIC -o libmpi.so "$from/mpi.c" && cc -DAPI_MPI "$@"
}
if build mpi; then
	all MPI --mpi "$top/capture/mpi/libstemma-mpi.so"
else
	not_ok "MPI: the programs are built" "$T/err"
fi

app=$top/capture/app
libs="-L$app -lstemma-app -Wl,-rpath,$app"
if [ -e "$app/libstemma-app.so" ]; then
	if build cc -DAPI_APP -I"$here/include"; then
		all annotations "" "$app/libstemma-app.so"
	else
		not_ok "annotations: the programs are built" "$T/err"
	fi
else
	skip_ annotations "the library is not in the build folder"
fi

# The library of stemma cc: a plug-in of the compiler's.
libs=
build cc && cat >>"$D/plugin.c" <<'C' && cc -O1 -shared -fPIC -pthread -DJOINS -o plugin.so "$from/joins.c" plugin.c -L. -lcall -Wl,-rpath,"$D" 2>"$T/err"
int plugin_is_GPL_compatible;
int plugin_init(void *a, void *b);
int plugin_init(void *a, void *b) { (void)a; (void)b; return 0; }
C
echo 'int main(void) { return 0; }' >"$D/x.c"
if [ -e "$D/plugin.so" ] && gcc -fplugin="$D/plugin.so" -c -o plain.o x.c 2>"$T/plain.err"; then
	timeout -k 5 60 "$STEMMA" cc gcc -fplugin="$D/plugin.so" -c -o x.o x.c >"$T/why" 2>&1 && cmp x.o plain.o >>"$T/why" 2>&1
	result $? "stemma cc: a plug-in whose constructor waits for a thread" "$T/why"
else
	skip_ "stemma cc: a plug-in whose constructor waits for a thread" "gcc takes no plug-ins here"
fi
cd / || exit 1
finish
