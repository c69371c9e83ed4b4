#!/bin/sh
# The bitcode that cc --slice kept goes when the last build goes that made the program, and not before.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/spec.sh
. "$here/t/spec.sh"

needs_llvm
if ! "$STEMMA" run -q -- true 2>"$err"; then
	echo "1..0 # SKIP nothing can be recorded here: $(head -n 1 "$err")"
	exit 0
fi
rm -rf "$STEMMA_HOME"
for w in one two; do
	printf '#include <stdio.h>\nint main(int argc, char **argv) { (void)argc; printf("%s %%s", argv[1]); return 0; }\n' $w >$w.c
done
# How much is kept: programs of which there is bitcode, and those of which there is a specification
kept() { find "$STEMMA_HOME/spec" -name '*.bc' | wc -l | tr -d ' '; }
specs() { find "$STEMMA_HOME/spec" -name '*.spec' | wc -l | tr -d ' '; }
run_cc() { "$STEMMA" run -q -- "$STEMMA" cc --slice gcc -g -O1 "$@" 2>"$err"; }

run_cc one.c -o one && run_cc two.c -o two && [ "$(kept)" = 2 ] && [ "$(specs)" = 2 ] && cmd 0 slice one && cmd 0 slice two
check "two programs, their bitcode"
: >"$STEMMA_HOME/spec/0123456789abcdef0123456789abcdef01234567.bc" && echo other >"$STEMMA_HOME/spec/README"
cmd 0 forget -n '@~1' && [ "$(kept)" = 3 ]
check "a dry run removes nothing"
cmd 0 forget '@~1' && [ "$(kept)" = 2 ] && [ "$(specs)" = 1 ] && cmd 1 slice one && cmd 0 slice two
check "with its build the bitcode goes, that of another stays"
[ -e "$STEMMA_HOME/spec/0123456789abcdef0123456789abcdef01234567.bc" ] && [ -e "$STEMMA_HOME/spec/README" ]
check "what no build of the record made is not touched"
run_cc two.c -o two && [ "$(kept)" = 2 ] && cmd 0 forget '@' && [ "$(kept)" = 2 ] && cmd 0 slice two && cmd 0 forget '@' && [ "$(kept)" = 1 ] && cmd 1 slice two
check "of a program that was built twice it stays until the last build goes"
rm -rf "$STEMMA_HOME" && "$STEMMA" cc --slice gcc -g -O1 one.c -o one 2>"$err" && [ "$(kept)" = 1 ] && cmd 0 gc --older-than now && [ "$(kept)" = 1 ] && rm one && cmd 0 gc --older-than now && [ "$(kept)" = 0 ] && [ "$(specs)" = 0 ]
check "gc: with the build of a program that is gone"
finish
