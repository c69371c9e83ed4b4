#include "trust/kept.h"

#include "base/io.h"
#include "base/strv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define EARLY_OLD                                                                                                      \
	(30 * 24 * 3600) /* s: a run that goes on longer and changes no input meanwhile loses its first copies */

#define FLOOR_MOST (1ull << 30) /* bytes */

uint64_t kept_room(const char *folder, uint64_t *ret_free)
{
	struct statvfs fs;
	if (ret_free)
		*ret_free = 0;
	/* A file costs an inode, too; some file systems have no number of them. */
	if (statvfs(folder, &fs) < 0 || (fs.f_files && fs.f_favail < fs.f_files / 20))
		return 0;
	uint64_t left = (uint64_t)fs.f_bavail * fs.f_frsize, least = (uint64_t)fs.f_blocks / 20 * fs.f_frsize;
	if (ret_free)
		*ret_free = left;
	least = least < FLOOR_MOST ? least : FLOOR_MOST;
	return left > least ? left - least : 0;
}

/* Takes n bytes from the bounds. 0, -ENOSPC, -ETIME. */
static int take_bytes(struct kept_bounds *b, size_t n)
{
	struct timespec now;
	if (!b)
		return 0;
	if (b->bytes < n)
		return -ENOSPC;
	b->bytes -= n;
	if (b->until == INT64_MAX)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec < b->until ? 0 : -ETIME;
}

/* What lies from `at` to `end`, or to the end of the file, to the same place. Holes are not kept. 0, -errno. */
static int copy_part(int from, int to, uint64_t at, uint64_t end, struct kept_bounds *b)
{
	char room[65536];
	if (lseek(to, (off_t)at, SEEK_SET) < 0)
		return -errno;
	while (at < end) {
		uint64_t left = end - at;
		ssize_t k = io_pread(from, room, left < sizeof(room) ? (size_t)left : sizeof(room), at);
		int rc = k > 0 ? take_bytes(b, (size_t)k) : (int)k;
		if (k > 0 && rc == 0)
			rc = io_write(to, room, (size_t)k, NULL);
		if (k <= 0 || rc < 0)
			return rc;
		at += (uint64_t)k;
	}
	return 0;
}

/* Holes stay holes: a file of 10 TiB that is one takes no time and no room. to gets from's length. 0, -errno. */
static int copy_bytes(int from, int to, struct kept_bounds *b)
{
	struct stat st;
	off_t data = 0, hole = 0;
	int rc = 0;
	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	if (fstat(from, &st) < 0)
		return -errno;
	/* Known before a byte is written; where the file system packs its blocks it is found out on the way. */
	uint64_t blocks = (uint64_t)st.st_blocks * 512, size = (uint64_t)st.st_size;
	if (b && b->bytes < (blocks < size ? blocks : size))
		return -ENOSPC;
	while (rc == 0 && hole < st.st_size) {
		data = lseek(from, hole, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0) /* the file system tells of none */
			return copy_part(from, to, 0, UINT64_MAX, b);
		hole = lseek(from, data, SEEK_HOLE);
		hole = hole < 0 ? st.st_size : hole;
		rc = copy_part(from, to, (uint64_t)data, (uint64_t)hole, b);
	}
	if (rc == 0 && ftruncate(to, st.st_size) < 0)
		rc = -errno;
	return rc;
}

int kept_copy(int from, const char *path, unsigned mode, struct kept_bounds *b)
{
	int to = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode | 0200);
	if (to < 0)
		return -errno;
	int rc = copy_bytes(from, to, b);
	if (rc == 0 && fchmod(to, mode) < 0)
		rc = -errno;
	/* So that a diff of two runs sees one file, not two. */
	struct stat st;
	if (rc == 0 && fstat(from, &st) == 0)
		futimens(to, (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, st.st_mtim});
	if (close(to) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlink(path);
	return rc;
}

/* The path of a kept copy. *ret: to be freed. 0, -ENOMEM. */
static int kept_path(const char *home, const struct digest *d, char **ret)
{
	char text[DIGEST_TEXT];
	digest_text(d, text);
	return asprintf(ret, "%s/kept/%s", home, text) < 0 ? -ENOMEM : 0;
}

