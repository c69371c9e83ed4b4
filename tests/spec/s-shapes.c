/* s-shapes CASE [NUMBER] - one shape of control flow a case, each with system calls whose order tells the way. The
 * traces that each must leave are written by hand in t/t1110-trace.sh. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void out(const char *s)
{
	if (write(1, s, strlen(s)) < 0)
		exit(9);
}

static int quiet(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += i * i & 5;
	return s;
}

static void branch(int n)
{
	if (n > 2)
		out("more\n");
	else
		out("less\n");
}

static void loop(int n)
{
	for (int i = 0; i < n; i++)
		out("turn\n");
}

static void choose(int n)
{
	switch (n) {
	case 1:
		out("one\n");
		/* fall through */
	case 2:
		out("two\n");
		break;
	case 3:
	case 4:
		break;
	default:
		out("other\n");
	}
}

static void recurse(int n)
{
	if (n == 0)
		return;
	recurse(n - 1);
	out("back\n");
}

static int early(int n)
{
	if (n < 0)
		return 1;
	out("first\n");
	if (n == 0)
		return 2;
	out("second\n");
	return 3;
}

static void ping(void)
{
	out("ping\n");
}

static void pong(void)
{
	out("pong\n");
}

static void nothing(void)
{
}

static void (*const table[])(void) = {ping, pong, nothing};

static void indirect(int n)
{
	table[n % 3]();
}

static jmp_buf place;

static void deep(int n)
{
	if (n > 0)
		deep(n - 1);
	else
		longjmp(place, 1);
	out("never\n");
}

static void jump(int n)
{
	if (setjmp(place) == 0) {
		out("down\n");
		deep(n);
	} else
		out("up\n");
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	if (x == y)
		out("same\n");
	return x < y ? -1 : x > y;
}

static void sort(int n)
{
	int v[2] = {n, 2};
	qsort(v, 2, sizeof(*v), compare);
}

static void *thread(void *arg)
{
	out(arg ? "b\n" : "a\n");
	return NULL;
}

static void threads(void)
{
	pthread_t t;
	char two;
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, thread, &two);
	pthread_join(t, NULL);
}

static void on_signal(int sig)
{
	(void)sig;
	out("signal\n");
}

static void signals(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	out("after\n");
}

static void forks(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		out("child\n");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	out("parent\n");
}

static void ends(int n)
{
	switch (n) {
	case 0:
		exit(3);
	case 1:
		_exit(4);
	case 2:
		abort();
	case 3:
		execl("/bin/true", "true", (char *)NULL);
		break;
	case 4:
		*(volatile int *)(long)n = 1;
		break;
	default:
		kill(getpid(), SIGKILL);
	}
}

/* Nothing that is recorded depends on it. */
static int silent(int n)
{
	int s = 0;
	for (int i = 0; i < 1000; i++)
		if (quiet(i) > n)
			s++;
	return s;
}

static int maybe(int n)
{
	if (n == 12345)
		out("that one\n");
	return n & 1;
}

/* Calls of a function that could reach, and does not: taken back, each and all. */
static void lazy(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += maybe(i);
	out(s > 3 ? "big\n" : "small\n");
}

static void compares(int n)
{
	double d = n / 4.0;
	unsigned u = (unsigned)n;
	if (d < 1.5)
		out("d\n");
	if (u > 3000000000u)
		out("u\n");
	if (n == -7)
		out("n\n");
}

int main(int argc, char **argv)
{
	const char *c = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	if (!strcmp(c, "branch"))
		branch(n);
	else if (!strcmp(c, "loop"))
		loop(n);
	else if (!strcmp(c, "choose"))
		choose(n);
	else if (!strcmp(c, "recurse"))
		recurse(n);
	else if (!strcmp(c, "early"))
		early(n);
	else if (!strcmp(c, "indirect"))
		indirect(n);
	else if (!strcmp(c, "jump"))
		jump(n);
	else if (!strcmp(c, "sort"))
		sort(n);
	else if (!strcmp(c, "threads"))
		threads();
	else if (!strcmp(c, "signals"))
		signals();
	else if (!strcmp(c, "forks"))
		forks();
	else if (!strcmp(c, "ends"))
		ends(n);
	else if (!strcmp(c, "silent"))
		out(silent(n) ? "some\n" : "none\n");
	else if (!strcmp(c, "lazy"))
		lazy(n);
	else if (!strcmp(c, "compares"))
		compares(n);
	return 0;
}
