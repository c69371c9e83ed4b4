#include "capture/node_tracer/handles.h"

#include "base/clock.h"
#include "base/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PLACES_MAX HELPER_PLACES
/* Powers of two. A hash says which few places of a table something may be in, so that what one read of fanotify's queue
 * needs (1,700 files at most) stays there until it is told: each that does not is a question of its own. */
#define DIRS 4096
#define FILES 4096
#define DIR_WAYS 4
#define FILE_WAYS 8
#define STATE_AGE 1000000000LL

struct dir {
	uint64_t key; /* 0: none */
	struct str path;
	bool learned; /* from an event, not asked for */
};

struct file_state {
	struct place_state is;
	int64_t when;
	uint32_t round; /* in which it was asked for */
	bool gone;      /* in that round */
	bool wanted;    /* the answer is still to come */
};

struct places {
	struct helper *helper;
	uint32_t round; /* a drain's read */
	struct helper_handle want[HELPER_BATCH];
	struct wanted {
		int file;
		const struct place *at;
	} wanted[HELPER_BATCH];
	unsigned nwant, dir_turn;
	int64_t answered; /* when the helper's last answer was there, ns */
	struct place *place[PLACES_MAX];
	size_t n, last; /* last: that was asked for */
	struct dir dirs[DIRS];
	uint64_t file_keys[FILES]; /* apart, so that those that may be one are in one line of the cache */
	struct file_state files[FILES];
	size_t bytes;
	char path[PATH_MAX];
};

int places_new(struct helper *helper, struct places **ret)
{
	struct places *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->helper = helper;
	p->round = 1;
	*ret = p;
	return 0;
}

/* Empties the slot and gives back its bytes. */
static void forget_dir(struct places *p, struct dir *d)
{
	p->bytes -= d->path.n;
	free((char *)d->path.p);
	*d = (struct dir){0};
}

/* The first of the DIR_WAYS slots in which a folder of this key may be. */
static struct dir *ways_of_dir(struct places *p, uint64_t key)
{
	return &p->dirs[key % (DIRS / DIR_WAYS) * DIR_WAYS];
}

/* Finds a folder that is known by its handle. NULL: the key is not in its ways. */
static struct dir *find_dir(struct places *p, uint64_t key)
{
	struct dir *d = ways_of_dir(p, key);
	for (unsigned i = 0; i < DIR_WAYS; i++)
		if (d[i].key == key)
			return &d[i];
	return NULL;
}

/* Where it is, or may be put: one after the other is taken over. */
static struct dir *room_for_dir(struct places *p, uint64_t key)
{
	struct dir *d = find_dir(p, key), *ways = ways_of_dir(p, key);
	for (unsigned i = 0; !d && i < DIR_WAYS; i++)
		d = ways[i].key ? NULL : &ways[i];
	return d ? d : &ways[p->dir_turn++ % DIR_WAYS];
}

/* Copies path. No memory: it is not kept. */
static void keep_dir_path(struct places *p, uint64_t key, struct str path, bool learned)
{
	struct dir *d = room_for_dir(p, key);
	char *copy = malloc(path.n + 1);
	if (!copy)
		return;
	memcpy(copy, path.p, path.n);
	copy[path.n] = '\0';
	forget_dir(p, d);
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
			forget_dir(p, d);
			continue;
		}
		char path[PATH_MAX];
		int n =
		    snprintf(path, sizeof(path), "%.*s%.*s", (int)to.n, to.p, (int)(d->path.n - from.n), d->path.p + from.n);
		uint64_t key = d->key;
		if (n > 0 && n < (int)sizeof(path))
			keep_dir_path(p, key, str_n(path, (size_t)n), true);
		else
			forget_dir(p, d);
	}
}

/* Empties all slots of folders. */
static void forget_all(struct places *p)
{
	for (size_t i = 0; i < DIRS; i++)
		forget_dir(p, &p->dirs[i]);
}

