/* main.c - main CASE [LIBRARY]: where the first call comes from. Prints the case when it has worked.
 *
 * load LIBRARY    loads it, whose constructor makes the call
 * begun           was linked with such a library
 * call            main makes it
 * fork [LIBRARY]  children of a program with another thread make it, which loads and unloads LIBRARY without end
 * unload LIBRARY  the library that stemma preloads is closed more often than it was opened */
#include "call.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LATE /* what has the call is loaded when it is needed */
static int late(void)
{
	void *h = dlopen("./libcall.so", RTLD_NOW | RTLD_LOCAL), *f = h ? dlsym(h, "call") : NULL;
	int (*made)(void);
	memcpy(&made, &f, sizeof(made));
	return f ? made() : 6;
}
#define call late
#endif

static const char *library;
static volatile int stop;

static void *loads(void *arg)
{
	while (!stop) {
		void *h = *library ? dlopen(library, RTLD_NOW) : NULL;
		if (!*library)
			continue;
		if (!h)
			_exit(7);
		dlclose(h);
	}
	return arg;
}

static int forks(void)
{
	pthread_t t;
	int status;
	pthread_create(&t, NULL, loads, NULL);
	for (int i = 0; i < 60; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(call());
		if (waitpid(pid, &status, 0) != pid || status != 0)
			return 3;
	}
	stop = 1;
	pthread_join(t, NULL);
	return 0;
}

static int unloads(void)
{
	void *h = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	for (int i = 0; h && i < 4; i++)
		dlclose(h);
	return call();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rc = 0;
	library = argc > 2 ? argv[2] : "";
	if (!strcmp(what, "load"))
		rc = dlopen(library, RTLD_NOW | RTLD_LOCAL) ? 0 : 6;
	else if (!strcmp(what, "call"))
		rc = call();
	else if (!strcmp(what, "fork"))
		rc = forks();
	else if (!strcmp(what, "unload"))
		rc = unloads();
	if (rc == 6)
		fprintf(stderr, "%s\n", dlerror());
	if (rc == 0)
		puts(what);
	return rc;
}
