/* stemma-nodeload - work for a node that is watched, and the truth about it.
 *
 *   stemma-nodeload marks DIR SECONDS   children, one after the other, each of which makes a file of its own; a line
 * for each: its number, and ns since 1970 before it was started and after it was over stemma-nodeload bomb N N
 * processes at once; prints how many there were stemma-nodeload files DIR N         N files made, written and removed,
 * 64 at a time
 *
 * Any call that fails is said on standard error, with status 1: nobody who is watched may be made to fail. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, "x\n", 2) != 2 || close(fd) < 0)
		fail(name);
}

static void marks(double seconds)
{
	long long end = now() + (long long)(seconds * 1e9);
	for (int i = 0; now() < end; i++) {
		char name[32];
		int status;
		snprintf(name, sizeof(name), "mark%d", i);
		long long before = now();
		pid_t pid = fork();
		if (pid == 0) {
			make(name);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			fail("child");
		printf("%d %lld %lld\n", i, before, now());
		usleep(15000);
	}
}

static void bomb(int n)
{
	int fd[2], made = 0;
	pid_t *pids = calloc((size_t)n, sizeof(*pids));
	if (!pids || pipe(fd) < 0)
		fail("bomb");
	for (; made < n; made++) {
		pids[made] = fork();
		if (pids[made] == 0) {
			char c;
			close(fd[1]);
			_exit(read(fd[0], &c, 1) != 0); /* until all are there */
		}
		if (pids[made] < 0)
			break; /* a limit of the machine's, not of a recorder's */
	}
	close(fd[1]);
	for (int i = 0; i < made; i++) {
		int status;
		if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
			fail("child");
	}
	printf("%d\n", made);
	free(pids);
}

static void files(int n)
{
	char name[32];
	for (int i = 0; i < n + 64; i++) {
		if (i < n) {
			snprintf(name, sizeof(name), "file%d", i);
			make(name);
		}
		if (i >= 64) {
			snprintf(name, sizeof(name), "file%d", i - 64);
			if (unlink(name) < 0)
				fail(name);
		}
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "marks") && chdir(argv[2]) == 0)
		marks(atof(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "bomb"))
		bomb(atoi(argv[2]));
	else if (argc == 4 && !strcmp(argv[1], "files") && chdir(argv[2]) == 0)
		files(atoi(argv[3]));
	else
		return 2;
	return 0;
}
