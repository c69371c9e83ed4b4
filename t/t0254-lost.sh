#!/bin/sh
# Nothing is lost in silence: a record that is removed, a disk that is full, a limit on the size of files. The command does as
# without stemma.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

cd "$T" || exit 1
export HOME="$T" TMPDIR="$T"
many='i=0; while [ $i -lt 120 ]; do i=$((i + 1)); cat /dev/null >/dev/null; done'

# ended HOME: the record can be read, and says how the run and the session ended.
ended()
{
	events "$1" "$T/events" && [ "$(grep -c '"k":"run_end".*"code":7' "$T/events")" = 1 ] &&
		[ "$(grep -c '"k":"session_end"' "$T/events")" = "$(grep -c '"k":"session",' "$T/events")" ]
}

# The record is removed while it is written. What removes it finds it gone; at the end the run's part is there again.
for q in "" -q; do
	rm -rf "${T:?}/home"
	# shellcheck disable=SC2086 # none or one word
	STEMMA_HOME=$T/home "$STEMMA" run $q -- sh -c "cat in; rm -rf '$T/home'; [ ! -e '$T/home' ] || exit 1; sleep 0.2; [ ! -e '$T/home' ] || exit 2; exit 7" \
		>"$T/out" 2>"$T/err$q"
	[ $? = 7 ] || echo "status" >>"$T/err$q"
	ended "$T/home" || echo "the record is not there" >>"$T/err$q"
	[ "$(STEMMA_HOME=$T/home "$STEMMA" log --json | grep -c '"status": 7')" = 1 ] || echo "log does not show it" >>"$T/err$q"
done
sed -i '/No such file/d' "$T/err" "$T/err-q" # of cat
[ "$(wc -l <"$T/err")" = 1 ] && grep -q "^stemma: the record in '.*home' was removed while this ran; a new record with this run was made there" "$T/err" && [ ! -s "$T/err-q" ]
result $? "a record that is removed" "$T/err"

# With the folder that it lay in: nothing is made in its place.
rm -rf "${T:?}/project"
mkdir "$T/project"
STEMMA_HOME=$T/project/.stemma "$STEMMA" run -- sh -c "rm -rf '$T/project'; exit 7" >"$T/out" 2>"$T/err"
echo "$?" >"$T/got"
saved=$(sed -n "s/.*the record of this run is in '\([^']*\)'.*/\1/p" "$T/err")
[ "$(cat "$T/got")" = 7 ] && [ ! -e "$T/project" ] && [ -n "$saved" ] && [ "$(stat -c '%a %u' "$saved")" = "600 $(id -u)" ] &&
	STEMMA_HOME=$T/taken "$STEMMA" import "$saved" >>"$T/err" 2>&1 && [ "$(STEMMA_HOME=$T/taken "$STEMMA" log --json | grep -c '"status": 7')" = 1 ]
result $? "a record that is removed with the folder above it" "$T/err"
[ -z "$saved" ] || rm -f "$saved"

# What others had recorded there is gone, and is not made anew.
STEMMA_HOME=$T/two "$STEMMA" run -- sh -c 'exit 5'
STEMMA_HOME=$T/two "$STEMMA" run -- sh -c "rm -rf '$T/two'; exit 7" 2>"$T/err"
[ "$(STEMMA_HOME=$T/two "$STEMMA" log --json | grep -c '"status": [57]')" = 1 ]
result $? "only the run's own part is kept" "$T/err"

