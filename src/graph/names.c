#include "graph/names.h"

#include <errno.h>

/* A path that directory renames have made longer than this is not followed further. */
#define NAME_LENGTH_MAX 65536

struct moved {
	uint32_t path, file;
	bool linked;
};
struct replay {
	struct graph *g;
	uint32_t host;
	VEC(uint32_t) open; /* path -> index of the name that is open there, on this host */
	VEC(uint32_t) stack;
	VEC(struct moved) moved;
};

/* Where the name that is in force at this path is kept, VEC_NONE for none; NULL without memory. */
static uint32_t *name_in_force_at(struct replay *r, uint32_t path)
{
	while (r->open.n <= path) {
		uint32_t *p = vec_add(&r->open);
		if (!p) {
			r->g->failed = true;
			return NULL;
		}
		*p = VEC_NONE;
	}
	return &r->open.v[path];
}

/* Begins a name of a file. From t on the path names the file, and what it named before ends then. Where it names
 * that file already nothing changes. linked: it is another name of a file that has one. */
static void begin_name(struct replay *r, uint32_t path, uint32_t file, int64_t t, bool linked)
{
	struct graph *g = r->g;
	if (path == VEC_NONE || g->paths.list.v[path].length == 0 || g->paths.list.v[path].length > NAME_LENGTH_MAX)
		return;
	uint32_t *o = name_in_force_at(r, path);
	if (!o)
		return;
	if (*o != VEC_NONE) {
		if (g->names.v[*o].file == file) {
			g->names.v[*o].linked &= linked || g->names.v[*o].from != t;
			return;
		}
		g->names.v[*o].to = t;
	}
	struct gname *n = vec_add(&g->names);
	if (!n) {
		g->failed = true;
		return;
	}
	*n = (struct gname){r->host, path, file, t, TIME_NEVER, linked};
	*o = (uint32_t)(g->names.n - 1);
}

/* Was the name that ends one that a link made? */
static bool end_name(struct replay *r, uint32_t path, uint32_t file, int64_t t)
{
	uint32_t *o = path == VEC_NONE ? NULL : name_in_force_at(r, path);
	if (o && *o != VEC_NONE && r->g->names.v[*o].file == file) {
		struct gname *n = &r->g->names.v[*o];
		n->to = t;
		*o = VEC_NONE;
		return n->linked;
	}
	return false;
}

/* The path below `to` that `path` is below `from`. */
static uint32_t moved_path(struct replay *r, uint32_t path, uint32_t from, uint32_t to)
{
	r->stack.n = 0;
	for (; path != from; path = r->g->paths.list.v[path].parent) {
		uint32_t *p = vec_add(&r->stack);
		if (!p)
			return VEC_NONE;
		*p = r->g->paths.list.v[path].base;
	}
	while (r->stack.n && to != VEC_NONE)
		to = paths_child(&r->g->paths, &r->g->words, to, r->stack.v[--r->stack.n]);
	return to;
}

/* Open names below a directory that was renamed move with it. All end before one begins: the moves are one moment. */
static void move_below(struct replay *r, uint32_t from, uint32_t to, int64_t t)
{
	struct graph *g = r->g;
	r->moved.n = r->stack.n = 0;
	uint32_t *p = vec_add(&r->stack);
	if (p)
		*p = from;
	while (p && r->stack.n) {
		uint32_t dir = r->stack.v[--r->stack.n];
		for (uint32_t c = g->paths.list.v[dir].child; p && c != VEC_NONE; c = g->paths.list.v[c].sibling) {
			if (c < r->open.n && r->open.v[c] != VEC_NONE) {
				struct moved *m = vec_add(&r->moved);
				if (!m) {
					g->failed = true;
					return;
				}
				const struct gname *n = &g->names.v[r->open.v[c]];
				*m = (struct moved){c, n->file, n->linked};
			}
			if ((p = vec_add(&r->stack)))
				*p = c;
		}
	}
	if (!p)
		g->failed = true;
	for (size_t i = 0; i < r->moved.n; i++)
		end_name(r, r->moved.v[i].path, r->moved.v[i].file, t);
	for (size_t i = 0; i < r->moved.n; i++) {
		struct moved m = r->moved.v[i];
		if (g->paths.list.v[to].length + g->paths.list.v[m.path].length <= NAME_LENGTH_MAX)
			begin_name(r, moved_path(r, m.path, from, to), m.file, t, m.linked);
	}
}

