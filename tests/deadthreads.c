/* deadthreads COUNT [LATER...] - so many processes, each of which has lost a thread and lives on; then runs LATER,
 * waits for it and ends them all. Prints how many there were. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[8192] __attribute__((aligned(64)));
static volatile int over;

/* The C library does not know of it, so it does nothing but end. */
static int thread(void *arg)
{
	(void)arg;
	over = 1;
	syscall(SYS_exit, 0);
	return 0;
}

static _Noreturn void lose_a_thread(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	if (clone(thread, stack + sizeof(stack), flags, NULL) < 0)
		_exit(1);
	while (!over)
		usleep(1000);
	usleep(10000);
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0, made = 0, ready[2];
	pid_t *pids = calloc((size_t)count + 1, sizeof(*pids));
	char c;
	if (!pids || pipe(ready) < 0)
		return 1;
	for (; made < count && (pids[made] = fork()) >= 0; made++)
		if (pids[made] == 0)
			lose_a_thread(ready[1]);
	for (int i = 0; i < made; i++)
		if (read(ready[0], &c, 1) != 1)
			return 1;
	printf("%d\n", made);
	fflush(stdout);
	pid_t later = argc > 2 ? fork() : -1;
	if (later == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (later > 0)
		waitpid(later, NULL, 0);
	for (int i = 0; i < made; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < made; i++)
		waitpid(pids[i], NULL, 0);
	free(pids);
	return 0;
}
