#!/bin/sh
# diff --trace of programs that do not end by returning from main. The truth is what the shell is told of their end, and
# what is written here from the source.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/lib.sh"
. "$here/t/spec.sh"

needs_llvm
cat >e.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* To be found by an optimiser only if it looks: without NULL, what is written there need never be. */
static int *find(const char *how)
{
	return !strcmp(how, "null") ? NULL : calloc(1, sizeof(int));
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	access("begin", F_OK);
	if (!strcmp(how, "_exit"))
		_exit(3); /* @_exit */
	if (!strcmp(how, "exec"))
		execlp("true", "true", (char *)NULL); /* @exec */
	if (!strcmp(how, "again"))
		execl(argv[0], argv[0], "kill", (char *)NULL); /* @again */
	if (!strcmp(how, "abort"))
		abort(); /* @abort */
	if (!strcmp(how, "kill"))
		raise(SIGKILL); /* @kill */
	if (!strcmp(how, "status")) /* @null */
		exit(7);
	*find(how) = 3;
	access("end", F_OK);
	return 0;
}
END
cat >w.c <<'END'
#include <signal.h>
#include <unistd.h>
static void wake(int s)
{
	(void)s;
}
int main(void)
{
	sigset_t none, usr1;
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	signal(SIGUSR1, wake);
	ssize_t n = write(1, "\n", 1); /* @ready */
	(void)n; /* a decision here would be passed, or not, before the signal comes */
	sigsuspend(&none);
	access("end", F_OK); /* @end */
	return 0;
}
END
cat >x.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static int ready[2];
static void *work(void *p)
{
	char c = 0;
	access("work", F_OK);
	if (write(ready[1], &c, 1) != 1)
		return p;
	for (;;)
		pause();
}
int main(void)
{
	pthread_t t;
	char c;
	if (pipe(ready) || pthread_create(&t, NULL, work, NULL) || read(ready[0], &c, 1) != 1)
		return 1;
	return 0;
}
END
cat >signalled.sh <<'END'
rm -f fifo
mkfifo fifo
./w >fifo &
read -r line <fifo
kill -"$1" $!
wait $!
END
if ! "$STEMMA" cc --trace gcc -g e.c -o e >"$out" 2>"$err" || ! "$STEMMA" cc --trace gcc -g w.c -o w >>"$out" 2>>"$err" || ! "$STEMMA" cc --trace gcc -g x.c -o x -pthread >>"$out" 2>>"$err"; then
	echo "1..0 # SKIP programs cannot be built here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
"$STEMMA" run -q --trace -- ./e >"$out" 2>"$err"
if ! ls "$STEMMA_HOME"/trace/*/*.trace >/dev/null 2>&1; then
	echo "1..0 # SKIP programs cannot be traced here: $(cat "$out" "$err" | head -n 1)"
	exit 0
fi
if ! "$STEMMA" log >"$out" 2>>"$err" || ! [ -s "$out" ]; then
	echo "1..0 # SKIP nothing can be recorded here"
	exit 0
fi
line()
{
	grep -n "@$1 " e.c w.c | cut -d : -f 2
}
# ran STATUS COMMAND...: the run's id in $T/id
ran()
{
	want=$1
	shift
	"$STEMMA" run -q --trace -- "$@" >"$T/said" 2>>"$err"
	[ $? = "$want" ] && "$STEMMA" log --json -n 1 | jq -r '.runs[0].id' >"$T/id"
}
# ended STATUS HOW EXIT WORDS: against a plain run, in both orders; what the JSON has as exit
ended()
{
	ran 0 ./e && plain=$(cat "$T/id") && ran "$1" ./e "$2" && id=$(cat "$T/id") &&
		cmd 1 diff --trace "$id" "$plain" && says "$out" "ended         A $4 | B exits with status 0" && ! grep -q '^partial' "$out" &&
		cmd 1 diff --trace "$plain" "$id" && says "$out" "ended         A exits with status 0 | B $4" &&
		cmd 1 diff --trace --json "$id" "$plain" && json ".threads[0] | .partial == false and .notes == [] and .a.exit == $3 and .b.exit == {status: 0}"
	check "$2: $4"
}
ended 3 _exit '{status: 3}' "exits with status 3 after main() at e.c:$(line _exit)"
ended 0 exec null 'executes another program, true'
json '.threads[0].a.became == "true"'
check 'what it became'
ended 134 abort '{signal: 6}' "is killed by SIGABRT after main() at e.c:$(line abort)"
ended 137 kill '{signal: 9}' "is killed by SIGKILL after main() at e.c:$(line kill)"
ended 7 status '{status: 7}' 'exits with status 7'
ended 139 null '{signal: 11}' "is killed by SIGSEGV after main() at e.c:$(line null)"
ran 3 ./e _exit && id=$(cat "$T/id") && ran 3 ./e _exit && cmd 0 diff --trace "$id" "$(cat "$T/id")" && says "$out" 'same          no control difference' 'ended         A exits with status 3 | B exits with status 3' && ! grep -q '^partial' "$out"
check 'both by _exit: the same, and whole'

# What becomes itself again leaves two traces of one process: the first became another program, the second was killed.
ran 137 ./e again && id=$(cat "$T/id") && ran 0 ./e && cmd 1 diff --trace --json "$id" "$(cat "$T/id")" && jq -c '[(.threads[].a, .only[]) | {exit, became}] | sort_by(.became)' "$out" >"$T/ends" && jq -e '.[0].exit == {signal: 9} and .[1].became == "e" and .[1].exit == null' "$T/ends" >>"$err"
check 'a program that becomes itself'

# Killed from outside: the end itself is where they part.
ran 137 sh signalled.sh KILL && id=$(cat "$T/id") && ran 0 sh signalled.sh USR1 && woken=$(cat "$T/id")
check 'signals from outside'
cmd 1 diff --trace "$id" "$woken" && says "$out" "first differs main() at w.c:$(line ready): A is killed by SIGKILL, B calls access() at w.c:$(line end)" && ! grep -q '^partial' "$out" && cmd 1 diff --trace "$woken" "$id" && says "$out" "first differs main() at w.c:$(line ready): A calls access() at w.c:$(line end), B is killed by SIGKILL"
check 'killed: that is where they part'

# A thread that is still going on when the program exits; without a record, too.
ran 0 ./x && id=$(cat "$T/id") && ran 0 ./x && cmd 0 diff --trace --json "$id" "$(cat "$T/id")" && json '[.threads[].partial] == [false, false]'
check 'a thread that goes on until the program exits'
mkdir a b && STEMMA_TRACE=$PWD/a ./x && STEMMA_TRACE=$PWD/b ./x && cmd 0 diff --trace --json a b && json '[.threads[].partial] == [false, false]'
check 'as the trace of another thread tells'
rm -rf a b
mkdir a b
STEMMA_TRACE=$PWD/a ./e _exit
STEMMA_TRACE=$PWD/b ./e
cmd 1 diff --trace a b && says "$out" "partial       how A's program ended is unknown"
check 'where there is no record, how it ended is not known'
finish