/* at is not in the list any more. */
static void free_place(struct place *at)
{
	free(at->shown);
	free(at);
}

/* NULL is no error. */
void places_free(struct places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free_place(p->place[i]);
	forget_all(p);
	free(p);
}

size_t places_memory(const struct places *p)
{
	return sizeof(*p) + p->bytes + p->n * (sizeof(struct place) + 256);
}

/* NULL: it is not known. */
struct place *places_find(struct places *p, uint64_t fsid)
{
	/* Most often it is that of the event before. */
	if (p->last < p->n && p->place[p->last]->fsid == fsid)
		return p->place[p->last];
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i]->fsid == fsid) {
			p->last = i;
			return p->place[i];
		}
	return NULL;
}

/* NULL: it is not known. */
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

/* Room for one more. */
static struct place *place_new(struct places *p, const char *shown, bool alias)
{
	/* Of other mount namespaces nobody says when they are gone. */
	for (size_t i = 0; p->n >= PLACES_MAX && i < p->n; i++)
		if (p->place[i]->alias)
			places_remove(p, p->place[i]);
	struct place *at = p->n < PLACES_MAX ? calloc(1, sizeof(*at)) : NULL;
	if (at) {
		at->shown = strdup(shown);
		at->alias = alias;
	}
	if (!at || !at->shown) {
		if (at)
			free_place(at);
		errno = ENOMEM;
		return NULL;
	}
	return at;
}

struct place *places_add_unasked(struct places *p, uint64_t dev, const char *shown, bool alias, const char *why)
{
	static const struct fs_domain unknown = {.name = "", .type = ""};
	struct place *at = place_new(p, shown, alias);
	if (!at)
		return NULL;
	at->dev = dev;
	at->fsid = ~dev; /* no event will have it */
	at->domain = &unknown;
	at->why = why;
	p->place[p->n++] = at;
	return at;
}

struct place *places_add(struct places *p, const struct helper_place *seen, const char *shown, bool alias)
{
	struct place *at = places_find(p, seen->fsid);
	if (at && at->dev == seen->dev) {
		helper_forget(p->helper, seen->slot);
		return at;
	}
	at = place_new(p, shown, alias);
	if (!at) {
		helper_forget(p->helper, seen->slot);
		return NULL;
	}
	at->asked = true;
	at->slot = seen->slot;
	at->fsid = seen->fsid;
	at->dev = seen->dev;
	at->domain = seen->domain;
	at->handles = seen->handles;
	at->decodes = seen->decodes;
	at->type = seen->type;
	at->bytes = seen->bytes;
	p->place[p->n++] = at;
	return at;
}

/* Slot i is the file's from now on. */
static void set_file_state(struct places *p, int i, uint64_t key, struct file_state f)
{
	p->file_keys[i] = key;
	p->files[i] = f;
}

/* Nobody answers any more. */
static void want_nothing(struct places *p)
{
	while (p->nwant)
		set_file_state(p, p->wanted[--p->nwant].file, 0, (struct file_state){0});
}

/* Frees it; what is known of paths and states of all is forgotten. */
void places_remove(struct places *p, struct place *place)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->place[i] == place) {
			if (place->asked)
				helper_forget(p->helper, place->slot);
			want_nothing(p);
			free_place(place);
			p->place[i] = p->place[--p->n];
			forget_all(p);
			return;
		}
}

/* Never 0. */
static uint64_t hash_handle(const struct place *at, const struct handle *h)
{
	uint64_t k = hash_more(at->fsid ^ (uint64_t)h->type << 56, h->p, h->bytes);
	return k ? k : 1;
}

/* A hash of the handle in place of a number of the inode's generation. */
static uint64_t gen_of(const struct handle *h)
{
	return hash_more((uint64_t)h->type, h->p, h->bytes);
}

