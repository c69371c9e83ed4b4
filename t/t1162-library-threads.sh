#!/bin/sh
# diff --trace, threads that a library makes (std::thread, C11, OpenMP): which belong together, and where that is not certain.
# What belongs together is known from the programs: each thread leaves a file with its number and what it was for.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cat >t.cc <<'END'
#include <cstdio>
#include <thread>
#include <unistd.h>
#include <sys/syscall.h>
namespace pool {
static void tell(char kind, int which)
{
	char name[100];
	snprintf(name, sizeof(name), "who/%c%d", kind, which);
	FILE *f = fopen(name, "w");
	fprintf(f, "%d-%d\n", (int)getpid(), (int)syscall(SYS_gettid));
	fclose(f);
}
struct reader {
	void operator()(int n) const { tell('r', n); }
};
static void writer(int n)
{
	tell('w', n);
}
static void logger(int n) /* of the writer's type */
{
	tell('l', n);
}
}
int main(int argc, char **argv)
{
	int n[128] = {0};
	for (int i = 0; argv[1][i]; i++) { /* one after the other: their order is this one */
		char c = argv[1][i];
		int k = n[(int)c]++;
		std::thread t;
		if (c == 'r')
			t = std::thread(pool::reader(), k);
		else if (c == 'w')
			t = std::thread(pool::writer, k);
		else
			t = std::thread(pool::logger, k);
		t.join();
	}
	return argc > 2;
}
END
cat >c.c <<'END'
#include <stdio.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>
static void tell(const char *kind)
{
	char name[100];
	snprintf(name, sizeof(name), "who/%s", kind);
	FILE *f = fopen(name, "w");
	fprintf(f, "%d-%d\n", (int)getpid(), (int)syscall(SYS_gettid));
	fclose(f);
}
static int left(void *p)
{
	tell(p);
	return 0;
}
static int right(void *p)
{
	tell(p);
	return 0;
}
int main(int argc, char **argv)
{
	thrd_t t[2];
	int swap = argc > 1 && argv[1][0] == 's';
	thrd_create(&t[0], swap ? right : left, swap ? "right" : "left");
	thrd_join(t[0], NULL);
	thrd_create(&t[1], swap ? left : right, swap ? "left" : "right");
	thrd_join(t[1], NULL);
	return 0;
}
END
if ! command -v g++ >/dev/null || ! "$STEMMA" cc --trace g++ -g t.cc -o t -pthread >"$out" 2>"$err" || ! "$STEMMA" cc --trace gcc -g c.c -o c -pthread >>"$out" 2>>"$err"; then
	echo "1..0 # SKIP programs cannot be built here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
mkdir who traces
if ! STEMMA_TRACE=$PWD/traces ./t r || ! ls traces/* >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
rm -rf traces who

# recorded SIDE COMMAND...: its traces in the folder SIDE, and who was who in it
recorded()
{
	side=$1
	shift
	rm -rf who "who.$side" "$side"
	mkdir who "$side" && STEMMA_TRACE=$PWD/$side "$@" 2>>"$err" && mv who "who.$side"
}
# right A B: what the answer has together has left a file of one name
right()
{
	"$STEMMA" diff --trace --json "$1" "$2" >"$out" 2>>"$err"
	for f in "who.$1"/*; do
		[ -e "who.$2/${f##*/}" ] && echo "$(cat "$f") $(cat "who.$2/${f##*/}")"
	done | sort >"$T/want"
	jq -r 'def who: sub(".*/"; "") | capture("^(?<n>[0-9]+-[0-9]+)").n; .threads[] | select(.a.thread != "0") | (.a.trace | who) + " " + (.b.trace | who)' "$out" | sort >"$T/got"
	[ -s "$T/want" ] && diff "$T/want" "$T/got" >>"$err"
}

recorded a ./t rwl && recorded b ./t lrw
right a b && right b a
check 'std::thread: one of each kind, in another order'
json '[.threads[].pairing_certain] == [true, true, true, true]' && json '[.threads[].pairing] == [null, null, null, null]'
check 'which is certain'
json '[.threads[].a | select(.thread | startswith("?")).begins_in] | sort == ["_ZN4poolL6loggerEi", "_ZN4poolL6writerEi", "_ZNK4pool6readerclEi"]'
check 'what they are for, not what the library begins them with'
cmd 1 diff --trace --all a b && says "$out" 'begun in pool::reader::operator()(int) const,' 'thread ?'
check 'as it was written'

recorded a ./t wwr && recorded b ./t rww
right a b && json '[.threads[] | select(.a.begins_in == "_ZN4poolL6writerEi").pairing_certain] == [false, false]' && json '[.threads[] | select(.a.begins_in != "_ZN4poolL6writerEi").pairing_certain] == [true, true]'
check 'two of a kind: in the order in which they were made, which is not certain'
json '.threads[] | select(.pairing_certain | not).pairing | startswith("2 | 2 threads that a library made begin in ")'
check 'which is said'
recorded b ./t rwww
cmd 1 diff --trace --json a b && json '.only | length == 1 and .[0].side == "b" and .[0].pairing_certain == false'
check 'one more of a kind: which is alone is not certain'
recorded b ./t wwrl
cmd 1 diff --trace --json a b && json '.only | length == 1 and .[0].side == "b" and .[0].pairing_certain and .[0].begins_in == "_ZN4poolL6loggerEi"'
check 'one of another kind: it is'
cmd 1 diff --trace a b && says "$out" 'only in B: thread ?' && ! grep -q 'not certain' "$out"
check 'and nothing is said of those that are the same'

recorded a ./c && recorded b ./c swapped
right a b && right b a && json '[.threads[].pairing_certain] == [true, true, true]'
check 'C11'

cat >o.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
#pragma omp parallel for num_threads(4) schedule(static)
	for (int i = 0; i < 4; i++) {
		char name[40];
		snprintf(name, sizeof name, "part.%d", i);
		if (access(name, F_OK) == 0)
			access("seen", F_OK);
	}
	return argc > 2;
}
END
if "$STEMMA" cc --trace "$CLANG" -g -fopenmp o.c -o o >"$out" 2>"$err" && mkdir who && STEMMA_TRACE=$PWD/who ./o && [ "$(ls who | wc -l)" = 4 ]; then
	rm -rf who
	recorded a ./o && : >part.3 && recorded b ./o
	cmd 1 diff --trace --json a b && json '[.threads[] | select(.verdict == "control")] | length == 1 and .[0].pairing_certain == false' && cmd 1 diff --trace b a && says "$out" 'not certain   3 | 3 threads that a library made begin in '
	check 'OpenMP: one thread goes another way, and which of A it was is not certain'
else
	rm -rf who
	skip 'OpenMP: one thread goes another way, and which of A it was is not certain' 'OpenMP programs cannot be traced here'
fi

# Threads whose creator is known: as many of a kind are certain, one more is not.
cat >p.c <<'END'
#include <pthread.h>
#include <unistd.h>
static void *work(void *p)
{
	access(p, F_OK);
	return NULL;
}
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, argv[i]);
		pthread_join(t, NULL);
	}
	return 0;
}
END
cmd 0 cc --trace gcc -g p.c -o p -pthread && mkdir who && recorded a ./p x y && mkdir -p who && recorded b ./p x y && cmd 0 diff --trace --json a b && json '[.threads[].pairing_certain] == [true, true, true]'
check 'as many threads of one creator are certain'
recorded b ./p x y z && cmd 1 diff --trace --json a b && json '[.threads[].pairing_certain] == [true, false, false] and .only[0].pairing_certain == false'
check 'one more is not'
finish
