#!/bin/sh
# Descriptors copied, inherited and passed.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-fd
finish
