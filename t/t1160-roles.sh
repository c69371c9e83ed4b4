#!/bin/sh
# diff --trace, which processes and threads are compared. What belongs together is known from the programs: each leaves a
# file with its number and what it was for.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"

cat >work.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char name[100];
	int n = 0;
	snprintf(name, sizeof(name), "in.%s", argv[1]);
	FILE *f = fopen(name, "r");
	if (!f || fscanf(f, "%d", &n) != 1)
		return 1;
	fclose(f);
	snprintf(name, sizeof(name), "out.%s", argv[1]);
	f = fopen(name, "w");
	if (n > 5) /* @way */
		fprintf(f, "many\n");
	else
		fprintf(f, "few\n");
	fclose(f);
	snprintf(name, sizeof(name), "who/%s", argv[1]);
	f = fopen(name, "w");
	fprintf(f, "%d\n", getpid());
	return fclose(f) != 0 || argc > 3;
}
END
cat >kinds.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void tell(const char *kind, const char *which)
{
	char name[100];
	snprintf(name, sizeof(name), "who/%s%s", kind, which);
	FILE *f = fopen(name, "w");
	fprintf(f, "%d-%d\n", (int)getpid(), (int)syscall(SYS_gettid));
	fclose(f);
}
static void *reader(void *p)
{
	tell("r", p);
	return NULL;
}
static void *writer(void *p)
{
	tell("w", p);
	return NULL;
}
static void *logger(void *p)
{
	tell("l", p);
	return NULL;
}
int main(int argc, char **argv)
{
	static char which[20][2];
	int n[128] = {0};
	pthread_t t;
	for (int i = 0; argv[1][i]; i++) { /* one after the other: their files are whole, and their order is this one */
		char c = argv[1][i];
		which[i][0] = (char)('0' + n[(int)c]++);
		if (pthread_create(&t, NULL, c == 'r' ? reader : c == 'w' ? writer : logger, which[i]))
			return 1;
		pthread_join(t, NULL);
	}
	return argc > 2;
}
END
if ! "$STEMMA" cc --trace gcc -g work.c -o work >"$out" 2>"$err" || ! "$STEMMA" cc --trace gcc -g kinds.c -o kinds -pthread >>"$out" 2>>"$err"; then
	echo "1..0 # SKIP programs cannot be built here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
mkdir who traces
if ! STEMMA_TRACE=$PWD/traces ./kinds r || ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
rm -rf traces who
if ! "$STEMMA" run -q -- true 2>"$err" || ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi

# recorded SIDE COMMAND...: one run, and who was who in it; $SIDE is its id
recorded()
{
	side=$1
	shift
	rm -rf who "who.$side"
	mkdir who && cmd 0 run -q --trace -- "$@" && mv who "who.$side" && "$STEMMA" log --json -n 1 | jq -r '.runs[0].id' >"id.$side"
}
# belong A B: the pairs of numbers that must be compared, and those that have no partner, from the programs' files
belong()
{
	for f in "who.$1"/*; do
		n=${f##*/}
		[ -e "who.$2/$n" ] && echo "$(cat "$f") $(cat "who.$2/$n")"
	done | sort
	for s in "a $1 $2" "b $2 $1"; do
		# shellcheck disable=SC2086 # words
		set -- $s "$1" "$2"
		for f in "who.$2"/*; do
			[ -e "who.$3/${f##*/}" ] || echo "only $1 $(cat "$f")"
		done
		shift 3
	done | sort
}
# said PATTERN: the same from the answer in $out; of a trace's name PATTERN is taken
said()
{
	jq -r "def who: sub(\".*/\"; \"\") | capture(\"^(?<n>$1)\").n; (.threads[] | select(.a.thread != \"0\" or $2) | (.a.trace | who) + \" \" + (.b.trace | who))" "$out" | sort
	jq -r "def who: sub(\".*/\"; \"\") | capture(\"^(?<n>$1)\").n; (.only[] | \"only \" + .side + \" \" + (.trace | who))" "$out" | sort
}
# right A B PATTERN: both orders
right()
{
	for order in "$1 $2" "$2 $1"; do
		# shellcheck disable=SC2086 # words
		set -- $order "$3" "$4"
		"$STEMMA" diff --trace --json "$(cat "id.$1")" "$(cat "id.$2")" >"$out" 2>>"$err"
		belong "$1" "$2" >"$T/want" && said "$3" "$4" >"$T/got" && diff "$T/want" "$T/got" >>"$err" || return 1
	done
}
processes() { right "$1" "$2" '[0-9]+' true; }
threads() { right "$1" "$2" '[0-9]+-[0-9]+' false; }

