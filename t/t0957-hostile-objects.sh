#!/bin/sh
# Object files that name another file with more of their debug information, which is a FIFO that nobody writes to: no command opens
# it, and none waits for it.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

if ! command -v gcc >/dev/null || ! command -v objcopy >/dev/null; then
	skip 'object files that name FIFOs' 'no gcc, or no objcopy'
	finish
	exit
fi
cmd 0 run -q -- true
check 'a record'
mkfifo alt
cat >alt.s <<END
.globl main
.text
main: ret
.section .debug_abbrev,"",@progbits
.uleb128 1
.uleb128 0x11
.byte 0
.uleb128 0x25
.uleb128 0x1f21
.byte 0,0,0
.section .debug_info,"",@progbits
.long 2f-1f
1: .short 4
.long 0
.byte 8
.uleb128 1
.long 0
2:
.section .gnu_debugaltlink,"",@progbits
.asciz "$PWD/alt"
.fill 20,1,0xab
END
if ! gcc -nostdlib -shared alt.s -o alt.so 2>/dev/null; then
	skip 'show and diff of a file whose debug information is in a FIFO' 'the assembler is of another machine'
else
	timeout -k 1 100 "$STEMMA" show alt.so >"$out" 2>"$err" && says "$out" 'target'
	check 'show of a file whose debug information is in a FIFO'
	cp alt.so other.so && printf x >>other.so
	timeout -k 1 100 "$STEMMA" diff alt.so other.so >"$out" 2>"$err"
	[ $? -lt 3 ]
	check '... and diff'
fi
echo 'int main(void) { return 0; }' >plain.c && gcc -g plain.c -o plain && cmd 0 show plain && says "$out" 'GNU C'
check 'the compiler that a file names is still told'

"$STEMMA" run --trace-stacks -- true >"$out" 2>"$err"
if [ -s "$err" ]; then
	skip 'a program whose debug information is in a FIFO' "$(head -n 1 "$err")"
	finish
	exit
fi
cat >linked.c <<'END'
#include <fcntl.h>
int leaf(const char *path) { return open(path, O_RDONLY); }
int main(void) { return leaf("/etc/passwd") < 0; }
END
gcc -O0 -g linked.c -o linked && objcopy --only-keep-debug linked linked.debug && objcopy --strip-all --remove-section=.note.gnu.build-id linked &&
	objcopy --add-gnu-debuglink=linked.debug linked && rm linked.debug && mkfifo linked.debug
timeout -k 1 200 "$STEMMA" run -q --trace-stacks -- ./linked >"$out" 2>"$err" && cmd 0 log && says "$out" linked
check 'a run whose program keeps its debug information in a FIFO ends'
finish
