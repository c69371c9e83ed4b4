#!/bin/sh
# The how-tos: each command of doc/howto is run, and prints what the page shows.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
$PYTHON -B "$here/t/page.py" "$STEMMA" "$T/page" "$here"/doc/howto/*.md