/* For an errno above 0. */
static const char *explain_look_error(int e)
{
	switch (e) {
	case ESTALE:
	case ENOENT:
		return "it was removed before it was examined";
	case EOPNOTSUPP:
		return "its file system cannot open handles";
	case ENAMETOOLONG:
		return "its path is too long";
	case ENOTDIR:
		return "it is in no directory that can be reached";
	case ECONNRESET:
		return "the daemon's helper is gone";
	case EPERM:
		return "CAP_DAC_READ_SEARCH is missing";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	default:
		return "its handle could not be opened";
	}
}

/* Fills in what the helper is asked to open by its handle. False: the place is not asked, or the handle is none. */
static bool handle_for(const struct place *at, const struct handle *h, struct helper_handle *ret)
{
	if (!at->asked || !h->bytes || h->bytes > HANDLE_MAX)
		return false;
	ret->slot = at->slot;
	ret->bytes = h->bytes;
	ret->type = h->type;
	memcpy(ret->p, h->p, h->bytes);
	memset(ret->p + h->bytes, 0, HANDLE_MAX - h->bytes);
	return true;
}

bool places_path(struct places *p, struct place *at, const struct handle *h, struct str *ret, const char **ret_why)
{
	struct helper_handle of;
	int r = handle_for(at, h, &of) ? helper_handle_path(p->helper, &of, p->path) : -ESTALE;
	if (r < 0) {
		*ret_why = explain_look_error(-r);
		return false;
	}
	*ret = str_of(p->path);
	return true;
}

bool places_dir(struct places *p, struct place *at, const struct handle *h, struct str *ret, const char **ret_why)
{
	uint64_t key = hash_handle(at, h);
	const struct dir *d = find_dir(p, key);
	if (d) {
		*ret = d->path;
		return true;
	}
	if (!places_path(p, at, h, ret, ret_why))
		return false;
	keep_dir_path(p, key, *ret, false);
	return true;
}

void places_learn(struct places *p, struct place *at, const struct handle *h, struct str path)
{
	if (h->bytes)
		keep_dir_path(p, hash_handle(at, h), path, true);
}

