#!/bin/sh
# 1,000 real programs of Debian, without stemma and in the modes that people use: what they print, make and return is the same
# byte for byte. The argument is a tenth of them, 0 to 9; $STEMMA_CAMPAIGN a file that what was done is added to.
# $STEMMA_MODES: the modes, with commas.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
exec python3 "$here/tests/real/run.py" --stemma "${STEMMA:-$here/build/src/cmd/stemma}" --part "${1:-all}" --modes "${STEMMA_MODES:-default,count,safe}" \
	${STEMMA_CAMPAIGN:+--campaign "$STEMMA_CAMPAIGN"}
