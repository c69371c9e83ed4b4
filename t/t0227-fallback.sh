#!/bin/sh
# Where something is lacking, the best way that works is taken before the command starts; the record says which and why, and
# the command does not notice.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

real=$STEMMA
# A leak checker looks at its process with ptrace, and takes it for an error if it may not.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# lacking WHAT...: from here on stemma runs where that is so.
lacking()
{
	what=$*
	cat >"$T/lacking" <<-END
		#!/bin/sh
		exec "$PROGS/p-deny" $what -- "$real" "\$@"
	END
	chmod 755 "$T/lacking"
	STEMMA=$T/lacking
}

nothing_lacks()
{
	STEMMA=$real
}

# recorded MODE WHY: what the session and the run in the events say; WHY "" is none.
recorded()
{
	{
		grep '"k":"session"' "$1" | grep -q "\"mode\":\"$2\"" || { echo "the mode is not $2:"; grep '"k":"session"' "$1"; }
		if [ -n "$3" ]; then
			grep '"k":"run"' "$1" | grep -q "\"capture=[^\"]*$3" || { echo "why is not '$3':"; grep '"k":"run"' "$1"; }
		else
			! grep '"k":"run"' "$1" | grep '"capture='
		fi
	} >"$T/why"
	[ ! -s "$T/why" ]
}

if ! "$PROGS/p-deny" kcmp=EPERM -- true 2>"$T/err"; then
	skip_ "what is lacking" "no seccomp filter can be installed here: $(head -1 "$T/err")"
	finish
fi

# ---- everything is seen all the same ----

# One for each kind of stop; more where a way is met first that many go by, and in the suite slow.
few_cases()
{
	if [ "${1:-}" = brief ]; then
		program p-open create
		program p-name rename-over
		program p-spawn fork exec-thread
		program p-end statuses
		program p-chan fifo
		return
	fi
	program p-open create dirfd-moved absent
	program p-name rename-over tmpfile-proc dirfd-renamed dirfd-below
	program p-map private mprotect
	program p-fd exec-writes swapped swapped-shared
	program p-spawn fork vfork posix-spawn exec-thread many orphans
	program p-end statuses signals kill-child
	program p-chan pipe-exec fifo
	shell_case "$what: sort x > y" sh 'sort x > y; cat y > z; true' <<-END
		*@dash create DIR/y
		*@sort read DIR/x
		*@sort write DIR/y
		*@cat read DIR/y
		*@cat write DIR/z
		*@* maybe-write DIR/y
		*@* maybe-write DIR/z
	END
}

