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
