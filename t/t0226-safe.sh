#!/bin/sh
# --capture=safe: a library in the programs, and nothing that could stop them. What it sees is true, what it cannot see is said,
# and nobody notices it but by the two variables that take it along.
# shellcheck source=tests/prog/lib.sh disable=SC2086 # cases are words
. "$(dirname "$0")/../tests/prog/lib.sh"

RUN_OPTIONS=--capture=safe
OPTIONS='--allow-gap by_library --allow-gap no_bytes'

STEMMA_HOME=$T/first "$STEMMA" run $RUN_OPTIONS -- true >"$T/why" 2>&1 && events "$T/first" "$T/events" &&
	grep -q '"mode":"safe/preload"' "$T/events" && grep -q '"k":"gap","p":1,"reason":17' "$T/events"
result $? "a run is recorded, and each program says how it was seen" "$T/why"

# Programs whose truth is known. Not p-open libs, which reads the library itself; nor what only a stop of the call shows.
program p-open read create creat openat2 openat2-in-root rdwr append trunc rewrite absent failing efault path-only symlink devices \
	high-fd many long-path beyond-path-max odd-names
program p-name rename rename-over exchange rename-dir link linkat unlink-open unlinkat dirs mknod tmpfile-proc truncate ftruncate
program p-cwd chdir deleted fork
program p-fd dup dup-reused fork-child-writes exec-writes exec-idles exec-reads cloexec turns passed-write passed-read
program p-map shared shared-existing private shared-child sendfile splice copy-file-range
program p-spawn fork fork-exec vfork system exec-chain exec-empty-env exec-failing execveat fexecve exec-thread fork-threads \
	open-threads many late-wait deep script script-nested
program p-end statuses segv abort last-thread exit-in-thread exec-without-first
program p-chan pipe pipe-exec fifo socketpair unix-stream tcp udp sysv
# What recorders have broken.
program p-keep exit cancel threads handler-io vfork-table posix-spawn close-all descriptors-5000 forks-200-deep fork-late forks-over dlopen
program p-keep-nopie cancel handler-io
program p-keep-cxx
program p-keep-asan threads dlopen
program p-keep-tsan threads handler-io
OPTIONS="$OPTIONS --or-gap lost" program p-keep filter-kills filter-traps
for kind in static musl; do
	OPTIONS="$OPTIONS --or-gap without_library" program p-open-$kind read create
	OPTIONS="$OPTIONS --or-gap without_library" program p-spawn-$kind fork-exec
done

# Bytes are those that the calls returned, wherever the totals of the kernel prove that these were all.
for c in $("$PROGS/p-io"); do
	D=$T/bytes/d
	rm -rf "$T/bytes"
	mkdir -p "$D"
	seq 1000 >"$D/given"
	(cd "$D" && STEMMA_HOME=$T/bytes/home exec "$STEMMA" run $RUN_OPTIONS -- "$PROGS/p-io" $c) 9>"$T/bytes/truth" >"$T/why" 2>&1 <"$D/given"
	status=$?
	events "$T/bytes/home" "$T/events" || cat "$T/events.err" >>"$T/why"
	if [ $c = killed ]; then
		# What was under way may be done or not: counts are there, and nothing is claimed of the file.
		[ $status = 137 ] && grep -q '"k":"io".*"bytes":2000\b' "$T/events" && ! grep -q '"bytes_read":2000' "$T/events"
		result $? "bytes: $c"
		continue
	fi
	[ "$(cat "$T/bytes/truth")" ] && [ $status = 0 ] || echo "status $status" >>"$T/why"
	$PYTHON "$here/tests/prog/check_bytes.py" "$T/events" "$D" "$T/bytes/truth" >>"$T/why" 2>&1
	[ ! -s "$T/why" ]
	result $? "bytes: $c" "$T/why"
done

# A script of ordinary tools.
D=$T/tools
fresh "$D"
cat >"$D/job.sh" <<'SH'
sort -r in >out
cat out | tr h j >letters
cp letters copy
{ cat x; true; cat in2; } >both
mv copy kept
SH
(cd "$D" && STEMMA_HOME=$T/tools.home "$STEMMA" run $RUN_OPTIONS -- sh job.sh) >"$T/why" 2>&1
export STEMMA_HOME="$T/tools.home"
for want in 'out made by sort -r in' 'letters made by cat out | tr h j' 'kept made by cp letters copy' 'letters from out' 'both from in2, x'; do
	# shellcheck disable=SC2086 # words
	set -- $want
	file=$1
	shift
	(cd "$D" && "$STEMMA" why "$file") >"$T/got" 2>&1
	case $1 in
	made) grep -qF "$*" "$T/got" ;;
	from)
		shift
		bad=0
		for f in "$@"; do
			(cd "$D" && "$STEMMA" lineage "$file") 2>&1 | grep -q "─ ${f%,}@{1}" || bad=1
		done
		[ $bad = 0 ]
		;;
	esac
	result $? "tools: $want" "$T/got"
done
unset STEMMA_HOME

