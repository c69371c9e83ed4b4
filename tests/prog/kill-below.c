/* kill-below NAME PID... - sends SIGKILL to the processes called NAME below each PID, the nearest ones of each branch,
 * and prints their numbers. With -n as its first argument it only prints them.
 *
 * A process is held by a pidfd before it is looked at, so no other process that has got its number meanwhile is met.
 * And a process that was forked by one called NAME has that name, too, until it becomes another program: it is passed
 * by. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEEPEST = 32, MOST = 512 };
static const char *name;
static bool only_names;

/* The process's name and its parent; false: it is gone. */
static bool look_at(pid_t pid, char comm[32], pid_t *ret_parent)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	char *from = strchr(text, '('), *to = strrchr(text, ')');
	int parent;
	if (!from || !to || to < from || to - from > 31 || sscanf(to + 1, " %*c %d", &parent) != 1)
		return false;
	*to = '\0';
	snprintf(comm, 32, "%s", from + 1);
	*ret_parent = parent;
	return true;
}

/* Its children: how many, at most `most`. */
static int children_of(pid_t pid, pid_t *v, int most)
{
	char path[64];
	int n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	FILE *f = fopen(path, "r");
	while (f && n < most && fscanf(f, "%d", &v[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

static void kill_below(pid_t top, int depth)
{
	pid_t v[MOST], parent, above;
	char comm[32], other[32];
	int n = children_of(top, v, MOST);
	for (int i = 0; i < n; i++) {
		int fd = (int)syscall(SYS_pidfd_open, v[i], 0);
		/* Who is its parent, and what is that called, now that the process is there? */
		bool its = fd >= 0 && look_at(v[i], comm, &parent) && parent == top && look_at(top, other, &above);
		if (its && !strcmp(comm, name) && strcmp(other, name) != 0 &&
		    (only_names || syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0))
			printf("%d\n", (int)v[i]);
		else if (its && strcmp(comm, name) != 0 && depth < DEEPEST)
			kill_below(v[i], depth + 1);
		if (fd >= 0)
			close(fd);
	}
}

int main(int argc, char **argv)
{
	int at = 1;
	if (argc > at && !strcmp(argv[at], "-n"))
		only_names = at++;
	if (argc < at + 2) {
		fprintf(stderr, "usage: kill-below [-n] NAME PID...\n");
		return 2;
	}
	name = argv[at++];
	for (; at < argc; at++)
		kill_below(atoi(argv[at]), 0);
	return 0;
}
