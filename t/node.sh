# shellcheck shell=sh
# node.sh - the frame of the tests of the node's tracer (sourced by t/t09*.sh). TAP on standard output. Where there is no
# privilege for it, all of a script is skipped, with the reason.
#
#   trace [OPTION...] CMD ARG...   what the tracer told of the command is in $events, the command's output in $out
#   of PID KIND FIELD              that field of the last such event of that process
#   result STATUS WHAT FILE        says whether it held, with FILE if not

set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
BUILD=${BUILD:-$here/build}
STEMMA=${STEMMA:-$BUILD/src/cmd/stemma}
TRACETEXT=${STEMMA_TRACETEXT:-$BUILD/tests/stemma-tracetext}
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
if ! [ -x "$TRACETEXT" ]; then
	echo "Bail out! no stemma-tracetext at $TRACETEXT"
	exit 1
fi
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
T=$(cd "$T" && pwd -P)
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export LC_ALL=C.UTF-8 PATH="$PATH:/usr/sbin:/sbin"
out=$T/out err=$T/err events=$T/events
count=0
failed=0
mkdir "$T/work"
cd "$T/work" || exit 1

# Some sanitizers cannot live with privileges of their own; no privilege, no tracer.
"$TRACETEXT" -q true >"$events" 2>"$err"
if [ $? = 77 ]; then
	echo "1..0 # SKIP $(tr '\n' ' ' <"$err")"
	exit 0
fi

trace()
{
	opts=
	while [ "${1#-}" != "$1" ]; do
		opts="$opts $1"
		case $1 in -a | -i | -k | -t)
			opts="$opts $2"
			shift
			;;
		esac
		shift
	done
	# The command's output is apart from what is told of it. # shellcheck disable=SC2086
	timeout -k 5 150 "$TRACETEXT" $opts -- sh -c 'exec >"$0" 2>&1; exec "$@"' "$out" "$@" >"$events" 2>"$err"
}

of()
{
	sed -n "s/^$2 pid=$1 .* $3=\([^ ]*\).*/\1/p" "$events" | tail -n 1
}

result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		cut -c 1-300 "$3" | tail -n "${LINES_SHOWN:-20}" | sed 's/^/# /'
	fi
}

skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

finish()
{
	echo "1..$count"
	[ $failed = 0 ]
}
