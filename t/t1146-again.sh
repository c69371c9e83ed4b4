#!/bin/sh
# diff --trace of runs that left no traces: what differs is run again, in a folder of its own, and the line is found; the
# user's files stay as they are.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$T/tmp"
export TMPDIR=$T/tmp

cp "$here"/examples/parted/* . && cd "$T/work" || exit 1
for p in simulate select integrate analyse report; do
	"$STEMMA" cc --operands gcc -g $p.c -o $p -lm >"$out" 2>"$err" || break
done
mkdir traces && STEMMA_TRACE=$PWD/traces ./simulate parameters.txt series.txt
if ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
rm -rf traces series.txt
line=$(grep -n 'small enough' integrate.c | cut -d : -f 1)
if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi

# state: all that lies in the user's folders, with times, modes and bytes
state()
{
	find "$T/work" "$T/home" -printf '%p %y %m %s %T@\n' | sort
	find "$T/work" "$T/home" -type f -readable -exec cksum {} + | sort
}
# again STATUS ARG...: cmd, after which the user's files, the runs and the folder for temporary files are as before
again()
{
	state >"$T/before"
	"$STEMMA" log --json | jq '.runs | length' >"$T/runs"
	cmd "$@" && state >"$T/after" || return 1
	cmp "$T/before" "$T/after" >>"$err" 2>&1 && [ "$("$STEMMA" log --json | jq '.runs | length')" = "$(cat "$T/runs")" ] && [ -z "$(ls -A "$T/tmp")" ]
}
# edit FROM TO: the rate
edit() { sed -i "s/$1/$2/" parameters.txt; }
places='[.threads[] | [(.a.exe | split("/") | last), [.divergences[] | [.place.function, .place.line, .a.at.outcome, .b.at.outcome]]]] | sort'

cmd 0 run --keep-inputs -- ./pipeline.sh && [ -s sum.txt ] && edit 0.8 0.9 && cmd 0 run --keep-inputs -- ./pipeline.sh && ! [ -e sum.txt ]
check 'the pipeline, and the pipeline with another parameter, not traced'
again 1 diff --trace --rerun @~1 @
if grep -q 'cannot confine the command' "$err"; then
	echo "1..0 # SKIP nothing can be run again here: $(grep 'cannot keep' "$err" | head -n 1)"
	exit 0
fi
says "$out" "settles() at integrate.c:$line: A took true, B false" ' < 0.001 | ' 'small enough' '10 commands' && says "$err" 'A  run and traced' './integrate selected.txt'
check 'run again: the line, in the module; what is there stays as it is'
again 1 diff --trace --rerun --json @ @~1 && json "[.threads[] | select(.a.exe | endswith(\"/integrate\")).divergences[0] | [.place.line, .a.at.outcome, .b.at.outcome]] == [[$line, \"false\", \"true\"]]" && json '.rerun.notes == [] and (.rerun.ran | length) == 10'
check 'in the other order, as JSON; each did again what it had done'
again 1 diff --trace --rerun --html && says "$out" 'small enough' 'by running again' 'B ./integrate'
check 'as a page, of the last two'
again 0 diff --trace --no-rerun && says "$out" 'A  run and traced' 'B  run and traced' './report analysis.txt report.txt' && again 0 diff --trace --no-rerun --json && json '.rerun | .a.whole == null and ([.b.steps[].command] | length) == 5 and .programs == ["simulate", "select", "integrate", "analyse", "report"]'
check 'what would be run is told'
again 2 diff --trace @~1 @ && says "$err" " '@~1'" 'hint: use --rerun' && cmd 2 diff --trace --rerun --no-rerun @~1 @
check 'without being told to, nothing is run'

# The truth: what traces made in the runs themselves say.
edit 0.9 0.8 && cmd 0 run --trace -- ./pipeline.sh && edit 0.8 0.9 && cmd 0 run --trace -- ./pipeline.sh
cmd 1 diff --trace --json @~1 @ && json '.threads | length == 5' && jq -c "$places" "$out" >"$T/traced" && again 1 diff --trace --rerun --json @~3 @~2 && jq -c "$places" "$out" | cmp - "$T/traced" >>"$err" 2>&1
check 'every place is the one that traces of the runs themselves name'
again 1 diff --trace --rerun --json @~1 @~2 && jq -c "$places" "$out" | cmp - "$T/traced" >>"$err" 2>&1 && json '[.rerun.ran[] | startswith("B ")] | all'
check 'a side that was traced is not run again'

# Which are run
cmd 0 run --keep-inputs -- ./pipeline.sh && again 0 diff --trace --rerun @~3 @ && says "$out" 'nothing to run again'
check 'where nothing differs nothing is run'
cat >late.sh <<'END2'
#!/bin/sh
./simulate parameters.txt series.txt
./select series.txt "$1"
./integrate "$1" sum.txt integration.log
rm series.txt
END2
chmod +x late.sh
cmd 0 run --keep-inputs -- ./late.sh one && cmd 0 run --keep-inputs -- ./late.sh two && again 1 diff --trace --rerun --json && json '[.threads[].verdict] == ["same", "same"] and .outputs.differ' && json '[.threads[].a.exe | split("/") | last] == ["select", "integrate"]' && json '.rerun.notes == []' && says "$err" 'A  run for its outputs     ./simulate'
check 'a file that is gone is made again by the program that made it, which is not traced'
cat >piped.sh <<'END2'
#!/bin/sh
./simulate parameters.txt series.txt
cat series.txt | ./select /dev/stdin selected.txt
./integrate selected.txt sum.txt integration.log
END2
chmod +x piped.sh
cmd 0 run --keep-inputs -- ./piped.sh && edit 0.9 0.8 && cmd 0 run --keep-inputs -- ./piped.sh && again 1 diff --trace --rerun --json && json "[.threads[] | select(.a.exe | endswith(\"/integrate\")).divergences[0].place.line] == [$line]" && json '[.threads[].a.exe | split("/") | last] | index("select") != null' && says "$err" 'A  the whole command' 'select reads what another program sent it'
check 'programs that are fed by others are run with them'

# What cannot be run
cmd 0 run -- ./pipeline.sh && edit 0.8 0.65 && cmd 0 run -- ./pipeline.sh && edit 0.65 0.66 && again 2 diff --trace --rerun && says "$err" 'run B cannot be repeated: parameters.txt, which simulate read, may have changed' '--keep-inputs' && says_not "$err" 'A cannot' && again 2 diff --trace --no-rerun --all && again 0 diff --trace --no-rerun --json && json '[.rerun.b.missing[].name] == ["parameters.txt"] and .rerun.a.missing == []'
check 'an input that is not to be had is named, and nothing is run'
rm parameters.txt && again 2 diff --trace --rerun && says "$err" 'no longer exists' && echo 'rate 0.9' >parameters.txt
check 'and one that is gone'
cat >ends.c <<'END2'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	FILE *f = fopen("ended", "w");
	if (argc > 2) /* so many */
		fputs("more", f);
	fputs(getenv("NOT_RECORDED") ? "one" : "other", f);
	fclose(f);
	return getenv("NOT_RECORDED") ? 3 : 0;
}
END2
"$STEMMA" cc --operands gcc -g ends.c -o ends 2>"$err" && NOT_RECORDED=1 cmd 3 run --digest -- ./ends 1 && cmd 0 run --digest -- ./ends 1 2 && again 1 diff --trace --rerun && says "$out" 'ends.c:6: A took false, B true' 'partial       A: ./ends 1 ended with status 3 in the run, and with status 0 when' 'A: ended is different' && again 1 diff --trace --rerun --json && json '.rerun.notes | length == 2'
check 'one that does not do again what it did is said to be partial'

