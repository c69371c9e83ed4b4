#!/bin/sh
# The first cause that diff names, for runs between which it is known what was changed (tests/diffpairs). Pairs that were right must stay so.
# Arguments: those of pairs.py (--slice I/N).
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export STEMMA="${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}"
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$T"
pairs() { $PYTHON -B "$here/tests/diffpairs/pairs.py" --ratchet "$here/tests/diffpairs/right.txt" "$@"; }
pairs --tap "$@"
status=$?
# The test is tested as well: another name and another kind must be found, and that one order is answered otherwise than the other.
liar()
{
	printf '#!/bin/sh\nstemma=%s\n%s\nexec "$stemma" "$@"\n' "'$STEMMA'" "$2" >"$T/liar"
	chmod +x "$T/liar"
	if pairs --stemma "$T/liar" "$1" >"$T/said"; then
		echo "# $2: an answer that is wrong is found to be right"
		status=1
	fi
}
# shellcheck disable=SC2016 # the liars' own
{
	liar input-edited '[ "$1" != diff ] || { "$stemma" "$@" | sed s/data.csv/other.csv/; exit 0; }'
	liar input-edited '[ "$1$2" != diff--json ] || { "$stemma" "$@" | jq ".first_cause.rung = \"options\""; exit 0; }'
	liar input-edited '[ "$1$2" != diff@ ] || { echo "first cause   nothing"; exit 0; }'
	liar drawn-at-random '[ "$1$2" != diff--json ] || { "$stemma" "$@" | jq ".first_cause = {\"rung\": \"inputs\"}"; exit 0; }'
}
exit $status
