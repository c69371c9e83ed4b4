#!/bin/sh
# Programs of other kinds: static, of another C library, without one, of another word size.
# shellcheck source=tests/prog/lib.sh
. "$(dirname "$0")/../tests/prog/lib.sh"

# The cases are those of the ordinary builds of the same sources; who runs them makes no further difference.
STEMMA_T_ONCE=1
program p-open-static
program p-spawn-static
program p-open-musl
program p-name-musl
program p-spawn-musl "fork fork-exec vfork posix-spawn exec-thread fork-threads open-threads"
if [ -x "$PROGS/p-go" ]; then
	capture "p-go" "$PROGS/p-go" DIR
else
	skip_ "p-go" "not built: no Go here"
fi

# A 32-bit program is recorded, or the record says that it was not; it works either way.
for p in p-open-32 p-spawn-32; do
	if [ ! -x "$PROGS/$p" ]; then
		skip_ "$p" "not built: the compiler has no -m32"
		continue
	fi
	for c in $([ $p = p-open-32 ] && echo "read create dirfd absent many" || echo "fork fork-exec vfork exec-chain"); do
		OPTIONS="--or-gap abi32" capture "$p $c" "$PROGS/$p" "$c" DIR
	done
done
finish
