#!/bin/sh
# The code inside programs that use HDF5, built with AddressSanitizer and UBSan as it never is else: the library and the connector, with
# each step of tests/hdf5/h5steps.c and with asynchronous calls, on HDF5 1.14. The program is not built so: the sanitizer, that of
# Debian 13, is preloaded by whoever starts it.
# shellcheck source=t/trixie.sh
. "$(dirname "$0")/trixie.sh"
[ -e "$lib/libasan.so.8" ] && [ -e "$lib/libubsan.so.1" ] || skip "no sanitizers in $root"
STEMMA=${STEMMA:-$BUILD/src/cmd/stemma}
libs=/usr/lib/x86_64-linux-gnu
compile "$here/tests/hdf5/h5steps.c" "$T/h5steps" -L$libs/hdf5/serial -lhdf5 && compile "$here/tests/hdf5/h5async.c" "$T/h5async" -L$libs/hdf5/serial -lhdf5 || not_ok 'the programs are compiled'
tree=$(cd "$(dirname "$STEMMA")/.." && pwd -P)
mkdir -p "$T/src/cmd" "$T/src/capture/preload/library" "$T/src/capture/hdf5/vol"
cp "$STEMMA" "$T/src/cmd/stemma" && cp "$tree"/capture/preload/library/*.so "$T/src/capture/preload/library" || not_ok 'stemma is there'
STEMMA=$T/src/cmd/stemma
c=$here/src/capture
# build TO FILE.c...
build()
{
	to=$1
	shift
	gcc -std=gnu11 -g -O1 -D_GNU_SOURCE -DSTEMMA_VERSION='"0"' -DAPP_PREFIX='"h"' -I"$here/src" -isystem "$root/usr/include/hdf5/serial" -fPIC -shared -fvisibility=hidden \
		-fno-strict-aliasing -fsanitize=address,undefined -fno-sanitize-recover=undefined -Wl,-z,now -Wl,-z,nodelete -o "$to" "$@" "$c/app/app_tape.c" "$c/interpose/symbols.c" >"$T/log" 2>&1
}
echo 'int main(void) { return 0; }' >"$T/none.c"
gcc -fsanitize=address,undefined -o "$T/none" "$T/none.c" >"$T/log" 2>&1 || skip 'no gcc with sanitizers'
# both of them, and what each has beside that; the recorder's half lies in the folder, too
both="$c/hdf5/h5_ask.c $c/hdf5/h5_files.c $c/hdf5/h5_ids.c $c/hdf5/h5_memory.c $c/hdf5/h5_move.c $c/hdf5/h5_note.c $c/hdf5/h5_parts.c $c/hdf5/h5_real.c $c/hdf5/h5_visit.c"
# shellcheck disable=SC2086 # files
build "$T/src/capture/hdf5/libstemma-hdf5.so" $both "$c"/hdf5/h5_buffers.c "$c"/hdf5/h5_calls.c "$c"/hdf5/h5_copy.c "$c"/hdf5/h5_data.c "$c"/hdf5/h5_exec.c "$c"/hdf5/h5_gate.c "$c"/hdf5/h5_links.c "$c"/hdf5/nc_calls.c "$c"/hdf5/nc_real.c &&
	build "$T/src/capture/hdf5/vol/libstemma-hdf5-vol.so" $both "$c"/hdf5/vol/*.c || {
	sed 's/^/# /' "$T/log"
	not_ok 'they are built with sanitizers'
}
# A shell that stemma starts has ours before the sanitizer, too; it uses no HDF5.
cat >"$T/with" <<END
#!/bin/sh
ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=1:detect_stack_use_after_return=1:exitcode=99 LD_PRELOAD="$lib/libasan.so.8 $lib/libubsan.so.1 $lib/libstdc++.so.6 $lib/libgcc_s.so.1 \$LD_PRELOAD" exec "\$@"
END
chmod +x "$T/with"
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1:exitcode=99
n=0 failed=0
steps >"$T/steps"
for how in --hdf5 --hdf5=vol; do
	mkdir "$T/$how" && cd "$T/$how" || exit 1
	export STEMMA_HOME="$T/$how/record"
	ours=none
	[ $how = --hdf5 ] || ours=stemma
	{
		sed 's|^|../h5steps |' "$T/steps"
		echo "../h5async plain plain.h5"
		echo "../h5async later later.h5 $ours"
		echo "../h5async fails fails.h5 $ours"
	} >commands
	bad=
	while read -r command; do
		# shellcheck disable=SC2086 # words
		timeout -k 5 120 "$STEMMA" run $how -- ../with $command >out 2>err </dev/null
		rc=$?
		if [ $rc = 99 ] || grep -q -e 'runtime error' -e 'Sanitizer' err; then
			bad=1
			echo "# $command: $rc"
			head -n 40 err | sed 's/^/#   /'
		fi
	done <commands
	n=$((n + 1))
	[ -z "$bad" ] && echo "ok $n - $how" || { failed=1 && echo "not ok $n - $how"; }
	# It was in there: each file has objects, by that way.
	n=$((n + 1))
	has=$("$STEMMA" sql --csv "SELECT count(DISTINCT path) FROM file WHERE kind = 'group' AND path LIKE '%.h5//'" 2>err | tr -d '\r' | sed 1d)
	made=$(find . -maxdepth 1 -name '*.h5' | wc -l)
	[ "${has:-0}" = "$made" ] && [ "$made" -gt 15 ] && echo "ok $n - $how: and objects were recorded" || {
		failed=1
		echo "not ok $n - $how: and objects were recorded"
		echo "# of ${has:-no} files, of $made"
		head -n 20 err | sed 's/^/# /'
	}
done
# A sanitizer that finds nothing may not look: it finds what is there.
cd "$T" || exit 1
echo 'int H5FN; __attribute__((constructor)) static void f(void) { char *p = __builtin_malloc(4); __asm__ volatile("" : "+r"(p)); p[5] = 1; __builtin_free(p); }' >bad.c
gcc -g -fPIC -shared -fsanitize=address -o bad.so bad.c && LD_PRELOAD="$lib/libasan.so.8 ./bad.so" ./h5steps make x.h5 >out 2>err
n=$((n + 1))
grep -q heap-buffer-overflow err && echo "ok $n - what is wrong is found" || { failed=1 && echo "not ok $n - what is wrong is found"; }
echo "1..$n"
exit "$failed"
