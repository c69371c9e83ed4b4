#!/bin/sh
# Much at once: signals while calls wait, threads, races for names.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-storm
finish
