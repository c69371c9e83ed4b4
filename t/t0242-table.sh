#!/bin/sh
# Descriptors are looked at by copies of them, which nobody notices: a file system that is told of each close is told of the
# program's own and of no other.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
serve=$here/tests/prog/fuse_serve.py
served=$here/tests/prog/served.sh
# served SCRIPT: with a file system at m, runs the shell's script with $R before it; $flushed has the closes.
cat >served.sh <<'SH'
. "$served"
eval "$1" </dev/null
status=$?
umount m
wait
exit $status
SH
export PYTHON serve served R
apart="unshare -m"
[ "$(id -u)" = 0 ] || apart="unshare -Urm"

# closes FILE SCRIPT: runs it; how often a close was told of is the size of FILE.
closes()
{
	rm -f ready "$1"
	: >"$1"
	FLUSHED=$T/$1 timeout -k 1 120 $apart sh served.sh "$2" >out 2>err
}

# same NAME SCRIPT
same()
{
	R=
	closes plain "$2"
	status=$?
	if [ $status != 0 ]; then
		skip_ "$1" "no file system can be served here: $(cat served err 2>/dev/null | tail -n 1)"
		return
	fi
	export STEMMA_HOME="$T/home"
	rm -rf "$STEMMA_HOME"
	R="$STEMMA run --"
	closes recorded "$2"
	status=$?
	{
		[ $status = 0 ] || { echo "status $status"; cat err; }
		[ "$(wc -c <plain)" -ge 4 ] || echo "it was told of too few closes to show anything: $(wc -c <plain)"
		cmp plain recorded
	} >why 2>&1
	[ ! -s why ]
	result $? "$1" why
	events "$STEMMA_HOME" events
	[ "$(grep -c '"k":"exec".*"argv":\["[a-z/]*true"' events)" = 6 ] && ! grep '"k":"gap".*"reason":1\b' events >why
	result $? "$1: all was looked at" events
}

loop='i=0; while [ $i -lt 3 ]; do env true; i=$((i + 1)); done'
same "a file that a program of the run opens" "\$R sh -c '$loop; exec 3<m/hello; $loop'"
same "a file in the place of another" "\$R sh -c '$loop; exec <m/hello; $loop'"
finish
