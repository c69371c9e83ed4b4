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

static _Thread_local struct named {
	struct dir_id id;
	unsigned turn; /* it is known in; 0: it is not */
	int64_t since;
	char *name;
} names[NAMES];
static unsigned turns = 1; /* of all threads */

void dirs_forget(void)
{
	__atomic_add_fetch(&turns, 1, __ATOMIC_ACQ_REL);
}

/* CLOCK_MONOTONIC_COARSE, ns: some milliseconds exact. */
static int64_t dirs_clock_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

bool dirs_ask(int fd, struct dir_id *ret)
{
	struct statx st;
	if (fileid_statx_cached(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME | STATX_MNT_ID, &st) < 0)
		return false;
	*ret = (struct dir_id){.ino = st.stx_ino,
	                       .dev = fileid_dev(&st),
	                       .mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
	                       .born = st.stx_mask & STATX_BTIME ? fileid_time(&st.stx_btime) : 0,
	                       .in_proc = links_is_in_proc(&st)};
	return true;
}

const char *dirs_name(int fd, struct dir_id *id)
{
	/* Before the kernel is asked: what changes from here on is forgotten again. */
	unsigned turn = __atomic_load_n(&turns, __ATOMIC_ACQUIRE);
	if (!id->ino && !dirs_ask(fd, id))
		return NULL;
	const int64_t now = dirs_clock_ns();
	struct named *n = &names[(id->ino ^ id->mount << 3) % NAMES];
	if (n->turn == turn && now - n->since < NAMED_FOR && n->id.ino == id->ino && n->id.dev == id->dev &&
	    n->id.mount == id->mount && n->id.born == id->born)
		return n->name;
	free(n->name);
	*n = (struct named){.id = *id, .since = now, .name = links_fd_name(fd)};
	/* Where the kernel does not tell the mount (before Linux 5.8), and in /proc, nothing is remembered. */
	n->turn = n->name && id->mount && !id->in_proc ? turn : 0;
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

/* Closes and frees what it holds; it is empty then. */
static void let_go(struct dir_held *h)
{
	if (h->fd >= 0)
		close(h->fd);
	free(h->path);
	free(h->name);
	*h = (struct dir_held){.fd = -1};
}

/* Lets go of what the turn holds. */
void dirs_turn_end(void)
{
	for (size_t i = 0; held && i < HELD; i++)
		let_go(&held[i]);
	held = NULL;
}

/* Not one that is reached through a process, which means another to it than to us. The caller closes it; -1: there is
 * none. */
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

/* The folder of an absolute path: a descriptor that is valid until the turn ends; -1: it is not held. *ret may be set
 * then, too. */
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
