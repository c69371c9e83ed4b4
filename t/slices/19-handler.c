/* A function that runs at the end, and one at a signal. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static volatile sig_atomic_t stopped;
static int result;
static void on_signal(int n)
{
	(void)n;
	stopped = 1;
}
static void at_end(void)
{
	printf("result %d\n", result); /* OUT result */
}
int main(int argc, char **argv)
{
	(void)argc;
	signal(SIGINT, on_signal);
	atexit(at_end);
	result = atoi(argv[1]);
	printf("%s\n", stopped ? "stopped" : "running"); /* OUT state */
	fprintf(stderr, "%s\n", argv[2]); /* OUT second */
	return 0;
}
