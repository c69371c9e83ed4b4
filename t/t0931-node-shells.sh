#!/bin/sh
# What shells, make, archives and interpreters do with pipes, in front of two daemons, one that keeps every process and one
# that keeps the representative ones: each file that an output was made of is in its lineage (t/node_shells.py has what it
# was made of), and so is each that a run recorded with --exact has. Needs root, and a kernel that lets it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
DAEMON=${STEMMAD:-$BUILD/src/daemon/stemmad}
daemons=
# shellcheck disable=SC2154 # assigned where it is used
trap 'kill_child 9 $daemons; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT

nothing()
{
	echo "1..0 # SKIP $1"
	exit 0
}
answers()
{ # FOLDER
	STEMMA_NODE_SOCKET="$1/run/socket" "$DAEMON" --stats >"$out" 2>&1
}
start()
{ # FOLDER OPTION...
	folder=$1
	shift
	# Others on the machine may do so much that it would record less for that alone.
	# shellcheck disable=SC2086 # options of a machine where all is slow
	"$DAEMON" "$@" -o "base=$folder/base" -o "run=$folder/run" -o max_cpu=1000 -o max_events=10000000 -o max_memory=1G -o ring=4M ${NODE_OPTIONS:-} 2>>"$T/daemon" &
	daemons="$daemons $!"
	i=0
	until answers "$folder"; do
		i=$((i + 1))
		[ $i -gt 1200 ] || ! kill -0 $! 2>/dev/null && return 1
		sleep 0.05
	done
}

[ "$(id -u)" = 0 ] || nothing "needs root"
[ -x "$DAEMON" ] || nothing "stemmad was not built"
setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$STEMMA" || nothing "the build folder is not for other users to read"
chmod 711 "$T"
mkdir -m 755 "$T/chains" && chown 65534:65534 "$T/chains"
mkdir -m 755 "$T/all" "$T/representative"
start "$T/all" --keep=all || nothing "stemmad cannot trace here: $(tail -n 1 "$T/daemon")"
grep -q 'files:' "$T/daemon" && nothing "no files are seen here: $(grep 'files:' "$T/daemon")"
start "$T/representative" || nothing "a second stemmad cannot trace here: $(tail -n 1 "$T/daemon")"

"$PYTHON" "$here/t/node_shells.py" "$STEMMA" "$T/chains" 65534 all="$T/all" representative="$T/representative" >"$T/said" 2>"$err" && [ "$(grep -c '^ok ' "$T/said")" -gt 50 ]
check "the chains ran"
: >"$out"
: >"$err"
# What a daemon says that it lost is not missed in silence.
lost=
for name in all representative; do
	answers "$T/$name" && grep -q '^lost        0 of processes, 0 times of files' "$out" || lost="$lost $name"
done
: >"$out"
while IFS= read -r line; do
	case "$lost: $line" in
	*" all"*": missing "*": all: "* | *" representative"*": missing "*": representative: "*)
		skip "${line#* }" "the machine did so much that this daemon lost some of it, and says so"
		continue
		;;
	esac
	case $line in
	ok*) true ;;
	skip*)
		skip "${line#skip }" "${line##*: }"
		continue
		;;
	*) false ;;
	esac
	check "${line#* }"
done <"$T/said"
finish
