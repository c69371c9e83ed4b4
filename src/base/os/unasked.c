#include "base/os/unasked.h"

#include "base/os/soon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 2000
#define LINKS_MAX 40 /* the kernel's */

/* Types by device. To read the mounts takes 50 us; but a number is given again when its file system is gone. */
#define TYPES 64
#define TYPE_AGE 1 /* s */
static struct type {
	uint64_t dev;
	time_t when;
	char type[64];
} types[TYPES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The type of the file system with that device number, from a mount table. pid: in whose mount namespace it may be
 * as well; 0 nobody's. "" if it is in none. */
static void type_of(uint64_t dev, int pid, char ret[64])
{
	struct type *t = &types[(dev ^ dev >> 32) % TYPES];
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&lock);
	bool have = t->type[0] && t->dev == dev && now.tv_sec - t->when <= TYPE_AGE;
	memcpy(ret, t->type, sizeof(t->type));
	pthread_mutex_unlock(&lock);
	if (have)
		return;
	char name[64];
	snprintf(name, sizeof(name), "/proc/%d/mountinfo", pid);
	if (!fileid_type_in("/proc/self/mountinfo", dev, ret) && (!pid || !fileid_type_in(name, dev, ret)))
		return;
	pthread_mutex_lock(&lock);
	t->dev = dev;
	t->when = now.tv_sec;
	memcpy(t->type, ret, sizeof(t->type));
	pthread_mutex_unlock(&lock);
}

struct look {
	char path[PATH_MAX];
	bool follow;
	int r;
	struct fileid id;
};

/* Run in a thread, since a file system may hang. Sets l->r (0, -errno) and l->id. */
static void identify_file(void *arg)
{
	struct look *l = arg;
	l->r = fileid_get(AT_FDCWD, l->path, l->follow, &l->id);
}

int unasked_get(const char *path, bool follow, struct fileid *ret)
{
	struct statx st;
	struct look l = {.follow = follow};
	int pid, flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
	size_t n = strlen(path);
	if (n >= sizeof(l.path))
		return -ENAMETOOLONG;
	if (sscanf(path, "/proc/%d/", &pid) == 1) {
		char type[64];
		if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | flags, FILEID_STATX, &st) < 0)
			return -errno;
		type_of(fileid_dev(&st), pid, type);
		if (fileid_type_fuse(type)) {
			fileid_of_unasked(path, flags, &st, ret);
			return 0;
		}
		if (*type && !fileid_type_waits(type))
			return fileid_get(AT_FDCWD, path, follow, ret);
	}
	memcpy(l.path, path, n + 1);
	int r = soon_do(&l, sizeof(l), identify_file, PATIENCE_MS);
	*ret = l.id;
	return r < 0 ? r : l.r;
}

int unasked_real(const char *path, char ret[PATH_MAX])
{
	char rest[PATH_MAX], link[PATH_MAX], type[64];
	unsigned links = 0;
	size_t n = 0, len = strlen(path);
	if (*path != '/')
		return -EINVAL;
	if (len >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(rest, path, len + 1);
	ret[0] = '\0';
	for (char *p = rest; *(p += strspn(p, "/"));) {
		struct statx st;
		size_t k = strcspn(p, "/");
		if (k == 1 && *p == '.') {
			p++;
			continue;
		}
		if (k == 2 && p[0] == '.' && p[1] == '.') {
			while (n && ret[--n] != '/')
				;
			ret[n] = '\0';
			p += 2;
			continue;
		}
		if (n + k + 2 > PATH_MAX)
			return -ENAMETOOLONG;
		ret[n] = '/';
		memcpy(ret + n + 1, p, k);
		ret[n + 1 + k] = '\0';
		/* The folder is not FUSE's, so that the name is not looked up there. */
		int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
		if (statx(AT_FDCWD, ret, flags, STATX_TYPE, &st) < 0)
			return -errno;
		type_of(fileid_dev(&st), 0, type);
		if (fileid_type_fuse(type))
			return -EREMOTE;
		p += k;
		if (!S_ISLNK(st.stx_mode)) {
			if (*p && !S_ISDIR(st.stx_mode))
				return -ENOTDIR;
			n += 1 + k;
			continue;
		}
		ssize_t m = ++links > LINKS_MAX ? -1 : readlink(ret, link, sizeof(link));
		if (m < 0)
			return links > LINKS_MAX ? -ELOOP : -errno;
		len = strlen(p);
		if ((size_t)m + len >= sizeof(rest))
			return -ENAMETOOLONG;
		memmove(rest + m, p, len + 1);
		memcpy(rest, link, (size_t)m);
		p = rest;
		if (*link == '/')
			n = 0;
		ret[n] = '\0';
	}
	if (!n)
		memcpy(ret, "/", 2);
	return 0;
}