/* One change of a name, the changes before it having been replayed; that of a folder moves all below it. */
static void replay_one(struct replay *r, const struct gname_event *e)
{
	int64_t t = e->key.time;
	bool linked = e->op == TERM_nameop_link;
	switch (e->op) {
	case TERM_nameop_create:
	case TERM_nameop_link:
	case TERM_nameop_seen:
		begin_name(r, e->path, e->file, t, linked);
		break;
	case TERM_nameop_unlink:
	case TERM_nameop_replace:
		end_name(r, e->path, e->file, t);
		break;
	case TERM_nameop_rename:
		if (e->old != e->path)
			linked = end_name(r, e->old, e->file, t);
		begin_name(r, e->path, e->file, t, linked);
		if (gkind_has_names_below(r->g->files.v[e->file].kind) && e->old != VEC_NONE && e->old != e->path &&
		    r->g->paths.list.v[e->path].length)
			move_below(r, e->old, e->path, t);
		break;
	default:
		break;
	}
}

/* Compares two changes of names by host, then by time, session and seq. */
static int compare_name_changes(const void *pa, const void *pb)
{
	const struct gname_event *a = pa, *b = pb;
	if (a->host != b->host)
		return a->host < b->host ? -1 : 1;
	return gkey_cmp(&a->key, &b->key);
}

/* Is it /dev/shm, where the C library keeps semaphores? */
static bool is_shm(const struct graph *g, uint32_t path)
{
	struct buf b = {0};
	if (path != VEC_NONE)
		paths_get(&g->paths, &g->words, path, &b);
	bool yes = str_is(buf_view(&b), "/dev/shm");
	buf_release(&b);
	return yes;
}

unsigned names_flags(const struct graph *g, uint32_t path)
{
	const struct path_node *n = &g->paths.list.v[path];
	struct str base = intern_get(&g->words, n->base);
	unsigned flags = 0;
	if (str_ends(base, str_of(".lock")) || str_ends(base, str_of(".lck")) ||
	    (n->parent != VEC_NONE && (str_is(base, "lock") || str_is(base, "LOCK"))))
		flags |= GFILE_LOCK;
	if (str_starts(base, str_of("sem.")) && is_shm(g, n->parent))
		flags |= GFILE_SEMAPHORE;
	uint32_t cache = intern_find(&g->words, str_of("__pycache__"));
	for (uint32_t p = path; cache != VEC_NONE && p != VEC_NONE; p = g->paths.list.v[p].parent)
		if (g->paths.list.v[p].base == cache)
			flags |= GFILE_CACHE;
	return flags;
}

/* The source that a cache file's path stands for (B14): a path, VEC_NONE where nothing is known at it. */
static uint32_t names_cache_source(struct graph *g, uint32_t path)
{
	uint32_t cache = intern_find(&g->words, str_of("__pycache__"));
	uint32_t p = g->paths.list.v[path].parent;
	while (p != VEC_NONE && g->paths.list.v[p].base != cache)
		p = g->paths.list.v[p].parent;
	if (p == VEC_NONE || cache == VEC_NONE)
		return VEC_NONE;
	struct str base = intern_get(&g->words, g->paths.list.v[path].base);
	const char *dot = memchr(base.p, '.', base.n);
	struct buf name = {0};
	buf_add(&name, base.p, dot ? (size_t)(dot - base.p) : base.n);
	buf_str(&name, str_of(".py"));
	uint32_t word = name.failed ? VEC_NONE : intern_find(&g->words, buf_view(&name));
	buf_release(&name);
	return word == VEC_NONE ? VEC_NONE : paths_find_child(&g->paths, g->paths.list.v[p].parent, word);
}

struct source {
	uint32_t path, cache;
};

/* Order of qsort. */
static int source_cmp(const void *pa, const void *pb)
{
	const struct source *a = pa, *b = pb;
	return a->path < b->path ? -1 : a->path > b->path;
}

