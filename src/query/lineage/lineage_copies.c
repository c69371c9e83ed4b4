/* lineage_copies.c - what was copied, or moved through memory unchanged, came from its originals alone, whatever else
 * its maker used: pairs that the library in a program told of (event h5_copy), run by run (doc/graph.md, "Lineage"). */
#include "query/lineage/lineage_int.h"

#include "base/hash.h"
#include "query/carried.h"
#include "query/scripts.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Never 0. */
static uint64_t pair_key(store_id exec, store_id object, unsigned what)
{
	return hash_mix(hash_mix(exec, object), what) | 1;
}

enum { BY_COPY = 1, BY_ORIGINAL = 2 };

/* Puts the pair `at` behind the first one of its chain, if there is one. link: where the next one stands in a pair. 0,
 * -ENOMEM. */
static int chain_pair(struct lineage_copies *c, uint64_t key, uint32_t at, size_t link, uint32_t *ret_first)
{
	bool is_new;
	uint32_t *first = idmap_add(&c->by, key, at, &is_new);
	if (!first)
		return -ENOMEM;
	*ret_first = *first;
	if (is_new)
		return 0;
	uint32_t *head = (uint32_t *)((char *)&c->pairs.v[*first - 1] + link),
	         *mine = (uint32_t *)((char *)&c->pairs.v[at - 1] + link);
	*mine = *head;
	*head = at;
	return 0;
}

/* A copy by one call has one original; what was moved through memory may have several. 0, -ENOMEM. */
static int add_copy(struct lineage_copies *c, store_id exec, store_id copy, store_id original, bool moved)
{
	struct lineage_copy *one = vec_add(&c->pairs);
	uint32_t at = (uint32_t)c->pairs.n, first; /* from 1 */
	if (!one)
		return -ENOMEM;
	*one = (struct lineage_copy){.copy = copy, .original = original, .moved = moved};
	int r = chain_pair(c, pair_key(exec, copy, BY_COPY), at, offsetof(struct lineage_copy, also), &first);
	if (r == 0 && first != at) {
		struct lineage_copy *head = &c->pairs.v[first - 1];
		head->contested |= head->moved != moved || (!moved && head->original != original);
	}
	return r == 0
	           ? chain_pair(c, pair_key(exec, original, BY_ORIGINAL), at, offsetof(struct lineage_copy, next), &first)
	           : r;
}

/* Reads the pairs of the execution's run, once. 0 or -errno. */
static int load_copies(struct lineage_walk *w, store_id exec)
{
	struct lineage_copies *c = &w->copies;
	struct exec_brief x;
	struct reported_list told = {0};
	bool is_new = false;
	int r = store_exec_brief(w->s, exec, &x);
	if (r <= 0)
		return r;
	if (!idmap_add(&c->runs, x.run ? x.run : UINT64_MAX, 1, &is_new))
		return -ENOMEM;
	r = is_new ? store_reported(w->s, x.run, EVENT_h5_copy, &told) : 0;
	for (size_t i = 0; r >= 0 && i < told.n; i++) {
		const struct reported_event *t = &told.v[i];
		const struct event_h5_copy *e = &t->ev.h5_copy;
		store_id by = 0, original = 0;
		r = t->file && t->run == x.run ? store_exec_at(w->s, t->session, e->pid, (int64_t)e->started, t->ev.time, &by)
		                               : 0;
		if (r > 0)
			r = store_file_by_identity(w->s, e->domain, e->ino, e->gen, &original);
		if (r > 0)
			r = add_copy(c, by, t->file, original, e->how != 0);
	}
	reported_list_release(&told);
	return r < 0 ? r : 0;
}

/* The pair at place `at`, from 1; NULL at 0. */
static const struct lineage_copy *copy_at(const struct lineage_copies *c, uint32_t at)
{
	return at ? &c->pairs.v[at - 1] : NULL;
}

/* Its number from 1; 0: none is known. */
static uint32_t find_copy(const struct lineage_copies *c, store_id exec, store_id object, unsigned what)
{
	const uint32_t *at = idmap_find(&c->by, pair_key(exec, object, what));
	return at ? *at : 0;
}

/* Order of qsort: by file, then by version. */
static int compare_touched(const void *pa, const void *pb)
{
	const struct lineage_touched *a = pa, *b = pb;
	return a->file != b->file ? (a->file > b->file) - (a->file < b->file) : (a->e.to > b->e.to) - (a->e.to < b->e.to);
}

