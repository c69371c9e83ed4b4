# shellcheck shell=sh
# lib.sh - the frame of the black-box tests of the commands (sourced by t/t03*.sh). TAP on standard output.
#
# STEMMA is the program and STEMMA_EVTEXT the tool that makes logs from text; without them, those of the build folder
# $BUILD, or build/. Each script gets an empty folder $T, in it a record $STEMMA_HOME, a home and a folder work, where it
# stands. Nothing of the caller's settings or environment reaches stemma.
#
#   cmd STATUS ARG...   stemma with these arguments ends with that status; its output is in out and err
#   history             Python on standard input that builds logs with t/history.py, which it has imported
#   check WHAT          says whether the command before held
#   says FILE WORDS...  the file has a line with these words, and one with the next ones; says_not FILE WORDS: it has none
#   is FILE TEXT        it is this text
#   lines FILE N        it has so many lines
#   holds WORD [FOLDER] the record, or the folder, has the word somewhere
#   finish              the plan and the status; the last line of each script

set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
# shellcheck source=t/kill.sh
. "$here/t/kill.sh"
BUILD=${BUILD:-$here/build}
STEMMA=${STEMMA:-$BUILD/src/cmd/stemma}
EVTEXT=${STEMMA_EVTEXT:-$BUILD/tests/stemma-evtext}
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3

if ! [ -x "$STEMMA" ] || ! [ -x "$EVTEXT" ]; then
	echo "Bail out! no stemma at $STEMMA or no stemma-evtext at $EVTEXT"
	exit 1
fi

T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
T=$(cd "$T" && pwd -P)
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP

inject=${STEMMA_INJECT:-} # all else that is set is not the tests' affair
for v in $(env | sed -n 's/^\(STEMMA_[A-Z_]*\)=.*/\1/p'); do
	unset "$v"
done
[ -z "$inject" ] || export STEMMA_INJECT="$inject"
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR NO_COLOR COLUMNS
mkdir "$T/home" "$T/work"
export HOME="$T/home" STEMMA_HOME="$T/record" TZ=UTC LC_ALL=C.UTF-8 TERM=xterm
out=$T/out err=$T/err
count=0
failed=0
cd "$T/work" || exit 1

cmd()
{
	want=$1
	shift
	: >"$out" 2>"$err"
	# File times have the grain of the kernel's tick: a run that starts within it could have written these, and says so.
	[ "${1:-}" != run ] || sleep 0.03
	"$STEMMA" "$@" >>"$out" 2>>"$err" </dev/null
	got=$?
	[ $got = "$want" ] && return 0
	echo "status $got, not $want, of: stemma $*" >>"$err"
	return 1
}

history()
{
	{
		echo "import sys; sys.path.insert(0, '$here/t'); from history import *"
		echo "home, evtext, work = '$STEMMA_HOME', '$EVTEXT', '$T/work'"
		cat
	} >"$T/history.py"
	$PYTHON -B "$T/history.py" >"$out" 2>"$err" || {
		echo 'Bail out! the history could not be made'
		sed 's/^/# /' "$err"
		exit 1
	}
}

check()
{
	status=$?
	count=$((count + 1))
	if [ $status = 0 ]; then
		echo "ok $count - $1"
		return
	fi
	echo "not ok $count - $1"
	failed=$((failed + 1))
	for f in "$out" "$err"; do
		[ -s "$f" ] && sed "s|^|# ${f##*/}: |" "$f" | head -n 40 | cut -c 1-400
	done
}

skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

says()
{
	said=$1
	shift
	[ $# -gt 0 ] || {
		echo "no words to look for in ${said##*/}" >>"$err"
		return 1
	}
	for words; do
		grep -qF -e "$words" "$said" || {
			echo "missing in ${said##*/}: $words" >>"$err"
			return 1
		}
	done
}

says_not()
{
	! grep -qF -e "$2" "$1" || {
		echo "not expected in ${1##*/}: $2" >>"$err"
		return 1
	}
}

is()
{
	printf '%s\n' "$2" >"$T/want"
	cmp -s "$T/want" "$1" || {
		echo "${1##*/} is not:" >>"$err"
		cat "$T/want" >>"$err"
		return 1
	}
}

lines()
{
	[ "$(wc -l <"$1")" = "$2" ] || {
		echo "${1##*/} has $(wc -l <"$1") lines, not $2" >>"$err"
		return 1
	}
}

# holds WORD [FOLDER]: it stands in what the folder's logs say, which may be packed, or in the bytes of any file there.
holds()
{
	LC_ALL=C grep -rqaF -e "$1" "${2:-$STEMMA_HOME}" 2>/dev/null && return 0
	find "${2:-$STEMMA_HOME}" -name '*.stl' -exec "$EVTEXT" dump {} + 2>/dev/null | LC_ALL=C grep -qaF -e "$1"
}

# json FILTER: the filter of jq says true of the output.
json()
{
	jq -e "$1" "$out" >"$T/jq" 2>>"$err" || {
		echo "not so: $1" >>"$err"
		return 1
	}
}

finish()
{
	echo "1..$count"
	[ $failed = 0 ]
}
