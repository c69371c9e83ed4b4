#include "monitor/footprint.h"
#include "base/clock.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL
#define DEEPEST 200
#define PAUSE_TIMES 200
#define STACK (2u << 20) /* monitor_living looks through generations; what is not used costs nothing */

struct inode {
	uint64_t dev, ino;
};

/* Inodes that were counted and may be met again. */
struct inodes {
	struct inode *slot;
	size_t n, cap; /* cap a power of two */
};

struct footprint {
	char **path;
	size_t npath;
	bool cheap_only; /* there is only the working folder, which nobody named */
	const char *why; /* it is not measured */
	int (*living)(void *arg, pid_t **ret, size_t *ret_n);
	void *arg;

	pthread_mutex_t
	    asking; /* held while living is called, whose arg goes when this does; outside of its locks and ours */
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	bool running, left, walking, wanted, stop, whole; /* left: nobody but the thread has it any more */
	uint64_t walks;
	struct footprint_sum now, peak;
};

struct walk {
	struct footprint *f;
	struct inodes seen;
	struct footprint_sum sum;
	bool cut;
};

static uint64_t hash_inode(uint64_t dev, uint64_t ino)
{
	uint64_t h = (ino + dev * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
	return h ^ h >> 29;
}

/* Adds a file to the set. False: it was there already (or there is no memory, which is taken for that). */
static bool inodes_add(struct inodes *s, uint64_t dev, uint64_t ino)
{
	if (2 * s->n >= s->cap) {
		struct inodes t = {.cap = s->cap ? 2 * s->cap : 256};
		t.slot = calloc(t.cap, sizeof(*t.slot));
		if (!t.slot)
			return false;
		for (size_t i = 0; i < s->cap; i++)
			if (s->slot[i].ino)
				inodes_add(&t, s->slot[i].dev, s->slot[i].ino);
		free(s->slot);
		*s = t;
	}
	size_t i = hash_inode(dev, ino) & (s->cap - 1);
	for (; s->slot[i].ino; i = (i + 1) & (s->cap - 1))
		if (s->slot[i].ino == ino && s->slot[i].dev == dev)
			return false;
	s->slot[i] = (struct inode){dev, ino};
	s->n++;
	return true;
}

/* Sets w->cut where it is too much for what is to be cheap. */
static void count_inode(struct walk *w, const struct stat *st)
{
	/* A folder is met once; so is a file with one name. */
	if (!S_ISDIR(st->st_mode) && st->st_nlink != 1 && !inodes_add(&w->seen, st->st_dev, st->st_ino))
		return;
	w->sum.bytes += (uint64_t)st->st_blocks * 512;
	if (S_ISDIR(st->st_mode))
		w->sum.directories++;
	else
		w->sum.files++;
	if (w->f->cheap_only && w->sum.files + w->sum.directories > FOOTPRINT_CHEAP)
		w->cut = true;
}

/* Asked for by another thread. */
static bool is_stop_asked(struct footprint *f)
{
	return __atomic_load_n(&f->stop, __ATOMIC_RELAXED);
}

/* Adds up the sizes of what lies in a folder, on the same device only, DEEPEST folders deep. What cannot be read is
 * passed over. */
static void walk_folder(struct walk *w, int parent, const char *name, dev_t dev, unsigned depth)
{
	struct stat st;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 || fstat(fd, &st) < 0 || st.st_dev != dev ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; !w->cut && !is_stop_asked(w->f) && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != dev)
			continue;
		count_inode(w, &st);
		if (S_ISDIR(st.st_mode) && depth < DEEPEST)
			walk_folder(w, dirfd(d), e->d_name, dev, depth + 1);
	}
	closedir(d);
}

/* Is the path one of the watched, or below one? */
static bool is_watched(const struct footprint *f, const char *path)
{
	for (size_t i = 0; i < f->npath; i++) {
		size_t n = strlen(f->path[i]);
		if (!strncmp(path, f->path[i], n) && (path[n] == '/' || path[n] == '\0' || path[n] == ' ' || n == 1))
			return true;
	}
	return false;
}

