#include "capture/bpf/handles.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PLACES_MAX 256
#define DIRS 4096 /* a power of two, as is FILES: a place in the table is found by hash, and taken over when wanted */
#define FILES 4096
#define STATE_AGE 1000000000LL

struct dir {
	uint64_t key; /* 0: none */
	struct str path;
	bool learned; /* from an event, not asked for */
};

struct file_state {
	uint64_t key;
	struct tracer_fileid id;
	uint64_t size;
	int64_t mtime, when;
};

struct places {
	struct place *place[PLACES_MAX];
	size_t n;
	struct dir dirs[DIRS];
	struct file_state files[FILES];
	size_t bytes;
	char path[PATH_MAX];
};

int places_new(struct places **ret)
{
	struct places *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	*ret = p;
	return 0;
}

static void forget(struct places *p, struct dir *d)
{
	p->bytes -= d->path.n;
	free((char *)d->path.p);
	*d = (struct dir){0};
}

static void keep(struct places *p, uint64_t key, struct str path, bool learned)
{
	struct dir *d = &p->dirs[key % DIRS];
	char *copy = malloc(path.n + 1);
	if (!copy)
		return;
	memcpy(copy, path.p, path.n);
	copy[path.n] = '\0';
	forget(p, d);
	p->bytes += path.n;
	*d = (struct dir){.key = key, .path = str_n(copy, path.n), .learned = learned};
}

void places_renamed(struct places *p, struct str from, struct str to)
{
	for (size_t i = 0; i < DIRS; i++) {
		struct dir *d = &p->dirs[i];
		if (!d->key)
			continue;
		bool below = from.n && str_starts(d->path, from) && (d->path.n == from.n || d->path.p[from.n] == '/');
		if (d->learned && from.n && !below)
			continue;
		if (!d->learned || !below || !to.n) {
			forget(p, d);
			continue;
		}
		char path[PATH_MAX];
		int n =
		    snprintf(path, sizeof(path), "%.*s%.*s", (int)to.n, to.p, (int)(d->path.n - from.n), d->path.p + from.n);
		uint64_t key = d->key;
		if (n > 0 && n < (int)sizeof(path))
			keep(p, key, str_n(path, (size_t)n), true);
		else
			forget(p, d);
	}
}

static void forget_all(struct places *p)
{
	for (size_t i = 0; i < DIRS; i++)
		forget(p, &p->dirs[i]);
}

static void release(struct place *at)
{
	if (at->fd >= 0)
		close(at->fd);
	free(at->mount);
	free(at->shown);
	free(at);
}

void places_free(struct places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		release(p->place[i]);
	forget_all(p);
	free(p);
}

size_t places_memory(const struct places *p)
{
	return sizeof(*p) + p->bytes + p->n * (sizeof(struct place) + 256);
}

struct place *places_find(struct places *p, uint64_t fsid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i]->fsid == fsid)
			return p->place[i];
	return NULL;
}

struct place *places_of_dev(const struct places *p, uint64_t dev)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i]->dev == dev)
			return p->place[i];
	return NULL;
}

struct place *places_at(struct places *p, size_t i)
{
	return i < p->n ? p->place[i] : NULL;
}

/* The inode's number in a handle, by its type: what ext2 to ext4, f2fs and XFS write; tmpfs; XFS with large numbers,
 * and what the kernel makes for file systems without handles; btrfs. 0: not known. */
static uint64_t number_in(const struct handle *h)
{
	uint32_t w[3] = {0};
	uint64_t d = 0;
	if (h->type == 1 && h->bytes == 8) {
		memcpy(w, h->p, 8);
		return w[0];
	}
	if (h->type == 1 && h->bytes == 12) {
		memcpy(w, h->p, 12);
		return (uint64_t)w[2] << 32 | w[1];
	}
	if ((h->type == 0x81 && h->bytes == 12) || (h->type == 0x4d && h->bytes >= 20)) {
		memcpy(&d, h->p, 8);
		return d;
	}
	return 0;
}