bool places_id(struct places *p, struct place *at, const struct handle *h, struct tracer_fileid *ret)
{
	if (!h->bytes)
		return false;
	*ret = (struct tracer_fileid){.dev = at->dev};
	if (at->handles && at->decodes) {
		ret->gen = gen_of(h);
		ret->ino = handle_inode(h);
		if (ret->ino)
			return true;
	}
	struct place_state s;
	if (!places_state(p, at, h, false, 0, &s))
		return false;
	*ret = s.id;
	return true;
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

/* The first of the FILE_WAYS slots in which a file of this key may be. */
static int way_of_file(uint64_t key)
{
	return (int)(key % (FILES / FILE_WAYS) * FILE_WAYS);
}

/* Finds a file that is known by its handle; its place in the table. -1: it is not there. */
static int find_file(const struct places *p, uint64_t key)
{
	int at = way_of_file(key);
	for (int i = at; i < at + FILE_WAYS; i++)
		if (p->file_keys[i] == key)
			return i;
	return -1;
}

/* What is of this round is taken over last, and what is asked for now not at all: -1, if that is all there is. */
static int room_for_file(const struct places *p, uint64_t key)
{
	int at = way_of_file(key), best = find_file(p, key);
	for (int i = at; best < 0 && i < at + FILE_WAYS; i++)
		best = p->file_keys[i] ? -1 : i;
	if (best >= 0)
		return best;
	for (int i = at; i < at + FILE_WAYS; i++) {
		const struct file_state *f = &p->files[i], *b = best < 0 ? NULL : &p->files[best];
		bool now = f->round == p->round, b_now = b && b->round == p->round;
		if (!f->wanted && (!b || (b_now && !now) || (b_now == now && f->when < b->when)))
			best = i;
	}
	return best;
}

/* Takes the answer for one file. */
static const struct file_state *keep_file_state(struct places *p, const struct place *at, int i, uint64_t key,
                                                uint64_t gen, int64_t now, const struct helper_state *s)
{
	struct file_state f = {.when = now, .round = p->round, .gone = s->r < 0};
	if (!f.gone) {
		f.is = (struct place_state){.id = {.dev = at->dev, .ino = s->ino, .mode = s->mode & S_IFMT},
		                            .size = s->size,
		                            .mtime = s->mtime,
		                            .looked = p->answered};
		if (at->handles)
			f.is.id.gen = gen;
		else if (s->birth && !at->domain->birth_changes)
			f.is.id.gen = (uint64_t)s->birth;
	}
	set_file_state(p, i, key, f);
	return &p->files[i];
}

/* Whether what is there will do. A clock that was set back makes nothing young again. now 0: whatever age. */
static bool is_state_usable(const struct places *p, const struct file_state *f, bool fresh, int64_t now)
{
	bool young = !now || (now >= f->when && now - f->when <= STATE_AGE);
	return f->wanted || f->round == p->round || (!f->gone && !fresh && young);
}

/* As helper_states. */
static int ask_helper(struct places *p, const struct helper_handle *h, unsigned n, struct helper_state *ret)
{
	int r = helper_states(p->helper, h, n, ret);
	p->answered = clock_now_ns(CLOCK_MONOTONIC);
	return r;
}

/* Asks for all that are wanted, in one question. If that cannot be, none is wanted any more. */
static void ask_wanted(struct places *p, int64_t now)
{
	struct helper_state s[HELPER_BATCH];
	if (!p->nwant || ask_helper(p, p->want, p->nwant, s) < 0) {
		want_nothing(p);
		return;
	}
	for (unsigned i = 0; i < p->nwant; i++) {
		const struct helper_handle *w = &p->want[i];
		const struct handle h = {.type = w->type, .bytes = w->bytes, .p = w->p};
		int file = p->wanted[i].file;
		keep_file_state(p, p->wanted[i].at, file, p->file_keys[file], gen_of(&h), now, &s[i]);
	}
	p->nwant = 0;
}

void places_round(struct places *p)
{
	want_nothing(p);
	p->round++;
}

/* Asks for the file's state at the next places_wanted. fresh: one that is known already is not enough. */
void places_want(struct places *p, struct place *at, const struct handle *h, bool fresh, int64_t now)
{
	uint64_t key = hash_handle(at, h);
	int i = find_file(p, key);
	struct helper_handle of;
	if ((i >= 0 && is_state_usable(p, &p->files[i], fresh, now)) || !handle_for(at, h, &of))
		return;
	i = room_for_file(p, key);
	if (i < 0) {
		ask_wanted(p, now); /* none is wanted any more */
		i = room_for_file(p, key);
	}
	set_file_state(p, i, key, (struct file_state){.round = p->round, .wanted = true});
	p->wanted[p->nwant] = (struct wanted){i, at};
	p->want[p->nwant] = of;
	if (++p->nwant == HELPER_BATCH)
		ask_wanted(p, now);
}

/* Asks for all that is wanted. */
void places_wanted(struct places *p, int64_t now)
{
	ask_wanted(p, now);
}

bool places_state(struct places *p, struct place *at, const struct handle *h, bool fresh, int64_t now,
                  struct place_state *ret)
{
	uint64_t key = hash_handle(at, h);
	int i = find_file(p, key);
	if (i >= 0 && p->files[i].wanted) {
		ask_wanted(p, now);
		i = find_file(p, key);
	}
	const struct file_state *f = i < 0 ? NULL : &p->files[i];
	if (!f || !is_state_usable(p, f, fresh, now)) {
		struct helper_handle of;
		struct helper_state s;
		if (!handle_for(at, h, &of) || ask_helper(p, &of, 1, &s) < 0 || (i = room_for_file(p, key)) < 0)
			return false;
		f = keep_file_state(p, at, i, key, gen_of(h), now, &s);
	}
	if (f->gone)
		return false;
	*ret = f->is;
	return true;
}
