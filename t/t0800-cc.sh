#!/bin/sh
# cc: the compiler's own output, messages and status; and in the record what strace says was read.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/cc.sh
. "$here/t/cc.sh"

mkdir -p "$T/src/inc" "$T/src/sub"
cd "$T/src" || exit 1
printf '#include <stdio.h>\n#include "one.h"\n#include "sub/two.h"\nint main(void) { printf("%%d\\n", ONE + TWO + EXTRA); return 0; }\n' >main.c
echo '#define ONE 1' >inc/one.h
echo '#define TWO 2' >sub/two.h
echo 'int helper(int x) { return x * 2; }' >helper.c
echo 'int broken(void) { return undeclared; }' >broken.c
echo 'int warns(int x) { int unused; return x; }' >warns.c
printf -- '-DEXTRA=3\n"-Iinc" @more.rsp\n' >flags.rsp
echo '-O1' >more.rsp
printf '.globl blob\nblob: .incbin "blob.bin"\n' >blob.s
head -c 100 /dev/urandom >blob.bin

what 'compile and link' "$CC" -DEXTRA=3 -Iinc main.c -o prog
what 'compile' "$CC" -DEXTRA=3 -Iinc -c main.c
latest gaps,code,ending && is "$out" ',0,exited'
check 'nothing is missing'
outputs && is "$out" "$T/x/main.o"
check 'and the object is what it made'
what 'several sources' "$CC" -DEXTRA=3 -Iinc main.c helper.c -o prog
roles source && is "$out" "$T/x/main.c
$T/x/helper.c"
check 'in their order'
what 'several objects' "$CC" -DEXTRA=3 -Iinc -c main.c helper.c
outputs && is "$out" "$T/x/helper.o
$T/x/main.o"
check 'both are what it made'
what 'assembler' "$CC" -DEXTRA=3 -Iinc -S main.c
what 'preprocessor' "$CC" -DEXTRA=3 -Iinc -E main.c
what 'with a pipe' "$CC" -pipe -DEXTRA=3 -Iinc -c main.c
what 'debugging' "$CC" -g -O2 -DEXTRA=3 -Iinc main.c -o prog
what 'a binary within' "$CC" -c blob.s
roles other && is "$out" "$T/x/blob.bin"
check 'which no option of a compiler tells of'
what 'a response file' "$CC" @flags.rsp main.c -o prog
roles response && says "$out" "$T/x/flags.rsp" "$T/x/more.rsp" && latest args && says "$out" '-DEXTRA=3 -Iinc -O1 main.c' && latest argv && says "$out" '@flags.rsp'
check 'and what it holds'
what 'temporary files are kept' "$CC" -save-temps -DEXTRA=3 -Iinc -c main.c
for flags in '-MD' '-MMD -MF deps/x.d' '-MD -MP -MT target -MF deps/y.d' '-M' '-MM'; do
	mkdir -p "$T/src/deps"
	# shellcheck disable=SC2086
	what "dependencies ($flags)" "$CC" $flags -DEXTRA=3 -Iinc -c main.c
done
what 'LTO' "$CC" -flto -DEXTRA=3 -Iinc main.c helper.c -o prog
what 'coverage' "$CC" --coverage -frandom-seed=1 -DEXTRA=3 -Iinc -c main.c
what 'a warning' "$CC" -Wall -c warns.c
what 'an error' "$CC" -c broken.c
latest code && is "$out" 1
check 'with its status'
what 'a source that is not there' "$CC" -c nowhere.c
what 'an option that it refuses' "$CC" --no-such-option -c helper.c
what 'undefined symbols' "$CC" helper.c -o prog

# Standard input
STDIN=$T/src/helper.c
what 'a source from a file as standard input' "$CC" -x c -c -o h.o -
STDIN=
fresh && printf 'int f(void) { return 1; }\n' | "$STEMMA" cc "$CC" -x c -c -o h.o - >"$out" 2>"$err" && [ -s h.o ] && latest gaps && is "$out" stdin
check 'from a pipe: said to be missing'

# Static and shared libraries, split
fresh && (cd "$T/src" && "$CC" -c helper.c && ar rcs libhelper.a helper.o && "$CC" -shared -fPIC -o libshared.so helper.c) && echo 'int helper(int); int main(void) { return helper(0); }' >"$T/src/user.c"
what 'a static library' "$CC" user.c -L. -lhelper -lm -o prog
roles archive && says "$out" "$T/x/libhelper.a" && roles library && says "$out" libm.so
check 'is named'
what 'a shared library' "$CC" user.c libshared.so -o prog
"$STEMMA" sql --csv "SELECT build_id FROM build_input WHERE path LIKE '%/libc.so.6' ORDER BY build DESC LIMIT 1" 2>"$err" | sed 1d | tr -d '\r' >"$out" && id=$(cat "$out") && libc=$(ldd "$STEMMA" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p') && readelf -n "$libc" | grep -q "Build ID: $id"
check 'libraries by build-id'

# Questions are not builds.
"$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d >"$T/before"
alike "$CC" --version && alike "$CC" -print-search-dirs && alike "$CC" -dumpmachine && "$STEMMA" cc "$CC" -### main.c 2>"$err" && alike "$CC" && alike "$CC" -v && "$STEMMA" sql --csv 'SELECT count(*) FROM build' | sed 1d | cmp - "$T/before"
check 'what makes nothing is not recorded'

# What is known of the compiler
fresh && cmd 0 cc "$CC" -DA -D B=2 -UC -c helper.c && latest compiler,version,target,user,cwd && says "$out" "$CC" "$("$CC" --version | head -n 1)" "$("$CC" -dumpmachine)" "$(id -un)" "$T/x" && cmd 0 show helper.o && says "$out" 'defines      A B=2 not C' 'compiler     ' 'target       '
check 'compiler, version, target, defines'
roles tool && head -n 1 "$out" >"$T/tool" && [ "$(cat "$T/tool")" = "$(realpath "$CC")" ] && says "$out" /cc1
check 'and the programs that it ran'
cmd 0 sql --csv "SELECT digest FROM build_input WHERE path = '$T/x/helper.c' ORDER BY build DESC LIMIT 1" && says "$out" "sha256:$(sha256sum helper.c | cut -d ' ' -f 1)"
check 'digests are those of sha256sum'
finish
