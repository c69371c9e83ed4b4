#!/bin/sh
# A file system that is served by a process of the run itself: whoever records must not wait for it while it waits for whoever
# records. The command goes on. By ptrace what went by meanwhile is said to be lost; else nothing goes by.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
serve=$here/tests/prog/fuse_serve.py
served=$here/tests/prog/served.sh
cat >job.sh <<'SH'
. "$served"
for i in 1 2 3; do cat m/hello; done >out
cat out
umount m
wait
sort backing >last
exit 3
SH
export PYTHON serve served
apart="unshare -m"
[ "$(id -u)" = 0 ] || apart="unshare -Urm"

rm -f ready
timeout -k 1 120 $apart sh job.sh >plain 2>err
status=$?
if [ $status != 3 ]; then
	skip_ "a file system of the run's own" "none can be served here: $(cat served err 2>/dev/null | tail -n 1)"
	finish
fi
# recorded WHAT OPTION...: the command, recorded so, ends as it did without, and what went by meanwhile is said
recorded()
{
	what=$1
	shift
	export STEMMA_HOME="$T/home.$#.${1:-}"
	rm -f ready out last
	timeout -k 1 120 $apart "$STEMMA" run "$@" -- sh job.sh >recorded 2>err
	status=$?
	[ $status = 3 ] || echo "status $status" >>err
	[ $status = 3 ] && cmp plain recorded >>err 2>&1
	result $? "$what: the command ends as it does without" err
	events "$STEMMA_HOME" events
	if grep '"k":"session"' events | grep -q complete/notify; then
		! grep '"k":"gap"' events | grep -v 'mounted or unmounted' >gaps
		result $? "$what: nothing went by" gaps
	elif grep '"k":"session"' events | grep -q 'complete/\(trace\|exact\)'; then
		grep -q '"k":"gap".*"reason":1\b.*a file system did not respond' events
		result $? "$what: what went by unrecorded is said" events
		grep '"k":"gap"' events | grep -q 'did not respond: m/hello'
		result $? "$what: and the path that was waited for" events
	fi
	tail -n 1 events | grep -q '"k":"session_end"' && "$STEMMA" why last >why 2>&1 && grep -q sort why
	result $? "$what: the record goes on" why
}

recorded "as is usual"
recorded "by ptrace" --transport=trace
recorded "with the bytes" --exact

# One that a process outside of the run serves, and that answers only when another process of the run has got on.
cat >outer.sh <<'SH'
mkdir -p m
$PYTHON -B $serve "$PWD/m" "$PWD/backing" "$PWD/ready" "$PWD/asked" "$PWD/answer" 2>served &
server=$!
i=0
until [ -e ready ]; do
	i=$((i + 1))
	[ $i -lt 600 ] && kill -0 $server 2>/dev/null || exit 77
	sleep 0.05
done
timeout -k 1 100 "$@" sh inner.sh
status=$?
kill $server
wait $server 2>/dev/null
umount m
exit $status
SH
cat >inner.sh <<'SH'
cat m/hello >out &
until [ -e asked ]; do sleep 0.05; done
sort backing >last
: >answer
wait
cat out
exit 3
SH
# others WHAT OPTION...
others()
{
	what=$1
	shift
	export STEMMA_HOME="$T/others.$#.${1:-}"
	rm -f ready asked answer out last
	timeout -k 1 120 $apart sh outer.sh "$STEMMA" run "$@" -- >recorded 2>err
	status=$?
	[ $status = 3 ] || echo "status $status" >>err
	[ $status = 3 ] && [ "$(cat recorded)" = 'hello from afar' ]
	result $? "$what: who does not use a file system that keeps silent goes on" err
	events "$STEMMA_HOME" events
	if grep '"k":"session"' events | grep -q complete/notify; then
		! grep '"k":"gap"' events >gaps
		result $? "$what: and nothing went by" gaps
	else
		grep -q '"k":"gap".*"reason":1\b.*a file system did not respond' events
		result $? "$what: and what went by unrecorded is said" events
	fi
	tail -n 1 events | grep -q '"k":"session_end"'
	result $? "$what: the record has its end" events
}
others "as is usual"
others "by ptrace" --transport=trace
others "with the bytes" --exact
finish
