#!/bin/sh
# The line of why for what real programs made, held against what a person would write (tests/why). Cases that were equal once must stay so.
# Arguments: those of score.py (--slice I/N).
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export STEMMA="${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}"
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$T"
$PYTHON -B "$here/tests/why/score.py" --tap --ratchet "$here/tests/why/equal.txt" "$@"
status=$?
# The test is tested as well: an answer that names another program, and one that lacks a source, must be found.
liar()
{
	# shellcheck disable=SC2016 # the liar's own
	printf '#!/bin/sh\n[ "$1" != why ] || { "%s" "$@" | sed "%s"; exit 0; }\nexec "%s" "$@"\n' "$STEMMA" "$1" "$STEMMA" >"$T/liar"
	chmod +x "$T/liar"
	if $PYTHON -B "$here/tests/why/score.py" --stemma "$T/liar" --ratchet "$here/tests/why/equal.txt" tee-in-the-middle >"$T/said"; then
		echo "# $1: an answer that is wrong is found to be equal"
		status=1
	fi
}
liar 's/ . tee/ | head/'
liar 's/ from numbers@{1}//'
liar 's/ from / from other.tsv@{1}, /'
exit $status
