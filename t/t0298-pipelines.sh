#!/bin/sh
# What stemma answers of real pipelines, held against what a person would say (doc/oracle.md).
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
export STEMMA="${STEMMA:-${BUILD:-$here/build}/src/cmd/stemma}"
exec $PYTHON -B "$here/tests/oracle/pipelines.py" "$@"
