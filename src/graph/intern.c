#include "graph/intern.h"

#include "base/hash.h"

#define CHUNK 65536

/* Returns room for a text. n bytes that live as long as w; not aligned. NULL without memory. */
static char *intern_carve(struct interner *w, size_t n)
{
	if (n > w->left) {
		size_t size = n > CHUNK / 4 ? n : CHUNK;
		void **slot = vec_add(&w->chunks);
		if (!slot)
			return NULL;
		*slot = malloc(size);
		if (!*slot) {
			w->chunks.n--;
			return NULL;
		}
		if (size != CHUNK)
			return *slot; /* a big string has its own chunk; the current one goes on */
		w->chunk = *slot;
		w->left = size;
	}
	char *p = w->chunk;
	w->chunk += n;
	w->left -= n;
	return p;
}

/* The number of a text with its hash. h: the folded hash of s. VEC_NONE: it is not there. */
static uint32_t intern_lookup(const struct interner *w, struct str s, uint32_t h)
{
	size_t pos = TABLE_START;
	uint32_t id;
	while ((id = table_next(&w->table, h, &pos)) != VEC_NONE)
		if (str_eq(w->list.v[id], s))
			return id;
	return VEC_NONE;
}

uint32_t intern_find(const struct interner *w, struct str s)
{
	return intern_lookup(w, s, hash_fold(hash_str(s)));
}

/* Copies s. VEC_NONE: no memory, and nothing has changed. */
static uint32_t intern_insert(struct interner *w, struct str s, uint32_t h)
{
	char *p = intern_carve(w, s.n ? s.n : 1);
	struct str *e = p ? vec_add(&w->list) : NULL;
	if (!e)
		return VEC_NONE;
	if (s.n)
		memcpy(p, s.p, s.n);
	*e = str_n(p, s.n);
	if (!table_add(&w->table, h, (uint32_t)(w->list.n - 1))) {
		w->list.n--;
		return VEC_NONE;
	}
	return (uint32_t)(w->list.n - 1);
}

uint32_t intern_add(struct interner *w, struct str s)
{
	if (!w->list.n) {
		struct str empty = {"", 0};
		if (intern_insert(w, empty, hash_fold(hash_str(empty))) == VEC_NONE)
			return VEC_NONE;
	}
	uint32_t h = hash_fold(hash_str(s));
	uint32_t id = intern_lookup(w, s, h);
	return id != VEC_NONE ? id : intern_insert(w, s, h);
}

/* w is empty then. */
void intern_release(struct interner *w)
{
	for (size_t i = 0; i < w->chunks.n; i++)
		free(w->chunks.v[i]);
	vec_release(&w->chunks);
	vec_release(&w->list);
	table_release(&w->table);
	*w = (struct interner){0};
}

/* Hashes a node. Of a path: its folder's number and its last component's. */
static uint32_t node_hash(uint32_t parent, uint32_t base)
{
	return hash_fold(hash_mix(parent, base));
}

/* VEC_NONE: there is none. */
uint32_t paths_find_child(const struct paths *p, uint32_t parent, uint32_t base)
{
	size_t pos = TABLE_START;
	uint32_t id, h = node_hash(parent, base);
	while ((id = table_next(&p->table, h, &pos)) != VEC_NONE)
		if (p->list.v[id].parent == parent && p->list.v[id].base == base)
			return id;
	return VEC_NONE;
}

uint32_t paths_child(struct paths *p, struct interner *w, uint32_t parent, uint32_t base)
{
	if (base == VEC_NONE)
		return VEC_NONE;
	uint32_t id = paths_find_child(p, parent, base);
	if (id != VEC_NONE)
		return id;
	struct path_node *n = vec_add(&p->list);
	if (!n)
		return VEC_NONE;
	id = (uint32_t)(p->list.n - 1);
	uint32_t length = (uint32_t)intern_get(w, base).n;
	if (parent != VEC_NONE)
		length += p->list.v[parent].length + 1;
	*n = (struct path_node){parent, base, VEC_NONE, VEC_NONE, length};
	if (!table_add(&p->table, node_hash(parent, base), id)) {
		p->list.n--;
		return VEC_NONE;
	}
	if (parent != VEC_NONE) {
		n->sibling = p->list.v[parent].child;
		p->list.v[parent].child = id;
	}
	return id;
}

uint32_t paths_add(struct paths *p, struct interner *w, struct str path)
{
	const char *slash = path.n <= PATH_SPLIT_MAX && path.n ? memrchr(path.p, '/', path.n) : NULL;
	if (!slash)
		return paths_child(p, w, VEC_NONE, intern_add(w, path));
	struct str dir = {path.p, (size_t)(slash - path.p)};
	struct str base = {slash + 1, path.n - dir.n - 1};
	uint32_t id;
	if (p->last_known && p->last_n == dir.n && !memcmp(p->last, dir.p, dir.n)) {
		id = p->last_dir;
	} else {
		const char *from = dir.p, *end = dir.p + dir.n;
		id = VEC_NONE;
		for (;;) { /* the component before each slash, the empty one before the first included */
			const char *next = from < end ? memchr(from, '/', (size_t)(end - from)) : NULL;
			struct str part = {from, (size_t)((next ? next : end) - from)};
			id = paths_child(p, w, id, intern_add(w, part));
			if (id == VEC_NONE)
				return VEC_NONE;
			if (!next)
				break;
			from = next + 1;
		}
		memcpy(p->last, dir.p, dir.n);
		p->last_n = dir.n;
		p->last_dir = id;
		p->last_known = true;
	}
	return paths_child(p, w, id, intern_add(w, base));
}

uint32_t paths_find(const struct paths *p, const struct interner *w, struct str path)
{
	const char *from = path.p, *end = path.p + path.n;
	uint32_t id = VEC_NONE;
	for (bool whole = path.n > PATH_SPLIT_MAX;;) {
		const char *next = whole || from >= end ? NULL : memchr(from, '/', (size_t)(end - from));
		uint32_t word = intern_find(w, str_n(from, (size_t)((next ? next : end) - from)));
		id = word == VEC_NONE ? VEC_NONE : paths_find_child(p, id, word);
		if (id == VEC_NONE || !next)
			return id;
		from = next + 1;
	}
}

void paths_get(const struct paths *p, const struct interner *w, uint32_t id, struct buf *out)
{
	if (id >= p->list.n)
		return;
	size_t n = p->list.v[id].length;
	if (!buf_room(out, n))
		return;
	char *end = out->p + out->n + n;
	while (id != VEC_NONE) {
		struct str base = intern_get(w, p->list.v[id].base);
		end -= base.n;
		if (base.n)
			memcpy(end, base.p, base.n);
		id = p->list.v[id].parent;
		if (id != VEC_NONE)
			*--end = '/';
	}
	out->n += n;
}

/* p is empty then. */
void paths_release(struct paths *p)
{
	vec_release(&p->list);
	table_release(&p->table);
	*p = (struct paths){0};
}
