#!/bin/sh
# Logs that are indexed together, one at a time and in other orders give the same edges, and the same inputs through servers.
# shellcheck source=t/lib.sh
here=$(dirname "$0")/..
. "$here/t/lib.sh"
"$PYTHON" -B "$here/t/edge_order.py" "$STEMMA" "$EVTEXT" 1 "${STEMMA_T_ROUNDS:-15}"
