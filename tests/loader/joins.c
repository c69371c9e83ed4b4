/* joins.c - a library whose constructor makes the call; with JOINS in a thread that it waits for, with EARLY before
 * other constructors, else in a signal handler. */
#include "call.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void make(void)
{
	if (call() != 0)
		_exit(9);
}

#if defined(JOINS)
static void *thread(void *arg)
{
	make();
	return arg;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, thread, NULL) != 0 || pthread_join(t, NULL) != 0)
		_exit(8);
}
#elif defined(EARLY)
__attribute__((constructor(101))) static void begin(void)
{
	make();
}
#else
static void on_signal(int sig)
{
	(void)sig;
	make();
}

__attribute__((constructor)) static void begin(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
}
#endif
