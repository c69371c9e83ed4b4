#!/bin/sh
# The first cause that diff names, for runs between which it is known what was changed (tests/diffpairs). Pairs that were right must stay so.
# Arguments: those of pairs.py (--slice I/N).
. "$(dirname "$0")/corpus.sh"
asked() { $PYTHON -B "$here/tests/diffpairs/pairs.py" --ratchet "$here/tests/diffpairs/right.txt" "$@"; }
asked --tap "$@"
status=$?
# Another name, another kind, and one order that is answered otherwise than the other.
# shellcheck disable=SC2016 # the liars' own
{
	liar input-edited '[ "$1" != diff ] || { "$stemma" "$@" | sed s/data.csv/other.csv/; exit 0; }'
	liar input-edited '[ "$1$2" != diff--json ] || { "$stemma" "$@" | jq ".first_cause.rung = \"options\""; exit 0; }'
	liar input-edited '[ "$1$2" != diff@ ] || { echo "first cause   nothing"; exit 0; }'
	liar drawn-at-random '[ "$1$2" != diff--json ] || { "$stemma" "$@" | jq ".first_cause = {\"rung\": \"inputs\"}"; exit 0; }'
}
exit $status
