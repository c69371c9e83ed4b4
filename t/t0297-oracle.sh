#!/bin/sh
# What stemma answers of workflows, held against what their programs truly read and wrote (doc/oracle.md): each kind of step alone, then
# workflows made at random. Arguments: how many variants of each kind, the first seed, how many seeds.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export STEMMA="${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}" ORACLE_ACTOR="${ORACLE_ACTOR:-${BUILD:-$here/build}/tests/oracle/oracle-actor}"
T=$(mktemp -d "${TMPDIR:-/tmp}/stemma-t.XXXXXX") || exit 1
trap 'chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
trap 'exit 1' INT TERM HUP
export TMPDIR="$T"
oracle() { $PYTHON -B "$here/tests/oracle/oracle.py" "$@" | sed -e '/^1\.\./d' -e "s/^\(\(not \)\{0,1\}ok\) 1 /\1 $n /"; }
n=1
oracle --variants "${1:-1}" each
n=2
oracle seeds "${2:-0}" "${3:-20}"
echo 1..2
