#include "trust/confine.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of headers that not every C library has: the call is 442 everywhere, from Linux 5.12. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
struct attr {
	uint64_t set, clear, propagation, userns;
};
enum { ATTR_READONLY = 1, AT_ALL_BELOW = 0x8000 };

static int set_readonly(const char *path, bool on, bool below)
{
	struct attr a = {.set = on ? ATTR_READONLY : 0, .clear = on ? 0 : ATTR_READONLY};
	return syscall(SYS_mount_setattr, AT_FDCWD, path, below ? AT_ALL_BELOW : 0, &a, sizeof(a)) < 0 ? -errno : 0;
}

static int put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = io_write(fd, text, strlen(text), NULL);
	close(fd);
	return rc;
}

static int unshare_any(int needed, int wished)
{
	if (unshare(needed | wished) == 0 || unshare(needed) == 0)
		return 0;
	return -errno;
}

/* Who is it in there? The same as outside, whatever that is. */
static int namespaces(void)
{
	enum { WISHED = CLONE_NEWNET | CLONE_NEWIPC };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];
	if (uid == 0 && unshare_any(CLONE_NEWNS, WISHED) == 0) {
		/* So that nobody makes it writable again. */
		prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
		return 0;
	}
	int rc = unshare_any(CLONE_NEWUSER | CLONE_NEWNS, WISHED);
	if (rc < 0)
		return rc;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	rc = put_text("/proc/self/uid_map", map);
	if (rc == 0)
		rc = put_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (rc == 0)
		rc = put_text("/proc/self/gid_map", map);
	if (rc == 0 && uid == 0)
		prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
	return rc;
}

int confine_enter(const char *over, const char *own, const char *work, struct err *err)
{
	char below[PATH_MAX] = "";
	size_t n = strlen(over);
	int rc = namespaces();
	if (rc < 0) {
		err_set(err, -rc, "cannot keep what is run again from your files");
		err_hint(err, "it needs user namespaces, or to be root");
		return rc;
	}
	/* What is bound over it would hide its own folder. */
	if (!strncmp(own, over, n) && own[n] == '/') {
		snprintf(below, sizeof(below), "%s%s", work, own + n);
		if ((rc = io_mkdirs(below, 0700)) < 0)
			return err_set(err, -rc, "cannot make '%s'", below);
	}
	int self = open(own, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char link[40];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", self);
	if (self < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, NULL) < 0 || mount(work, over, "", MS_BIND, NULL) < 0 ||
	    mount(link, own, "", MS_BIND, NULL) < 0 || (rc = set_readonly("/", true, true)) < 0 ||
	    (rc = set_readonly(over, false, false)) < 0 || (rc = set_readonly(own, false, false)) < 0) {
		rc = rc < 0 ? rc : -errno;
		return err_set(err, -rc, "cannot keep what is run again from your files");
	}
	return 0;
}