# What must not be touched: by its full name, which the program has from a file
cat >harm.c <<'END2'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char where[500] = "", name[600];
	FILE *f = fopen("where", "r");
	if (!f || !fgets(where, 400, f) || argc < 2)
		return 1;
	fclose(f);
	where[strcspn(where, "\n")] = 0;
	if (atoi(argv[1]) == 0) /* the record has nothing but what was done in the folder */
		return 0;
	snprintf(name, sizeof(name), "%s/work/made", where);
	f = fopen(name, "w");
	if (!f || fclose(f) != 0)
		return 2;
	if (atoi(argv[1]) == 1) /* @ the second time it wants more */
		return 0;
	snprintf(name, sizeof(name), "%s/home/precious", where);
	if (access("allowed", F_OK) == 0)
		return 0;
	int did = chmod(name, 0) == 0 || truncate(name, 0) == 0 || unlink(name) == 0;
	return did ? 4 : 0;
}
END2
"$STEMMA" cc --operands gcc -g harm.c -o harm 2>"$err"
echo "$T" >where && echo precious >"$T/home/precious" && : >allowed && cmd 0 run --keep-inputs -- ./harm 1 && cmd 0 run --keep-inputs -- ./harm 2 && rm made allowed && again 1 diff --trace --rerun --json && json ".threads[0].divergences[0].place.line == $(grep -n '@' harm.c | cut -d : -f 1)" && json '.rerun.notes == []' && [ "$(cat "$T/home/precious")" = precious ] && ! [ -e made ]
check 'by its full name a program reaches its own folder only'
cat >out.c <<'END2'
#include <stdio.h>
int main(int argc, char **argv)
{
	FILE *f = fopen(argv[1], "w");
	return !f || (argc > 2 && fputs(argv[2], f) < 0) || fclose(f) != 0;
}
END2
"$STEMMA" cc --operands gcc -g out.c -o out 2>"$err" && cmd 0 run --keep-inputs -- ./out "$T/home/result" && cmd 0 run --keep-inputs -- ./out "$T/home/result" x && again 2 diff --trace --rerun && says "$err" "run A cannot be repeated: $T/home/result was written, outside"
check 'what a run left elsewhere cannot be made again'
cmd 3 run -- sh -c 'exit 3' && cmd 0 run -- sh -c 'exit 0' && again 2 diff --trace --rerun && says "$err" 'none of the programs that ran differently can be traced' 'stemma cc --trace' && cmd 0 run -- true && again 2 diff --trace --rerun && says "$err" 'ran in one of the two runs only'
check 'programs that cannot be traced'
# Programs that are gone or were built again: what is missing, and what can be done.
cat >gone.c <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
	puts(argc > 1 ? "many" : "few");
	if (argc > 1)
		puts("more");
	return 0;
}
END
"$STEMMA" cc --trace gcc -g gone.c -o gone 2>"$err" && cmd 0 run -- ./gone && cmd 0 run -- ./gone x && mv gone kept-aside && again 2 diff --trace --rerun && says "$err" "$PWD/gone, which ran differently, no longer exists" 'hint: restore it'
check 'a program that is gone'
cp kept-aside gone && again 2 diff --trace --rerun && says "$err" 'run A cannot be repeated: gone, the program, may have changed, and there is no copy' 'restore the missing files, or repeat both runs with stemma run --trace; stemma run --keep-inputs keeps copies of inputs'
check '... or may be another'
rm gone && mv kept-aside gone && again 1 diff --trace --rerun && says "$out" "main() at gone.c:"
check '... put back'
rm -rf gone gone.d
finish
