/* Ends, jumps and signals.
 * PAIR longjmp: jump 1 | jump 0 | decision | true | false
 * PAIR exit: exit 1 | exit 0 | decision | true | false
 * PAIR abort: abort 1 | abort 0 | decision | true | false
 * PAIR raise: raise 1 | raise 0 | decision | true | false
 * PAIR atexit: atexit 1 | atexit 0 | decision | true | false
 * PAIR exec: exec 1 | exec 0 | decision | true | false
 * PAIR back: back 2 | back 3 | decision | true | false */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf there;
static int n, given;

static void jump(void)
{
	puts("in jump");
	if (n) /* @longjmp */
		longjmp(there, 1);
	puts("no jump");
}
static void handler(int sig)
{
	(void)sig;
	write(1, "signal\n", 7);
}
static void bye(void)
{
	if (given) /* @atexit */
		puts("bye");
	puts("gone");
}
static void count(void)
{
	static int times;
	puts("count");
	longjmp(there, ++times);
}
static void leave(void)
{
	puts("in leave");
	if (n) /* @exit */
		exit(3);
	puts("it goes on");
}
int main(int argc, char **argv)
{
	(void)argc;
	n = atoi(argv[2]);
	if (!strcmp(argv[1], "jump")) {
		if (setjmp(there) == 0)
			jump();
		else
			puts("back");
	}
	if (!strcmp(argv[1], "exit"))
		leave();
	if (!strcmp(argv[1], "abort")) {
		puts("before");
		if (n) /* @abort */
			abort();
		puts("after");
	}
	if (!strcmp(argv[1], "raise")) {
		signal(SIGUSR1, handler);
		if (n) /* @raise */
			raise(SIGUSR1);
		puts("after");
	}
	if (!strcmp(argv[1], "atexit")) {
		given = n;
		atexit(bye);
	}
	if (!strcmp(argv[1], "exec")) {
		fflush(stdout);
		if (n) /* @exec */
			execl("/bin/true", "true", (char *)NULL);
		puts("no exec");
	}
	if (!strcmp(argv[1], "back")) {
		if (setjmp(there) == n) /* @back */
			return 0;
		count();
	}
	puts("end");
	return 0;
}