/* Files that a process has open and that have no name any more: the kernel still says which it was. */
static void walk_descriptors(struct walk *w, pid_t pid)
{
	char name[64], path[4096];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	DIR *d = opendir(name);
	for (struct dirent *e; d && (e = readdir(d));) {
		ssize_t n = e->d_name[0] == '.' ? -1 : readlinkat(dirfd(d), e->d_name, path, sizeof(path) - 1);
		static const char deleted[] = " (deleted)";
		if (n < (ssize_t)sizeof(deleted))
			continue;
		path[n] = '\0';
		if (strcmp(path + n - (sizeof(deleted) - 1), deleted) || !is_watched(w->f, path))
			continue;
		if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0)
			count_inode(w, &st);
	}
	if (d)
		closedir(d);
}

/* Is the path below another that is watched? Then it is met on the way. */
static bool is_below_another(const struct footprint *f, size_t i)
{
	for (size_t k = 0; k < f->npath; k++) {
		size_t len = strlen(f->path[k]);
		if (k != i && !strncmp(f->path[i], f->path[k], len) &&
		    (f->path[i][len] == '/' || (f->path[i][len] == '\0' && k < i)))
			return true;
	}
	return false;
}

/* What there is now, and of each figure the largest yet. */
static void take_sum(struct footprint *f, const struct footprint_sum *sum)
{
	f->now = *sum;
	f->peak.bytes = sum->bytes > f->peak.bytes ? sum->bytes : f->peak.bytes;
	f->peak.files = sum->files > f->peak.files ? sum->files : f->peak.files;
	f->peak.directories = sum->directories > f->peak.directories ? sum->directories : f->peak.directories;
}

/* One walk: the paths, and files that processes hold open. Its sum counts only if it was not cut or stopped. */
static void walk_all(struct footprint *f)
{
	struct walk w = {.f = f};
	pid_t *pids = NULL;
	size_t n = 0;
	for (size_t i = 0; i < f->npath && !w.cut; i++) {
		struct stat st;
		if (is_below_another(f, i) || lstat(f->path[i], &st) < 0)
			continue;
		count_inode(&w, &st);
		if (S_ISDIR(st.st_mode))
			walk_folder(&w, AT_FDCWD, f->path[i], st.st_dev, 0);
	}
	pthread_mutex_lock(&f->asking);
	if (w.cut || is_stop_asked(f) || !f->living || f->living(f->arg, &pids, &n) < 0)
		n = 0;
	pthread_mutex_unlock(&f->asking);
	for (size_t i = 0; i < n; i++)
		walk_descriptors(&w, pids[i]);
	free(pids);
	free(w.seen.slot);
	pthread_mutex_lock(&f->lock);
	if (w.cut) {
		f->why = "the working folder has very many files: use --watch to measure it";
		f->stop = true;
	} else if (!f->stop) {
		f->whole = true;
		f->walks++;
		take_sum(f, &w.sum);
	}
	f->walking = false;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

/* Releases all that a footprint holds, and itself. No thread may use it any more. */
static void footprint_destroy(struct footprint *f)
{
	pthread_mutex_destroy(&f->asking);
	pthread_mutex_destroy(&f->lock);
	pthread_cond_destroy(&f->changed);
	for (size_t i = 0; i < f->npath; i++)
		free(f->path[i]);
	free(f->path);
	free(f);
}

/* The thread: walks with growing pauses until f->stop; frees f if it was left to it. */
static void *walker(void *arg)
{
	struct footprint *f = arg;
	enum { FIRST_NS = 50000000, BEFORE_NS = 20000000 };
	/* What is shorter has one walk, at its end. */
	int64_t first = clock_now_ns(CLOCK_MONOTONIC) + BEFORE_NS;
	struct timespec soon = {first / SECOND, first % SECOND};
	pthread_mutex_lock(&f->lock);
	while (!f->stop && !f->wanted && pthread_cond_timedwait(&f->changed, &f->lock, &soon) == 0)
		;
	f->wanted = false;
	pthread_mutex_unlock(&f->lock);
	for (int64_t pause = FIRST_NS; !is_stop_asked(f);) {
		int64_t cpu = clock_now_ns(CLOCK_THREAD_CPUTIME_ID), began = clock_now_ns(CLOCK_MONOTONIC);
		pthread_mutex_lock(&f->lock);
		f->walking = true;
		pthread_mutex_unlock(&f->lock);
		walk_all(f);
		/* What it waited for a server loads that, too. */
		int64_t cost = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu, took = clock_now_ns(CLOCK_MONOTONIC) - began;
		pause = 2 * pause < SECOND ? 2 * pause : SECOND;
		pause = PAUSE_TIMES * cost > pause ? PAUSE_TIMES * cost : pause;
		pause = 20 * took > pause ? 20 * took : pause;
		int64_t until = clock_now_ns(CLOCK_MONOTONIC) + pause;
		struct timespec ts = {until / SECOND, until % SECOND};
		pthread_mutex_lock(&f->lock);
		while (!f->stop && !f->wanted && pthread_cond_timedwait(&f->changed, &f->lock, &ts) == 0)
			;
		f->wanted = false;
		pthread_mutex_unlock(&f->lock);
	}
	pthread_mutex_lock(&f->lock);
	f->running = false;
	bool left = f->left;
	pthread_mutex_unlock(&f->lock);
	if (left)
		footprint_destroy(f);
	return NULL;
}

/* Adds a folder to those that are watched, by its real path. -errno, reported; -ENOMEM is not. */
static int append_watched_path(struct footprint *f, const char *path, struct err *err)
{
	char *real = realpath(path, NULL);
	if (!real)
		return err_set(err, errno, "cannot watch '%s'", path);
	char **more = realloc(f->path, (f->npath + 1) * sizeof(char *));
	if (!more) {
		free(real);
		return -ENOMEM;
	}
	f->path = more;
	f->path[f->npath++] = real;
	return 0;
}

int footprint_new(const char *cwd, const char *const *watch, struct err *err, struct footprint **ret)
{
	struct footprint *f = calloc(1, sizeof(*f));
	pthread_condattr_t a;
	int rc = 0;
	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->asking, NULL);
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&f->changed, &a);
	for (size_t i = 0; rc == 0 && watch && watch[i]; i++)
		rc = append_watched_path(f, watch[i], err);
	if (rc == 0 && f->npath == 0 && cwd) {
		int fd = open(cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		f->cheap_only = true;
		if (fd < 0 || append_watched_path(f, cwd, NULL) < 0)
			f->why = "the working folder cannot be read";
		else if (!io_is_local(fd))
			f->why = "the working folder is on a remote file system: use --watch to measure it";
		if (fd >= 0)
			close(fd);
	}
	if (rc < 0) {
		footprint_destroy(f);
		return rc;
	}
	*ret = f;
	return 0;
}

