# shellcheck shell=sh
# For tests of --count, behind lib.sh: what the log says of a file is what the calls returned to the program that made them.

# counted PROGRAM CASE [PATH:WAY...]: what is said is true; of these at least it is said. On a busy machine a program may
# not have been stopped in time, and then nothing is: tried again.
counted()
{
	for try in 1 2 3 4 5; do
		counted_once "$@"
		{ [ -s "$T/why" ] && ! grep -q -v 'the log does not know it' "$T/why"; } || break
	done
	prog=$1
	c=$2
	shift 2
	[ ! -s "$T/why" ]
	result $? "$prog $c: ${*:-nothing false is said}" "$T/why"
}

counted_once()
{
	D=$T/count/d
	prog=$1
	c=$2
	shift 2
	rm -rf "$T/count"
	mkdir -p "$D"
	seq 1000 >"$D/given"
	exec 3<"$D/given"
	[ "$c" = stdin ] || exec 3</dev/null
	(cd "$D" && STEMMA_HOME=$T/count/home exec "$STEMMA" run --count -- "$PROGS/$prog" "$c") 9>"$T/count/truth" >"$T/count/out" 2>&1 <&3
	status=$?
	exec 3<&-
	want=0
	case $c in killed | +many-killed) want=137 ;; esac
	: >"$T/why"
	[ $status = $want ] || { echo "status $status"; cat "$T/count/out"; } >>"$T/why"
	[ -s "$T/count/truth" ] || echo "the program said nothing" >>"$T/why"
	events "$T/count/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	if [ "${CHECK_SUMS:-}" ]; then
		$PYTHON "$here/tests/prog/$CHECK_SUMS" "$T/events" "$T/count/truth" "$@" >>"$T/why" 2>&1
	else
		$PYTHON "$here/tests/prog/check_sums.py" "$T/events" "$D" "$T/count/truth" "$@" >>"$T/why" 2>&1
	fi
}