# The variables that take the library along are changed, emptied, taken away, and shared with other libraries.
D=$T/env
fresh "$D"
preload=
for l in /usr/lib/*/libjemalloc.so.2; do
	[ -e "$l" ] && preload=$l
done
cat >"$D/job.sh" <<SH
env -i /bin/cat in >o1
LD_PRELOAD= /bin/cat o1 >o2
env -u LD_PRELOAD -u STEMMA_SAFE /bin/cat o2 >o3
env LD_PRELOAD=$preload sh -c 'cat o3 >o4; echo "\$LD_PRELOAD" >shown'
SH
(cd "$D" && STEMMA_HOME=$T/env.home "$STEMMA" run $RUN_OPTIONS -- sh job.sh) >"$T/why" 2>&1
[ ! -s "$T/why" ] && cmp "$D/in" "$D/o4" >>"$T/why" 2>&1
result $? "other environments: nothing is said, and the result is the same" "$T/why"
bad=0
for i in 1 2 3 4; do
	STEMMA_HOME=$T/env.home "$STEMMA" why "$D/o$i" >>"$T/why" 2>&1 || { bad=1; break; }
	STEMMA_HOME=$T/env.home "$STEMMA" why "$D/o$i" | grep -q 'cat' || bad=1
done
[ $bad = 0 ]
result $? "other environments: each program was seen" "$T/why"
if [ -n "$preload" ]; then
	grep -qF "$preload" "$D/shown"
	result $? "other environments: another library stays where it was" "$D/shown"
else
	skip_ "other environments: another library stays where it was" "no libjemalloc here"
fi

# Killed in the middle: what it had done is there.
D=$T/killed
fresh "$D"
(cd "$D" && STEMMA_HOME=$T/killed.home "$STEMMA" run $RUN_OPTIONS -- sh -c 'exec 5<in; exec 6>half; echo word >&6; read line <&5; kill -9 $$') >"$T/why" 2>&1
[ $? = 137 ] && events "$T/killed.home" "$T/events" && grep -q '"k":"exit".*"ending":2,"code":9' "$T/events" &&
	(cd "$D" && STEMMA_HOME=$T/killed.home "$STEMMA" why half) 2>>"$T/why" | grep -q 'from in@{1}'
result $? "killed in the middle" "$T/why"

# A program that does not carry it, under a shell and by itself.
if [ -x "$PROGS/p-io-static" ]; then
	D=$T/static
	fresh "$D"
	(cd "$D" && STEMMA_HOME=$T/static.home "$STEMMA" run $RUN_OPTIONS -- sh -c "'$PROGS/p-io-static' plain 9>truth; true") >"$T/why" 2>&1
	events "$T/static.home" "$T/events" && grep -q '"k":"gap".*"reason":18' "$T/events" &&
		grep -q '"k":"exec".*"argv":\[[^]]*p-io-static","plain"\]' "$T/events"
	result $? "a static program is there, and it is said that it was not seen" "$T/why"
else
	skip_ "a static program" "not built: the tool chain for it is not here"
fi

# A full /dev/shm is no matter: nothing of it lies there.
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	D=$T/full
	fresh "$D"
	(cd "$D" && unshare -m sh -c "mount -t tmpfs -o size=64k tmpfs /dev/shm && dd if=/dev/zero of=/dev/shm/fill bs=1k count=64 2>/dev/null
		STEMMA_HOME=$T/full.home exec '$STEMMA' run $RUN_OPTIONS -- cat in") >"$T/got" 2>"$T/why"
	[ $? = 0 ] && [ ! -s "$T/why" ] && cmp "$T/got" "$D/in" >>"$T/why" 2>&1 && events "$T/full.home" "$T/events" &&
		grep -q '"k":"session_end"' "$T/events"
	result $? "a full /dev/shm" "$T/why"
else
	skip_ "a full /dev/shm" "only root can fill one of its own"
fi

# Nothing is left behind, and no descriptor is seen.
STEMMA_HOME=$T/left "$STEMMA" run $RUN_OPTIONS -- sh -c 'ls /proc/self/fd | wc -l; [ -e "${STEMMA_SAFE%:*}" ] && echo "${STEMMA_SAFE%:*}" >&2' >"$T/got" 2>"$T/why"
plain=$(sh -c 'ls /proc/self/fd | wc -l')
place=$(cat "$T/why")
[ "$(cat "$T/got")" = "$plain" ] && [ -n "$place" ] && [ ! -e "$place" ]
result $? "no descriptor, and nothing left behind" "$T/why"

# Set-id programs keep their privilege: an ordinary user starts one of root's.
if [ "$(id -u)" = 0 ] && user_can; then
	cp "$PROGS/p-state" "$T/setid"
	chmod 755 "$T"
	chown 0 "$T/setid" && chmod 4755 "$T/setid"
	mkdir -m 777 "$T/setid.home"
	$as_user "$T/setid" all "$T" >"$T/out" 2>&1
	if [ "$(sed -n 's/^ids [0-9]* \([0-9]*\) .*/\1/p' "$T/out")" = 0 ]; then
		$as_user env HOME="$T/setid.home" STEMMA_HOME="$T/setid.home" "$STEMMA" run $RUN_OPTIONS -- sh -c "$T/setid all $T; exit 9" >"$T/out" 2>"$T/why"
		[ $? = 9 ] && [ "$(sed -n 's/^ids [0-9]* \([0-9]*\) .*/\1/p' "$T/out")" = 0 ] && [ ! -s "$T/why" ]
		result $? "a set-id program has its privilege" "$T/out"
		events "$T/setid.home" "$T/events" && grep -q '"k":"gap".*"reason":18' "$T/events" && grep -q '"k":"exec".*setid' "$T/events"
		result $? "and the record says that it was not looked into" "$T/events"
	else
		skip_ "a set-id program has its privilege" "set-id programs do not work in $T"
	fi
else
	skip_ "a set-id program has its privilege" "only root can make one"
fi
# The library stays in programs whose record is gone (a cleared environment): they run as if it were not there.
library=$(find "${STEMMA%/src/cmd/stemma}/src/capture/preload/library" -name libstemma-safe.so 2>/dev/null | head -n 1)
if [ -n "$library" ]; then
	[ "$(LD_PRELOAD=$library env sh -c 'env echo a; exec echo b' 2>&1 | paste -sd,)" = a,b ]
	result $? "the library without a record"
else
	skip_ "the library without a record" "it is not in the build folder"
fi
finish
