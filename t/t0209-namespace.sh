#!/bin/sh
# Roots and namespaces.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-ns
finish
