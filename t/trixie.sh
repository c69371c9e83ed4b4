# shellcheck shell=sh
# trixie.sh - for tests with HDF5 1.14, that of Debian 13 (sourced by t/t101?.sh): a root folder of it is made once
# (debootstrap, as root, 400 MB, with what else a test needs up to 1.4 GB) and kept in $STEMMA_TRIXIE, else
# /var/tmp/stemma-trixie. Programs are compiled there and run here, with the C library of that root.
#
#   skip WHY                    the whole script; not_ok WHY: as a test that failed
#   wants FILE PACKAGE...       these packages are in the root, whose sign is the file
#   compile FILE.c TO ARG...    a program of that root that runs here
#   steps                       the steps of tests/hdf5/h5steps.c, each a line, that show all that is told of objects
#   connector                   stemma with the connector below $T, as $STEMMA: that of $BUILD, or one that is built as
#                               a user would, with the headers of the root, and put beside copies of the rest
here=$(cd "$(dirname "$0")/.." && pwd -P)
BUILD=${BUILD:-$here/build}
root=${STEMMA_TRIXIE:-/var/tmp/stemma-trixie}
lib=$root/usr/lib/x86_64-linux-gnu
skip()
{
	echo "1..0 # SKIP $1"
	exit 0
}
not_ok()
{
	echo '1..1'
	echo "not ok 1 - $1"
	exit 1
}
[ "$(uname -m)" = x86_64 ] || skip 'for x86-64 only'
[ "$(id -u)" = 0 ] || skip 'programs are compiled in a root folder, which root only can change to'
# One at a time makes the root, or puts something into it.
(
	flock 9 || exit 1
	[ ! -e "$root/usr/include/hdf5/serial/hdf5.h" ] || exit 0
	command -v debootstrap >/dev/null || exit 2
	rm -rf "$root.new"
	timeout -k 5 1500 debootstrap --variant=minbase --include=libhdf5-dev,gcc,libc6-dev trixie "$root.new" >"$root.log" 2>&1 || exit 1
	rm -rf "$root" && mv "$root.new" "$root"
) 9>"$root.lock"
case $? in
0) ;;
2) skip "no Debian 13 in $root, and no debootstrap to make it" ;;
*) skip "no Debian 13 could be fetched; see $root.log" ;;
esac
wants()
{
	sign=$root/$1
	shift
	(
		flock 9 || exit 1
		[ ! -e "$sign" ] || exit 0
		DEBIAN_FRONTEND=noninteractive timeout -k 5 1200 chroot "$root" sh -c 'apt-get -q update && apt-get -q -y --no-install-recommends install "$@"' sh "$@" \
			</dev/null >>"$root.log" 2>&1
	) 9>"$root.lock" || skip "no $* could be fetched; see $root.log"
	[ -e "$sign" ] || skip "$* of Debian 13 have no ${sign#"$root"}"
}
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
T=$(cd "$T" && pwd -P)
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
chmod 755 "$T"
flavour=serial # or openmpi, of HDF5's headers
compile()
{
	from=$1 to=$2
	shift 2
	made=$(mktemp -d "$root/tmp/h5.XXXXXX") && cp "$from" "$made/p.c" &&
		chroot "$root" gcc -O2 "-I/usr/include/hdf5/$flavour" -o "/tmp/${made##*/}/p" "/tmp/${made##*/}/p.c" "$@" \
			-Wl,--dynamic-linker="$root/lib64/ld-linux-x86-64.so.2" -Wl,--disable-new-dtags,-rpath,"$lib" && cp "$made/p" "$to"
	done=$?
	rm -rf "$made"
	return $done
}
steps()
{
	cat <<-END
		make in.h5
		scale in.h5 out.h5
		columns in.h5 cut.h5
		named in.h5 named.h5
		over in.h5
		some in.h5
		grow grow.h5
		longer grow.h5
		chunk grow.h5 chunk.h5
		multi grow.h5 multi.h5
		again again.h5
		copy again.h5 copy.h5
		reshape reshape.h5
		numbered numbered.h5
		virtual again.h5 virtual.h5
		rate in.h5
		handler in.h5
		move in.h5
		make m.h5
		regroup m.h5
		make s.h5
		soft s.h5
		through s.h5 sum.h5
		retarget s.h5
		through s.h5 sum.h5
		fork s.h5 child.h5
		kinds kinds.h5
		many many.h5 100
		killed killed.h5
	END
}
connector()
{
	STEMMA=${STEMMA:-$BUILD/src/cmd/stemma}
	tree=$(cd "$(dirname "$STEMMA")/.." && pwd -P)
	[ ! -e "$tree/capture/hdf5/vol/libstemma-hdf5-vol.so" ] || return 0
	command -v meson >/dev/null && command -v ninja >/dev/null || skip 'no meson and ninja to build the connector with'
	meson setup "$T/b" "$here" -Dtests=false -Djava=disabled -Dbpf=disabled -Dspec=disabled -Dhdf5_vol=enabled \
		-Dhdf5_include="$root/usr/include/hdf5/serial" >"$T/log" 2>&1 &&
		ninja -C "$T/b" src/capture/hdf5/libstemma-hdf5.so src/capture/hdf5/vol/libstemma-hdf5-vol.so >>"$T/log" 2>&1 || {
		tail -n 20 "$T/log" | sed 's/^/# /'
		not_ok 'the connector is built'
	}
	mkdir -p "$T/src/cmd" "$T/src/capture/preload/library" "$T/src/capture/hdf5/vol"
	cp "$STEMMA" "$T/src/cmd/stemma" && cp "$tree"/capture/preload/library/*.so "$T/src/capture/preload/library" && cp "$T"/b/src/capture/hdf5/*.so "$T/src/capture/hdf5" &&
		cp "$T"/b/src/capture/hdf5/vol/*.so "$T/src/capture/hdf5/vol" && rm -rf "$T/b" || not_ok 'the connector is put beside the rest'
	STEMMA=$T/src/cmd/stemma
}
unset LD_PRELOAD HDF5_PLUGIN_PATH HDF5_VOL_CONNECTOR PYTHONPATH PYTHONHOME
