#include "capture/attach/attach_copy.h"

#include "base/buf.h"
#include "base/fileid.h"
#include "base/io.h"
#include "base/os/memfile.h"
#include "capture/attach/attach_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COPIES 32
#define SIZE_MAX_COPIED (64 << 20)

struct copy {
	uint64_t dev, ino;
	struct statx was; /* the file that it was made of */
	int fd;           /* -errno: none could be made of this file */
	uint64_t copy_dev, copy_ino;
};

struct attach_copies {
	pthread_mutex_t lock;
	const char *const *symbols;
	size_t n;
	struct copy v[COPIES];
	char library[];
};

struct attach_copies *attach_copies_new(const char *library, const char *const *symbols)
{
	struct attach_copies *c = calloc(1, sizeof(*c) + strlen(library) + 1);
	/* The linker would take a dollar sign for the beginning of a word of its own. */
	if (!c || library[0] != '/' || strchr(library, '$')) {
		free(c);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->symbols = symbols;
	memcpy(c->library, library, strlen(library) + 1);
	return c;
}

static bool times_are_equal(const struct statx_timestamp *a, const struct statx_timestamp *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* By size and times, of the same inode. */
static bool is_unchanged(const struct statx *a, const struct statx *b)
{
	return a->stx_size == b->stx_size && times_are_equal(&a->stx_mtime, &b->stx_mtime) &&
	       times_are_equal(&a->stx_ctime, &b->stx_ctime);
}

/* What the file is now. False: it is no regular file, or not that inode. */
static bool look_at_inode(int fd, uint64_t dev, uint64_t ino, struct statx *ret)
{
	return fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, ret) == 0 && S_ISREG(ret->stx_mode) &&
	       ret->stx_ino == ino && fileid_dev(ret) == dev;
}

/* Reads the file of n bytes into the memory. 0; -errno. */
static int read_library(int from, unsigned char *image, size_t n)
{
	for (size_t at = 0; at < n;) {
		const ssize_t got = pread(from, image + at, n - at, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		at += (size_t)got;
	}
	return 0;
}

static bool names_one(const struct attach_copies *c, const unsigned char *image, size_t n)
{
	for (const char *const *s = c->symbols; *s; s++)
		if (attach_elf_names(image, n, *s))
			return true;
	return false;
}

/* Whether code can be run from it here. Of the copy: a security module may forbid that, and the program would not
 * begin. Of the file: where it lies on a file system without execution, the program is to fail as ever. */
static bool is_mapped_to_run(int fd)
{
	void *p = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	munmap(p, 1);
	return true;
}

/* Is our own library's file whole? The linker would map a shorter one, and the program end by SIGBUS. */
static bool is_library_whole(const struct attach_copies *c)
{
	struct buf file = {0};
	const bool whole = io_read_file(c->library, SIZE_MAX_COPIED, &file) == 0 && !file.failed &&
	                   names_one(c, (const unsigned char *)file.p, file.n);
	buf_release(&file);
	return whole;
}

/* Fills the memory of size n behind fd by the changed library. 0; -errno. */
static int make_image(const struct attach_copies *c, int from, int fd, size_t n)
{
	unsigned char *image = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (image == MAP_FAILED)
		return -errno;
	int rc = read_library(from, image, n);
	if (rc == 0 && !names_one(c, image, n))
		rc = -ENOEXEC;
	if (rc == 0)
		rc = attach_elf_add(image, n, c->library);
	munmap(image, n);
	return rc;
}

/* Of the file of that size. A descriptor; -errno. */
static int make_copy(const struct attach_copies *c, int from, const char *path, uint64_t size)
{
	char name[128];
	const char *slash = strrchr(path, '/');
	if (!size || size > SIZE_MAX_COPIED)
		return -EFBIG;
	if (!is_library_whole(c))
		return -ENOEXEC;
	snprintf(name, sizeof(name), "stemma-library:%.100s", slash ? slash + 1 : path);
	int fd = memfile_sealable(name, size);
	int rc = fd < 0 ? fd : make_image(c, from, fd, size);
	if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		rc = -errno;
	if (rc == 0 && !is_mapped_to_run(fd))
		rc = -EACCES;
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

/* Was it last changed so long ago that a change from now on has another time? Times have the grain of the kernel's
 * tick, at most 10 ms. */
static bool is_settled(const struct statx *now)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	const int64_t s = t.tv_sec - now->stx_ctime.tv_sec, ns = t.tv_nsec - (int64_t)now->stx_ctime.tv_nsec;
	return s > 1 || (s >= 0 && s * 1000000000 + ns > 20000000);
}

/* Under the lock: the one of that file, or one that is made now. A descriptor; -errno. */
static int find_or_make(struct attach_copies *c, int from, const char *path, uint64_t dev, uint64_t ino,
                        const struct statx *now)
{
	struct statx after;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].dev == dev && c->v[i].ino == ino)
			return is_unchanged(&c->v[i].was, now) ? c->v[i].fd : -ESTALE;
	if (c->n == COPIES)
		return -ENOSPC;
	if (!is_settled(now))
		return -ESTALE;
	int fd = make_copy(c, from, path, now->stx_size);
	if (!look_at_inode(from, dev, ino, &after) || !is_unchanged(now, &after)) {
		if (fd >= 0)
			close(fd);
		return -ESTALE;
	}
	struct statx of = {0};
	if (fd >= 0 && fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_INO, &of) < 0) {
		close(fd);
		fd = -ESTALE;
	}
	c->v[c->n] = (struct copy){dev, ino, *now, fd, fileid_dev(&of), of.stx_ino};
	__atomic_store_n(&c->n, c->n + 1, __ATOMIC_RELEASE);
	return fd;
}

/* The entry of that file, if a copy was made of it. Takes no lock, whose holder may wait for a file system: an entry
 * does not change once it is counted. NULL: none was. */
static const struct copy *find_made(const struct attach_copies *c, uint64_t dev, uint64_t ino)
{
	const size_t n = __atomic_load_n(&c->n, __ATOMIC_ACQUIRE);
	for (size_t i = 0; i < n; i++)
		if (c->v[i].dev == dev && c->v[i].ino == ino)
			return c->v[i].fd < 0 ? NULL : &c->v[i];
	return NULL;
}

/* The memory behind fd, opened anew, to read only. -errno. */
static int open_again(int fd)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	int again = open(name, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

bool attach_copies_identity(const struct attach_copies *c, uint64_t dev, uint64_t ino, uint64_t *ret_dev,
                            uint64_t *ret_ino)
{
	const struct copy *is = find_made(c, dev, ino);
	*ret_dev = is ? is->copy_dev : 0;
	*ret_ino = is ? is->copy_ino : 0;
	return is;
}

int attach_copies_again(const struct attach_copies *c, uint64_t dev, uint64_t ino)
{
	const struct copy *is = find_made(c, dev, ino);
	return is ? open_again(is->fd) : -ENOENT;
}

int attach_copies_get(struct attach_copies *c, const char *path, uint64_t dev, uint64_t ino)
{
	struct statx now;
	int from = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (from < 0)
		return -errno;
	int fd = -ESTALE;
	if (look_at_inode(from, dev, ino, &now) && is_mapped_to_run(from)) {
		pthread_mutex_lock(&c->lock);
		fd = find_or_make(c, from, path, dev, ino, &now);
		pthread_mutex_unlock(&c->lock);
		/* Each program has an offset of its own: the linker reads from where it is. */
		fd = fd < 0 ? fd : open_again(fd);
	}
	close(from);
	return fd;
}