int kept_put(const char *home, int fd, const struct digest *d)
{
	char *path = NULL, *dir = NULL, *temporary = NULL;
	struct digest now;
	int rc = kept_path(home, d, &path);
	if (rc == 0 && access(path, F_OK) == 0)
		goto out;
	if (rc == 0 && (asprintf(&dir, "%s/kept", home) < 0 || asprintf(&temporary, "%s.%ld", path, (long)getpid()) < 0))
		rc = -ENOMEM;
	if (rc == 0)
		rc = io_mkdirs(dir, 0700);
	if (rc == 0)
		rc = kept_copy(fd, temporary, 0400, &(struct kept_bounds){kept_room(dir, NULL), INT64_MAX});
	/* It may have been changed between the digest and the copy. */
	if (rc == 0) {
		rc = digest_file(NULL, AT_FDCWD, temporary, &now, NULL);
		if (rc == 0 && !digest_eq(&now, d))
			rc = -ESTALE;
		if (rc == 0 && rename(temporary, path) < 0)
			rc = -errno;
		if (rc < 0)
			unlink(temporary);
	}
out:
	free(path);
	free(dir);
	free(temporary);
	return rc;
}

int kept_link(const char *home, const char *path, const struct digest *d)
{
	char *to = NULL;
	int rc = kept_path(home, d, &to);
	if (rc == 0 && link(path, to) < 0 && errno != EEXIST)
		rc = -errno;
	free(to);
	return rc;
}

int kept_get(const char *home, const struct digest *d, const char *path)
{
	char *from = NULL;
	struct digest now;
	int rc = kept_path(home, d, &from);
	int fd = rc == 0 ? open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (rc == 0 && fd < 0)
		rc = -errno;
	if (rc == 0)
		rc = digest_fd(NULL, fd, &now, NULL);
	if (rc == 0 && !digest_eq(&now, d))
		rc = -EBADMSG;
	if (rc == 0)
		rc = kept_copy(fd, path, 0600, NULL);
	if (fd >= 0)
		close(fd);
	free(from);
	return rc;
}

static int compare_kept_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The digests that the record has, sorted. 0 or -errno; nothing is given of half a list. */
static int list_digests(struct store *s, char ***ret, size_t *ret_n)
{
	struct reported_list l;
	int rc = store_reported(s, 0, EVENT_digest, &l);
	char **v = rc == 0 ? calloc(l.n + 1, sizeof(*v)) : NULL;
	size_t n = 0;
	for (size_t i = 0; v && i < l.n; i++)
		if ((v[n] = strndup(l.v[i].ev.digest.digest.p ? l.v[i].ev.digest.digest.p : "", l.v[i].ev.digest.digest.n)))
			n++;
	if (rc == 0 && (!v || n != l.n))
		rc = -ENOMEM;
	reported_list_release(&l);
	if (rc < 0) {
		strv_free(v);
		return rc;
	}
	if (n)
		qsort(v, n, sizeof(*v), compare_kept_names);
	*ret = v;
	*ret_n = n;
	return 0;
}

/* A folder of copies (early.h) whose run was killed, and which nobody takes any more. */
static void sweep_early(int folder, const char *name)
{
	struct stat st;
	char path[64];
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_mtime > time(NULL) - EARLY_OLD)
		return;
	int n = snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, name);
	if (n > 0 && (size_t)n < sizeof(path))
		io_remove_all(path);
}

int kept_sweep(struct store *s, uint64_t *ret_n)
{
	char *dir = NULL, **v;
	size_t n;
	*ret_n = 0;
	if (asprintf(&dir, "%s/kept", store_home(s)) < 0)
		return -ENOMEM;
	DIR *d = opendir(dir);
	free(dir);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	int rc = list_digests(s, &v, &n);
	if (rc == 0) {
		for (struct dirent *e; (e = readdir(d));) {
			const char *name = e->d_name;
			if (!strncmp(name, ".early.", 7))
				sweep_early(dirfd(d), name);
			if (strncmp(name, "sha256:", 7) != 0 || (n && bsearch(&name, v, n, sizeof(*v), compare_kept_names)))
				continue;
			*ret_n += unlinkat(dirfd(d), name, 0) == 0;
		}
		strv_free(v);
	}
	closedir(d);
	return rc;
}
