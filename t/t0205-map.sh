#!/bin/sh
# Shared mappings, and copies made by the kernel.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-map
finish
