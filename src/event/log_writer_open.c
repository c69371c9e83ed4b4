/* log_writer_open.c - a log's writer is made: its memory, its slot and the segment that it appends to. */
#include "event/log_writer_int.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "event/log_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t log_writer_segment_max = LOG_SEGMENT_MAX;

/* A random number for a session, never 0. */
static uint64_t draw_session(void)
{
	struct {
		uint64_t number;
		struct timespec t;
		pid_t pid;
	} seed = {0};
	if (getrandom(&seed.number, sizeof(seed.number), GRND_NONBLOCK) != sizeof(seed.number)) {
		clock_gettime(CLOCK_MONOTONIC, &seed.t);
		seed.pid = getpid();
		seed.number = hash_bytes(&seed, sizeof(seed));
	}
	return seed.number ? seed.number : 1;
}

/* session 0: one is drawn. What is to outlive the writer's process is in shared memory. 0, -ENOMEM. */
static int writer_new(uint64_t session, struct log_writer **ret)
{
	struct log_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = w->dir = w->lease = -1;
	w->sh = mmap(NULL, sizeof(*w->sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w->sh == MAP_FAILED) {
		free(w);
		return -ENOMEM;
	}
	w->sh->session = session ? session : draw_session();
	w->sh->state[0].seq = 1;
	*ret = w;
	return 0;
}

void log_writer_free(struct log_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->dir >= 0)
		close(w->dir);
	if (w->lease >= 0)
		close(w->lease);
	munmap(w->sh, sizeof(*w->sh));
	buf_release(&w->scratch);
	buf_release(&w->packed);
	event_clean_release(&w->clean);
	buf_release(&w->ends);
	free(w->outcome.place);
	free(w->home);
	free(w->dir_path);
	free(w->path);
	free(w);
}

/* Bytes of a segment: where files may not grow so long (ulimit -f) a slot has more of them. */
static uint64_t segment_max(void)
{
	struct rlimit rl;
	bool less = getrlimit(RLIMIT_FSIZE, &rl) == 0 && rl.rlim_cur < log_writer_segment_max;
	return less ? rl.rlim_cur : log_writer_segment_max;
}

bool log_writer_fits(uint64_t size, size_t need)
{
	uint64_t max = segment_max();
	return size <= max && need <= max - size;
}

/* Opens segment `roll` of the slot, made where it is not there: an fd above the standard ones, and *ret, or -errno.
 * *ret_path is its path (free it), NULL without memory. */
static int open_segment_file(const struct log_writer *w, uint32_t roll, struct stat *ret, char **ret_path)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	char name[32];
	if (roll)
		snprintf(name, sizeof(name), "%u.%u.stl", w->slot, roll);
	else
		snprintf(name, sizeof(name), "%u.stl", w->slot);
	if (asprintf(ret_path, "%s/%s", w->dir_path, name) < 0) {
		*ret_path = NULL;
		return -ENOMEM;
	}
	/* Nearly always it is there; asked so, nothing is created on a file system where that is slow. */
	int fd = openat(w->dir, name, flags);
	if (fd < 0 && errno == ENOENT)
		fd = openat(w->dir, name, flags | O_CREAT, 0600);
	fd = fd < 0 ? -errno : io_above_std(fd);
	int r = fd < 0 ? fd : fstat(fd, ret) < 0 ? -errno : S_ISREG(ret->st_mode) ? 0 : -EINVAL;
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

int log_writer_segment(struct log_writer *w, uint32_t roll, size_t need, char **ret_path)
{
	struct stat st;
	char *path;
	*ret_path = NULL;
	int fd = open_segment_file(w, roll, &st, &path);
	while (fd >= 0 && need && st.st_size > 0 && !log_writer_fits((uint64_t)st.st_size, need) && roll < UINT32_MAX) {
		close(fd);
		free(path);
		fd = open_segment_file(w, ++roll, &st, &path);
	}
	if (fd < 0) {
		*ret_path = path;
		return fd;
	}
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
	w->fd = fd;
	w->path = path;
	w->roll = roll;
	w->reserve = (struct log_reserve){0};
	w->size = (uint64_t)st.st_size;
	atomic_store(&w->sh->roll, roll);
	return 0;
}

/* Gives -errnum, with a sentence and what to do about it. */
static int report_unwritable(struct err *err, int errnum, const char *path)
{
	int r = err_set(err, errnum, "cannot write to the record: %s", path);
	err_hint(err, errnum == ENOSPC || errnum == EDQUOT
	                  ? "free some space, or set STEMMA_HOME to a directory that has some"
	                  : "set STEMMA_HOME to a directory that you can write to");
	return r;
}

/* home's real path (free it), the directory made where missing. 0; -errno with a sentence. */
static int real_home(const char *home, struct err *err, char **ret)
{
	char *real = realpath(home, NULL);
	if (!real && errno == ENOENT) {
		int r = io_mkdirs(home, 0700);
		if (r < 0)
			return report_unwritable(err, -r, home);
		real = realpath(home, NULL);
	}
	if (!real)
		return report_unwritable(err, errno, home);
	*ret = real;
	return 0;
}

/* Can it be the name of a folder in a path? */
static bool is_component(const char *s)
{
	return *s && !strchr(s, '/') && strcmp(s, ".") != 0 && strcmp(s, "..") != 0;
}

/* Opens the log's folder of the day, and makes it if need be. 0, or -errno with a sentence. */
static int open_dir(struct log_writer *w, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	w->dir = open(w->dir_path, flags);
	if (w->dir < 0 && errno == ENOENT) {
		int r = io_mkdirs(w->dir_path, 0700);
		if (r < 0)
			return report_unwritable(err, -r, w->dir_path);
		w->dir = open(w->dir_path, flags);
	}
	w->dir = w->dir < 0 ? -errno : io_above_std(w->dir);
	return w->dir < 0 ? report_unwritable(err, -w->dir, w->dir_path) : 0;
}

int log_writer_open(const char *home, const char *host, const char *day, struct err *err, struct log_writer **ret)
{
	struct log_writer *w;
	char *real = NULL, *bad = NULL;
	int r;
	if (!is_component(host) || !is_component(day))
		return err_set(err, EINVAL, "cannot make a log directory for host '%s' and day '%s'", host, day);
	r = real_home(home, err, &real);
	if (r < 0)
		return r;
	r = writer_new(0, &w);
	if (r < 0) {
		free(real);
		return err_set(err, -r, "cannot start the log");
	}
	r = log_lease_take(real, host, day, err, &w->lease, &w->slot);
	if (r < 0)
		goto out;
	if (asprintf(&w->dir_path, "%s/logs/%s/%s", real, host, day) < 0) {
		w->dir_path = NULL;
		r = err_set(err, ENOMEM, "cannot start the log");
		goto out;
	}
	r = open_dir(w, err);
	if (r < 0)
		goto out;
	r = log_writer_segment(w, 0, sizeof(struct log_frame) + LOG_GATHER, &bad);
	if (r < 0) {
		report_unwritable(err, -r, bad ? bad : w->dir_path);
		goto out;
	}
	w->from = w->size;
	w->first_roll = w->roll;
	w->home = real;
	real = NULL;
	*ret = w;
out:
	free(bad);
	free(real);
	if (r < 0)
		log_writer_free(w);
	return r;
}

int log_writer_fdopen(int fd, uint64_t session, struct err *err, struct log_writer **ret)
{
	struct log_writer *w;
	int r = writer_new(session, &w);
	if (r < 0)
		return err_set(err, -r, "cannot start the log");
	w->fd = fd;
	*ret = w;
	return 0;
}