/* Room for one more. */
static struct place *place_new(struct places *p, const char *mount, const char *shown, bool alias)
{
	/* Of other mount namespaces nobody says when they are gone. */
	for (size_t i = 0; p->n >= PLACES_MAX && i < p->n; i++)
		if (p->place[i]->alias)
			places_remove(p, p->place[i]);
	struct place *at = p->n < PLACES_MAX ? calloc(1, sizeof(*at)) : NULL;
	if (at) {
		at->mount = strdup(mount);
		at->shown = strdup(shown);
		at->alias = alias;
		at->fd = -1;
	}
	if (!at || !at->mount || !at->shown) {
		if (at)
			release(at);
		errno = ENOMEM;
		return NULL;
	}
	return at;
}

struct place *places_add_unasked(struct places *p, uint64_t dev, const char *mount, const char *shown, bool alias,
                                 const char *why)
{
	static const struct fs_domain unknown = {.name = "", .type = ""};
	struct place *at = place_new(p, mount, shown, alias);
	if (!at)
		return NULL;
	at->dev = dev;
	at->fsid = ~dev; /* no event will have it */
	at->domain = &unknown;
	at->why = why;
	p->place[p->n++] = at;
	return at;
}

struct place *places_add(struct places *p, const char *mount, const char *shown, bool alias)
{
	struct statfs sf;
	struct statx st;
	uint64_t fsid = 0;
	if (statfs(mount, &sf) < 0 || statx(AT_FDCWD, mount, AT_NO_AUTOMOUNT, FILEID_STATX, &st) < 0)
		return NULL;
	memcpy(&fsid, &sf.f_fsid, sizeof(fsid));
	struct place *at = places_find(p, fsid);
	if (at && at->dev == fileid_dev(&st))
		return at;
	at = place_new(p, mount, shown, alias);
	if (!at)
		return NULL;
	at->fsid = fsid;
	at->dev = fileid_dev(&st);
	at->domain = fileid_domain(AT_FDCWD, mount, at->dev);
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = {.h = {.handle_bytes = MAX_HANDLE_SZ}};
	int id;
	if (name_to_handle_at(AT_FDCWD, mount, &u.h, &id, 0) == 0) {
		struct handle h = {
		    .type = u.h.handle_type, .bytes = u.h.handle_bytes, .p = (const unsigned char *)u.h.f_handle};
		at->handles = true;
		at->decodes = number_in(&h) == st.stx_ino;
		at->type = h.type;
		at->bytes = h.bytes;
	}
	p->place[p->n++] = at;
	return at;
}

void places_remove(struct places *p, struct place *place)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i] == place) {
			release(place);
			p->place[i] = p->place[--p->n];
			forget_all(p);
			return;
		}
}

void places_rest(struct places *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i]->fd >= 0) {
			close(p->place[i]->fd);
			p->place[i]->fd = -1;
		}
}

