#!/bin/sh
# Random histories, indexed log by log: what lies beside the index is what the index has, and answers are equal.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

"$PYTHON" -B "$here/t/adjacency.py" "$STEMMA" "$EVTEXT" "${STEMMA_T_ROUNDS:-5}"
