# shellcheck shell=sh
# lib.sh - the frame of the capture tests (sh; sourced by t/t02*.sh). TAP on standard output.
#
# meson gives STEMMA (the program), STEMMA_EVTEXT and STEMMA_PROGS (the folder of p-*); without them the script looks in the
# build folder $BUILD, or build/. As root each script runs twice: as root, and as an ordinary user.
# Functions: needs_code, needs_count, case_, capture, shell_case, ok, not_ok, skip_, thorough, finish.

set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
# shellcheck source=t/kill.sh
. "$here/t/kill.sh"
script=$here/t/$(basename "$0")
BUILD=${BUILD:-$here/build}
STEMMA=${STEMMA:-$BUILD/src/cmd/stemma}
EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext}
PROGS=${STEMMA_PROGS:-$BUILD/tests/prog}
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
NOBODY=65534
SLOW=${STEMMA_SLOW:-}

[ -x "$STEMMA" ] && [ -x "$EVTEXT" ] || {
	echo "Bail out! no stemma at $STEMMA or no stemma-evtext at $EVTEXT"
	exit 1
}

T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
T=$(cd "$T" && pwd -P)
CHECK=$T/check_capture.pyc # it is used for each case, so it is compiled once
$PYTHON -c 'import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[2], doraise=True)' "$here/tests/prog/check_capture.py" "$CHECK" || {
	echo "Bail out! the checker cannot be compiled"
	exit 1
}
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
n=${STEMMA_T_FIRST:-0}
who=${STEMMA_T_WHO:-$(id -un)}
failed=0
# The tests of this script are of code that is put into programs; of code that counts.
needs_code()
{
	case $(uname -m) in
	x86_64) ;;
	*)
		echo "1..0 # SKIP there is no code to put into programs of this machine ($(uname -m))"
		exit 0
		;;
	esac
}

needs_count()
{
	needs_code
	if ! "$STEMMA" run --count -- true >/dev/null 2>&1; then
		echo "Bail out! stemma does not run"
		exit 1
	fi
}

# The environment of the runs: the same for both, and nothing of the test's own.
unset STEMMA_EVTEXT STEMMA_PROGS STEMMA_T_FIRST STEMMA_T_WHO STEMMA_HOME STEMMA_SLOW

ok()
{
	n=$((n + 1))
	echo "ok $n - $who: $1"
}

# not_ok NAME [FILE]: with the lines of FILE as diagnosis.
not_ok()
{
	n=$((n + 1))
	failed=$((failed + 1))
	echo "not ok $n - $who: $1"
	[ -z "${2:-}" ] || sed 's/^/# /' "$2" | cut -c 1-600
}

skip_()
{
	n=$((n + 1))
	echo "ok $n - $who: $1 # SKIP $2"
}

# result STATUS NAME [FILE]
result()
{
	if [ "$1" = 0 ]; then ok "$2"; else not_ok "$2" "${3:-}"; fi
}

# clear FOLDER: gone, whatever modes a program left in it.
clear()
{
	rm -rf "${1:?}" 2>/dev/null && return
	chmod -R u+rwx "$1"
	rm -rf "$1"
}

page=$(head -c 8192 /dev/zero | tr '\0' p)
# The folder a case works in, made anew: $T/NAME/d.
fresh_now()
{
	clear "$1"
	mkdir -p "$1/sub"
	echo "hello in" >"$1/in"
	echo "hello in2" >"$1/in2"
	printf %s "$page" >"$1/page"
	echo "b 2
a 1
c 3" >"$1/x"
}

# And old enough for a recorder: file times have the grain of the kernel's tick, what is written within it could leave them as
# they are.
fresh()
{
	fresh_now "$1"
	sleep 0.03
}

# same_bytes A B: that both are empty, the ordinary case, takes no process to see.
same_bytes()
{
	{ [ -e "$1" ] && [ -e "$2" ] && [ ! -s "$1" ] && [ ! -s "$2" ]; } || cmp "$1" "$2"
}