/* What the execution used, and what it made, by file, where it is not the one that was asked for before. 0, -errno. */
static int load_touched(struct lineage_walk *w, store_id exec)
{
	struct lineage_copies *c = &w->copies;
	if (c->exec == exec)
		return 0;
	c->exec = 0;
	int r = 0;
	for (int outputs = 0; r == 0 && outputs < 2; outputs++) {
		c->touched[outputs].n = 0;
		r = outputs ? store_outputs(w->s, exec, &c->got) : store_uses(w->s, exec, &c->got);
		for (size_t k = 0; r == 0 && k < c->got.n; k++) {
			struct lineage_touched *one = vec_add(&c->touched[outputs]);
			r = one ? store_version_file(w->s, c->got.v[k].to, &one->file) : -ENOMEM;
			if (one)
				one->e = c->got.v[k];
			if (r == 0 && one)
				one->file = 0;
			r = r < 0 ? r : 0;
		}
		if (c->touched[outputs].n)
			qsort(c->touched[outputs].v, c->touched[outputs].n, sizeof(*c->touched[outputs].v), compare_touched);
	}
	if (r == 0)
		c->exec = exec;
	return r;
}

/* Of what the execution used, or (outputs) made, the edges to versions of the file, in c->got. 0, -errno. */
static int edges_to_file(struct lineage_walk *w, store_id exec, bool outputs, store_id file)
{
	struct lineage_copies *c = &w->copies;
	int r = load_touched(w, exec);
	size_t lo = 0, hi = c->touched[outputs].n;
	c->got.n = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->touched[outputs].v[mid].file < file)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; r == 0 && lo < c->touched[outputs].n && c->touched[outputs].v[lo].file == file; lo++)
		r = edges_add(&c->got, &c->touched[outputs].v[lo].e);
	return r;
}

/* The edges by which the execution used the original, in c->got; none where it wrote that itself: then the copy may be
 * of what it wrote. 0, -errno. */
static int uses_of_original(struct lineage_walk *w, store_id exec, store_id original)
{
	int r = edges_to_file(w, exec, true, original);
	if (r == 0 && !w->copies.got.n)
		return edges_to_file(w, exec, false, original);
	w->copies.got.n = 0;
	return r;
}

/* What the execution used of all that it made the copy from, in c->from; none where that is not known: of one of them
 * it used nothing, or wrote it itself. at: the first pair of the copy, from 1. 0, -errno. */
static int uses_behind(struct lineage_walk *w, store_id exec, uint32_t at)
{
	struct lineage_copies *c = &w->copies;
	const struct lineage_copy *p = copy_at(c, at);
	bool known = p && !p->contested;
	int r = 0;
	c->from.n = 0;
	for (; known && r == 0 && p; p = copy_at(c, p->also)) {
		r = uses_of_original(w, exec, p->original);
		known = r == 0 && c->got.n;
		for (size_t k = 0; r == 0 && k < c->got.n; k++)
			r = edges_add(&c->from, &c->got.v[k]);
	}
	if (!known)
		c->from.n = 0;
	return r;
}

int lineage_copy_of(struct lineage_walk *w, store_id version, store_id exec, struct edges **ret)
{
	struct lineage_copies *c = &w->copies;
	store_id file;
	c->from.n = 0;
	*ret = &c->from;
	if (!w->objects.any || w->o->all)
		return 0;
	struct carried_pair pair;
	int r = carried_pair(&w->objects, version, &pair);
	if (r != 0) {
		c->from.n = 0;
		return r < 0 ? r : pair.gen.to == exec ? edges_add(&c->from, &pair.from) : 0;
	}
	r = store_version_file(w->s, version, &file);
	if (r > 0)
		r = load_copies(w, exec);
	if (r >= 0)
		r = uses_behind(w, exec, find_copy(c, exec, file, BY_COPY));
	return r;
}

/* Adds to ret, as derived, what the execution copied of a file. 0, -errno. */
static int add_copies_by(struct lineage_walk *w, store_id exec, store_id original, struct edges *ret)
{
	struct lineage_copies *c = &w->copies;
	int r = load_copies(w, exec);
	uint32_t at = r == 0 ? find_copy(c, exec, original, BY_ORIGINAL) : 0;
	for (const struct lineage_copy *p = copy_at(c, at); r == 0 && p; p = copy_at(c, at)) {
		at = p->next;
		const store_id copy = p->copy;
		r = uses_behind(w, exec, find_copy(c, exec, copy, BY_COPY));
		if (r == 0 && c->from.n)
			r = edges_to_file(w, exec, true, copy);
		for (size_t k = 0; r == 0 && c->from.n && k < c->got.n; k++)
			r = edges_add(ret, &c->got.v[k]);
	}
	return r;
}

