#!/bin/sh
# The memory that --capture=safe shares with programs: what one of them does to it costs the record and nothing else, and who
# becomes another user or confines itself has it no more.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

D=$T/d
# run CASE [ARGUMENT]: p-region under --capture=safe in an empty folder; its words in $T/got, status in $status.
run()
{
	rm -rf "$D" "${T:?}/home"
	mkdir -m 777 "$D"
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run --capture=safe -- "$PROGS/p-region" "$@") >"$T/got" 2>"$T/err" </dev/null
	status=$?
	{
		echo "status $status"
		cat "$T/got" "$T/err"
	} >"$T/why"
}

# Who made FILE is in the record.
seen()
{
	(cd "$D" && STEMMA_HOME=$T/home "$STEMMA" why "$1") >>"$T/why" 2>&1
}

gap()
{
	STEMMA_HOME=$T/home "$STEMMA" sql "SELECT 1 FROM gap WHERE reason = 'lost' AND text LIKE '%$1%'" 2>>"$T/why" | grep -q 1
}

# words CASE WORD...: each line of the output, and nothing else.
words()
{
	shift
	printf '%s\n' "$@" | diff - "$T/got" >>"$T/why" 2>&1
}

run resize
[ $status = 0 ] && words resize 'open: done' 'mode: 600' 'truncate: Operation not permitted' 'shrink: Operation not permitted' \
	'grow: Operation not permitted' 'open and truncate: Operation not permitted' 'extend: Operation not permitted' \
	'unseal: Operation not permitted' && [ ! -s "$T/err" ] && seen after
result $? "nobody can change its size, and the run is recorded" "$T/why"

for c in holes 'scribble 1' 'scribble 2' 'scribble 3'; do
	# shellcheck disable=SC2086 # two words
	run $c
	[ $status = 0 ] && [ ! -s "$T/err" ] && [ -s "$D/after" ] && STEMMA_HOME=$T/home "$STEMMA" fsck >>"$T/why" 2>&1 &&
		STEMMA_HOME=$T/home "$STEMMA" log >>"$T/why" 2>&1
	result $? "$c: the command and the recorder go on" "$T/why"
	gap ''
	result $? "$c: the record says that something is missing" "$T/why"
done

run keeps
[ $status = 0 ] && words keeps mapped && seen after
result $? "a process that keeps its user keeps it" "$T/why"

for c in setuid seteuid setreuid setresuid raw; do
	run $c
	if [ $status = 77 ]; then
		skip_ "$c" "$(sed -n 's/^skip: //p' "$T/err")"
		continue
	fi
	[ $status = 0 ] && words $c "$c: done" 'not mapped' 'open: Permission denied' 0 && seen before && gap 'it changed its user'
	result $? "$c: another user does not have it, nor do its children" "$T/why"
done

run filter
[ $status = 0 ] && words filter 'filter: done' 'not mapped' && seen before && gap 'filter'
result $? "a program with a filter for system calls does not have it" "$T/why"
run filter-fails
[ $status = 0 ] && words filter 'filter: Invalid argument' mapped && seen before && seen after
result $? "where the filter could not be set, it has it again" "$T/why"
run landlock
if [ $status = 77 ]; then
	skip_ "Landlock" "$(sed -n 's/^skip: //p' "$T/err")"
else
	[ $status = 0 ] && words landlock 'restrict: done' 'not mapped' 'open: Permission denied' 0 && seen before && gap 'confined'
	result $? "a program under Landlock does not have it, nor do its children" "$T/why"
fi

run stale
[ $status = 0 ] && words stale 'end of pipe: 0' 'status: 4'
result $? "a variable that leads elsewhere does no harm" "$T/why"

# Another user of the machine, and programs that a run of root's starts as another user.
if [ "$(id -u)" = 0 ] && user_can; then
	rm -rf "$D" "${T:?}/home"
	mkdir -m 777 "$D"
	# shellcheck disable=SC2016 # for the command
	(cd "$D" && STEMMA_HOME=$T/home exec "$STEMMA" run --capture=safe -- sh -c "cat /dev/null >before
		$as_user sh -c ': >>\${STEMMA_SAFE%:*}'; $as_user truncate -s 0 \"\${STEMMA_SAFE%:*}\"; cat /dev/null >after; exit 6") >"$T/got" 2>"$T/err"
	status=$?
	cat "$T/err" >"$T/why"
	[ $status = 6 ] && [ "$(grep -ci 'permission denied' "$T/err")" = 2 ] && seen before && seen after
	result $? "another user's programs cannot open it" "$T/why"
else
	skip_ "another user's programs cannot open it" "only root can run programs as another user"
fi

# Systems where memory with a descriptor is not executable, or has to say so.
if [ "$(id -u)" = 0 ] && unshare -pf true 2>/dev/null && [ -e /proc/sys/vm/memfd_noexec ]; then
	for value in 0 1 2; do
		rm -rf "$D" "${T:?}/home"
		mkdir -m 777 "$D"
		(cd "$D" && STEMMA_HOME=$T/home exec unshare -pf --mount-proc sh -c "echo $value >/proc/sys/vm/memfd_noexec && '$STEMMA' run --capture=safe -- cp /dev/null after") >"$T/why" 2>&1
		[ ! -s "$T/why" ] && seen after && grep -q 'made by cp' "$T/why"
		result $? "vm.memfd_noexec = $value" "$T/why"
	done
else
	skip_ "vm.memfd_noexec" "only root can set it, in a namespace of its own, where the kernel has it"
fi
finish
