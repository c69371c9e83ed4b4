#!/bin/sh
# What could not be recorded is said: once, to the user and in the record; not with -q. The command does not notice.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
export HOME="$T"

# One line on standard error that has these words; nothing with -q.
said()
{
	[ "$(wc -l <"$1")" = 1 ] && grep -q "^stemma: .*$2" "$1" && [ ! -s "$3" ]
}

# A store that cannot be made.
for q in "" -q; do
	# shellcheck disable=SC2086 # none or one word
	out=$(STEMMA_HOME=/proc/nowhere "$STEMMA" run $q -- sh -c 'echo out; exit 7' 2>"$T/err$q")
	[ "$? $out" = "7 out" ] || echo "status or output" >>"$T/err$q"
done
said "$T/err" 'nothing is recorded: ' "$T/err-q"
result $? "a store that cannot be made is told of once" "$T/err"

# Hardly any descriptors: to start a recorder, or for the processes that there are.
for limit in 8 10 12 14 16 20; do
	for q in "" -q; do
		rm -rf "${T:?}/home"
		(
			ulimit -n $limit
			# shellcheck disable=SC2086
			STEMMA_HOME=$T/home "$STEMMA" run $q -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.2 & done; wait; exit 7'
		) 2>"$T/err$q"
		r=$?
		[ $r = 7 ] || echo "status $r" >>"$T/err$q"
		events "$T/home" "$T/events" && grep -q '"k":"gap".*"reason":1\b' "$T/events" && grep -q '"k":"run_end".*"code":7' "$T/events" &&
			tail -n 1 "$T/events" | grep -q '"k":"session_end"' || {
			echo "the record:"
			grep '"k":"\(gap\|run_end\|session_end\)"' "$T/events"
		} >>"$T/err$q"
	done
	said "$T/err" 'recorded.*: too few file descriptors' "$T/err-q"
	result $? "$limit descriptors" "$T/err"
done

# A command that is not there: what it would have been, and nothing of stemma's own.
rm -rf "${T:?}/home"
fresh "$T/d"
(cd "$T/d" && STEMMA_HOME=$T/home "$STEMMA" run -- "$T/nowhere/nosuch" one "two words" >g 2>e)
r=$?
events "$T/home" "$T/events"
{
	[ $r = 127 ] || echo "status $r"
	grep -q '"k":"exec".*"argv":\["[^"]*/nosuch","one","two words"\]' "$T/events" || echo "no execution has its arguments"
	grep '"k":"file"' "$T/events" | grep -e '\.stl"' -e '/locks/' -e "$T/home"
} >"$T/why"
[ ! -s "$T/why" ]
result $? "a command that is not there" "$T/why"

# A disk that is full.
if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
	skip_ "a full disk" "only where a file system can be mounted"
else
	for q in "" -q; do
		unshare -m sh -c 'mkdir -p "$1" && mount -t tmpfs -o size=64k none "$1" || exit 77
			cd "$3" && export STEMMA_HOME="$1" && "$2" run $4 -- sh -c "echo hi >first; i=0
				while [ \$i -lt 300 ]; do i=\$((i + 1)); cat /dev/null; done; exit 7" 2>"$3/err$4"
			echo $? >"$3/got" && "$2" why first >"$3/first" 2>/dev/null
			: >"$3/done"' - "$T/small" "$STEMMA" "$T" "$q"
	done
	if [ ! -e "$T/done" ]; then
		skip_ "a full disk" "tmpfs cannot be mounted here"
	else
		[ "$(cat "$T/got")" = 7 ] && said "$T/err" 'this run is recorded incompletely: writing the log failed: No space left on device' "$T/err-q"
		result $? "a full disk" "$T/err"
		grep -q 'record incomplete' "$T/first"
		result $? "why says that part of a record without an end was not seen" "$T/first"
	fi
fi
finish
