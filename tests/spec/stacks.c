/* stacks.c WAY - calls rmdir("here") from functions that are known: outer, inner and what WAY says is between. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone, noipa))

static volatile int after;

APART static void inner(const char *name)
{
	rmdir(name); /* INNER */
	after++;
}

static inline __attribute__((always_inline)) void inlined(const char *name)
{
	inner(name); /* INLINED */
	after++;
}

APART static void outer(const char *name)
{
	inlined(name); /* OUTER */
	after++;
}

APART static void deep(int n)
{
	if (n > 0)
		deep(n - 1); /* DEEP */
	else
		outer("here");
	after++;
}

static void handler(int signal)
{
	(void)signal;
	outer("here"); /* HANDLER */
	after++;
}

static int compare(const void *a, const void *b)
{
	if (!after)
		outer("here"); /* COMPARE */
	return *(const char *)a - *(const char *)b;
}

static void *in_thread(void *arg)
{
	outer(arg); /* THREAD */
	after++;
	return NULL;
}

static void *later(void *arg)
{
	usleep(100000); /* the first thread has ended */
	outer(arg);     /* LATER */
	puts("done");
	fflush(stdout);
	_exit(7);
}

/* Room on the stack, more than is looked at first. */
APART static void wide(const char *name)
{
	volatile char room[100000];
	memset((char *)room, after, sizeof(room));
	outer(name); /* WIDE */
	after += room[5000];
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	pthread_t t;
	char letters[] = "stack";
	if (!strcmp(way, "plain"))
		outer("here"); /* PLAIN */
	if (!strcmp(way, "deep"))
		deep(atoi(argv[2]));
	if (!strcmp(way, "wide"))
		wide("here");
	if (!strcmp(way, "signal")) {
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
	}
	if (!strcmp(way, "sort"))
		qsort(letters, 5, 1, compare);
	if (!strcmp(way, "thread") && pthread_create(&t, NULL, in_thread, "here") == 0)
		pthread_join(t, NULL);
	if (!strcmp(way, "alone") && pthread_create(&t, NULL, later, "here") == 0)
		pthread_exit(NULL);
	if (!strcmp(way, "library")) {
		void *l = dlopen(argv[2], RTLD_NOW);
		void (*f)(void) = l ? (void (*)(void))dlsym(l, "of_library") : NULL;
		if (f)
			f(); /* LIBRARY */
	}
	if (!strcmp(way, "again")) /* the same line, from two */
		for (int i = 0; i < atoi(argv[2]); i++)
			if (i % 2)
				outer("here"); /* ODD */
			else
				inner("here"); /* EVEN */
	if (!strcmp(way, "exec"))
		execl(argv[0], argv[0], "plain", (char *)NULL);
	puts("done");
	return 7;
}
