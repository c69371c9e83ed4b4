#!/bin/sh
# Programs that trace or filter, and what cannot be followed.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-trace
program p-uring

# tracer NAME PATTERN COMMAND...: a tracer of p-spawn works as without a recorder: its status, the line it must print (its
# other output holds addresses and process numbers), and the file is made.
tracer()
{
	name=$1
	pattern=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip_ "$name" "no $1 here"
		return
	fi
	D=$T/tracer
	for how in plain recorded; do
		rm -rf "$D" "${T:?}/home"
		fresh "$D"
		: >"$T/truth"
		if [ $how = plain ]; then
			(cd "$D" && exec "$@" "$PROGS/p-spawn" fork-exec "$D") 9>>"$T/truth" >"$T/out" 2>&1 </dev/null
		else
			(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run -- "$@" "$PROGS/p-spawn" fork-exec "$D") \
				9>>"$T/truth" >"$T/out" 2>&1 </dev/null
		fi
		status=$?
		if [ $how = plain ] && { [ $status != 0 ] || ! grep -q "$pattern" "$T/out"; }; then
			skip_ "$name" "$1 does not work here: $(tail -1 "$T/out")"
			return
		fi
	done
	{
		[ $status = 0 ] || echo "status $status"
		grep -q "$pattern" "$T/out" || { echo "no line '$pattern' in:"; tail -5 "$T/out"; }
		[ -s "$D/after" ] || echo "the traced program did not make its file"
		events "$T/home" "$T/events" || { echo "the log is not whole:"; cat "$T/events.err"; }
		# Either the record is whole, or it says that another tracer took the program over.
		if ! grep -q '"k":"gap".*"reason":5' "$T/events"; then
			$PYTHON "$CHECK" --open --truth "$T/truth" --dir "$D" --ignore "$T/truth" --status 0 "$T/events"
		fi
	} >"$T/why" 2>&1
	[ ! -s "$T/why" ]
	result $? "$name" "$T/why"
}
tracer "strace" "execve(" strace
tracer "strace -f" "exited with 0" strace -f
tracer "strace --seccomp-bpf" "exited with 0" strace -f --seccomp-bpf -e trace=%file
tracer "gdb" "exited normally" gdb -nx -batch -iex "set debuginfod enabled off" -ex run --args
tracer "ltrace" "exited" ltrace -f
finish
