#!/bin/sh
# The other ways to record: --transport=trace and --exact see the same; --capture=tree sees programs only, off nothing, and both
# say so.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

transport_cases()
{
	program p-open read create dirfd dirfd-moved absent high-fd symlink many
	program p-name rename rename-over rename-dir link unlink-open tmpfile-proc truncate
	program p-cwd chdir renamed unshare-threads
	program p-fd exec-writes exec-idles cloexec turns passed-write
	program p-map shared shared-existing copy-file-range
	program p-spawn fork vfork clone3 posix-spawn exec-thread fork-threads execveat script-nested many orphans
	program p-end statuses signals segv last-thread exec-without-first kill-child killed-by-child
	program p-chan pipe-exec fifo fifo-interrupted socketpair unix-stream tcp
	program p-storm signals signals-restart threads
	shell_case "sort x > y" sh 'sort x > y; cat y > z; true' <<-END
		*@dash create DIR/y
		*@sort read DIR/x
		*@sort write DIR/y
		*@cat read DIR/y
		*@cat write DIR/z
		*@* maybe-write DIR/y
		*@* maybe-write DIR/z
	END
	WAIT=1 capture "daemon" "$PROGS/p-end" +daemon DIR
}

if STEMMA_HOME=$T/home "$STEMMA" run --transport=trace -- true 2>"$T/err" && [ ! -s "$T/err" ]; then
	export STEMMA_TRANSPORT=trace
	transport_cases
	unset STEMMA_TRANSPORT
	RUN_OPTIONS=--exact
	if thorough; then
		transport_cases
	else
		program p-open read create
		program p-spawn fork
	fi
	RUN_OPTIONS="--exact --granularity=access"
	program p-open read create many
	program p-fd exec-writes turns
	RUN_OPTIONS=
else
	skip_ "transport trace" "ptrace does not work here: $(head -1 "$T/err")"
fi

for mode in tree off; do
	STEMMA_CAPTURE=$mode OPTIONS="--or-gap tree_only" capture "--capture=$mode: result" sh -c 'sort x >y; cat y | wc -l; exit 4'
	# Programs, and no access of theirs.
	[ "$(grep -c '"k":"access"' "$T/case/events")" = 0 ] && grep -q '"k":"gap".*"reason":9\b' "$T/case/events"
	result $? "--capture=$mode: no accesses, and the record says so" "$T/case/events"
	if [ $mode = tree ]; then
		[ "$(grep -c '"k":"exec"' "$T/case/events")" = 4 ] && [ "$(grep -c '"k":"exit"' "$T/case/events")" = 4 ]
		result $? "--capture=$mode: four programs, four ends" "$T/case/events"
	fi
done
STEMMA_CAPTURE=tree OPTIONS="--or-gap tree_only" capture "--capture=tree: 300 processes" "$PROGS/p-spawn" many DIR
grep -q '"k":"exit"' "$T/case/events"
result $? "--capture=tree: ends are recorded"
finish
