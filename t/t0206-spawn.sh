#!/bin/sh
# Processes and programs.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-spawn
finish
