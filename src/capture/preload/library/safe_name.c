/* The calls that change names. What a name means is looked at before the call, and told once it has succeeded. */
#include "capture/preload/library/safe.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

struct naming {
	struct safe_out o;
	struct words a, b;
};

/* Identifies a file. Of the generation what is to be had; false: it is not there. */
static bool stat_with_generation(int dirfd, const char *path, int flags, struct safe_stat *ret)
{
	bool there = stat_path(dirfd, path, flags, ret);
	if (there)
		stat_gen(dirfd, path, flags, ret);
	return there;
}

/* Begins to note a call that renames, links or removes. False: there is nothing to tell. */
static bool naming_begin(struct naming *n, enum safe_name what, int d1, const char *p1, int f1, int d2, const char *p2)
{
	int keep = errno;
	bool there = safe_on() && p1;
	words_begin(&n->a);
	words_begin(&n->b);
	if (there) {
		safe_begin(&n->o, SAFE_NAME);
		n->o.e.a = what;
		n->o.e.nstat = 2;
		n->o.stat[1] = (struct safe_stat){.flags = SAFE_HAS_NOT};
		there = stat_with_generation(d1, p1, f1, &n->o.stat[0]) != (what == SAFE_MAKE);
		if (there && (f1 & AT_EMPTY_PATH) && !*p1)
			words_of_fd(&n->a, d1);
		else if (there && what == SAFE_LINK && !(f1 & AT_SYMLINK_NOFOLLOW))
			words_real(&n->a, d1, p1);
		else if (there)
			words_add_path(&n->a, d1, p1);
		if (there && p2) {
			stat_with_generation(d2, p2, AT_SYMLINK_NOFOLLOW, &n->o.stat[1]);
			words_add_path(&n->b, d2, p2);
		}
	}
	errno = keep;
	return there;
}

/* Tells of the new name after the call. Keeps errno. */
static void naming_end(struct naming *n, int dirfd, const char *path)
{
	int keep = errno;
	if (n->o.e.a == SAFE_MAKE)
		stat_with_generation(dirfd, path, AT_SYMLINK_NOFOLLOW, &n->o.stat[0]);
	safe_string(&n->o, n->a.p);
	safe_string(&n->o, n->b.p);
	n->o.e.time = safe_now();
	safe_emit(&n->o);
	errno = keep;
}

/* Keeps errno. */
static void naming_free(struct naming *n)
{
	int keep = errno;
	words_end(&n->a);
	words_end(&n->b);
	errno = keep;
}

#define NAMES(name, what, d1, p1, f1, d2, p2, args, call)                                                              \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		struct naming n;                                                                                               \
		bool tell = naming_begin(&n, what, d1, p1, f1, d2, p2);                                                        \
		int r = REAL(name) call;                                                                                       \
		if (r == 0 && tell)                                                                                            \
			naming_end(&n, d1, p1);                                                                                    \
		naming_free(&n);                                                                                               \
		return r;                                                                                                      \
	}

#define KIND_OF(flags) ((flags)&RENAME_EXCHANGE ? SAFE_EXCHANGE : SAFE_RENAME)
#define FOLLOW(flags) (((flags)&AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW) | ((flags)&AT_EMPTY_PATH))

/* Says that it is in another mount namespace, or that mounts changed. */
NAMES(rename, SAFE_RENAME, AT_FDCWD, old, AT_SYMLINK_NOFOLLOW, AT_FDCWD, new, (const char *old, const char *new),
      (old, new))
NAMES(renameat, SAFE_RENAME, d1, old, AT_SYMLINK_NOFOLLOW, d2, new, (int d1, const char *old, int d2, const char *new),
      (d1, old, d2, new))
NAMES(renameat2, KIND_OF(flags), d1, old, AT_SYMLINK_NOFOLLOW, d2, new,
      (int d1, const char *old, int d2, const char *new, unsigned flags), (d1, old, d2, new, flags))
NAMES(link, SAFE_LINK, AT_FDCWD, old, AT_SYMLINK_NOFOLLOW, AT_FDCWD, new, (const char *old, const char *new),
      (old, new))
NAMES(linkat, SAFE_LINK, d1, old, FOLLOW(flags), d2, new, (int d1, const char *old, int d2, const char *new, int flags),
      (d1, old, d2, new, flags))
NAMES(unlink, SAFE_UNLINK, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *path), (path))
NAMES(unlinkat, SAFE_UNLINK, dir, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (int dir, const char *path, int flags),
      (dir, path, flags))
