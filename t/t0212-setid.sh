#!/bin/sh
# Set-id programs. Root's runs leave them alone; an ordinary user's run takes their privilege, and says so, but when one
# is itself the command.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

if [ "$(id -u)" != 0 ]; then
	skip_ "set-id programs" "only root can make one"
	finish
fi
STEMMA_T_ONCE=1
cp "$PROGS/p-state" "$T/setid"
chmod 755 "$T"
# Whose rights the program has: the line "ids", with the effective user second.
euid()
{
	sed -n 's/^ids [0-9]* \([0-9]*\) .*/\1/p' "$T/out"
}

# Root starts one that is another user's.
chown $NOBODY "$T/setid" && chmod 4755 "$T/setid"
"$T/setid" all "$T" >"$T/out"
if [ "$(euid)" != $NOBODY ]; then
	skip_ "set-id programs" "set-id programs do not work in $T"
	finish
fi
for command in "$T/setid all $T" "sh -c '$T/setid all $T; true'"; do
	STEMMA_HOME=$T/home sh -c "\"$STEMMA\" run -- $command" >"$T/out" 2>"$T/err"
	[ "$(euid)" = $NOBODY ] && [ ! -s "$T/err" ]
	result $? "root's run leaves the rights to ${command%% *} of a set-id program" "$T/out"
done

# An ordinary user starts one of root's.
if ! user_can; then
	skip_ "an ordinary user's run" "$why"
	finish
fi
user="$as_user env HOME=$T/home STEMMA_HOME=$T/home"
chown 0 "$T/setid" && chmod 4755 "$T/setid"
rm -rf "${T:?}/home"
mkdir -m 777 "$T/home"
$user "$STEMMA" run -- "$T/setid" all "$T" >"$T/out" 2>"$T/err"
[ "$(euid)" = 0 ]
result $? "as the command it has its rights" "$T/out"
events "$T/home" "$T/events" && grep -q '"k":"gap".*"reason":3\b' "$T/events"
result $? "and the record says that it was not looked into" "$T/events"

rm -rf "${T:?}/home"
mkdir -m 777 "$T/home"
$user "$STEMMA" run -- sh -c "$T/setid all $T; exit 9" >"$T/out" 2>"$T/err"
status=$?
[ $status = 9 ] && [ -n "$(euid)" ]
result $? "deeper inside it runs" "$T/out"
events "$T/home" "$T/events" && { [ "$(euid)" = 0 ] || grep -q '"k":"gap".*"reason":3\b' "$T/events"; }
result $? "with its rights, or the record says that it lost them" "$T/events"

# In a user namespace without root's number the kernel leaves the bit alone, with stemma and without.
if $as_user unshare -Ur true 2>/dev/null; then
	rm -rf "${T:?}/home"
	mkdir -m 777 "$T/home"
	$user "$STEMMA" run -- unshare -Ur "$T/setid" all "$T" >"$T/out" 2>"$T/err"
	[ $? = 0 ] && [ ! -s "$T/err" ] && events "$T/home" "$T/events" && ! grep -q '"k":"gap".*"reason":3\b' "$T/events"
	result $? "in a user namespace where its owner is nobody it loses nothing" "$T/err"
else
	skip_ "a set-id program in a user namespace" "an ordinary user may not make one"
fi
finish
