#!/bin/sh
# Every way to open a file by name.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-open
finish
