#include "capture/standby/standby.h"

#include "base/io.h"
#include "base/ulid.h"
#include "capture/standby/standby_fds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FEW_FILES 1024 /* numbers that are closed one by one where the kernel has no call for it */

/* Finds the standby's program: from the build folder, from beside this program, or from where it was installed. */
static bool program_path(char *ret, size_t size)
{
	return io_own("../capture/standby/" STANDBY_NAME, "../" STEMMA_LIBDIR "/stemma/" STANDBY_NAME, ret, size) ||
	       (snprintf(ret, size, "%s/%s/stemma/" STANDBY_NAME, STEMMA_PREFIX, STEMMA_LIBDIR) < (int)size &&
	        access(ret, X_OK) == 0);
}

bool standby_found(void)
{
	char path[PATH_MAX];
	return program_path(path, sizeof(path));
}

/* In the new process, whose memory is the keeper's (vfork): system calls only. */
static void become_standby(const char *path, char *const *argv, const int from[STANDBY_FDS])
{
	char *const none[] = {NULL};
	int high[STANDBY_FDS];
	/* Out of the way first: one may have the number that another is to have. */
	for (int i = STANDBY_LISTENER; i < STANDBY_FDS; i++)
		if ((high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, STANDBY_FDS)) < 0)
			return;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < STANDBY_LISTENER; i++)
		if (null < 0 || dup2(null, i) < 0)
			return;
	for (int i = STANDBY_LISTENER; i < STANDBY_FDS; i++)
		if (dup2(high[i], i) < 0)
			return;
	/* What was open when the run was started is none of its business: somebody may wait for the end of a pipe. */
	if (syscall(SYS_close_range, STANDBY_FDS, ~0u, 0) < 0) /* before Linux 5.9 */
		for (int i = STANDBY_FDS; i < FEW_FILES; i++)
			close(i);
	setsid(); /* what kills the job's group, or its terminal, does not meet it */
	(void)!chdir("/");
	execve(path, argv, none);
}

pid_t standby_start(int listener, int memory, int life, const char *run)
{
	static char path[PATH_MAX];
	static char name[] = STANDBY_NAME;
	char id[ULID_LEN + 1];
	const int from[STANDBY_FDS] = {[STANDBY_LISTENER] = listener, [STANDBY_PAGE] = memory, [STANDBY_LIFE] = life};
	if (listener < 0 || memory < 0 || life < 0)
		return -EBADF;
	if (!program_path(path, sizeof(path)))
		return -ENOENT;
	snprintf(id, sizeof(id), "%s", run);
	char *const argv[] = {name, id, NULL};
	pid_t pid = vfork();
	if (pid == 0) {
		become_standby(path, argv, from);
		_exit(127);
	}
	return pid < 0 ? -errno : pid;
}

/* ---- finding it ---- */

/* Its run, where pid is one. The user is read from its status: the folder belongs to root, for it is not dumpable.
 * False: it is none. */
static bool is_standby(pid_t pid, char ret_run[ULID_LEN + 1], bool *ret_own)
{
	char name[64], text[4096];
	snprintf(name, sizeof(name), "/proc/%d/comm", pid);
	if (io_text(name, text, sizeof(text)) == 0 || strcmp(text, STANDBY_NAME "\n") != 0)
		return false;
	snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
	if (io_text(name, text, sizeof(text)) != sizeof(STANDBY_NAME) + ULID_LEN + 1 || strcmp(text, STANDBY_NAME) != 0)
		return false;
	memcpy(ret_run, text + sizeof(STANDBY_NAME), ULID_LEN);
	ret_run[ULID_LEN] = '\0';
	/* Anybody may give a program of theirs this name, and write there what steers a terminal. */
	if (strspn(ret_run, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != ULID_LEN)
		return false;
	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	unsigned uid;
	const char *at = io_text(name, text, sizeof(text)) ? strstr(text, "\nUid:") : NULL;
	*ret_own = at && sscanf(at, "\nUid: %u", &uid) == 1 && uid == getuid();
	return true;
}

void standby_each(void (*each)(void *arg, pid_t pid, const char *run, bool own), void *arg)
{
	DIR *d = opendir("/proc");
	char run[ULID_LEN + 1];
	bool own;
	for (struct dirent *e; d && (e = readdir(d));) {
		pid_t pid = atoi(e->d_name);
		if (pid > 0 && is_standby(pid, run, &own))
			each(arg, pid, run, own);
	}
	if (d)
		closedir(d);
}

bool standby_is(pid_t pid, const char *run)
{
	char is[ULID_LEN + 1];
	bool own;
	return is_standby(pid, is, &own) && strcmp(is, run) == 0;
}