# events HOME OUT: the events of all segments under HOME.
events()
{
	find "$1" -name '*.stl' -exec "$EVTEXT" dump {} + >"$2" 2>"$2.err"
	[ -s "$2" ] || [ -s "$2.err" ] || echo "no log" >"$2.err"
	[ ! -s "$2.err" ]
}

# capture NAME COMMAND...: runs the command in a fresh folder $D, plain and recorded, and checks that both end
# alike and print the same, and that the record holds the truth. A word DIR in the command, and @DIR@ in a word, stand for the
# folder.
# $WAIT: wait until descriptor 9 has seen the word done. $EXPECT: a file with more truth lines, DIR in them the folder.
# $OPTIONS: options of the checker. $RUN_OPTIONS: of stemma run.
capture()
{
	name=$1
	shift
	C=$T/case
	D=$C/d
	clear "$C"
	# The arguments with DIR put in, kept apart from the shell's splitting.
	for a; do
		case $a in
		DIR) a=$D ;;
		*@DIR@*) a=$(printf %s "$a" | sed "s|@DIR@|$D|g") ;;
		esac
		set -- "$@" "$a"
		shift
	done
	fresh_now "$D"
	: >"$C/truth0"
	(cd "$D" && exec "$@") 9>>"$C/truth0" >"$C/out0" 2>"$C/err0" </dev/null
	plain=$?
	if grep -q '^[^ ]* skip ' "$C/truth0"; then
		skip_ "$name" "$(sed -n 's/^skip: //p' "$C/err0" | head -1)"
		return
	fi
	# 98, 99: a call that must work did not (truth.c); 2: there is no such case.
	case $1:$plain in
	"$PROGS"/*:98 | "$PROGS"/*:99 | "$PROGS"/*:2)
		not_ok "$name: it fails without the recorder, too" "$C/err0"
		return
		;;
	esac
	[ -z "${WAIT:-}" ] || wait_for_done "$C/truth0"
	fresh "$D"
	: >"$C/truth"
	(cd "$D" && export STEMMA_HOME="$C/home" && exec "$STEMMA" run ${RUN_OPTIONS:-} -- "$@") 9>>"$C/truth" >"$C/out" 2>"$C/err" </dev/null
	status=$?
	# What it depends on may be so once, and not the next time (which number a new file gets).
	if [ $status = 77 ] && grep -q '^skip: ' "$C/err"; then
		skip_ "$name" "$(sed -n 's/^skip: //p' "$C/err" | head -1)"
		return
	fi
	: >"$C/why"
	if [ -n "${WAIT:-}" ]; then
		wait_for_done "$C/truth"
		wait_for_end "$C/home"
	fi
	if [ $status != $plain ]; then
		echo "status $status, plain $plain" >>"$C/why"
		head -5 "$C/err" >>"$C/why"
	else
		same_bytes "$C/out0" "$C/out" >>"$C/why" 2>&1 || diff "$C/out0" "$C/out" | head -20 >>"$C/why"
		same_bytes "$C/err0" "$C/err" >>"$C/why" 2>&1 || head -5 "$C/err" >>"$C/why"
	fi
	[ -z "${EXPECT:-}" ] || sed "s|DIR|$D|g" "$EXPECT" >>"$C/truth"
	if ! events "$C/home" "$C/events"; then
		echo "the log is not whole:" >>"$C/why"
		head -5 "$C/events.err" >>"$C/why"
	fi
	ending="--status $status"
	[ $status -le 128 ] || [ -n "${NO_SIGNAL:-}" ] || ending="--signal $((status - 128))"
	# shellcheck disable=SC2086 # options are words
	$PYTHON -S "$CHECK" --truth "$C/truth" --dir "$D" --ignore "$C/truth" $ending ${OPTIONS:-} "$C/events" >>"$C/why" 2>&1
	# A recorder that gets no processor for long says so; that is no fault of the record.
	if [ -s "$C/why" ] && [ "${crowded:-0}" -lt 2 ] && grep -q 'than there was room for' "$C/events"; then
		crowded=$((${crowded:-0} + 1))
		capture "$name" "$@"
		crowded=0
		return
	fi
	if [ -s "$C/why" ]; then
		not_ok "$name" "$C/why"
		if [ -n "${KEEP:-}" ]; then
			mkdir -p "$KEEP/$who"
			rm -rf "${KEEP:?}/$who/$name"
			cp -r "$C" "$KEEP/$who/$name"
		fi
	else
		ok "$name"
	fi
}

# Waits for the line `done`, for as long as a slow machine may need.
wait_for_done()
{
	for _ in $(seq 600); do
		grep -q ' done$' "$1" && return
		sleep 0.05
	done
	echo "the program did not say done" >>"$C/why"
}

# Waits until the last session of HOME has its end.
wait_for_end()
{
	for _ in $(seq 600); do
		events "$1" "$C/wait" && tail -1 "$C/wait" | grep -q '"k":"session_end"' && return
		sleep 0.05
	done
	echo "the record did not end" >>"$C/why"
}

# program PROG [CASE...]: a test for each of the program's cases, or for those named.
program()
{
	prog=$1
	shift
	if [ ! -x "$PROGS/$prog" ]; then
		skip_ "$prog" "not built: the tool chain for it is not here"
		return
	fi
	for c in ${*:-$("$PROGS/$prog")}; do
		case " ${ONLY:-$c} " in
		*" $c "*) capture "$prog $c" "$PROGS/$prog" "$c" DIR ;;
		esac
	done
}

# shell_case NAME SHELL SCRIPT: the script in SHELL; the truth lines come on standard input.
shell_case()
{
	cat >"$T/expect"
	if ! command -v "$2" >/dev/null; then
		skip_ "$1" "no $2 here"
		return
	fi
	EXPECT=$T/expect capture "$1" "$(command -v "$2")" -c "$3"
}

# Whether root can run the programs as an ordinary user, with $as_user; if not, $why.
user_can()
{
	as_user="setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups"
	why='setpriv is missing'
	command -v setpriv >/dev/null || return 1
	why="an ordinary user cannot reach $STEMMA"
	$as_user test -x "$STEMMA" -a -r "$script"
}

# Whether everything is to be gone through, not a choice that stands for the rest: in the suite slow, and for the first of two
# users. What a program may do decides little of what is seen of it; the second has one case of each kind.
thorough()
{
	[ -n "$SLOW" ] || [ "$who" != nobody ]
}

# The end of a script: as root the same again for an ordinary user, then the plan.
finish()
{
	if [ "$(id -u)" = 0 ] && [ -z "${STEMMA_T_ONCE:-}" ] && [ "$who" != nobody ]; then
		if user_can; then
			mkdir "$T/user"
			chmod 777 "$T/user"
			chmod 755 "$T"
			STEMMA_T_FIRST=$n STEMMA_T_WHO=nobody STEMMA="$STEMMA" STEMMA_EVTEXT="$EVTEXT" STEMMA_PROGS="$PROGS" \
				STEMMA_SLOW="$SLOW" TMPDIR="$T/user" HOME="$T/user" XDG_RUNTIME_DIR= $as_user /bin/sh "$script" >"$T/user.tap"
			grep -v '^1\.\.' "$T/user.tap"
			n=$(sed -n 's/^1\.\.//p' "$T/user.tap")
			failed=$((failed + $(grep -c '^not ok' "$T/user.tap")))
			[ -n "$n" ] || {
				echo "Bail out! the run as an ordinary user did not end"
				exit 1
			}
		else
			skip_ "as an ordinary user" "$why"
		fi
	fi
	echo "1..$n"
	[ $failed = 0 ]
	exit
}
