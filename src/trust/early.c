#include "trust/early.h"

#include "base/io.h"
#include "trust/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EARLY_MARKS 10000 /* a mark takes an inode */

/* What the copies of the run took. */
struct early_spent {
	uint64_t bytes;
	int64_t stall; /* ns */
	unsigned marks;
};

/* ns. */
static int64_t early_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Bytes that a copy may take now. */
static uint64_t early_room(const struct early *e)
{
	uint64_t left, room = kept_room(e->folder, &left), spent = e->spent->bytes;
	uint64_t share = (left + spent) / EARLY_SHARE;
	share = share > spent ? share - spent : 0;
	uint64_t budget = EARLY_BYTES > spent ? EARLY_BYTES - spent : 0;
	room = room < share ? room : share;
	return room < budget ? room : budget;
}

/* The name of the copy. 0, -ENAMETOOLONG. */
static int early_path(const char *folder, uint64_t number, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s/%llu", folder, (unsigned long long)number);
	return n > 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* Copies a file before the command can change it. 0; -ENOSPC, -ETIME: the bounds do not allow it; -errno. */
static int early_copy(struct early_spent *spent, uint64_t room, int from, const char *to)
{
	struct kept_bounds b = {room, early_now() + (EARLY_STALL - spent->stall)};
	int rc = spent->stall >= EARLY_STALL ? -ETIME : kept_copy(from, to, 0400, &b);
	if (rc == 0)
		spent->bytes += room - b.bytes;
	return rc;
}

/* Called before a file is opened: copies it. arg: struct early, in the worker's copy of it. What cannot be copied
 * gets a link in the place of its copy, which leads nowhere: so it is counted. */
static void keep_early(void *arg, uint64_t number, int folder, const char *path, uint64_t dev, uint64_t ino)
{
	const struct early *e = arg;
	struct early_spent *spent = e->spent;
	char to[4200];
	struct stat st;
	int64_t began = early_now();
	if (early_path(e->folder, number, to, sizeof(to)) < 0)
		return;
	int rc = -ESTALE, fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == dev && st.st_ino == ino)
		rc = st.st_size > EARLY_MOST ? -EFBIG : early_copy(spent, early_room(e), fd, to);
	if (fd >= 0)
		close(fd);
	if (rc < 0 && spent->marks < EARLY_MARKS && symlink("-", to) == 0)
		spent->marks++;
	spent->stall += early_now() - began;
}

int early_begin(const char *home, struct err *err, struct early *ret)
{
	struct timespec now;
	char *kept = NULL;
	*ret = (struct early){0};
	int rc = asprintf(&kept, "%s/kept", home) < 0 || asprintf(&ret->folder, "%s/.early.XXXXXX", kept) < 0
	             ? -ENOMEM
	             : io_mkdirs(kept, 0700);
	void *spent = mmap(NULL, sizeof(*ret->spent), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (spent == MAP_FAILED)
		rc = rc < 0 ? rc : -ENOMEM;
	else
		ret->spent = spent;
	if (rc == 0 && !mkdtemp(ret->folder))
		rc = -errno;
	free(kept);
	if (rc < 0) {
		free(ret->folder);
		ret->folder = NULL;
		return err_set(err, -rc, "cannot create a folder for copies of inputs in '%s'", home);
	}
	/* The clock of file times: what is not earlier by it may have changed since. */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	ret->keeper =
	    (struct run_keeper){.arg = ret, .began = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, .keep = keep_early};
	return 0;
}

int early_open(const char *folder, uint64_t number)
{
	char path[4200];
	int rc = early_path(folder, number, path, sizeof(path));
	int fd = rc == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : rc;
	return fd == -1 ? -errno : fd;
}

int early_keep(const char *folder, uint64_t number, const char *home, const struct digest *d)
{
	char path[4200];
	int rc = early_path(folder, number, path, sizeof(path));
	return rc < 0 ? rc : kept_link(home, path, d);
}

void early_end(struct early *e)
{
	if (e->folder)
		io_remove_all(e->folder);
	if (e->spent)
		munmap(e->spent, sizeof(*e->spent));
	free(e->folder);
	*e = (struct early){0};
}
