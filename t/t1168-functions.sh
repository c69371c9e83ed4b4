#!/bin/sh
# stemma run --trace-functions: which functions of a program as it is are called, thread by thread, and where two such
# traces part. The truth is what tests/spec/entered.c notes at the beginning of each.
# shellcheck disable=SC2154 # of lib.sh
# shellcheck source=t/lib.sh
spectrace=${STEMMA_SPECTRACE:-} # lib.sh takes such names out of the environment
. "$(dirname "$0")/lib.sh"

cat >one.c <<'END'
#include <stdio.h>
__attribute__((noinline)) int f_one(int x) { return x + 1; }
int main(int argc, char **argv) { printf("%d\n", f_one(argc)); return 0; }
END
gcc -O1 one.c -o one || { echo "1..0 # SKIP no compiler"; exit 0; }
"$STEMMA" run --trace-functions=./one:f_one -- ./one >"$out" 2>"$err"
if [ $? = 125 ]; then
	[ "$(id -u)" != 0 ] || [ ! -s "$out" ] || echo "Bail out! it ran all the same"
	reason=$(head -1 "$err")
	# Without the privilege: said, and nothing was run.
	if [ -s "$out" ] || [ -z "$reason" ]; then
		echo "1..1"
		echo "not ok 1 - refused with a reason before anything is run"
		exit 1
	fi
	echo "1..0 # SKIP $reason"
	exit 0
