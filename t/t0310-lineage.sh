#!/bin/sh
# Lineage against the golden histories and the reference; then the shapes it is shown in.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

"$PYTHON" -B "$here/t/lineage_reference.py" "$STEMMA" "$EVTEXT" "${STEMMA_T_ROUNDS:-20}"