while read -r full mode why what; do
	# shellcheck disable=SC2086 # words
	lacking $what
	# How a process ended that a signal killed only its parent is told, where there are no pidfds.
	case $what in
	*pidfd* | docker) OPTIONS='--or-gap exit_unseen' ;;
	*) OPTIONS= ;;
	esac
	if [ -n "$SLOW" ] || { [ "$full" = full ] && thorough; }; then few_cases; else few_cases brief; fi
	recorded "$C/events" "complete/$mode" "$(echo "${why#-}" | tr _ ' ')"
	result $? "without $what: complete/$mode" "$T/why"
done <<'END'
- trace user_notification:_Operation_not_permitted listener=EPERM
- trace user_notification:_Function_not_implemented listener=ENOSYS
full trace the_kernel_has_no_seccomp_user_notification linux-4.18
- trace older_than_Linux_5.5 continue=EINVAL kcmp=EPERM
- trace user_notification:_Operation_not_permitted seccomp=EPERM
full notify - docker
- notify - ptrace=EPERM process_vm_readv=ENOSYS
full notify - pidfd_open=ENOSYS pidfd_getfd=ENOSYS openat2=ENOSYS maps-query=ENOTTY
full notify - statx=ENOSYS close_range=ENOSYS name_to_handle_at=EPERM
END
OPTIONS=
nothing_lacks

# ---- less is seen, and it is said ----

# less LINE MODE WHY GAP: runs $job, whose result must be what it is without stemma.
less()
{
	name="without $what${RUN_OPTIONS:+, $RUN_OPTIONS}"
	rm -rf "${T:?}/less"
	fresh "$T/less"
	(cd "$T/less" && exec sh -c "$job") >"$T/out0" 2>"$T/err0" </dev/null
	plain=$?
	cp "$T/less/y" "$T/y0"
	# shellcheck disable=SC2086 # words
	(cd "$T/less" && export STEMMA_HOME="$T/less/home" && exec "$STEMMA" run ${RUN_OPTIONS:-} -- sh -c "$job") \
		>"$T/out" 2>"$T/err" </dev/null
	status=$?
	{
		[ $status = $plain ] || echo "status $status, not $plain"
		cmp "$T/out0" "$T/out"
		cmp "$T/y0" "$T/less/y"
		if [ -n "$1" ]; then
			[ "$(grep -c '^stemma: ' "$T/err")" = 1 ] || echo "not one line of stemma's"
			grep -q "^stemma: $1" "$T/err" || echo "not said: $1"
		fi
		grep -v '^stemma: ' "$T/err" | cmp "$T/err0" -
		[ $? = 0 ] || cat "$T/err"
		events "$T/less/home" "$T/events" || cat "$T/events.err"
		grep '"k":"run_end"' "$T/events" | grep -q "\"code\":$plain\\b" || { echo "the record does not say how it ended"; tail -3 "$T/events"; }
		tail -n 1 "$T/events" | grep -q '"k":"session_end"' || echo "the record has no end"
		[ -z "$4" ] || grep '"k":"gap"' "$T/events" | grep -q "\"reason\":$4\\b" || { echo "no gap $4"; grep '"k":"gap"' "$T/events"; }
	} >"$T/whys" 2>&1
	recorded "$T/events" "$2" "$3" || cat "$T/why" >>"$T/whys"
	[ ! -s "$T/whys" ]
	result $? "$name: $2" "$T/whys"
}

job='sort x >y; echo one; sleep 0.3; echo two >&2; exit 5'
lacking seccomp=EPERM prctl-seccomp=EPERM ptrace=EPERM
less 'only what goes through the C library is recorded: ' safe/preload 'user notification: Operation not permitted; ptrace: Operation not permitted' 17
grep -q '"k":"exec".*"argv":\["sleep","0.3"\]' "$T/events" && [ "$(grep -c '"k":"exit"' "$T/events")" -ge 2 ]
result $? "the processes that lasted are recorded, and their ends" "$T/events"
lacking seccomp=EPERM prctl-seccomp=EPERM
less 'only what goes through the C library is recorded: .*--exact' safe/preload 'seccomp filters: Operation not permitted' 17
lacking listener=EPERM ptrace=EPERM
less 'only what goes through the C library is recorded: ' safe/preload 'ptrace: Operation not permitted' 17

RUN_OPTIONS=--exact
lacking ptrace=EPERM
less 'bytes per file are not counted: ptrace: Operation not permitted' complete/notify 'ptrace: Operation not permitted' ''
lacking syscall-info=EIO
less 'bytes per file are not counted: the kernel is older' complete/notify 'the kernel is older than Linux 5.3' ''
RUN_OPTIONS=--count
lacking listener=EPERM
less 'bytes per file are not counted: seccomp user notification: Operation not permitted' complete/trace 'user notification: Operation not permitted' ''
lacking ptrace=EPERM seccomp=ENOSYS prctl-seccomp=EINVAL
less 'only what goes through the C library is recorded: ' safe/preload ptrace 17
RUN_OPTIONS=--capture=tree
lacking listener=EPERM
less '' tree/trace 'user notification' 9
RUN_OPTIONS=--transport=notify
less '' complete/trace 'user notification: Operation not permitted' ''
RUN_OPTIONS=--transport=trace
lacking ptrace=EPERM
less '' complete/notify 'ptrace: Operation not permitted' ''
RUN_OPTIONS=

# Somebody else listens already: a container's supervisor, or a run that looks at programs only.
lacking supervisor
"$STEMMA" --version >"$T/out" 2>&1
if [ $? = 77 ]; then
	skip_ "a supervisor around the run" "no listener can be had here"
else
	less '' complete/trace 'another program already uses' 1
fi
nothing_lacks

# Under another tracer.
what='another tracer'
if command -v strace >/dev/null && strace -f -o /dev/null true 2>/dev/null; then
	cat >"$T/lacking" <<-END
		#!/bin/sh
		exec strace -f -o /dev/null "$real" "\$@"
	END
	STEMMA=$T/lacking
	RUN_OPTIONS=--exact
	less 'bytes per file are not counted: ptrace: another tracer' complete/notify 'another tracer' ''
	RUN_OPTIONS=
	nothing_lacks
else
	skip_ "$what" "no strace that works here"
fi

# ---- what a machine can lack ----

if grep -q -e __asan_init -e __tsan_init "$real"; then
	skip_ "no /proc, no /dev/shm" "a sanitizer needs them"
elif [ "$(id -u)" = 0 ] && unshare -m -p -f true 2>/dev/null; then
	for what in 'umount -l /proc' 'true # a /proc of other processes'; do
		cat >"$T/lacking" <<-END
			#!/bin/sh
			exec unshare -m -p -f sh -c '$what
			exec "\$@"' - "$real" "\$@"
		END
		chmod 755 "$T/lacking"
		STEMMA=$T/lacking
		less 'only the run itself is recorded: /proc' off '/proc is not mounted or belongs to another namespace' 9
	done
	cat >"$T/lacking" <<-END
		#!/bin/sh
		exec unshare -m sh -c 'umount -l /dev/shm 2>/dev/null; rm -rf /dev/shm/x; exec "\$@"' - "$real" "\$@"
	END
	what='/dev/shm'
	less '' complete/notify '' ''
	nothing_lacks
else
	skip_ "no /proc, no /dev/shm" "only root can take them away"
fi

# A home that cannot be written.
rm -rf "${T:?}/less"
fresh "$T/less"
mkdir "$T/less/home"
out=$(cd "$T/less" && STEMMA_HOME=/proc/self/home "$STEMMA" run -- sh -c "$job" 2>"$T/err")
[ "$? $out" = "5 one" ] && grep -q '^stemma: nothing is recorded: ' "$T/err" && grep -qx two "$T/err" && [ -s "$T/less/y" ]
result $? "a home that cannot be written" "$T/err"

# Hardly any processes: the command runs, in stemma's own process if need be.
if [ "$(id -u)" = 0 ] || ! command -v prlimit >/dev/null || ! command -v ps >/dev/null; then
	skip_ "hardly any processes" "root has as many as it likes, or there is no prlimit or ps"
else
	for limit in 0 1 2 3 4 5 6; do
		rm -rf "${T:?}/less"
		fresh "$T/less"
		used=$(ps -L -u "$(id -u)" -o pid= | wc -l)
		(cd "$T/less" && STEMMA_HOME=$T/less/home exec prlimit --nproc=$((used - 2 + limit)) "$STEMMA" run -- cat in) >"$T/out" 2>"$T/err"
		status=$?
		[ $status = 0 ] || echo "status $status" >>"$T/err"
		[ $status = 0 ] && cmp -s "$T/out" "$T/less/in"
		result $? "processes: $limit more than there are" "$T/err"
	done
fi

# A user namespace, where an ordinary user has every capability and none outside.
if unshare -Ur true 2>/dev/null; then
	cat >"$T/lacking" <<-END
		#!/bin/sh
		exec unshare -Ur "$real" "\$@"
	END
	chmod 755 "$T/lacking"
	STEMMA=$T/lacking
	what='user namespace'
	program p-open create
	program p-spawn fork many
	less '' complete/notify '' ''
	nothing_lacks
else
	skip_ "in a user namespace" "none can be made here"
fi

# ---- the recorder is killed ----

# Under ptrace too the command goes on: the keeper takes the tracer's place. The command stands in an open meanwhile.
rm -rf "${T:?}/less"
fresh "$T/less"
mkfifo "$T/less/fifo" "$T/less/fifo2"
(cd "$T/less" && STEMMA_HOME=$T/less/home exec "$STEMMA" run --transport=trace -- sh -c '
	(read line <fifo2; sort x >late; echo late) >after & read line <fifo; sort x >y; cat y; exit 5') >"$T/out" 2>"$T/err" &
keeper=$!
# The tracers of the processes that have this test's folder, one line for each process.
each_tracer()
{
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/cwd" 2>/dev/null)" = "$T/less" ] && sed -n 's/^TracerPid:\t\([1-9]\)/\1/p' "$p/status" 2>/dev/null
	done
}
tracers()
{
	each_tracer | sort -u
}
i=0
while [ "$(each_tracer | wc -l)" -lt 2 ] && [ $i -lt 1200 ]; do
	i=$((i + 1))
	sleep 0.05
done
sleep 0.2 # to get from there to the FIFOs
worker=$(tracers)
if [ -n "$worker" ] && kill -9 "$worker" 2>/dev/null; then
	i=0
	while [ "$(tracers)" != $keeper ] && [ $i -lt 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	echo go >"$T/less/fifo"
	wait $keeper
	status=$?
	# What outlives the command is traced by another from then on, which must find it first.
	i=0
	while [ -z "$(tracers)" ] && [ $i -lt 400 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	echo go >"$T/less/fifo2"
	i=0
	while [ ! -s "$T/less/after" ] && [ $i -lt 1200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	events "$T/less/home" "$T/events"
	{
		[ $status = 5 ] || echo "status $status"
		cmp "$T/less/y" "$T/out"
		[ ! -s "$T/err" ] || cat "$T/err"
		[ "$(cat "$T/less/late" 2>&1)" = "$(cat "$T/less/y")" ] || echo "what outlives the command fails"
		grep -q '"k":"gap".*"reason":7\b' "$T/events" || echo "no gap recorder_died"
	} >"$T/why" 2>&1
	[ ! -s "$T/why" ]
	result $? "the tracer is killed: its place is taken" "$T/why"
else
	skip_ "the tracer is killed" "its number is not to be had: '$worker'"
	kill $keeper
fi

# ---- a run inside a run, each in its own way ----

for outer in '' --transport=trace --exact --capture=tree '--capture=tree --transport=trace' --transport=proc; do
	for inner in '' --transport=trace --exact --transport=proc; do
		# For the second user one of each, outside and inside.
		thorough || [ "$outer" = "$inner" ] || continue
		rm -rf "${T:?}/less"
		fresh "$T/less"
		# shellcheck disable=SC2086 # words
		(cd "$T/less" && export STEMMA_HOME="$T/less/home" && exec "$STEMMA" run $outer -- sh -c "'$STEMMA' run $inner -- sh -c 'sort x >y; sleep 0.1; exit 4'; exit \$((\$? + 1))") >"$T/out" 2>"$T/err"
		status=$?
		events "$T/less/home" "$T/events"
		{
			[ $status = 5 ] || echo "status $status"
			[ ! -s "$T/err" ] || cat "$T/err"
			[ ! -s "$T/out" ] || cat "$T/out"
			grep -qx 'a 1' "$T/less/y" || echo "no result"
			[ "$(grep -c '"k":"run"' "$T/events")" = 2 ] || echo "$(grep -c '"k":"run"' "$T/events") runs"
			[ "$(grep '"k":"run_end"' "$T/events" | grep -c '"code":[45]\b')" = 2 ] || echo "not two ends"
		} >"$T/why"
		[ ! -s "$T/why" ]
		result $? "run ${inner:-complete} inside run ${outer:-complete}" "$T/why"
	done
done

# ---- programs with a privilege ----

if [ "$(id -u)" = 0 ] && [ "$who" != nobody ]; then
	if ! user_can; then
		skip_ "a program that would lose its privilege" "$why"
		finish
	fi
	chmod 755 "$T"
	mkdir -m 755 "$T/bin"
	cp "$PROGS/p-state" "$T/bin/setid"
	chown 0 "$T/bin/setid" && chmod 4755 "$T/bin/setid"
	# shellcheck disable=SC2016 # of the inner shell
	run_user()
	{
		rm -rf "${T:?}/home"
		mkdir -m 777 "$T/home"
		$as_user env HOME="$T/home" STEMMA_HOME="$T/home" PATH="$T/bin:$PATH" "$STEMMA" run "$@" >"$T/out" 2>"$T/err"
		status=$?
		events "$T/home" "$T/events"
	}
	euid()
	{
		sed -n 's/^ids [0-9]* \([0-9]*\) .*/\1/p' "$T/out"
	}
	run_user -- setid all "$T/bin"
	if ! $as_user "$T/bin/setid" all "$T/bin" | grep -q '^ids [0-9]* 0 '; then
		skip_ "a program that would lose its privilege" "set-id programs do not work in $T"
	else
		for line in "setid all $T/bin" "$T/bin/setid all $T/bin" "env -u NO A=b setid all $T/bin" "nice -n 1 setid all $T/bin" \
			"timeout -k 5 20 setid all $T/bin" "env -i nice timeout --signal KILL 20 $T/bin/setid all $T/bin" "stdbuf -o L setid all $T/bin" \
			"nohup setsid -w setid all $T/bin" "sh -c 'setid all $T/bin; exit 0'"; do
			eval "run_user -- $line"
			[ "$(euid)" = 0 ] && grep -q "^stemma: only what goes through the C library is recorded: 'setid' is set-user-ID and would run without its privilege" "$T/err" &&
				grep -q '"k":"gap".*"reason":3\b' "$T/events" && recorded "$T/events" safe/preload "'setid' is set-user-ID and would run without its privilege"
			result $? "$line" "$T/err"
		done
		# Met later: said at the end, with the way out of it; and that works.
		later="i=0; while [ \$i -lt 1 ]; do i=1; setid all $T/bin; done"
		for way in '' --exact --transport=trace; do
			# shellcheck disable=SC2086 # none or one word
			run_user $way -- sh -c "$later"
			[ "$status $(euid)" = "0 $NOBODY" ] && [ "$(grep -c '^stemma: ' "$T/err")" = 1 ] && grep -q '^stemma: .*privilege.*--transport=proc' "$T/err" &&
				grep -q '"k":"gap".*"reason":3\b' "$T/events"
			result $? "met later${way:+, $way}: it is said how it keeps its privilege" "$T/err"
		done
		run_user --transport=proc -- sh -c "$later"
		[ "$status $(euid)" = "0 0" ] && [ ! -s "$T/err" ]
		result $? "and so it does" "$T/err"
	fi
	if command -v setcap >/dev/null && cp "$PROGS/p-state" "$T/bin/capable" && setcap cap_net_raw+ep "$T/bin/capable" 2>/dev/null; then
		run_user -- capable all "$T/bin"
		grep -q "^stemma: only what goes through the C library is recorded: 'capable'" "$T/err" && recorded "$T/events" safe/preload "'capable'"
		result $? "a program with file capabilities" "$T/err"
		run_user -- sh -c ":; capable all $T/bin"
		grep -q '"k":"gap".*"reason":3\b' "$T/events"
		result $? "a program with file capabilities, met later" "$T/events"
	else
		skip_ "a program with file capabilities" "setcap is not here or does not work in $T"
	fi
fi

# ---- levels ----

job='sort x >y; sleep 0.05; exit 3'
what=nothing
for level in '1 off 9' '2 tree/notify 9' '3 complete/notify'; do
	# shellcheck disable=SC2086 # words
	set -- $level
	RUN_OPTIONS=--level=$1
	less '' "$2" '' "${3:-}"
	# Level 3 counts the bytes of each file, where the programs can be made to.
	if [ "$1" = 3 ] && [ "$(uname -m)" = x86_64 ]; then
		grep -q '"k":"io"' "$T/events"
	else
		! grep -q '"k":"io"' "$T/events"
	fi
	result $? "bytes by file at level $1" "$T/events"
done
for wrong in '--level=1 --capture=tree' '--level=2 --exact' '--level=3 --capture=complete' '--level=4' '--level=2 --transport=proc --capture=tree'; do
	# shellcheck disable=SC2086 # words
	"$STEMMA" run $wrong -- touch "$T/ran" 2>"$T/err"
	[ $? = 2 ] && [ ! -e "$T/ran" ] && grep -q level "$T/err"
	result $? "run $wrong is a mistake" "$T/err"
done
finish
