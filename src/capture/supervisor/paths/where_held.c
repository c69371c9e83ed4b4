#include "base/fileid.h"
#include "capture/supervisor/paths/links.h"
#include "capture/supervisor/paths/where_int.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where a path starts. */
void where_start_directory(const struct where *w, bool absolute, char *ret, size_t n)
{
	if (absolute)
		snprintf(ret, n, "/proc/%d/root", w->tid);
	else if (w->atfd == AT_FDCWD)
		snprintf(ret, n, "/proc/%d/cwd", w->tid);
	else
		snprintf(ret, n, "/proc/%d/fd/%d", w->tid, w->atfd);
}

/* Holds the directory that a relative path begins in: what is asked by a descriptor takes 0.7 us, by /proc/PID/cwd 2.3.
 * A descriptor of the process's is copied where nobody notices (table.c), which takes 1 us and no look in /proc. Its
 * pidfd may be another process's by then, if this one was killed meanwhile: then nothing comes of the stop. False: it
 * cannot be opened, and w->dirfd is AT_FDCWD. */
bool where_hold_start(struct rooted r, struct where *w)
{
	char start[64];
	int fd = -1;
	if (w->atfd != AT_FDCWD && r.table >= 0 && r.pid == w->tid)
		w->copied = (fd = (int)syscall(SYS_pidfd_getfd, r.table, w->atfd, 0)) >= 0;
	if (fd < 0) {
		where_start_directory(w, false, start, sizeof(start));
		fd = open(start, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	w->held = fd >= 0;
	w->hold = fd;
	w->dir.ino = 0;
	w->dirfd = fd >= 0 ? fd : AT_FDCWD;
	return fd >= 0;
}

/* By its words, as it is where nothing is held. False: they are longer than a path may be. */
bool where_let_go(struct where *w)
{
	char start[64] = "";
	bool absolute = w->given[0] == '/';
	if (!absolute)
		where_start_directory(w, false, start, sizeof(start));
	size_t k = strlen(start), n = strlen(w->given);
	w->held = w->copied = false;
	w->in_turn = NULL;
	if (!absolute && k + 1 + n >= 4096) {
		memcpy(w->path, w->given, n + 1);
		return false;
	}
	if (w->hold >= 0)
		close(w->hold);
	w->hold = -1;
	w->dir.ino = 0;
	w->dirfd = AT_FDCWD;
	if (!absolute) {
		memcpy(w->path, start, k);
		w->path[k++] = '/';
	}
	memcpy(w->path + k, w->given, n + 1);
	return true;
}

void where_hold_in_turn(struct where *w)
{
	int fd = dirs_in_turn(w->given, &w->in_turn);
	w->held = fd >= 0;
	if (!w->held) {
		w->in_turn = NULL;
		return;
	}
	w->dirfd = fd;
	const char *base = strrchr(w->given, '/') + 1;
	memcpy(w->path, base, strlen(base) + 1);
}

/* What is held becomes fd, the directory of its last component. */
static void hold_instead(struct where *w, int fd)
{
	if (w->hold >= 0)
		close(w->hold);
	w->hold = w->dirfd = fd;
	w->dir.ino = 0;
	w->copied = false;
	w->in_turn = NULL;
}

/* A file shares its locks with each copy of its descriptor: kept, a copy would keep them. */
void where_pin_held(struct where *w)
{
	char dir[sizeof(w->path)];
	const char *slash = strrchr(w->path, '/');
	if (!slash && !w->copied && !w->in_turn)
		return;
	size_t n = slash > w->path ? (size_t)(slash - w->path) : 0;
	memcpy(dir, n ? w->path : ".", n ? n : 1);
	dir[n ? n : 1] = '\0';
	int fd = slash && !slash[1] ? -1 : openat(w->dirfd, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		const struct dir_id same = w->in_turn || slash ? (struct dir_id){0} : w->dir;
		hold_instead(w, fd);
		w->dir = same;
		if (slash)
			memmove(w->path, slash + 1, strlen(slash + 1) + 1);
	} else if (w->copied || w->in_turn) {
		where_let_go(w);
	}
}

/* Holds the directory of the last component instead of that which the path begins in. False: it may lead through a
 * process, or nobody can tell. *ret_rc: -errno where there is none. */
static bool descend(struct where *w, int *ret_rc)
{
	char dir[sizeof(w->path)];
	const char *slash = strrchr(w->path, '/');
	*ret_rc = 0;
	if (!slash)
		return true;
	size_t n = (size_t)(slash - w->path);
	memcpy(dir, w->path, n);
	dir[n] = '\0';
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, w->hold, dir, &how, sizeof(how));
	struct dir_id id;
	if (fd < 0) {
		*ret_rc = -errno;
		return errno == ENOENT || errno == ENOTDIR;
	}
	if (!dirs_ask(fd, &id) || id.in_proc) {
		close(fd);
		return false;
	}
	hold_instead(w, fd);
	w->dir = id;
	memmove(w->path, slash + 1, strlen(slash + 1) + 1);
	return true;
}

/* From the directory that is held. False: it is to be looked at by its words. */
bool where_look_held(struct where *w, bool follow, struct statx *st, int *ret_rc)
{
	const char *slash = strrchr(w->path, '/'), *base = slash ? slash + 1 : w->path;
	if (!*base || !descend(w, ret_rc))
		return false;
	if (*ret_rc == 0)
		*ret_rc = where_statx(w, false, st);
	bool there = *ret_rc == 0;
	w->direct = there && strcmp(w->path, ".") && strcmp(w->path, "..");
	return !there || !((follow && S_ISLNK(st->stx_mode)) || links_is_in_proc(st));
}

const char *where_held_dir(struct where *w)
{
	return !w->held ? NULL : w->in_turn ? dirs_held_name(w->in_turn) : dirs_name(w->dirfd, &w->dir);
}

/* Of what lies in the directory that is held, and is no link that was followed; NULL: it is to be asked for. */
char *where_name_held(struct where *w, const struct statx *st)
{
	struct statx there;
	char *ret;
	if (strchr(w->path, '/') || !strcmp(w->path, ".") || !strcmp(w->path, ".."))
		return NULL;
	/* Made since it was looked at, it may be what a link leads to. */
	if (!w->direct && (fileid_statx_cached(w->dirfd, w->path, AT_SYMLINK_NOFOLLOW, STATX_INO, &there) < 0 ||
	                   there.stx_ino != st->stx_ino || fileid_dev(&there) != fileid_dev(st)))
		return NULL;
	const char *dir = where_held_dir(w);
	size_t n = dir && dir[1] ? strlen(dir) : 0, k = strlen(w->path);
	if (!dir || dir[0] != '/' || !(ret = malloc(n + k + 2)))
		return NULL;
	memcpy(ret, dir, n);
	ret[n] = '/';
	memcpy(ret + n + 1, w->path, k + 1);
	return ret;
}
