#!/bin/sh
# The line of why for what real programs made, held against what a person would write (tests/why). Cases that were equal once must stay so.
# Arguments: those of score.py (--slice I/N).
. "$(dirname "$0")/corpus.sh"
asked() { $PYTHON -B "$here/tests/why/score.py" --ratchet "$here/tests/why/equal.txt" "$@"; }
asked --tap "$@"
status=$?
# An answer that names another program, one that lacks a source, and one that has another one.
# shellcheck disable=SC2016 # the liars' own
{
	liar tee-in-the-middle '[ "$1" != why ] || { "$stemma" "$@" | sed "s/ . tee/ | head/"; exit 0; }'
	liar tee-in-the-middle '[ "$1" != why ] || { "$stemma" "$@" | sed "s/ from numbers@{1}//"; exit 0; }'
	liar tee-in-the-middle '[ "$1" != why ] || { "$stemma" "$@" | sed "s/ from / from other.tsv@{1}, /"; exit 0; }'
}
exit $status
