/* killer - runs `stemma run ...` again and again and kills its recorder right behind a system call of that.
 *
 *     killer [--traced]
 *
 * A round is asked for on standard input: a line VICTIM K CALL N, and N strings, each with a NUL: the folder to run in,
 * the command and its arguments. VICTIM: worker, keeper, both; killed behind the K-th call of the victim's, of both of
 * theirs (all threads count). K 0: nobody is killed. CALL: only calls of this number count, -1: all. Two lines answer:
 *
 *     worker W keeper K standby S killed B status X left L   when the command has ended
 *     over S                                                 when all that it had started has ended
 *
 * W, K: the calls that were made; S: was there a standby when it came to the kill; B: did it come to it; X: the status
 * of the command, 128 + signal if one killed it; L: does something that it started live; over 0: it lived for a minute,
 * and was killed. The first line of all says how it is done: by programs in the kernel, or, where that has none, by
 * ptrace. */
#include "killer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS_MAX 32
#define ARG_MAX_BYTES 8192
#define WAIT_SECONDS 60

void killer_become(const struct killer_round *r)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 && chdir(r->folder) == 0) {
		if (null > 2)
			close(null);
		execvp(r->command[0], r->command);
	}
	_exit(127);
}

static int parent_of(const char *pid)
{
	char path[300], line[256];
	int parent = 0;
	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "PPid: %d", &parent) != 1)
		;
	if (f)
		fclose(f);
	return parent;
}

static void kill_children(void)
{
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));)
		if (atoi(e->d_name) > 0 && parent_of(e->d_name) == getpid())
			kill(atoi(e->d_name), SIGKILL);
	if (d)
		closedir(d);
}

/* Who loses its parent becomes a child of this process. Is there one? Who has ended is forgotten. */
static bool has_children(void)
{
	pid_t pid;
	while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
		;
	return pid == 0;
}

static bool await_all(void)
{
	sigset_t set;
	time_t begin = time(NULL);
	bool in_time = true;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	while (has_children()) {
		in_time = in_time && time(NULL) - begin < WAIT_SECONDS;
		if (!in_time)
			kill_children();
		sigtimedwait(&set, NULL, &(struct timespec){.tv_nsec = in_time ? 100 * 1000 * 1000 : 1000 * 1000});
	}
	return in_time;
}

static bool read_strings(char strings[ARGS_MAX][ARG_MAX_BYTES], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int c;
		for (size_t k = 0; (c = getchar()) != '\0'; k++) {
			if (c == EOF || k + 1 == ARG_MAX_BYTES)
				return false;
			strings[i][k] = (char)c;
			strings[i][k + 1] = '\0';
		}
	}
	return true;
}

/* 1: a round, 0: there are no more, -1: not understood. */
static int read_round(struct killer_round *ret)
{
	static char strings[ARGS_MAX][ARG_MAX_BYTES], *command[ARGS_MAX];
	char line[128], victim[16];
	unsigned n;
	if (!fgets(line, sizeof(line), stdin))
		return 0;
	memset(strings, 0, sizeof(strings));
	if (sscanf(line, "%15s %lu %d %u", victim, &ret->k, &ret->number, &n) != 4 || n < 2 || n > ARGS_MAX ||
	    !read_strings(strings, n))
		return -1;
	ret->of_worker = strcmp(victim, "worker") == 0 || strcmp(victim, "both") == 0;
	ret->of_keeper = strcmp(victim, "keeper") == 0 || strcmp(victim, "both") == 0;
	ret->folder = strings[0];
	ret->command = command;
	for (unsigned i = 1; i < n; i++)
		command[i - 1] = strings[i];
	command[n - 1] = NULL;
	return ret->of_worker || ret->of_keeper ? 1 : -1;
}

int main(int argc, char **argv)
{
	char why[200] = "";
	struct killer_round round;
	struct killer_report r;
	sigset_t set;
	int more;
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--traced") != 0)) {
		fprintf(stderr, "usage: killer [--traced]\n");
		return 2;
	}
	bool traced = argc == 2 || killer_kernel_open(why, sizeof(why)) < 0;
	printf("%s%s%s\n", traced ? "by ptrace" : "in the kernel", *why ? ": " : "", why);
	fflush(stdout);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	while ((more = read_round(&round)) > 0) {
		if (traced)
			killer_traced(&round, &r);
		else
			killer_kernel(&round, &r);
		bool left = has_children();
		printf("worker %lu keeper %lu standby %d killed %d status %d left %d\n", r.worker, r.keeper, r.standby,
		       r.killed, r.status, left);
		fflush(stdout);
		printf("over %d\n", await_all());
		fflush(stdout);
	}
	if (more < 0)
		fprintf(stderr, "killer: not understood\n");
	return more < 0 ? 2 : 0;
}
