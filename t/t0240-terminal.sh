#!/bin/sh
# Terminals, job control, Ctrl-C.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

export STEMMA_HOME="$T/home"
mkdir "$T/w"
$PYTHON "$here/tests/prog/terminal.py" "$STEMMA" "$PROGS/p-state" "$T/w" "$n" "$who" >"$T/tap" 2>"$T/err"
cat "$T/tap"
sed 's/^/# /' "$T/err"
[ -f "$T/w/count" ] || not_ok "terminal.py ran to its end"
failed=$((failed + $(grep -c '^not ok' "$T/tap")))
[ ! -f "$T/w/count" ] || n=$(cat "$T/w/count")
finish
