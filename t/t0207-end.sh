#!/bin/sh
# Ends of processes: statuses, signals, daemons.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-end

for s in 0 1 2 42 77 124 125 126 127 128 137 255; do
	# What looks like a death by signal is a status.
	NO_SIGNAL=1 capture "status $s" env "$PROGS/p-end" +status DIR $s
done
for s in 1 2 3 4 6 7 8 9 10 11 12 13 14 15 24 25 30 31 34 64; do
	capture "signal $s" "$PROGS/p-end" +signal DIR $s
done
WAIT=1 capture "daemon" "$PROGS/p-end" +daemon DIR
finish
