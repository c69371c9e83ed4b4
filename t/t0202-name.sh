#!/bin/sh
# Names: rename, link, unlink, directories, O_TMPFILE, truncate.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-name
finish