# A limit on the size of files: a soft one is the command's alone; with a hard one the log has more files, as far as that goes.
for limit in 0 2 10; do
	for kind in -S ''; do
		rm -rf "${T:?}/limited"
		{
			# shellcheck disable=SC2086 # none or one word
			(ulimit $kind -f $limit && STEMMA_HOME=$T/limited "$STEMMA" run -- sh -c "$many; exit 7" 2>&1
			echo "status $?") | cat
		} >"$T/err"
		grep -q '^status 7$' "$T/err" || continue 2
		sed -i '/^status/d' "$T/err"
		case $limit$kind in
		*-S) [ ! -s "$T/err" ] && ended "$T/limited" && ! grep -q '"k":"gap"' "$T/events" ;;
		0) grep -q '^stemma: nothing of this run could be recorded: writing the log failed: File too large (ulimit -f)$' "$T/err" || [ "$(id -u)" = 0 ] ;;
		*) ended "$T/limited" && if grep -q '"k":"gap".*"reason":1\b' "$T/events"; then grep -q '^stemma: this run is recorded incompletely: writing the log failed: File too large (ulimit -f); [1-9][0-9]* event\(s are\| is\) missing' "$T/err"; else [ ! -s "$T/err" ]; fi ;;
		esac
		result $? "files of at most $limit blocks ($kind)" "$T/err"
	done
done
# What the limit does to the command is as without stemma.
for how in '' 'trap "" XFSZ; '; do
	(ulimit -f 1 && exec sh -c "${how}exec head -c 100000 /dev/zero >big") 2>/dev/null
	plain=$?
	(ulimit -f 1 && STEMMA_HOME=$T/same exec "$STEMMA" run -q -- sh -c "${how}exec head -c 100000 /dev/zero >big") 2>/dev/null
	[ $? = $plain ] && [ $plain != 0 ]
	result $? "a command that meets the limit ends as without stemma ($plain)"
done

# A full disk: how much is missing and how the run ended is said in the record, for which room is kept.
space=-m
[ "$(id -u)" = 0 ] || space=-Urm
if ! unshare $space sh -c "mount -t tmpfs none '$T'" 2>/dev/null; then
	skip_ "a full disk" "no file system can be mounted here"
else
	mkdir "$T/small"
	for free in 0 8 40; do
		rm -f "$T/done"
		unshare $space sh -c 'mount -t tmpfs -o size=8m none "$1" || exit 77
			STEMMA_HOME=$1/home "$2" run -- true
			rm -f "$1"/home/index*
			dd if=/dev/zero of="$1/ballast" bs=4k 2>/dev/null
			[ $4 = 0 ] || truncate -s -${4}k "$1/ballast"
			STEMMA_HOME=$1/home "$2" run -- sh -c "$5; exit 7" 2>"$3/err"
			echo $? >"$3/got"
			rm "$1/ballast"
			STEMMA_HOME=$1/home "$2" log --json >"$3/log" 2>"$3/err.log"
			rm -rf "$3/full" && cp -r "$1/home" "$3/full"' - "$T/small" "$STEMMA" "$T" $free "$many"
		[ "$(cat "$T/got")" = 7 ] && ended "$T/full" && grep -q '"k":"gap".*"reason":1\b.*No space left' "$T/events" &&
			[ "$(wc -l <"$T/err")" = 1 ] && grep -q '^stemma: this run is recorded incompletely: writing the log failed: No space left on device; [1-9][0-9]* event\(s are\| is\) missing' "$T/err" &&
			[ "$(grep -c '"status": [07]$' "$T/log")" = 2 ]
		result $? "a disk with $free KB" "$T/err"
	done
	# The same where not even the first word finds room.
	unshare $space sh -c 'mount -t tmpfs -o size=64k none "$1" || exit 77
		mkdir -p "$1/home/logs"
		dd if=/dev/zero of="$1/ballast" bs=4k 2>/dev/null
		STEMMA_HOME=$1/home "$2" run -- sh -c "$4; exit 7" 2>"$3/err"
		echo $? >"$3/got"' - "$T/small" "$STEMMA" "$T" "$many"
	[ "$(cat "$T/got")" = 7 ] && [ "$(wc -l <"$T/err")" = 1 ] && grep -q '^stemma: nothing \(of this run could be\|is\) recorded: ' "$T/err"
	result $? "a disk without any room" "$T/err"
fi
finish
