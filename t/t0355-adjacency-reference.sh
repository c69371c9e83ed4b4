#!/bin/sh
# Lineage against the golden histories and the reference, from the edges that lie beside the index (t0310: from the index).
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

STEMMA_ADJACENCY=all "$PYTHON" -B "$here/t/lineage_reference.py" "$STEMMA" "$EVTEXT" "${STEMMA_T_ROUNDS:-6}"
