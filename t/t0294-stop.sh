#!/bin/sh
# stemma stop ends the recording of a run that goes on, and not the run; log, show and doctor name what goes on.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

D=$T/w
export STEMMA_HOME=$T/home

await()
{ # COMMAND...: until it succeeds
	i=0
	until "$@" || [ $i -gt 1500 ]; do
		i=$((i + 1))
		sleep 0.02
	done
}

has_standby()
{
	for c in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		[ "$(cat "/proc/$c/comm" 2>/dev/null)" = syscall-standby ] && s=$c && return 0
	done
	return 1
}

begin()
{
	fresh "$D"
	rm -rf "${T:?}/home"
	(cd "$D" && exec "$STEMMA" run -- "$@") >"$T/got" 2>"$T/err" &
	p=$!
	s=
	await has_standby $p
	run=$(tr '\0' ' ' <"/proc/$s/cmdline" | cut -d' ' -f2)
}

begin sh -c 'sort in >before; until [ -e go ]; do sleep 0.02; done; sort x >after; exit 3'
await test -e "$D/before"
"$STEMMA" stop >"$T/list" 2>&1
grep -q "$run.*$s" "$T/list"
result $? "stop lists the run with its standby" "$T/list"
"$STEMMA" stop --json >"$T/list" 2>&1
$PYTHON -c "import json, sys; sys.exit(not any(r['run'] == sys.argv[1] and r['standby'] == int(sys.argv[2]) for r in json.load(sys.stdin)['runs']))" "$run" "$s" <"$T/list"
result $? "as JSON, too" "$T/list"
"$STEMMA" doctor --quick >"$T/list" 2>&1
grep -q '^standby *ok.*at present' "$T/list" && grep '^standby' "$T/list" | grep -q 'has one\|have one'
result $? "doctor names it" "$T/list"
await sh -c '"$1" log 2>/dev/null | grep -q running' - "$STEMMA"
"$STEMMA" log >"$T/list" 2>&1 && "$STEMMA" show @ >>"$T/list" 2>&1
grep -q ' running ' "$T/list" && grep -q "standby: process $s" "$T/list"
result $? "log and show name it" "$T/list"
"$STEMMA" log --json >"$T/list" 2>&1
$PYTHON -c "import json, sys; sys.exit(json.load(sys.stdin)['runs'][0]['standby'] != int(sys.argv[1]))" "$s" <"$T/list"
result $? "log --json has its number" "$T/list"

"$STEMMA" stop nothere >"$T/list" 2>&1
[ $? = 1 ]
result $? "no such run" "$T/list"
"$STEMMA" stop "$(echo "$run" | cut -c 20-26)" >"$T/list" 2>&1
status=$?
ended()
{
	events "$T/home" "$T/few"
	grep -q '"k":"gap".*stemma stop' "$T/few"
}
await ended
: >"$D/go"
wait $p
code=$?
echo "status $code, stop $status: $(cat "$T/list" "$T/err")" >"$T/why"
[ $code = 3 ] && [ $status = 0 ] && [ ! -s "$T/list" ] && [ ! -s "$T/err" ] && cmp -s "$D/after" "$D/after" && [ -s "$D/after" ]
result $? "stopped, the command goes on to its end" "$T/why"
events "$T/home" "$T/events"
grep -e gap -e run_end -e after "$T/events" | cut -c 1-200 >"$T/few"
grep -q '/before"' "$T/events" && ! grep -q '/after"' "$T/events" && grep -q '"k":"run_end".*"code":3\b' "$T/events" &&
	! grep -q '"k":"gap".*"reason":7\b' "$T/few"
result $? "what came before is recorded, what came after is not, and the end is" "$T/few"
[ ! -e "/proc/$s/stat" ]
result $? "the standby is over when the run is" "$T/err"

# --force, while the recorder lives: the run has lost its standby, and nothing else.
begin sh -c 'until [ -e go ]; do sleep 0.02; done; sort x >after; exit 4'
"$STEMMA" stop --force "$run" >"$T/list" 2>&1
status=$?
: >"$D/go"
wait $p
[ $? = 4 ] && [ $status = 0 ] && [ ! -e "/proc/$s/stat" ]
result $? "--force ends the standby, and the run goes on" "$T/list"
events "$T/home" "$T/events"
grep -e gap -e run_end -e after "$T/events" | cut -c 1-200 >"$T/few"
grep -q '/after"' "$T/events" && ! grep -q '"k":"gap".*"reason":[17]\b' "$T/few"
result $? "and is recorded" "$T/few"

# A process that only looks like one, with a name of its own choice: another user's, or with what steers a terminal.
cat >"$T/fake.c" <<'EOF'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) { (void)argv; if (argc == 2) { puts("there"); fflush(stdout); pause(); } return 0; }
EOF
if [ "$(id -u)" = 0 ] && gcc -o "$T/syscall-standby" "$T/fake.c" 2>"$T/err"; then
	begin sh -c 'until [ -e go ]; do sleep 0.02; done'
	chmod 755 "$T"
	as_other() { setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups bash -c 'exec -a syscall-standby "$0" "$1"' "$T/syscall-standby" "$1" >>"$T/there" & }
	: >"$T/there"
	as_other "$run"
	same=$!
	as_other "$(printf '\033]0;title\007................')"
	steers=$!
	as_other ZZZZZZZZZZZZZZZZZZZZZZZZZZ
	latest=$!
	await sh -c '[ "$(grep -c there "$1")" = 3 ]' - "$T/there"
	"$STEMMA" stop >"$T/list" 2>&1
	! LC_ALL=C grep -q "$(printf '[\033\007]')" "$T/list" && grep -q "$run.*$s" "$T/list"
	result $? "what another user names like one steers no terminal" "$T/list"
	"$STEMMA" show "$run" >"$T/list" 2>&1
	grep -q "standby: process $s" "$T/list" && ! grep -q "standby: process $same" "$T/list"
	result $? "nor is it taken for the run's" "$T/list"
	"$STEMMA" stop @ >"$T/list" 2>&1 && "$STEMMA" stop "$run" >>"$T/list" 2>&1 && [ ! -s "$T/list" ] && kill -0 $latest && kill -0 $same
	status=$?
	await ended
	: >"$D/go"
	wait $p
	[ $status = 0 ] && ended
	result $? "and does not keep the run from being stopped" "$T/list"
	# shellcheck disable=SC2086 # numbers
	kill_child TERM $same $steers $latest
else
	skip_ "what another user names like one" "only root sees processes of others, and a compiler is needed"
fi

"$STEMMA" stop @ --json >"$T/list" 2>&1
[ $? = 2 ]
result $? "--json is for the list" "$T/list"
finish
