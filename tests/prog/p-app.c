/* What the tests of annotations say, in C; also as C++. The same list is said in each language
 * (t/t1030-annotations.sh).
 *
 *   list          the list
 *   fork          before and after a fork, in both processes
 *   exec PROGRAM  something, then another program
 *   kill          something, then SIGKILL to itself
 *   threads N M   N threads, M metrics each
 *   cost N        N metrics; prints ns of processor time for each
 *   hostile       bytes of any kind, much, and too much */
#include "stemma/app.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *in_thread(void *arg)
{
	uint64_t a = stemma_app_begin("worker");
	stemma_app_metric("threaded", 1, 0);
	stemma_app_end(a);
	return arg;
}

static int list(void)
{
	static char large[(1 << 20) + 1];
	pthread_t t;
	memset(large, 'x', sizeof(large) - 1);
	stemma_app_type("training");
	stemma_app_config("learning_rate", "0.01", "v2");
	stemma_app_config("batch size", "32", NULL);
	stemma_app_config("words", "Gr\xc3\xbc\xc3\x9f\x65\n\xe6\x97\xa5\xe6\x9c\xac", NULL);
	stemma_app_config("large", large, NULL);
	stemma_app_metric("accuracy", 0.5, 1);
	stemma_app_metric("accuracy", 0.75, 2);
	stemma_app_metric("accuracy", 0.625, 3);
	stemma_app_metric("loss", 0.25, STEMMA_APP_NO_STEP);
	uint64_t epoch = stemma_app_begin("epoch");
	uint64_t batch = stemma_app_begin("batch");
	stemma_app_used("input.csv");
	stemma_app_end(batch);
	stemma_app_end(epoch);
	stemma_app_generated("model.bin");
	stemma_app_tag("purpose", "test");
	if (pthread_create(&t, NULL, in_thread, NULL) || pthread_join(t, NULL))
		return 1;
	const char *run = stemma_app_run();
	printf("%d %s\n", stemma_app_present(), run ? run : "-");
	return 0;
}

static int forks(void)
{
	stemma_app_tag("who", "parent before");
	uint64_t a = stemma_app_begin("outer");
	pid_t pid = fork();
	if (pid == 0) {
		stemma_app_tag("who", "child");
		stemma_app_end(a); /* the parent's: nothing of the child's */
		uint64_t own = stemma_app_begin("inner");
		stemma_app_metric("in child", 1, 0);
		stemma_app_end(own);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	stemma_app_tag("who", "parent after");
	stemma_app_end(a);
	return 0;
}

static long many;
static void *says_many(void *arg)
{
	char name[32];
	snprintf(name, sizeof(name), "thread %d", (int)(intptr_t)arg);
	for (long i = 0; i < many; i++)
		stemma_app_metric(name, (double)i, i);
	return NULL;
}

static int threads(int n)
{
	pthread_t t[64];
	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&t[i], NULL, says_many, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* whoever else runs beside it */
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int cost(long n)
{
	double t = now();
	for (long i = 0; i < n; i++)
		stemma_app_metric("accuracy", 0.5, i);
	printf("%.2f\n", (now() - t) / (double)n);
	return 0;
}

static int hostile(void)
{
	char all[256], *big = (char *)malloc(1 << 20);
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	memset(big, 'n', 1 << 20);
	big[(1 << 20) - 1] = '\0';
	errno = EDOM;
	stemma_app_say(STEMMA_APP_CONFIG, all, sizeof(all), all, sizeof(all), all, sizeof(all), 0, 0, 0);
	stemma_app_config(big, "long name", big);
	stemma_app_config("", "no name", NULL);
	stemma_app_config(NULL, NULL, NULL);
	stemma_app_tag("api_token", "sk-0123456789abcdefghij");
	stemma_app_config("terminal", "\x1b[31mred\x1b[0m", NULL);
	stemma_app_end(12345);
	stemma_app_end(0);
	stemma_app_say(99, "x", 1, NULL, 0, NULL, 0, 0, 0, 0);
	for (int i = 0; i < 40; i++)
		stemma_app_begin("deep");
	stemma_app_metric("nan", 0.0 / (double)(errno - EDOM), 0);
	stemma_app_metric("inf", 1e308 * 10, -9223372036854775807LL);
	for (int i = 0; i < 1200; i++) /* more than there is room for */
		stemma_app_config("fill", big, NULL);
	free(big);
	printf("%d\n", errno == EDOM);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "list"))
		return list();
	if (!strcmp(what, "fork"))
		return forks();
	if (!strcmp(what, "exec") && argc > 2) {
		stemma_app_tag("who", "before exec");
		execv(argv[2], argv + 2);
		return 1;
	}
	if (!strcmp(what, "kill")) {
		stemma_app_metric("last words", 1, 7);
		stemma_app_begin("going on");
		raise(SIGKILL);
	}
	if (!strcmp(what, "threads") && argc > 3) {
		many = atol(argv[3]);
		return threads(atoi(argv[2]));
	}
	if (!strcmp(what, "cost") && argc > 2)
		return cost(atol(argv[2]));
	if (!strcmp(what, "hostile"))
		return hostile();
	return 2;
}
