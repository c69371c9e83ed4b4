#include "daemon/become.h"

#include "base/io.h"
#include "daemon/service.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEPTH = 16 }; /* of what is handed over: users/UID/logs/HOST/DAY is 5 */

/* ---- folders ---- */

static int chown_entry(int at, const char *name, uid_t uid, gid_t gid, int depth);

/* Takes fd. 0; -ELOOP: deeper than DEPTH; -errno. */
static int chown_below(int fd, uid_t uid, gid_t gid, int depth)
{
	DIR *d = depth < DEPTH ? fdopendir(fd) : NULL;
	int r = d ? 0 : depth < DEPTH ? -errno : -ELOOP;
	struct dirent *e;
	if (!d)
		close(fd);
	while (r == 0 && d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = chown_entry(dirfd(d), e->d_name, uid, gid, depth + 1);
	if (d)
		closedir(d);
	return r;
}

/* Gives an entry of a folder to another owner. Of a folder all below it, `depth` deep; links are not followed. 0 or
 * -errno. */
static int chown_entry(int at, const char *name, uid_t uid, gid_t gid, int depth)
{
	struct stat st;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode)) {
		int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int r = fd < 0 ? -errno : chown_below(fd, uid, gid, depth);
		if (r < 0)
			return r;
	}
	/* The folder itself last, so that nobody but root can put anything there before all is done. A file with another
	 * name may be somebody's who is not meant. */
	if (st.st_uid != 0 || (S_ISREG(st.st_mode) && st.st_nlink > 1))
		return 0;
	return fchownat(at, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/* Gives a folder to another owner. All below path that is root's becomes uid's; no link is followed. 0, -errno with
 * a sentence. */
static int become_owner(const char *path, uid_t uid, gid_t gid, struct err *err)
{
	int r = chown_entry(AT_FDCWD, path, uid, gid, 0);
	return r < 0 ? err_set(err, -r, "cannot change the owner of '%s' to user %u", path, uid) : 0;
}

/* Made by root, or what root used before: only then. What belongs to the user is left alone, whatever the user has put
 * there since. all: with what is in it. 0; -errno with a sentence. */
static int hand_over_folder(const char *path, mode_t mode, bool all, uid_t uid, gid_t gid, struct err *err)
{
	struct stat st;
	int r = io_mkdirs(path, mode);
	if (r < 0)
		return err_set(err, -r, "cannot make '%s'", path);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "cannot change the owner of '%s'", path);
	if (st.st_uid != 0)
		return 0;
	if (all)
		return become_owner(path, uid, gid, err);
	/* Only what the daemon makes there; what is in `touch` is other users'. */
	static const char *const ours[] = {"socket", "touch"};
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; dir >= 0 && i < 2; i++)
		if (fchownat(dir, ours[i], uid, gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
			r = -errno;
	if (dir < 0 || (r == 0 && fchown(dir, uid, gid) < 0))
		r = -errno;
	if (dir >= 0)
		close(dir);
	return r < 0 ? err_set(err, -r, "cannot change the owner of '%s' to user %u", path, uid) : 0;
}

/* ---- the user ---- */

/* What the start and the helper need, of those that there are. The rest is given up with root. 0, -errno. */
static int keep_capabilities(void)
{
	static const int keep[] = {CAP_BPF,        CAP_PERFMON,      CAP_SYS_ADMIN, CAP_DAC_READ_SEARCH,
	                           CAP_SYS_PTRACE, CAP_SYS_RESOURCE, CAP_SETPCAP,   CAP_NET_ADMIN};
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2], wants[2] = {0};
	if (syscall(SYS_capget, &h, has) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++) {
		unsigned bit = 1u << (keep[i] % 32);
		wants[keep[i] / 32].permitted |= has[keep[i] / 32].permitted & bit;
		wants[keep[i] / 32].effective |= has[keep[i] / 32].permitted & bit;
	}
	return syscall(SYS_capset, &h, wants) < 0 ? -errno : 0;
}

int become_user(const char *name, const char *base, const char *run, struct err *err)
{
	const struct passwd *pw = getpwnam(name);
	if (!pw) {
		err_set(err, 0, "there is no user '%s'", name);
		err_hint(err, "useradd --system --no-create-home --shell /usr/sbin/nologin %s", name);
		return -ENOENT;
	}
	uid_t uid = pw->pw_uid;
	gid_t gid = pw->pw_gid;
	if (geteuid() == uid)
		return 0;
	if (geteuid() != 0)
		return err_set(err, EPERM, "cannot become user '%s'", name);
	int r = hand_over_folder(base, 0700, true, uid, gid, err);
	if (r == 0)
		r = hand_over_folder(run, 0755, false, uid, gid, err);
	if (r < 0)
		return r;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return err_set(err, errno, "cannot become user '%s'", name);
	r = keep_capabilities();
	return r < 0 ? err_set(err, -r, "cannot keep the capabilities that are needed") : 0;
}
