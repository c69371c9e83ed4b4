#!/bin/sh
# Channels: pipes, FIFOs, sockets, shared memory, terminals.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

program p-chan
finish
