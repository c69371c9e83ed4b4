/* Threads: pairs are made by creation, not by the time at which they happen to run.
 * LINK -pthread
 * PAIR one: 0 2 | 1 2 | decision | true | false
 * PAIR another: 2 7 | 3 7 | decision | true | false
 * PAIR more: 9 1 | 9 3 | turns | false | true */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int which;
static void *work(void *p)
{
	int n = (int)(long)p;
	usleep((unsigned)(rand() % 2000));
	puts("work");
	if (n == which) /* @one @another */
		puts("that one");
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[8];
	(void)argc;
	which = atoi(argv[1]);
	int count = which == 9 ? atoi(argv[2]) : 4;
	srand((unsigned)getpid());
	for (int i = 0; i < count; i++) /* @more */
		pthread_create(&t[i], NULL, work, (void *)(long)i);
	for (int i = 0; i < count; i++)
		pthread_join(t[i], NULL);
	puts("end");
	return 0;
}
