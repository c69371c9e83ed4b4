#include "capture/launch/room.h"

#include "base/io.h"

#include <dirent.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define ENOUGH 32 /* three times what the recorder takes: a shell's pipeline beside it */

/* Root of the first user namespace is not held to RLIMIT_NPROC, nor is who may exceed such limits there. True, too,
 * where the map cannot be read. */
static bool is_exempt(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0};
	const unsigned any = 1u << CAP_SYS_RESOURCE | 1u << CAP_SYS_ADMIN;
	unsigned long long inside, outside, n;
	char map[256];
	bool may = getuid() == 0 || (syscall(SYS_capget, &h, d) == 0 && (d[0].effective & any));
	if (!may)
		return false;
	return !io_text("/proc/self/uid_map", map, sizeof(map)) ||
	       (sscanf(map, "%llu %llu %llu", &inside, &outside, &n) == 3 && inside == 0 && outside == 0 &&
	        n == 4294967295);
}

/* Counts the tasks of one process, if it is the user's: how many tasks it counts as. */
static unsigned long long tasks_of(const char *pid, uid_t user)
{
	char name[300], text[4096];
	unsigned uid;
	unsigned long long threads;
	snprintf(name, sizeof(name), "/proc/%s/status", pid);
	if (!io_text(name, text, sizeof(text)))
		return 0;
	const char *u = strstr(text, "\nUid:"), *t = strstr(text, "\nThreads:");
	if (!u || sscanf(u, "\nUid: %u", &uid) != 1 || uid != user)
		return 0;
	return t && sscanf(t, "\nThreads: %llu", &threads) == 1 ? threads : 1; /* a zombie has no line of threads */
}

/* The threads of this user's processes, by /proc. 0 where it cannot be read. */
static unsigned long long tasks_of_user(void)
{
	DIR *d = opendir("/proc");
	unsigned long long n = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			n += tasks_of(e->d_name, getuid());
	if (d)
		closedir(d);
	return n;
}

/* Are there few processes left to the user? With a sentence where few are left. False also where there is no limit,
 * or it cannot be read. */
static bool little_of_user(char *ret, size_t size)
{
	struct rlimit rl;
	struct sysinfo si;
	if (getrlimit(RLIMIT_NPROC, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY)
		return false;
	/* All tasks of the machine are more than the user's, and cost nothing to ask for. */
	if ((sysinfo(&si) == 0 && rl.rlim_cur >= (rlim_t)si.procs + ENOUGH) || is_exempt())
		return false;
	unsigned long long used = tasks_of_user(), left = rl.rlim_cur > used ? rl.rlim_cur - used : 0;
	if (left >= ENOUGH)
		return false;
	snprintf(ret, size, "the user may start only %llu more processes (ulimit -u), which the command may need", left);
	return true;
}

/* ---- control groups ---- */

/* Reads a number from a file of a folder, such as a limit of a control group. False: not there, or no number, such
 * as "max". */
static bool read_number_file(const char *folder, const char *file, unsigned long long *ret)
{
	char name[4096 + 64], text[64];
	snprintf(name, sizeof(name), "%s/%s", folder, file);
	return io_text(name, text, sizeof(text)) && sscanf(text, "%llu", ret) == 1; /* "max" is none */
}

/* Are there few processes left in the group and in those above it. With a sentence. False also where nothing is
 * known. */
static bool little_in(const char *top, const char *path, char *ret, size_t size)
{
	char folder[4096];
	unsigned long long most, used;
	if (snprintf(folder, sizeof(folder), "%s%s", top, path) >= (int)sizeof(folder))
		return false;
	for (size_t n = strlen(folder); n >= strlen(top);) {
		if (read_number_file(folder, "pids.max", &most) && read_number_file(folder, "pids.current", &used) &&
		    most < used + ENOUGH) {
			snprintf(ret, size,
			         "only %llu more processes may be started (pids.max of the control group), which "
			         "the command may need",
			         most > used ? most - used : 0);
			return true;
		}
		char *up = strrchr(folder, '/');
		if (!up || (size_t)(up - folder) < strlen(top))
			break;
		*up = '\0';
		n = (size_t)(up - folder);
	}
	return false;
}

/* Where distributions mount them; elsewhere they are not found. With a sentence. False also where nothing is known. */
static bool little_of_group(char *ret, size_t size)
{
	char text[8192];
	if (!io_text("/proc/self/cgroup", text, sizeof(text)))
		return false;
	for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path || path[1] != '/')
			continue;
		*path++ = '\0';
		path = path[1] ? path : path + 1; /* "/" is the top itself */
		if ((!strcmp(names, ":pids") && little_in("/sys/fs/cgroup/pids", path, ret, size)) ||
		    (!strcmp(line, "0:") && little_in("/sys/fs/cgroup", path, ret, size)))
			return true;
	}
	return false;
}

bool room_is_little(char *ret, size_t size)
{
	return little_of_user(ret, size) || little_of_group(ret, size);
}
