#!/bin/sh
# The tracer and the daemon on other kernels: each is booted in an emulated machine (tests/kernel/boot), where the
# scripts of the node's tests run as they do here. Kernels: $STEMMA_KERNELS, or BUILD/kernels, as tools/get-kernels
# leaves them. Needs qemu, busybox, cpio and mke2fs; no privilege. A quarter of an hour on a busy machine.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
BUILD=${BUILD:-$here/build}
kernels=${STEMMA_KERNELS:-$BUILD/kernels}
export PATH="$PATH:/usr/sbin:/sbin"
count=0
failed=0

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
[ "$(uname -m)" = x86_64 ] || nothing "kernels for x86-64 alone are tried"
for program in qemu-system-x86_64 busybox cpio mke2fs ldd; do
	command -v $program >/dev/null || nothing "$program is not installed"
done
[ -x "$BUILD/tests/stemma-tracetext" ] || nothing "the tracer was not built"
[ -n "$(find -L "$kernels" -path '*/boot/vmlinuz-*' 2>/dev/null)" ] || nothing "no kernels in $kernels (tools/get-kernels fetches some)"

T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
if ! "$here/tests/kernel/tree" "$T/tree" "$here" "$BUILD" >"$T/log" 2>&1; then
	echo "not ok 1 - a root for the machines"
	sed 's/^/# /' "$T/log"
	echo 1..1
	exit 1
fi
# What is emulated is slow: fewer files and processes, and a daemon that may take more of the processor.
cat >"$T/tree/s/all" <<'END_ALL'
export BUILD=/s/build NODE_MANY=500 NODE_OPTIONS='-o max_cpu=1000' LINES_SHOWN=6 STEMMA_TRACETEXT=/s/build/tests/stemma-tracetext STEMMAD=/s/build/src/daemon/stemmad
for t in t0900-processes t0901-files t0902-access t0903-node-faults t0930-node-lineage; do
	echo "begin $t"
	sh "/s/t/$t.sh" 2>&1
done
echo "begin doctor"
/s/build/src/cmd/stemma doctor 2>&1
END_ALL
for image in "$kernels"/*/boot/vmlinuz-*; do
	[ -f "$image" ] || continue
	version=${image##*/vmlinuz-}
	BOOT_SECONDS=${BOOT_SECONDS:-1500} "$here/tests/kernel/boot" "$image" "${image%/boot/*}/lib/modules" "$T/tree" sh /s/all >"$T/out" 2>"$T/log"
	if [ $? = 125 ]; then
		count=$((count + 1))
		failed=1
		echo "not ok $count - Linux $version: a machine with it"
		tail -n 20 "$T/log" | sed 's/^/# /'
		continue
	fi
	# Each line of theirs is one of ours.
	script=
	while IFS= read -r line; do
		case $line in
		"begin "*) script=${line#begin } ;;
		"not ok "*)
			count=$((count + 1))
			failed=1
			echo "not ok $count - Linux $version: $script:${line#not ok}"
			;;
		"ok "*)
			count=$((count + 1))
			rest=${line#ok }
			echo "ok $count - Linux $version: $script: ${rest#* - }"
			;;
		"1..0 "*)
			count=$((count + 1))
			echo "ok $count - Linux $version: $script ${line#1..0 }"
			;;
		1..*) script= ;;
		*) echo "# $line" | cut -c 1-300 ;;
		esac
	done <"$T/out"
done
echo "1..$count"
[ $failed = 0 ]
