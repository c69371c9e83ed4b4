#!/bin/sh
# bench show marks parameters by the program's slice: what cannot reach its output, and what may.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=t/spec.sh
. "$here/t/spec.sh"

needs_llvm
if ! "$STEMMA" run -q -- true 2>"$err"; then
	echo "1..0 # SKIP nothing can be recorded here: $(head -n 1 "$err")"
	exit 0
fi
cat >fit.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	double k = atof(argv[2]), seed = atof(argv[4]), scale = atof(argv[5]);
	(void)argc;
	printf("sum: %g\n", k * scale);
	return seed > 1e9;
}
END
cat >any.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	double sum = 0;
	for (int i = 1; i < argc; i++)
		sum += atof(argv[i]);
	printf("sum: %g\n", sum);
	return 0;
}
END
for p in fit any; do
	"$STEMMA" cc --slice gcc -g -O1 -w $p.c -o $p 2>"$err"
done
gcc -w -g -O1 fit.c -o plain

cmd 0 bench run -n 2 -- ./fit -k 4 --seed 7 9 && cmd 0 bench show && says "$out" 'parameter  arg1: 9  (may reach the output)' 'parameter  k: 4  (may reach the output)' 'parameter  seed: 7  (cannot reach the output)'
check "an option that cannot reach what is written, and two that may"
cmd 0 bench show --json && json '.reach == {"k": "may", "seed": "cannot", "arg1": "may"}' && cmd 0 bench show --by-run && says "$out" 'seed: 7  (cannot reach the output)'
check "... as JSON and by run"
cmd 0 bench run -n 2 -- ./fit -k 7 --seed 7 7 && cmd 0 bench show --json && json '.reach == {"k": "may", "seed": "cannot"}'
check "of a word that may be several nothing is said"
cmd 0 bench run -n 2 -- ./any 4 5 && cmd 0 bench show --json && json '.reach == {"arg1": "may", "arg2": "may"}'
check "arguments that are read in a loop may"
cmd 0 bench run -n 2 -- ./plain -k 4 --seed 7 9 && cmd 0 bench show --json && json '.reach == {}' && cmd 0 bench show && says_not "$out" 'reach the output'
check "a program without bitcode: nothing is said"
"$STEMMA" run -q -- true
cmd 0 bench run -n 2 -- sh -c './fit -k 4 --seed 7 9' && cmd 0 bench show --json && json '.reach == {}'
check "nor of a shell's"
finish
