#!/bin/sh
# What forbids a slice to prove anything, and what has no slice.
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm

# A program that reads argument 1 and does "$2" before it writes a word; the slice names $1 as what forbids, or proves where $1 is -.
forbids()
{
	cat >p.c <<-PROGRAM
		#include <stdio.h>
		#include <stdlib.h>
		#include <dlfcn.h>
		int unknown_function(const char *);
		extern int unknown_variable;
		int (*hook)(const char *);
		int main(int argc, char **argv)
		{
			int n = atoi(argv[1]);
			(void)argc;
			$2;
			puts("word");
			return n;
		}
	PROGRAM
	"$CLANG" -w -g -O1 -Xclang -disable-llvm-passes -emit-llvm -c p.c -o p.bc || return 1
	cmd 0 slice --json p.bc || return 1
	jq -r '.outputs[] | select(.call == "puts") | .cannot | length' "$out" >"$T/cannot"
	if [ "$1" = - ]; then
		[ "$(cat "$T/cannot")" -ge 1 ] && [ "$(jq '.forbids | length' "$out")" = 0 ]
	else
		[ "$(cat "$T/cannot")" = 0 ] && jq -r '.forbids[].what' "$out" | grep -qF "$1"
	fi
}

forbids - ';'
check "nothing forbids: argument 1 cannot reach the word"
forbids 'unknown_function' 'unknown_function(argv[1])'
check "a function without a summary"
forbids 'unknown_variable' 'n += unknown_variable'
check "a variable of a library"
forbids 'inline assembly' '__asm__ volatile("nop" : : "r"(n) : "memory")'
check "inline assembly that may write memory"
forbids - '__asm__ volatile("" : : : "memory")'
check "empty assembly does nothing"
forbids 'pointer' '((int (*)(const char *))dlsym(NULL, argv[1]))(argv[1])' || forbids 'dlsym' '((int (*)(const char *))dlsym(NULL, argv[1]))(argv[1])'
check "a function that is looked for by name"
forbids 'through a pointer' 'hook(argv[1])'
check "a pointer of which no target is known"

forbids '6chrono' 'extern long now(void) __asm__("_ZNSt6chrono3_V212system_clock3nowEv"); n += now()'
check "a clock of the C++ library"
forbids 'set_new_handler' 'extern void *handler(void (*)(void)) __asm__("_ZSt15set_new_handlerPFvvE"); handler(abort)'
check "a function of the C++ library that keeps something"
forbids 'mkfifo' 'extern int mkfifo(const char *, unsigned); mkfifo("f", 0600)'
check "a file that is waited for when it is opened"
forbids 'flockfile' 'flockfile(stdout)'
check "the lock of a stream"
forbids 'a pointer' 'n = *(volatile int *)0x10000000'
check "an address that is a constant"
forbids 'a pointer' 'int *p = n ? &n : (int *)0x10000000; *p = 1'
check "an address that is known or a constant"
forbids - 'static char none; char *p = n ? &none : (char *)-1; if (p != (char *)-1) *p = 1'
check "a mark that is no address"
forbids 'a pointer' 'void *p = argv[0]; sscanf(argv[1], "%p", &p); n = *(char *)p'
check "an address that is known or read from text"
forbids 'declared_const' 'extern int declared_const(int) __attribute__((const)); n += declared_const(n)'
check "a function that is declared to have no effect"
forbids '_ZNSt3newEv' 'extern int some(void) __asm__("_ZNSt3newEv"); n += some()'
check "a function of the C++ library that is not known"
forbids - 'extern int some(void *) __asm__("_ZNSo5flushEv"); some(argv)'
check "one that is known"
forbids 'pointers are written' 'char *p = argv[1], *q = p; FILE *f = fopen("f", "w+"); fwrite(&p, sizeof(p), 1, f); rewind(f); fread(&q, sizeof(q), 1, f); putchar(*q)'
check "a pointer that was written and read"

forbids 'a pointer' 'char *p; fread(&p, sizeof(p), 1, stdin); putchar(*p)'
check "a pointer that was read"

cat >half.c <<'END1'
#include <stdio.h>
extern int (*hook)(const char *);
int main(int argc, char **argv)
{
	(void)argc;
	puts(argv[1]);
	return 0;
}
END1
echo 'int secret(void) { return 1; }' >other.c
gcc -c other.c -o other.o
cmd 0 cc --slice gcc -o half half.c other.o && cmd 0 slice half && says "$out" 'nothing is proved' 'has no bitcode'
check "an object without bitcode in the link"

cat >library.c <<'END1'
#include <stdio.h>
void show(const char *s)
{
	puts(s);
}
END1
cmd 0 cc --spec gcc -c library.c -o library.o && cmd 0 slice library.o && says "$out" 'there is no main'
check "a library has no main"

gcc -o plain half.c
cmd 1 slice plain && says "$err" 'stemma cc --slice'
check "a program that was built otherwise, and how it is to be built"
cmd 0 cc --spec gcc -o spec half.c && cmd 1 slice spec
check "a specification alone has no bitcode"
head -c 300 p.bc >cut.bc
cmd 1 slice cut.bc && says "$err" 'unreadable bitcode'
check "damaged bitcode"
cmd 1 slice nothing.bc && cmd 2 slice
check "no file, no operand"

finish
