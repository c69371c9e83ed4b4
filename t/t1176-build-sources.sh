#!/bin/sh
# The sources of a program are in its record: where stemma cc --trace compiles and links in one command, so that another compiler read
# them, and behind an archive that ar made unrecorded.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-}
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
has() { "$STEMMA" show --json "$1" >"$out" 2>"$err" && [ "$(jq -r "[.. | objects | select(.role? == \"$3\" and ((.path? // \"\") | endswith(\"/$2\")))] | length" "$out")" -ge 1 ]; }
mkdir 'in dir'
printf '#define ANSWER 42\n' >'in dir/an answer.h'
printf '#include "in dir/an answer.h"\n#include <stdio.h>\nint other(void);\nint main(void) { printf("%%d\\n", ANSWER); return other(); }\n' >sim.c
printf 'int other(void) { return 0; }\n' >other.c
"$STEMMA" cc --trace gcc -g sim.c other.c -o sim 2>"$err" && ./sim >"$out" && is "$out" 42
check "one command compiles and links"
has ./sim sim.c source && has ./sim other.c source
check "its sources are recorded"
has ./sim 'an answer.h' header
check "and their headers, whatever their names"
"$STEMMA" show --json ./sim >"$out" && ! grep -q 'stemma-spec-' "$out" && [ "$(jq '[.. | objects | .path? // empty | select(endswith("traced.o"))] | length' "$out")" = 0 ]
check "what was brought along is not"
"$STEMMA" cc --trace gcc -g -c other.c -o other.o 2>"$err" && "$STEMMA" cc --trace gcc -g sim.c other.o -o sim2 2>"$err" && has ./sim2 sim.c source && "$STEMMA" show --sources ./sim2 >"$out" && says "$out" "sim.c" "other.c"
check "sources and objects in one command"
sources() { "$STEMMA" show --json "$1" >"$out" 2>"$err" && jq '[.. | objects | select(.role? == "source") | .path | split("/") | last] | sort' "$out"; }
"$STEMMA" cc gcc -g sim.c other.c -o plain 2>"$err" && sources ./plain >want && "$STEMMA" cc --spec gcc -g sim.c other.c -o sim3 2>"$err" && sources ./sim3 >got && cmp want got && sources ./sim >got && cmp want got
check "as often as without, and with a specification only"

# Archives that ar made by itself.
printf 'int first(void) { return 1; }\n' >first.c
printf 'int second(void) { return 2; }\n' >second.c
printf 'int first(void);\nint second(void);\nint main(void) { return first() + second() - 3; }\n' >uses.c
for i in first second; do
	"$STEMMA" cc gcc -g -c $i.c -o $i.o 2>"$err"
done
ar cr libboth.a first.o second.o && "$STEMMA" cc gcc -g uses.c -o uses -L. -lboth 2>"$err" && ./uses
check "a program with an archive that nobody recorded"
"$STEMMA" show --sources ./uses >"$out" 2>"$err" && says "$out" "uses.c" "first.c" "second.c" && says_not "$out" "libboth.a"
check "the sources of its members, by their bytes"
gcc -c second.c -o second.o -DUNSEEN -g0 && ar cr libhalf.a first.o second.o && "$STEMMA" cc gcc -g uses.c -o half -L. -lhalf 2>"$err" && "$STEMMA" show --sources ./half >"$out" && says "$out" "first.c" "libhalf.a" && says_not "$out" "second.c"
check "where a member is not known the archive is named, too"
ar d libboth.a second.o && { "$STEMMA" show --sources ./uses >"$out" 2>"$err"; says "$out" "libboth.a"; } && says_not "$out" "first.c"
check "an archive that has changed since tells nothing"
head -c 100 libhalf.a >libcut.a && cp libhalf.a libdamaged.a && "$STEMMA" cc gcc -g uses.c -o damaged -L. -ldamaged 2>"$err" && cp libcut.a libdamaged.a && { "$STEMMA" show --sources ./damaged >"$out"; says "$out" "libdamaged.a  archive" "changed"; }
check "nor one that is damaged"
finish