/* Order of qsort. */
static int compare_caches(const void *pa, const void *pb)
{
	const struct gcache *a = pa, *b = pb;
	if (a->cache != b->cache)
		return a->cache < b->cache ? -1 : 1;
	return (a->source > b->source) - (a->source < b->source);
}

/* Which files are the sources of which cache files: joins the names of the caches with all names. 0, -ENOMEM. */
static int find_caches(struct graph *g)
{
	VEC(struct source) want = {0};
	int rc = -ENOMEM;
	g->caches.n = 0;
	for (size_t i = 0; i < g->names.n; i++) {
		const struct gname *n = &g->names.v[i];
		uint32_t path = g->files.v[n->file].flags & GFILE_CACHE ? names_cache_source(g, n->path) : VEC_NONE;
		struct source *s = path != VEC_NONE ? vec_add(&want) : NULL;
		if (s)
			*s = (struct source){path, n->file};
		else if (path != VEC_NONE)
			goto out;
	}
	if (want.n)
		qsort(want.v, want.n, sizeof *want.v, source_cmp);
	for (size_t i = 0; want.n && i < g->names.n; i++) {
		size_t lo = 0, hi = want.n;
		while (lo < hi) {
			size_t mid = lo + (hi - lo) / 2;
			if (want.v[mid].path < g->names.v[i].path)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; lo < want.n && want.v[lo].path == g->names.v[i].path; lo++) {
			struct gcache *c = vec_add(&g->caches);
			if (!c)
				goto out;
			*c = (struct gcache){want.v[lo].cache, g->names.v[i].file};
		}
	}
	if (g->caches.n) {
		qsort(g->caches.v, g->caches.n, sizeof *g->caches.v, compare_caches);
		size_t kept = 1;
		for (size_t i = 1; i < g->caches.n; i++)
			if (compare_caches(&g->caches.v[i], &g->caches.v[kept - 1]))
				g->caches.v[kept++] = g->caches.v[i];
		g->caches.n = kept;
	}
	rc = 0;
out:
	vec_release(&want);
	return rc;
}

/* Begins the replay of a host's names. Only what is open on the host at hand. */
static void begin_host(struct replay *r, uint32_t host)
{
	const struct graph *g = r->g;
	r->host = host;
	for (size_t k = 0; k < r->open.n; k++)
		r->open.v[k] = VEC_NONE;
	for (size_t i = 0; i < g->open_names.n; i++) {
		uint32_t *o = g->open_names.v[i].host == host ? name_in_force_at(r, g->open_names.v[i].path) : NULL;
		if (o)
			*o = (uint32_t)i; /* they stand at the beginning of the names */
	}
}

int names_replay_events(struct graph *g)
{
	struct replay r = {.g = g, .host = VEC_NONE};
	bool sorted = true;
	for (size_t i = 0; i < g->name_events.n; i++) {
		struct gname_event *e = &g->name_events.v[i];
		e->host = g->hosts.v[g->sessions.v[e->session].host].name;
		sorted = sorted && (!i || compare_name_changes(e - 1, e) <= 0);
	}
	if (!sorted)
		qsort(g->name_events.v, g->name_events.n, sizeof *g->name_events.v, compare_name_changes);
	g->names.n = 0;
	for (size_t i = 0; i < g->open_names.n; i++) {
		struct gname *n = vec_add(&g->names);
		if (!n)
			return -ENOMEM;
		*n = g->open_names.v[i];
	}
	for (size_t i = 0; i < g->name_events.n; i++) {
		const struct gname_event *e = &g->name_events.v[i];
		if (e->host != r.host)
			begin_host(&r, e->host);
		if (gkind_has_names(g->files.v[e->file].kind))
			replay_one(&r, e);
	}
	vec_release(&r.open);
	vec_release(&r.stack);
	vec_release(&r.moved);
	return g->failed ? -ENOMEM : 0;
}

int names_replay(struct graph *g)
{
	int rc = names_replay_events(g);
	for (size_t i = 0; rc == 0 && i < g->names.n; i++)
		g->files.v[g->names.v[i].file].flags |= (uint16_t)names_flags(g, g->names.v[i].path);
	return rc < 0 ? rc : find_caches(g);
}
