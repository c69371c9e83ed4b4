#include "capture/supervisor/paths/dirs.h"

#include "base/fileid.h"
#include "capture/supervisor/paths/links.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#define NAMES 64
/* ns. Who is not of the run renames, too, and where nobody stops the ticks are rare. */
#define NAMED_FOR 20000000
#define HELD 16
#define HELD_FROM 4 /* paths that it was in: to open it takes what it saves for some of them */

/* Which directory, and by which mount it was reached: by another mount the same directory has another name. */
static _Thread_local struct named {
	uint64_t dev, ino, mount;
	int64_t born;  /* 0: its file system does not tell */
	unsigned turn; /* it is known in; 0: it is not */
	int64_t since;
	char *name;
} names[NAMES];
static unsigned turns = 1; /* of all threads */

void dirs_forget(void)
{
	__atomic_add_fetch(&turns, 1, __ATOMIC_ACQ_REL);
}

static int64_t dirs_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

const char *dirs_name(int fd)
{
	/* Before the kernel is asked: what changes from here on is forgotten again. */
	unsigned turn = __atomic_load_n(&turns, __ATOMIC_ACQUIRE);
	struct statx st;
	if (fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME | STATX_MNT_ID, &st) < 0)
		return NULL;
	struct named is = {.dev = fileid_dev(&st),
	                   .ino = st.stx_ino,
	                   .since = dirs_clock_ns(),
	                   .mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
	                   .born = st.stx_mask & STATX_BTIME ? fileid_time(&st.stx_btime) : 0};
	struct named *n = &names[(is.ino ^ is.mount << 3) % NAMES];
	if (n->turn == turn && is.since - n->since < NAMED_FOR && n->ino == is.ino && n->dev == is.dev &&
	    n->mount == is.mount && n->born == is.born)
		return n->name;
	free(n->name);
	*n = is;
	n->name = links_fd_name(fd);
	/* Where the kernel does not tell the mount (before Linux 5.8), and in /proc, nothing is remembered. */
	n->turn = n->name && is.mount && !links_is_in_proc(&st) ? turn : 0;
	return n->name;
}

/* ---- in turn ---- */

struct dir_held {
	uint64_t hash;
	char *path;
	unsigned uses;
	int fd; /* -1: not held */
	char *name;
};
static _Thread_local struct dir_held *held; /* HELD of them; NULL: nothing is looked at in turn */

void dirs_turn_begin(void)
{
	static _Thread_local struct dir_held room[HELD];
	for (size_t i = 0; i < HELD; i++)
		room[i] = (struct dir_held){.fd = -1};
	held = room;
}

static void let_go(struct dir_held *h)
{
	if (h->fd >= 0)
		close(h->fd);
	free(h->path);
	free(h->name);
	*h = (struct dir_held){.fd = -1};
}

void dirs_turn_end(void)
{
	for (size_t i = 0; held && i < HELD; i++)
		let_go(&held[i]);
	held = NULL;
}

/* Not one that is reached through a process, which means another to it than to us. */
static int open_dir(const char *path)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS};
	struct statx st;
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd >= 0 && (fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_INO, &st) < 0 || links_is_in_proc(&st))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int dirs_in_turn(const char *path, struct dir_held **ret)
{
	const char *base = strrchr(path, '/');
	if (!held || !base || !base[1] || !strcmp(base, "/.") || !strcmp(base, "/.."))
		return -1;
	size_t n = base > path ? (size_t)(base - path) : 1;
	uint64_t hash = XXH3_64bits(path, n);
	struct dir_held *h = *ret = &held[hash % HELD];
	if (h->hash != hash || !h->path || strncmp(h->path, path, n) != 0 || h->path[n]) {
		let_go(h);
		h->hash = hash;
		h->path = strndup(path, n);
	}
	if (h->path && ++h->uses == HELD_FROM)
		h->fd = open_dir(h->path);
	return h->fd;
}

const char *dirs_held_name(struct dir_held *h)
{
	if (!h->name)
		h->name = links_fd_name(h->fd);
	return h->name;
}
