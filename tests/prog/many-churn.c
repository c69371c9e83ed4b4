/* many-churn N ROUNDS - has a file open N times, and starts a program that ends at once, ROUNDS times. A thread
 * meanwhile lets one small number of a descriptor be a pipe, then a file, then another pipe, without an end. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static _Atomic int over;
static int number, lure;

static void *change(void *arg)
{
	(void)arg;
	while (!over) {
		int p[2];
		if (pipe(p) < 0)
			continue;
		dup2(p[0], number);
		usleep(300);
		dup2(lure, number);
		close(p[0]);
		close(p[1]);
		usleep(300);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct rlimit l;
	long n = argc > 1 ? atol(argv[1]) : 0, rounds = argc > 2 ? atol(argv[2]) : 1, have = 0;
	pthread_t t;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
	close(open("many-churn.file", O_CREAT | O_WRONLY, 0600));
	close(open("many-churn.lure", O_CREAT | O_WRONLY, 0600));
	int file = open("many-churn.file", O_RDONLY);
	lure = open("many-churn.lure", O_RDONLY);
	number = dup(lure);
	while (have < n && dup(file) >= 0)
		have++;
	if (pthread_create(&t, NULL, change, NULL) != 0)
		return 1;
	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
	over = 1;
	pthread_join(t, NULL);
	printf("%ld\n", have);
	return 0;
}