for n in 1 2 3 4; do echo $n >in.$n; done
recorded a sh -c './work 1; ./work 2; ./work 3' && recorded b sh -c './work 3; ./work 1; ./work 2'
processes a b && [ "$(grep -c . "$T/want")" = 3 ]
check 'processes in another order'
cmd 0 diff --trace "$(cat id.a)" "$(cat id.b)" && says "$out" '3 of 3 threads that were compared are the same'
check 'and they are the same then'
echo 9 >in.2
recorded c sh -c './work 3; ./work 2; ./work 1'
processes a c && json '[.threads[] | select(.verdict == "control").divergences[0].place.line] == ['"$(grep -n @way work.c | cut -d : -f 1)"']'
check 'of which one goes another way'
cmd 1 diff --json "$(cat id.a)" "$(cat id.c)" && json '[.rungs[] | select(.name == "lines").differences[].subject] == ["work"]'
check 'and one alone is among the lines of a diff of runs'
recorded d sh -c './work 4; ./work 3; ./work 1; ./work 2'
processes c d && [ "$(grep -c '^only' "$T/want")" = 1 ]
check 'one more, and one less'
if command -v make >/dev/null; then
	printf 'all: out.1 out.2 out.3 out.4\nout.%%:\n\t./work $*\n' >Makefile && printf 'all: out.4 out.2 out.3 out.1\nout.%%:\n\t./work $*\n' >Makefile.2
	rm -f out.* && recorded e make -s -j3 && rm -f out.* && recorded f make -s -j3 -f Makefile.2
	processes e f && [ "$(grep -c . "$T/want")" = 4 ]
	check 'make -j, in another order'
else
	skip 'make -j, in another order' 'there is no make'
fi

recorded a ./kinds wwr && recorded b ./kinds lwwr
threads a b && [ "$(grep -c '^only' "$T/want")" = 1 ]
check 'threads: one more of another kind before the others'
recorded b ./kinds rww
threads a b
check 'in another order'
recorded b ./kinds wrw
threads a b
check 'mixed'
recorded b ./kinds wwwrr
threads a b && [ "$(grep -c '^only' "$T/want")" = 2 ]
check 'one more of each kind'
recorded a ./kinds wr && recorded b ./kinds wl
threads a b && [ "$(grep -c '^only' "$T/want")" = 2 ]
check 'of another kind: each is there on one side only'
cmd 1 diff --trace "$(cat id.a)" "$(cat id.b)" && says "$out" 'only in A: thread 0.1 of ' 'only in B: thread 0.1 of '
check 'which is said'

# Two executions, of one run too.
recorded a sh -c './work 1; ./work 2; ./work 3'
for n in 1 2; do
	cmd 0 sql --csv "SELECT pub FROM execution WHERE n > 0 AND pid = $(cat who.a/$n) AND argv LIKE './work%' ORDER BY began DESC LIMIT 1" && tr -d '\r' <"$out" | sed -n 2p >x.$n
done
cmd 1 diff --trace --json "$(cat x.1)" "$(cat x.2)" && json '(.threads | length) == 1 and .only == []' && json ".threads[0] | [.a.trace, .b.trace] | map(sub(\".*/\"; \"\") | split(\"-\")[0]) == [\"$(cat who.a/1)\", \"$(cat who.a/2)\"]"
check 'two executions of one run'
# Traces of both kinds: the functions are compared, not the calls by which they were traced.
recorded a ./work 1 && cp id.a id.f
rm -rf who
mkdir who && cmd 0 run -q --trace --trace-calls -- ./work 1 && [ ! -s "$err" ] && id=$("$STEMMA" log --json -n 1 | jq -r '.runs[0].id') && ls "$STEMMA_HOME/trace/$id"/*.calls >/dev/null 2>&1
both=$?
if [ $both = 0 ]; then
	cmd 0 diff --trace --json "$(cat id.f)" "$id" && json '(.threads | length) == 1 and .only == [] and (.threads[0] | [.a.trace, .b.trace] | all(endswith(".trace")))' && cmd 0 diff --trace --json "$id" "$(cat id.f)" && json '(.threads | length) == 1 and .only == []' && cmd 0 diff --trace --json "$id" "$id" && json '(.threads | length) == 1 and (.threads[0].a.trace | endswith(".trace"))'
	check 'traces of functions and of calls'
else
	skip 'traces of functions and of calls' "calls cannot be traced here: $(head -n 1 "$err")"
fi
cmd 2 diff --trace "$(cat x.1)" "$(cat id.d)x" && cmd 2 diff --trace --rank 0 "$(cat id.a)" "$(cat id.d)" && says "$err" 'there is no trace of rank 0' && cmd 2 diff --trace --rank 1:x "$(cat id.a)" "$(cat id.d)" && cmd 2 diff --rank 1 "$(cat id.a)" "$(cat id.d)"
check 'what cannot be compared'
finish
