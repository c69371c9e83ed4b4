#!/bin/sh
# stemma run --trace: traces go to the record of the run, under its name, and away with it.
# shellcheck disable=SC2154 # of lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cp "$here/tests/spec/s-shapes.c" s.c
"$STEMMA" cc --trace gcc -O2 s.c -o s -pthread 2>"$err" && cp s other
check "builds"

run_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id'
}

cmd 0 run --trace -- ./s branch 3 && is "$out" more
id=$(run_of)
[ "$(ls "$STEMMA_HOME/trace")" = "$id" ] && [ "$(ls "$STEMMA_HOME/trace/$id" | wc -l)" = 1 ] &&
	"$SPECTRACE" s "$STEMMA_HOME/trace/$id"/*.trace >"$out" && says "$out" "branch(" "#end exit, fits"
check "a trace, under the run's name"
[ "$(wc -c <"$(echo "$STEMMA_HOME/trace/$id"/*.trace)")" -lt 5000 ]
check "cut to what is used of it"

cmd 0 show --json "$id" && [ "$(jq '[.. | .path? // empty | select(endswith(".trace"))] | length' "$out")" = 0 ]
check "which is none of its results"

cmd 0 run --trace -- sh -c './s loop 2; ./other loop 3; ./s forks' && [ "$(ls "$STEMMA_HOME/trace/$(run_of)" | wc -l)" = 4 ]
check "one for each process"
cmd 0 run --trace-program=other -- sh -c './s loop 2; ./other loop 3' && [ "$(ls "$STEMMA_HOME/trace/$(run_of)" | wc -l)" = 1 ]
check "of one program only"
cmd 0 run --trace-full -- ./s lazy 50 && "$SPECTRACE" s "$STEMMA_HOME/trace/$(run_of)"/*.trace >"$out" && [ "$(grep -c 'maybe($' "$out")" = 50 ]
check "with all that reached nothing"

"$STEMMA" run --trace -- ./s ends 5 >"$out" 2>"$err"
[ $? = 137 ] && "$SPECTRACE" s "$STEMMA_HOME/trace/$(run_of)"/*.trace >"$out" && says "$out" "call kill" "#end cut, fits"
check "of a program that was killed: all up to there"

# A process that outlives the run writes on, and is not ended by what is cut.
cat >long.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char c;
	int n = 0;
	while (read(0, &c, 1) == 1)
		n++;
	for (int i = 0; i < 100000; i++)
		if (write(1, "", 1) != 1)
			return 3;
	FILE *f = fopen("ended", "w");
	fprintf(f, "%d", n);
	return fclose(f);
}
END
"$STEMMA" cc --trace gcc long.c -o long 2>"$err"
mkfifo hold
exec 9<>hold
"$STEMMA" run --trace --quiet -- sh -c './long <hold >/dev/null 2>&1 9<&- &' 9<&- >"$out" 2>"$err"
"$PYTHON" -c 'import os; f = os.open("hold", os.O_WRONLY); os.write(f, b"xyz"); os.close(f)'
exec 9<&-
i=0
while ! [ -s ended ] && [ $i -lt 600 ]; do
	sleep 0.05
	i=$((i + 1))
done
[ "$(cat ended 2>/dev/null)" -ge 3 ]
check "a process that outlives the run goes on"

cmd 0 run --trace -- true && says "$err" "no program wrote a function trace: link programs with stemma cc --trace" && [ ! -e "$STEMMA_HOME/trace/$(run_of)" ]
check "none: said, and nothing is left"
! find "$STEMMA_HOME/trace" -name 'stemma-new-*' | grep -q .
check "no folder is left behind"

cmd 0 forget "$id" && [ ! -e "$STEMMA_HOME/trace/$id" ]
check "forgotten with the run"
finish
