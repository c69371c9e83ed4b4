#!/bin/sh
# t1000 again with HDF5 1.14, that of Debian 13: a root folder of it is made once (debootstrap, as root, 400 MB) and kept in
# $STEMMA_TRIXIE, else /var/tmp/stemma-trixie. The program is compiled there and runs here, with the C library of that root.
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
program=$(mktemp "${TMPDIR:-/tmp}/h5steps.XXXXXX") || exit 1
trap 'rm -f "$program" "$root/tmp/h5steps.c" "$root/tmp/h5steps"' EXIT
lib=$root/usr/lib/x86_64-linux-gnu
cp "$here/tests/hdf5/h5steps.c" "$root/tmp/h5steps.c" && chroot "$root" gcc -O2 -I/usr/include/hdf5/serial -o /tmp/h5steps /tmp/h5steps.c -L/usr/lib/x86_64-linux-gnu/hdf5/serial -lhdf5 \
	-Wl,--dynamic-linker="$root/lib64/ld-linux-x86-64.so.2" -Wl,--disable-new-dtags,-rpath,"$lib" && cp "$root/tmp/h5steps" "$program" && chmod +x "$program" || {
	echo '1..1'
	echo 'not ok 1 - the program is compiled'
	exit 1
}
grep VERS_INFO "$root/usr/include/hdf5/serial/H5public.h" | sed 's/^/# /' | head -n 1
STEMMA_H5STEPS=$program sh "$here/t/t1000-hdf5.sh"