int footprint_start(struct footprint *f, int (*living)(void *arg, pid_t **ret, size_t *ret_n), void *arg)
{
	pthread_t t;
	pthread_attr_t a;
	sigset_t all, before;
	f->living = living;
	f->arg = arg;
	if (f->why || f->npath == 0)
		return 0;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	f->running = true;
	int rc = pthread_create(&t, &a, walker, f) == 0 ? 0 : -EAGAIN;
	if (rc < 0)
		f->running = false;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&a);
	return rc;
}

bool footprint_now(struct footprint *f, struct footprint_sum *ret_now, struct footprint_sum *ret_peak,
                   const char **ret_why)
{
	pthread_mutex_lock(&f->lock);
	bool known = f->whole && !f->why;
	*ret_now = f->now;
	*ret_peak = f->peak;
	*ret_why = f->why;
	pthread_mutex_unlock(&f->lock);
	return known;
}

bool footprint_last(struct footprint *f, int patience_ms)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += patience_ms / 1000;
	ts.tv_nsec += patience_ms % 1000 * 1000000L;
	if (ts.tv_nsec >= SECOND) {
		ts.tv_sec++;
		ts.tv_nsec -= SECOND;
	}
	pthread_mutex_lock(&f->lock);
	/* A walk that is under way began too early: the second from here is the one. */
	uint64_t enough = f->walks + (f->walking ? 2 : 1);
	bool idle = true;
	while (f->running && !f->stop && f->walks < enough && idle) {
		f->wanted = true;
		pthread_cond_broadcast(&f->changed);
		uint64_t before = f->walks;
		idle = pthread_cond_timedwait(&f->changed, &f->lock, &ts) == 0 || f->walks != before;
	}
	bool made = f->walks >= enough;
	pthread_mutex_unlock(&f->lock);
	return made;
}

/* The thread may hang at a file server: it is not waited for. It asks nobody any more, and frees this itself. */
void footprint_free(struct footprint *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->asking);
	pthread_mutex_lock(&f->lock);
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	f->left = true;
	bool running = f->running;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->asking);
	pthread_mutex_unlock(&f->lock); /* and it may be gone */
	if (!running)
		footprint_destroy(f);
}
