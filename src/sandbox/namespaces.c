#include "sandbox/namespaces.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL_mount_setattr 442 /* on every machine; older headers lack it */

/* To an existing file, such as one of /proc. 0, -errno. */
static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = io_write(fd, text, strlen(text), NULL);
	close(fd);
	return rc;
}

/* Without those that are only wished for if they cannot be had. 0, -errno. */
static int unshare_any(int needed, int wished)
{
	return unshare(needed | wished) == 0 || (wished && unshare(needed) == 0) ? 0 : -errno;
}

int namespaces_enter(int needed, int wished)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	int rc = uid == 0 ? unshare_any(needed, wished) : -EPERM;
	if (rc < 0 && (rc = unshare_any(CLONE_NEWUSER | needed, wished)) == 0) {
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		rc = write_text("/proc/self/uid_map", map);
		if (rc == 0)
			rc = write_text("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		if (rc == 0)
			rc = write_text("/proc/self/gid_map", map);
	}
	return rc == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : rc;
}

int namespaces_set_readonly(const char *path, bool on, bool below)
{
	enum { READONLY = 1, RECURSIVE = 0x8000 };
	struct {
		uint64_t set, clear, propagation, userns;
	} a = {.set = on ? READONLY : 0, .clear = on ? 0 : READONLY};
	return syscall(CALL_mount_setattr, AT_FDCWD, path, below ? RECURSIVE : 0, &a, sizeof(a)) < 0 ? -errno : 0;
}
