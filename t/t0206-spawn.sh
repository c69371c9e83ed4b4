#!/bin/sh
# Processes and programs.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-spawn
# Without the randomisation of addresses two images of a program look alike; debuggers switch it off.
if command -v setarch >/dev/null; then
	capture "exec twice, addresses not randomised" setarch -R "$PROGS/p-fd" exec-twice DIR
	capture "fork-exec, addresses not randomised" setarch -R "$PROGS/p-spawn" fork-exec DIR
fi
finish
