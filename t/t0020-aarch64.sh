#!/bin/sh
# t0020-aarch64.sh TOOLS BUILD - all that BUILD compiles compiles for aarch64, too; and check-musl finds what musl lacks.
set -u

tools=$1 build=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
count=0
bad=0

check()
{ # WHAT: the status of the command before says whether it holds
	status=$?
	count=$((count + 1))
	if [ $status = 0 ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		bad=1
		sed 's/^/# /' "$tmp/out"
	fi
}

# A build of one file, with the words that a compiler for this machine gets.
one()
{ # NAME CODE [OPTION]
	mkdir -p "$tmp/build"
	printf '%s\n' "$2" >"$tmp/build/$1.c"
	printf '[{"directory": "%s", "command": "cc -Wall -MD -MF %s.d -o %s.o -c %s.c", "file": "%s.c"}]\n' "$tmp/build" \
		"$1" "$1" "$1" "$1" >"$tmp/build/compile_commands.json"
	"$tools/${tool:-check-aarch64}" ${3:+"$3"} "$tmp/build" >"$tmp/out" 2>&1
}

one empty '#include <stdio.h>'
if [ $? = 77 ]; then
	echo "1..0 # SKIP $(tail -n 1 "$tmp/out")"
	exit 0
fi
one good '#ifndef __aarch64__
#error this is the wrong machine
#endif
#include <sys/stat.h>
int good(struct stat *st);
int good(struct stat *st) { return (int)st->st_size; }' && ! [ -e "$tmp/build/good.o" ]
check 'a file is compiled for that machine, and nothing is left behind'

# shellcheck disable=SC2317 # called by name
fails()
{ # CODE [OPTION]
	one bad "$@"
	[ $? = 1 ] && grep -q '^bad.c: does not compile' "$tmp/out" && [ "$(tail -n 1 "$tmp/out")" = '1 compiled for aarch64, 1 failed' ]
}
fails 'int bad(void) { __asm__("syscall"); return 0; }'
check 'an instruction of this machine is found'
fails '#include <unistd.h>
int bad(void) { return iopl(3); }'
check 'a function that the other lacks is found'
fails '#include <sys/syscall.h>
int bad(void) { return SYS_open; }'
check 'a system call that the other lacks is found'
odd='int odd(int a); int odd(int a) { int b; return a; }'
one odd "$odd" && fails "$odd" --warnings
check 'a warning fails where it is wanted'

tool=check-musl
one good '#ifdef __GLIBC__
#error this is the wrong library
#endif
#include <linux/stat.h>
#include <sys/stat.h>
int good(struct statx *st);
int good(struct statx *st) { return statx(3, "", 0, STATX_BTIME, st); }'
if [ $? = 77 ]; then
	count=$((count + 1))
	echo "ok $count - musl # SKIP $(tail -n 1 "$tmp/out")"
else
	[ "$(tail -n 1 "$tmp/out")" = '1 compiled for musl, 0 failed' ]
	check 'what musl lacks and base/libc.h has'
	one bad '#include <execinfo.h>'
	[ "$(tail -n 1 "$tmp/out")" = '1 compiled for musl, 1 failed' ] && grep -q "'execinfo.h' file not found" "$tmp/out"
	check 'a header that musl lacks is not taken from this library'
	one bad 'int bad(char *p); int bad(char *p) { return parse_printf_format(p, 0, 0); }'
	[ "$(tail -n 1 "$tmp/out")" = '1 compiled for musl, 1 failed' ]
	check 'nor a function'
fi

"$tools/check-aarch64" "$build" >"$tmp/out" 2>&1
check 'all files'

echo "1..$count"
exit $bad