fi
run_of()
{
	"$STEMMA" log --json -n 1 | jq -r '.runs[0].id'
}
# A trace as lines `DEPTH NAME`.
tree()
{
	awk '!body { body = $0 == ""; next } $1 == "f" { name[n++] = $2; next } $1 == "r" { depth -= $2; next }
	     $1 == "b" || $1 == "c" || $1 == "o" { print depth++, name[$2] }' "$1"
}
# The traces of the last run are what the program noted, thread by thread; so many traces; the result is that without them.
as_it_says()
{
	traces=$1
	shift
	rm -f truth.* again.*
	./entered alone "$@" >"$T/alone" 2>&1
	ends=$?
	rm -f truth.* again.* alone.*
	"$STEMMA" run --trace-functions="./entered:f_*" -- ./entered truth "$@" >"$out" 2>"$err"
	[ $? = $ends ] && { [ $ends = 137 ] || cmp "$out" "$T/alone" >>"$err"; } || return 1
	folder=$STEMMA_HOME/trace/$(run_of)
	n=0
	for f in "$folder"/*.functions; do
		name=$(sed -n 's/^thread //p' "$f")
		[ "$(sed -n 's/^began //p' "$f")" != fork ] || name=child
		with=truth
		if grep -q '^process' "$f" && [ -e again.0 ] && tree "$f" | cmp -s - again.0; then with=again; fi
		tree "$f" >is
		diff "$with.$name" is >>"$err" || return 1
		n=$((n + 1))
	done
	[ $n = "$traces" ] || { ls "$folder" >>"$err"; return 1; }
}
gcc -g -O1 -fno-optimize-sibling-calls "$here/tests/spec/entered.c" -o entered -pthread 2>"$err"
check "builds"
as_it_says 1 calls recursion calls
check "calls and recursion"
as_it_says 1 sort calls
check "called back by a library" && grep -q '^o ' "$folder"/*.functions
as_it_says 1 jump calls jump
check "left by longjmp"
as_it_says 1 signal
check "for a signal"
as_it_says 1 altstack calls
check "for a signal, on a stack of its own"
as_it_says 4 threads calls
check "threads, by who made them"
as_it_says 2 fork calls
check "a child of fork, with what was open"
as_it_says 2 recursion exec && [ "$(grep -l '^e exec$' "$folder"/*.functions | wc -l)" = 1 ]
check "another program takes its place"
as_it_says 1 calls kill && [ "$(tail -1 "$folder"/*.functions)" = "e killed 9" ]
check "up to a signal"
as_it_says 1 many && [ "$(grep -c '^c' "$folder"/*.functions)" = 9000 ]
check "each of 9,000"
as_it_says 1 swap calls
grep -q '^g stacks$' "$folder"/*.functions
check "several stacks of one thread are said"

# What is written here comes from the source.
only_is()
{
	tree "$STEMMA_HOME/trace/$(run_of)"/*.functions >is
	printf '%s\n' "$@" | diff - is >>"$err"
}
cat >tail.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#define OWN __attribute__((noinline, noclone))
OWN int f_last(int x) { __asm__ volatile(""); return x + 1; }
OWN int f_next(int x) { __asm__ volatile(""); return f_last(x + 1); }
OWN int f_first(int x) { __asm__ volatile(""); return f_next(2 * x); }
int main(int argc, char **argv)
{
	int x = 0;
	for (int i = 0; i < 2; i++)
		x += f_first(argc + i);
	return printf("%d\n", x + f_last(x)) == 0;
}
END
gcc -O2 -fcf-protection tail.c -o tail && objdump -d tail | grep -A6 '<f_first>:' | grep -q 'jmp.*<f_next>' &&
	cmd 0 run --trace-functions=./tail:f_first,f_next,f_last -- ./tail &&
	only_is '0 f_first' '1 f_next' '2 f_last' '0 f_first' '1 f_next' '2 f_last' '0 f_last'
check "jumps at a function's end"
if g++ -x c++ /dev/null -c -o none.o 2>"$err"; then
	cat >throw.cc <<'END'
#include <cstdio>
#define OWN extern "C" __attribute__((noinline))
OWN int f_leaf(int x) { __asm__ volatile(""); return x + 1; }
OWN int f_throw(int n)
{
	if (n == 0)
		throw 7;
	return f_throw(n - 1) + f_leaf(n);
}
OWN int f_catch(int n)
{
	try {
		return f_throw(n);
	} catch (int x) {
		return f_leaf(x);
	}
}
int main()
{
	int x = 0;
	for (int i = 0; i < 2; i++)
		x += f_catch(i);
	return std::printf("%d\n", x + f_leaf(1)) != 3;
}
END
	g++ -g -O1 throw.cc -o throw && cmd 0 run --trace-functions=./throw:'f_*' -- ./throw && is "$out" 18 &&
		only_is '0 f_catch' '1 f_throw' '1 f_leaf' '0 f_catch' '1 f_throw' '2 f_throw' '1 f_leaf' '0 f_leaf'
	check "left by exceptions, which still are caught"
else
	echo "# no C++ compiler: exceptions are not tried"
fi
cat >lib.c <<'END'
int f_deep(int x) { __asm__ volatile(""); return x + 1; }
int f_lib(int x) { return f_deep(x) + f_deep(x + 1); }
END
cat >user.c <<'END'
#include <stdio.h>
int f_lib(int);
int main(int argc, char **argv) { return printf("%d\n", f_lib(argc)) < 0; }
END
gcc -O1 -shared -fPIC lib.c -o lib.so && gcc -O1 user.c ./lib.so -o user &&
	cmd 0 run --trace-functions=./lib.so:'f_*' -- ./user && only_is '0 f_lib' '1 f_deep' '1 f_deep' &&
	grep -qx 'exe ./user' "$STEMMA_HOME/trace/$(run_of)"/*.functions
check "of a library"
gcc -O1 -g -fcf-protection -fno-optimize-sibling-calls "$here/tests/spec/entered.c" -o entered -pthread
as_it_says 4 calls recursion sort threads jump && objdump -d entered | grep -A2 '<f_compare>:' | grep -q 'endbr64'
check "built for control-flow protection"
gcc -O1 -static tail.c -o static 2>/dev/null || cp tail static
cmd 0 run --trace-functions=./static:f_last --trace-functions=./tail:f_last -- sh -c './static; ./tail' &&
	[ "$(cat "$STEMMA_HOME/trace/$(run_of)"/*.functions | grep -c '^e exit')" = 2 ]
check "of two programs, without a dynamic loader"
refused()
{
	words=$1
	shift
	"$STEMMA" run "$@" -- sh -c 'touch ran' >"$out" 2>"$err"
	[ $? = 125 ] && [ ! -e ran ] && says "$err" "$words"
}
strip -o stripped tail
refused "no function of" --trace-functions=./stripped:f_last && refused "no function of" --trace-functions=./tail:g_* &&
	refused "is not PROGRAM:NAME" --trace-functions=./tail && refused "cannot find the program" --trace-functions=./nobody:f &&
	refused "is not an ELF program: functions can only be traced in those" --trace-functions=./tail.c:f
check "what is not there is said, and nothing is run"
rm -f go went
"$STEMMA" run --trace-functions=./one:f_one -- sh -c './one; touch go; for i in $(seq 600); do [ ! -e went ] || break; sleep 0.05; done; ./one' >"$out" 2>"$err" &
for _ in $(seq 600); do
	[ ! -e go ] || break
	sleep 0.05
done
./one >"$T/said" && ./one >>"$T/said"
touch went
wait $!
says "$err" "other processes called these functions 2 times" && [ "$(ls "$STEMMA_HOME/trace/$(run_of)" | wc -l)" = 2 ]
check "who is not of the run is not traced, and it is said"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T" "$T/work"
	mkdir -m 777 "$T/open"
	(cd "$T/open" && HOME=$T/open STEMMA_HOME=$T/open/record setpriv --reuid 65534 --regid 65534 --clear-groups "$STEMMA" run --trace-functions=../work/tail:f_last -- touch ran) >"$out" 2>"$err"
	[ $? = 125 ] && [ ! -e "$T/open/ran" ] && says "$err" "needs root, or CAP_BPF and CAP_PERFMON"
	check "an ordinary user is told why not"
fi

# The reader by itself, which watches what its parent starts: here the shell. What it cannot keep is counted and said.
holder=
trap 'kill_child TERM $holder; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
by_itself()
{
	mkdir -p traces
	rm -f traces/* control
	mkfifo control
	sleep 600 >control &
	holder=$!
	# It ends when its child goes on for it, which says when it is ready.
	"$tool" "$1" traces ./entered:'f_*' <control >said 2>&1 && said_soon '^ready ' && return
	kill "$holder"
	holder=
	cat said >>"$err"
	return 1
}
said_soon()
{ # PATTERN
	for _ in $(seq 600); do
		! grep -q "$1" said || return 0
		sleep 0.05
	done
	return 1
}
its_end()
{
	kill "$holder"
	holder=
	said_soon '^traces '
}
tool=$(dirname "$STEMMA")/../capture/function_trace/stemma-trace-functions
if [ -x "$tool" ]; then
	rm -f truth.*
	by_itself --single && { ./entered truth calls recursion jump >"$out" || :; } && its_end && grep -q '^traces 1 0 0 0$' said &&
		tree traces/*.functions | diff truth.0 - >>"$err"
	check "functions one by one, as before Linux 6.6"
	rm -f truth.*
	# It does not look while the program runs, so its little room is full after the first few hundred.
	by_itself --small && reader=$(sed -n 's/^ready 16 //p' said) && kill -STOP "$reader" && { ./entered truth many >"$out" || :; } && kill -CONT "$reader" && its_end &&
		lost=$(sed -n 's/^traces 1 \([0-9]*\) 0 0$/\1/p' said) && [ "$lost" -gt 1000 ] &&
		grep -q '^g lost$' traces/*.functions && [ $((lost + $(grep -c '^[co] ' traces/*.functions))) -ge 9000 ]
	check "what there was no room for is counted, and the trace says so"
fi

# Programs made at random: what the code put in by stemma cc --trace tells of the same source.
spectrace=${spectrace:-$BUILD/tests/stemma-spectrace}
"$STEMMA" doctor --quick 2>/dev/null | grep '^specifications' >"$T/doctor"
llvm=
grep -q ' ok ' "$T/doctor" && llvm=yes
if [ "$llvm" ] && [ -x "$spectrace" ]; then
	wrong=0 calls=0
	for seed in 1 2; do
		$PYTHON "$here/tests/spec/random_programs.py" make $seed 3 >p.c
		"$STEMMA" cc --trace gcc -w -O0 p.c -o traced 2>"$err" && gcc -w -O0 p.c -o p || wrong=1
		"$STEMMA" run --quiet --trace-full -- ./traced $seed log >/dev/null 2>>"$err"
		"$spectrace" traced "$STEMMA_HOME/trace/$(run_of)"/* | sed -n 's/^\( *\)\([A-Za-z_][A-Za-z_0-9]*\)($/\1\2/p' | awk '{ print length($0) - length($1), $1 }' >want
		names=$(sed 's/.* //' want | sort -u | tr '\n' ',')
		"$STEMMA" run --quiet --trace-functions=./p:"$names" -- ./p $seed log >/dev/null 2>>"$err"
		tree "$STEMMA_HOME/trace/$(run_of)"/*.functions | diff want - >>"$err" || wrong=1
		calls=$((calls + $(wc -l <want)))
	done
	[ $wrong = 0 ] && [ $calls -gt 100 ]
	check "programs made at random: as the code in them tells"
fi

# Where two part.
cat >d.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int rough(int x)
{
	return access("rough", F_OK) + x;
}
static int fine(int x)
{
	return access("fine", F_OK) + x;
}
static int twice(int x)
{
	if (x > 2)
		x = fine(x);
	else
		x = fine(x) - 1;
	return x;
}
static int step(int way)
{
	if (way > 4)
		return rough(way);
	return fine(twice(way));
}
int main(int argc, char **argv)
{
	int way = atoi(argv[1]);
	for (int i = 0; i < 3; i++)
		way = step(way);
	printf("%d\n", way);
	return 0;
}
END
with=
if [ "$llvm" ] && "$STEMMA" cc --spec gcc -g -O0 d.c -o d 2>"$err"; then
	with=spec
else
	echo "# without a specification: $(cat "$T/doctor")"
	gcc -g -O0 d.c -o d
fi
rec()
{
	"$STEMMA" run --quiet --trace-functions=./d:'*' -- ./d "$1" >"$out" 2>"$err"
}
two()
{
	rec "$1"
	rec "$2"
	"$STEMMA" diff --trace >"$out" 2>"$err"
	got=$?
}
if [ "$with" ]; then
	two 6 5
	[ $got = 1 ] && says "$out" "first differs step() at d.c:21: A calls rough() at d.c:24, B calls twice() at d.c:25" &&
		says "$out" "called        main() d.c:31 > step()" && says "$out" "decided at d.c:23"
	check "the decision between two calls"
	two 5 6
	[ $got = 1 ] && says "$out" "A calls twice() at d.c:25, B calls rough() at d.c:24" && says "$out" "decided at d.c:23"
	check "the sides turned round"
	two 4 1
	[ $got = 1 ] && says "$out" "the traces contain no call sites: in" "calls more than one path of the specification matches"
	check "calls that do not tell the lines: said"
	rec 6
	rec 5
	cmd 1 diff --trace --json && [ "$(jq -r '.threads[0] | "\(.verdict) \(.partial) \(.divergences[0] | "\(.place.function) \(.a.next.place.name) \(.a.next.place.line) \(.b.next.place.name) \(.b.next.place.line)")"' "$out")" = "control true step rough 24 twice 25" ]
	check "as JSON"
	touch d
fi
cp d e && rec_e()
{
	"$STEMMA" run --quiet --trace-functions=./e:'*' -- ./e "$1" >"$out" 2>"$err"
}
strip --remove-section=.stemma.spec e 2>/dev/null
gcc -g -O0 d.c -o e
rec_e 6
rec_e 5
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 1 ] && says "$out" "A enters rough(), B enters twice()"
check "without a specification: the first function that differs"
rec_e 5
"$STEMMA" diff --trace >"$out" 2>"$err"
[ $? = 0 ] && says "$out" "no control difference in"
check "no difference"

# Traces that are none.
whole=$(ls "$STEMMA_HOME/trace/$(run_of)"/*.functions)
cp "$whole" whole.functions
sed '12,$s/^c \([0-9]*\)$/c 9\1/' "$whole" >far.functions
sed '$s/.*/r 99/' "$whole" >left.functions
sed '3s/ [0-9]* / x /' "$whole" >head.functions
sed '1s/.*/stemma-functions 2/' "$whole" >later.functions
head -c "$(($(wc -c <"$whole") - 3))" "$whole" >cut.functions
cmd 1 diff --trace whole.functions far.functions && says "$out" "B's trace can be read up to step"
check "a function that is not in the list"
cmd 1 diff --trace whole.functions left.functions || [ $got = 0 ] && says "$out" "B's trace can be read up to step"
check "more are left than were open"
cmd 2 diff --trace whole.functions head.functions && says "$err" "line 3 is damaged"
check "no head"
cmd 2 diff --trace later.functions whole.functions && says "$err" "of a later version"
check "of a later version"
cmd 1 diff --trace whole.functions cut.functions && says "$out" "not known " "how B's program ended is unknown"
check "cut"
sed 's/^f rough$/f coarse/' "$whole" >other.functions
cmd 2 diff --trace whole.functions other.functions && says "$err" "was made with the function" "selected"
check "other functions chosen"
finish