/* Opens what a handle means, O_PATH. */
static int open_handle(struct place *at, const struct handle *h)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + HANDLE_MAX];
	} u = {.h = {.handle_bytes = h->bytes, .handle_type = h->type}};
	if (!h->bytes || h->bytes > HANDLE_MAX)
		return -ENOENT;
	memcpy(u.h.f_handle, h->p, h->bytes);
	if (at->fd < 0) {
		at->fd = open(at->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
		if (at->fd < 0)
			return -errno;
	}
	int fd = open_by_handle_at(at->fd, &u.h, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static uint64_t key_of(const struct place *at, const struct handle *h)
{
	uint64_t k = hash_more(at->fsid ^ (uint64_t)h->type << 56, h->p, h->bytes);
	return k ? k : 1;
}

static uint64_t gen_of(const struct handle *h)
{
	return hash_more((uint64_t)h->type, h->p, h->bytes);
}

static const char *why_not(int e)
{
	switch (e) {
	case ESTALE:
	case ENOENT:
		return "it was removed before it was looked at";
	case EOPNOTSUPP:
		return "its file system cannot open handles";
	case EPERM:
		return "CAP_DAC_READ_SEARCH is missing";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return "its handle could not be opened";
	}
}

/* What an open one is called. */
static bool name_of(struct places *p, int fd, struct str *ret, const char **ret_why)
{
	char link[40];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, p->path, sizeof(p->path) - 1);
	if (n <= 0 || p->path[0] != '/') {
		*ret_why =
		    n == (ssize_t)sizeof(p->path) - 1 ? "its path is too long" : "it is in no directory that can be reached";
		return false;
	}
	p->path[n] = '\0';
	static const char gone[] = " (deleted)";
	struct stat st;
	/* A name may end so; a removed one has no link. */
	if (n > (ssize_t)sizeof(gone) && !strcmp(p->path + n - (sizeof(gone) - 1), gone) && fstat(fd, &st) == 0 &&
	    st.st_nlink == 0) {
		*ret_why = "it was removed before it was looked at";
		return false;
	}
	*ret = str_n(p->path, (size_t)n);
	return true;
}

bool places_path(struct places *p, struct place *at, const struct handle *h, struct str *ret, const char **ret_why)
{
	int fd = open_handle(at, h);
	if (fd < 0) {
		*ret_why = why_not(-fd);
		return false;
	}
	bool ok = name_of(p, fd, ret, ret_why);
	close(fd);
	return ok;
}

bool places_dir(struct places *p, struct place *at, const struct handle *h, struct str *ret, const char **ret_why)
{
	uint64_t key = key_of(at, h);
	struct dir *d = &p->dirs[key % DIRS];
	if (d->key == key) {
		*ret = d->path;
		return true;
	}
	if (!places_path(p, at, h, ret, ret_why))
		return false;
	keep(p, key, *ret, false);
	return true;
}

void places_learn(struct places *p, struct place *at, const struct handle *h, struct str path)
{
	if (h->bytes)
		keep(p, key_of(at, h), path, true);
}

bool places_id(struct places *p, struct place *at, const struct handle *h, struct tracer_fileid *ret)
{
	if (!h->bytes)
		return false;
	*ret = (struct tracer_fileid){.dev = at->dev};
	if (at->handles && at->decodes) {
		ret->gen = gen_of(h);
		ret->ino = number_in(h);
		if (ret->ino)
			return true;
	}
	uint64_t size;
	int64_t mtime;
	return places_state(p, at, h, false, 0, ret, &size, &mtime);
}

void places_gen(const struct places *p, struct tracer_fileid *id)
{
	const struct place *at = places_of_dev(p, id->dev);
	uint32_t w[3] = {(uint32_t)id->ino, id->i_gen, 0};
	if (!at || !at->decodes || id->gen || !id->ino)
		return;
	if (at->type == 1 && at->bytes == 12) {
		w[0] = id->i_gen;
		w[1] = (uint32_t)id->ino;
		w[2] = (uint32_t)(id->ino >> 32);
	} else if (at->type == 0x81 && at->bytes == 12) {
		memcpy(w, &id->ino, 8);
		w[2] = id->i_gen;
	} else if (at->type != 1 || at->bytes != 8)
		return;
	id->gen = hash_more((uint64_t)at->type, w, at->bytes);
}

bool places_state(struct places *p, struct place *at, const struct handle *h, bool fresh, int64_t now,
                  struct tracer_fileid *id, uint64_t *ret_size, int64_t *ret_mtime)
{
	uint64_t key = key_of(at, h);
	struct file_state *f = &p->files[key % FILES];
	if (f->key != key || fresh || now - f->when > STATE_AGE) {
		struct statx st;
		int fd = open_handle(at, h);
		if (fd < 0)
			return false;
		int r = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, FILEID_STATX, &st);
		close(fd);
		if (r < 0)
			return false;
		*f = (struct file_state){.key = key,
		                         .id = {.dev = at->dev, .ino = st.stx_ino, .mode = st.stx_mode & S_IFMT},
		                         .size = st.stx_size,
		                         .mtime = fileid_time(&st.stx_mtime),
		                         .when = now};
		if (at->handles)
			f->id.gen = gen_of(h);
		else if ((st.stx_mask & STATX_BTIME) && !at->domain->birth_changes)
			f->id.gen = (uint64_t)fileid_time(&st.stx_btime);
	}
	*id = f->id;
	*ret_size = f->size;
	*ret_mtime = f->mtime;
	return true;
}