int lineage_copies_from(struct lineage_walk *w, store_id version, struct edges *ret)
{
	struct version_sort v;
	ret->n = 0;
	if (!w->objects.any || w->o->all)
		return 0;
	int r = store_version_sort(w->s, version, &v);
	if (r <= 0 || !objects_is_object(v.kind))
		return r < 0 ? r : 0;
	store_id file = v.file;
	r = store_readers(w->s, version, &w->copies.readers);
	for (size_t k = 0; r == 0 && k < w->copies.readers.n; k++)
		r = add_copies_by(w, w->copies.readers.v[k].to, file, ret);
	return r == 0 ? carried_copies(&w->objects, version, ret) : r;
}

/* Which objects the execution gave another name, where it is not the one that was asked for before. 0, -errno. */
static int load_renamed(struct lineage_walk *w, store_id exec)
{
	struct lineage_copies *c = &w->copies;
	struct ios ios = {0};
	bool is_new;
	if (c->renamer == exec)
		return 0;
	c->renamer = 0;
	idmap_release(&c->renamed);
	c->renamed = (struct idmap){0};
	int r = store_io(w->s, exec, &ios);
	for (size_t i = 0; r >= 0 && i < ios.n; i++)
		if (ios.v[i].api == TERM_ioapi_rename && ios.v[i].calls && !idmap_add(&c->renamed, ios.v[i].target, 1, &is_new))
			r = -ENOMEM;
	for (size_t i = 0; r >= 0 && c->renamed.n && i < ios.n; i++) {
		uint32_t *only = ios.v[i].write && ios.v[i].api != TERM_ioapi_rename && ios.v[i].api != TERM_ioapi_flush
		                     ? idmap_find(&c->renamed, ios.v[i].target)
		                     : NULL;
		if (only)
			*only = 0;
	}
	ios_release(&ios);
	if (r >= 0)
		c->renamer = exec;
	return r < 0 ? r : 0;
}

int lineage_is_renamed(struct lineage_walk *w, store_id version, store_id exec)
{
	store_id file;
	int r = w->o->all ? 0 : lineage_is_object(w, version);
	if (r > 0)
		r = store_version_file(w->s, version, &file);
	if (r <= 0)
		return r;
	r = load_renamed(w, exec);
	const uint32_t *only = r == 0 ? idmap_find(&w->copies.renamed, file) : NULL;
	return r < 0 ? r : only && *only;
}

int lineage_is_program(struct lineage_walk *w, store_id exec, store_id version, uint16_t mode)
{
	struct exec_brief x;
	struct version_sort v;
	struct file_info f;
	if (mode & ACCESS_PROGRAM)
		return 1;
	int r = store_exec_brief(w->s, exec, &x);
	store_id exe = r > 0 ? x.exe : 0, script = r > 0 ? x.script : 0;
	r = r > 0 ? store_version_sort(w->s, version, &v) : r;
	if (r <= 0 || v.file == script || !script_may_be(v.path))
		return r < 0 ? r : r > 0 && v.file == script;
	struct buf path = {0};
	buf_str(&path, v.path);
	r = path.failed ? -ENOMEM : exe ? store_file(w->s, exe, &f) : 0;
	if (r > 0)
		r = script_is(f.path, buf_view(&path));
	buf_release(&path);
	return r;
}

int lineage_is_holder_of_used(struct lineage_walk *w, store_id exec, store_id version)
{
	struct lineage_copies *c = &w->copies;
	struct version_sort v;
	struct file_info f;
	store_id root;
	int r = store_version_sort(w->s, version, &v);
	if (r <= 0 || v.kind != TERM_kind_regular)
		return r < 0 ? r : 0;
	const store_id file = v.file;
	r = store_objects_by_name(w->s, file, str_of("//"), &root, 1);
	if (r > 0)
		r = load_touched(w, exec) < 0 ? -EIO : 1;
	for (size_t i = 0; r > 0 && i < c->touched[0].n; i++) {
		r = store_file(w->s, c->touched[0].v[i].file, &f);
		if (r > 0 && f.within == file && objects_is_object(f.kind))
			return 1;
		r = r < 0 ? r : 1;
	}
	return r < 0 ? r : 0;
}

/* c itself may not be used afterwards. */
void lineage_copies_release(struct lineage_copies *c)
{
	idmap_release(&c->runs);
	idmap_release(&c->renamed);
	idmap_release(&c->by);
	vec_release(&c->pairs);
	vec_release(&c->touched[0]);
	vec_release(&c->touched[1]);
	edges_release(&c->got);
	edges_release(&c->from);
	edges_release(&c->readers);
	edges_release(&c->made);
}
