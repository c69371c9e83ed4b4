/* Ends: handlers of exit, output that is lost, functions of the program that the library's own functions call. */
#define _GNU_SOURCE
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static const char *farewell = "none";
static int level;
static void bye(void)
{
	fprintf(stderr, "%s\n", farewell); /* OUT bye */
}
static void by_status(int status, void *p)
{
	fprintf(stderr, "%d %s\n", status, (char *)p); /* OUT status */
}
static void aborted(int s)
{
	(void)s;
	write(2, "a", 1); /* OUT aborted */
	_exit(1);
}
__attribute__((destructor)) static void after(void)
{
	dprintf(2, "%d\n", level); /* OUT after */
}
int main(int argc, char **argv)
{
	(void)argc;
	printf("buffered\n"); /* OUT buffered */
	farewell = argv[1];
	if (atoi(argv[2]))
		atexit(bye);
	on_exit(by_status, argv[3]);
	level = atoi(argv[4]);
	if (atoi(argv[5]))
		_exit(0);
	signal(SIGABRT, aborted);
	assert(atoi(argv[6]) == 0);
	dprintf(2, "alive\n"); /* OUT alive */
	exit(atoi(argv[7]));
}
