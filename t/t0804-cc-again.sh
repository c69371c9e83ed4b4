#!/bin/sh
# cc: a build once more from its record; what stands in its way is named. An ELF note.
again=${STEMMA_BUILD_AGAIN:-} # lib.sh takes such names out of the environment
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"
again=${again:-$BUILD/tests/stemma-build-again}

mkdir -p "$T/src"
cd "$T/src" || exit 1
printf '#include "a.h"\nint f(void);\nint main(void) { return f() - A; }\n' >main.c
printf '#include "a.h"\nint f(void) { return A; }\n' >f.c
echo '#define A 7' >a.h
printf -- '-DB=2 -O1\n' >flags.rsp
printf 'module kinds\n  integer, parameter :: wp = 8\nend module\n' >kinds.f90

# once STATUS FILE: into $T/made
once()
{
	rm -f "$T/made"
	cmd 0 index && "$again" "$2" "$T/made" >"$out" 2>"$err"
	got=$?
	[ $got = "$1" ]
}

fresh
cmd 0 cc gcc -g -O2 main.c f.c -o prog && cp prog "$T/was" && once 0 prog && is "$out" same && cmp "$T/made" "$T/was" && cmp prog "$T/was"
check 'the same bytes, and what was there stays'
mv prog "$T/was" && once 0 "$T/was" && [ ! -e prog ]
check 'where the program has gone elsewhere'
fresh && cmd 0 cc gcc -MMD -MF deps.d -c main.c && cmd 0 cc gcc -c f.c && cmd 0 cc gcc -Wl,-Map=prog.map main.o f.o -o prog && rm deps.d prog.map main.o f.o && once 0 prog && is "$out" same && [ ! -e main.o ] && [ ! -e deps.d ] && [ ! -e prog.map ]
check 'objects that have gone are made again, and nothing is left in the folder'
fresh && cmd 0 cc gcc -c main.c f.c && cmd 0 cc gcc main.o f.o -o prog && echo junk >f.o && once 0 prog && is "$out" same && [ "$(cat f.o)" = junk ]
check 'an object that has changed is made again, from one of two sources'
fresh && cmd 0 cc gcc @flags.rsp main.c f.c -o prog && echo '-DB=3 -O2' >flags.rsp && once 0 prog && is "$out" same
check 'flags are those of then'
fresh && cmd 0 cc gcc main.c f.c && once 0 a.out && is "$out" same && [ -x "$T/made" ]
check 'without -o'
fresh && CPATH=/nowhere cmd 0 cc gcc -c f.c && CPATH=/elsewhere once 0 f.o && is "$out" same
check 'variables are those of then'
if command -v gfortran >/dev/null; then
	fresh && cmd 0 cc gfortran -c kinds.f90 && touch -d 2001-01-01 kinds.mod && once 0 kinds.o && is "$out" same && [ "$(stat -c %Y kinds.mod)" = "$(date -d 2001-01-01 +%s)" ]
	check 'modules are not written again'
else
	skip 'modules are not written again' 'no gfortran here'
fi

# What stands in the way
fresh && cmd 0 cc gcc main.c f.c -o prog && echo '#define A 8' >a.h && once 1 prog && says "$out" "'$T/x/a.h' is not what it was" && [ ! -e "$T/made" ]
check 'a header that changed'
fresh && cmd 0 cc gcc main.c f.c -o prog && rm f.c && once 1 prog && says "$out" "'$T/x/f.c' is not there any more"
check 'a source that is gone'
fresh && echo 'int f(void) { return 7 * 1000003 / 1000003; } int unknown = 12345;' >f.c && gcc -c f.c && cmd 0 cc gcc main.c f.o -o prog && rm f.o && once 1 prog && says "$out" f.o
check 'an object that nobody recorded'
fresh && cmd 0 cc gcc -DTOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 -c f.c && once 1 f.o && says "$out" secret
check 'a secret that was left out'
fresh && "$STEMMA" cc gcc -x c -c -o f.o - <f.c && once 0 f.o && sed '' f.c | "$STEMMA" cc gcc -x c -O1 -c -o f.o - && once 1 f.o && says "$out" 'does not name all'
check 'a source from a pipe'
gcc -g "$T/src/f.c" -c -o "$T/own.o" && once 0 "$T/own.o"
[ $? = 1 ] && is "$out" 'no record'
check 'no record'

# The note
fresh && cmd 0 cc --note gcc -Wl,--build-id=none main.c f.c -o noted && ./noted && objcopy --strip-all noted "$T/stripped" && cmd 0 show "$T/stripped" && says "$out" 'noted' 'main.c  source' && says_not "$out" stemma-note
check 'a note survives what changes the bytes'
cmd 0 cc --note gcc -c f.c && gcc -c "$T/x/f.c" -o "$T/plain.o" && cmp f.o "$T/plain.o" && cmd 0 cc gcc main.c f.c -o a1 && gcc main.c f.c -o a2 && cmp a1 a2
check 'and is put into nothing that is not linked, nor where it is not asked for'
mkdir "$T/own tmp" && printf '#!/bin/sh\nprintf "%%s\\n" "$@"\nexec gcc "$@"\n' >"$T/tells" && chmod +x "$T/tells" && fresh && TMPDIR="$T/own tmp" cmd 0 cc --note "$T/tells" main.c f.c -o noted && says "$out" "$T/own tmp/stemma-note-" && readelf -n noted >"$out" && says "$out" stemma && [ -z "$(ls "$T/own tmp")" ] && TMPDIR=/nonexistent cmd 0 cc --note gcc main.c f.c -o noted && ./noted
check 'its source lies where TMPDIR says, for as long as it takes'
fresh && cmd 0 cc gcc main.c f.c -o prog && TMPDIR="$T/own tmp" once 0 prog && is "$out" same && [ -z "$(ls "$T/own tmp")" ]
check 'and so does what is built again on the way'
finish
