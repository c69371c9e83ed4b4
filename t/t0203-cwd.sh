#!/bin/sh
# The directory that relative names start from.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-cwd
finish
