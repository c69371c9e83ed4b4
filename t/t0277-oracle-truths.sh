#!/bin/sh
# The truths of the oracle's steps are what the programs do: an output that changes with a file has the file in it (doc/oracle.md). stemma
# is not asked.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export ORACLE_ACTOR="${ORACLE_ACTOR:-${BUILD:-$here/build}/tests/oracle/oracle-actor}"
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
TMPDIR=$T $PYTHON -B "$here/tests/oracle/changes.py" "$@"
