#!/bin/sh
# README, tutorials and how-tos are easy to read (t/readable.py), and README has at most 150 lines.
set -u
here=$(cd "$(dirname "$0")/.." && pwd -P)
PYTHON=/usr/bin/python3
[ -x $PYTHON ] || PYTHON=python3
exec $PYTHON -B "$here/t/readable.py" 50 35 150 "$here/README.md" "$here"/doc/tutorial/*.md "$here"/doc/howto/*.md