NAMES(remove, SAFE_UNLINK, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *path), (path))
NAMES(symlink, SAFE_MAKE, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *target, const char *path),
      (target, path))
NAMES(symlinkat, SAFE_MAKE, dir, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *target, int dir, const char *path),
      (target, dir, path))

NAMES(mkdir, SAFE_MAKE, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *path, mode_t mode), (path, mode))
NAMES(mkdirat, SAFE_MAKE, dir, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (int dir, const char *path, mode_t mode),
      (dir, path, mode))
NAMES(rmdir, SAFE_UNLINK, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *path), (path))
NAMES(mkfifo, SAFE_MAKE, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *path, mode_t mode), (path, mode))
NAMES(mkfifoat, SAFE_MAKE, dir, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (int dir, const char *path, mode_t mode),
      (dir, path, mode))
NAMES(mknod, SAFE_MAKE, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (const char *path, mode_t mode, dev_t dev),
      (path, mode, dev))
NAMES(mknodat, SAFE_MAKE, dir, path, AT_SYMLINK_NOFOLLOW, -1, NULL, (int dir, const char *path, mode_t mode, dev_t dev),
      (dir, path, mode, dev))

#define TRUNCATES(name, type)                                                                                          \
	REAL_OF(name);                                                                                                     \
	EXPORT int name(const char *path, type length)                                                                     \
	{                                                                                                                  \
		struct safe_out o;                                                                                             \
		struct words full;                                                                                             \
		int keep = errno;                                                                                              \
		bool on = safe_on() && stat_path(AT_FDCWD, path, 0, &o.stat[1]);                                               \
		errno = keep;                                                                                                  \
		int r = REAL(name)(path, length);                                                                              \
		if (r != 0 || !on || !stat_path(AT_FDCWD, path, 0, &o.stat[0]))                                                \
			return r;                                                                                                  \
		safe_begin(&o, SAFE_TRUNCATE);                                                                                 \
		o.e.nstat = 2;                                                                                                 \
		o.e.a = (uint64_t)length;                                                                                      \
		stat_gen(AT_FDCWD, path, 0, &o.stat[0]);                                                                       \
		words_begin(&full);                                                                                            \
		words_add_path(&full, AT_FDCWD, path);                                                                         \
		safe_string(&o, full.p);                                                                                       \
		safe_emit(&o);                                                                                                 \
		words_end(&full);                                                                                              \
		errno = keep;                                                                                                  \
		return r;                                                                                                      \
	}

TRUNCATES(truncate, off_t)
TRUNCATES(truncate64, off64_t)

/* ---- what paths mean ---- */

static void safe_emit_mounts(void)
{
	int keep = errno;
	struct safe_out o;
	struct safe_stat ns;
	if (safe_on()) {
		safe_begin(&o, SAFE_NOTE);
		o.e.a = SAFE_NOTE_MOUNTS;
		o.e.b = stat_path(AT_FDCWD, "/proc/thread-self/ns/mnt", 0, &ns) ? ns.ino : 0;
		safe_emit(&o);
	}
	errno = keep;
}

REAL_OF(chroot);
/* In the place of the C library's. */
EXPORT int chroot(const char *path)
{
	struct words w;
	int keep = errno;
	bool on = safe_on();
	words_begin(&w);
	if (on) {
		words_real(&w, AT_FDCWD, path);
		if (!w.n)
			words_add_path(&w, AT_FDCWD, path);
	}
	errno = keep;
	int r = REAL(chroot)(path);
	keep = errno;
	if (r == 0 && on) {
		struct safe_out o;
		safe_begin(&o, SAFE_NOTE);
		o.e.a = SAFE_NOTE_ROOT;
		safe_string(&o, w.p);
		safe_emit(&o);
	}
	words_end(&w);
	errno = keep;
	return r;
}

#define MOUNTS(name, args, call)                                                                                       \
	REAL_OF(name);                                                                                                     \
	EXPORT int name args                                                                                               \
	{                                                                                                                  \
		int r = REAL(name) call;                                                                                       \
		if (r == 0)                                                                                                    \
			safe_emit_mounts();                                                                                        \
		return r;                                                                                                      \
	}

MOUNTS(unshare, (int flags), (flags))
MOUNTS(setns, (int fd, int what), (fd, what))
MOUNTS(mount, (const char *from, const char *to, const char *type, unsigned long flags, const void *data),
       (from, to, type, flags, data))
MOUNTS(umount, (const char *path), (path))
MOUNTS(umount2, (const char *path, int flags), (path, flags))
