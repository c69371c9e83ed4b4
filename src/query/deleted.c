#include "query/deleted.h"

#include "graph/graph.h"

#include <errno.h>

#define REGROUPED_VERSIONS 4096
#define NAMESAKES 16 /* objects that had one name, one after the other */

/* In ns; INT64_MAX where a is not known. */
static int64_t time_distance(int64_t a, int64_t b)
{
	return a == TIME_NONE ? INT64_MAX : a > b ? a - b : b - a;
}

/* Among those who wrote a version of its file: the one that deleted the object, the nearest in time to `then`, if that
 * is nearer than *best. -errno, or 0 or more; *ret stays as it was where none is nearer. */
static int find_nearer_deleter(struct store *s, store_id version, store_id object, int64_t then, int64_t *best,
                               store_id *ret)
{
	struct edges gens = {0};
	struct ios ios = {0};
	int r = store_gens(s, version, &gens);
	for (size_t i = 0; r >= 0 && i < gens.n; i++) {
		r = store_io(s, gens.v[i].to, &ios);
		for (size_t k = 0; r >= 0 && k < ios.n; k++) {
			const struct io_info *io = &ios.v[k];
			if (io->target != object || io->api != TERM_ioapi_delete ||
			    (*ret && time_distance(io->last, then) >= *best))
				continue;
			*best = time_distance(io->last, then);
			*ret = gens.v[i].to;
		}
	}
	edges_release(&gens);
	ios_release(&ios);
	return r;
}

/* Who deleted the object then: of those who wrote its file, one that deleted it; the nearest in time. *ret stays as it
 * was where nobody is known to have. -errno. */
static int find_deleter(struct store *s, store_id object, store_id within, int64_t then, store_id *ret)
{
	struct version_info v;
	store_id id;
	int64_t best = INT64_MAX;
	int r = store_version_of(s, within, 0, &id);
	if (r > 0)
		r = store_version(s, id, &v);
	for (uint64_t n = r > 0 ? v.n : 0; r >= 0 && n; n--) {
		if ((r = store_version_of(s, within, n, &id)) <= 0 || (r = store_version(s, id, &v)) <= 0 || v.end < then)
			break;
		r = find_nearer_deleter(s, id, object, then, &best, ret);
	}
	return r < 0 ? r : 0;
}

/* When somebody last made or used what the object holds, that is: when it was there for certain. *ret_by: who made it,
 * 0: not known. TIME_NONE: it has no version. -errno. */
static int find_last_observed(struct store *s, store_id object, int64_t *ret, store_id *ret_by)
{
	struct version_info v;
	struct edges e = {0};
	store_id id;
	*ret = TIME_NONE;
	*ret_by = 0;
	int r = store_version_of(s, object, 0, &id);
	if (r > 0)
		r = store_version(s, id, &v);
	if (r > 0) {
		*ret = v.start;
		r = store_gens(s, id, &e);
		*ret_by = r >= 0 && e.n ? e.v[0].to : 0;
	}
	if (r >= 0 && *ret != TIME_NONE)
		r = store_readers(s, id, &e);
	for (size_t i = 0; r >= 0 && i < e.n; i++)
		*ret = e.v[i].lo > *ret ? e.v[i].lo : *ret;
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* Was what had that name deleted, and when for the last time? Those that moved were not. 0, -errno. */
static int name_deleted(struct store *s, store_id within, struct str inner, int64_t after, store_id *ret_what,
                        int64_t *ret)
{
	store_id ids[NAMESAKES];
	int n = store_objects_by_name(s, within, inner, ids, NAMESAKES), r = n < 0 ? n : 0;
	for (int i = 0; r >= 0 && i < n; i++) {
		int64_t until;
		bool other;
		r = store_object_named_until(s, ids[i], inner, &until, &other);
		if (r > 0 && until != TIME_NEVER && !other && until > after && (!*ret_what || until > *ret)) {
			*ret_what = ids[i];
			*ret = until;
		}
	}
	return r < 0 ? r : 0;
}

/* The groups, or the object, that it lies in. 0, -errno. */
static int around_deleted(struct store *s, store_id within, struct str inner, bool attribute, int64_t after,
                          store_id *ret_what, int64_t *ret)
{
	int r = 0;
	for (size_t n = inner.n; r >= 0 && n-- > 2;)
		if (inner.p[n] == '/' || (attribute && inner.p[n] == '@'))
			r = name_deleted(s, within, str_n(inner.p, n), after, ret_what, ret);
	return r;
}

/* The latest version of the file's root group, if it was seen being made after that. 1, 0, -errno. */
static int root_remade(struct store *s, store_id within, int64_t after, struct version_info *ret)
{
	store_id root, id;
	int r = store_objects_by_name(s, within, str_of("//"), &root, 1);
	if (r > 0)
		r = store_version_of(s, root, 0, &id);
	if (r > 0)
		r = store_version(s, id, ret);
	return r <= 0 ? r : ret->origin == ORIGIN_OBSERVED && ret->start > after;
}

/* Are both executions of one run? Neither is asked about where one is not known. 0, -errno. */
static int same_run(struct store *s, store_id x, store_id y, bool *ret)
{
	struct exec_info a = {0}, b = {0};
	int r = x ? store_exec(s, x, &a) : 0;
	store_id run = a.run;
	if (r >= 0 && y)
		r = store_exec(s, y, &b);
	*ret = b.run == run;
	return r < 0 ? r : 0;
}

/* All that was in the file goes when that is made anew: by its root group. Of ranks that make one file together, each
 * on its own clock, one is not held to have undone what another made. 1: ret's time and by are set; 0: it was not,
 * after that; -errno. */
static int file_remade(struct store *s, store_id within, int64_t after, store_id by, struct deletion *ret)
{
	struct version_info v;
	struct edges gens = {0};
	bool together;
	int r = root_remade(s, within, after, &v);
	if (r <= 0)
		return r;
	r = store_gens(s, v.id, &gens);
	store_id maker = r >= 0 && gens.n ? gens.v[0].to : 0;
	edges_release(&gens);
	if (r >= 0)
		r = same_run(s, maker, by, &together);
	if (r < 0 || !maker || (by != maker && together))
		return r < 0 ? r : 0;
	ret->time = v.start;
	ret->by = maker;
	return 1;
}

/* What it was until then. Of the versions, the last that began by ret->time; 0 also where none did. -errno. */
static int version_then(struct store *s, store_id object, struct deletion *ret)
{
	struct version_info v;
	store_id id;
	int r = store_version_of(s, object, 0, &id);
	while (r > 0 && (r = store_version(s, id, &v)) > 0) {
		if (v.start <= ret->time) {
			ret->version = id;
			ret->n = v.n;
			return 0;
		}
		r = v.n > 1 ? store_version_of(s, object, v.n - 1, &id) : 0;
	}
	return r < 0 ? r : 0;
}

/* What the object was called is gone: *ret_what is what was deleted, 0 nothing, ret->time when. until: as long as it
 * had the name; seen: when it was there for certain. */
static int find_what_was_deleted(struct store *s, store_id object, const struct file_info *f, struct str inner,
                                 int64_t until, int64_t seen, store_id *ret_what, struct deletion *ret)
{
	*ret_what = 0;
	if (until != TIME_NEVER) {
		*ret_what = object;
		ret->time = until;
		return 0;
	}
	if (seen == TIME_NONE)
		return 0;
	return around_deleted(s, f->within, inner, f->kind == TERM_kind_attribute, seen, ret_what, &ret->time);
}

int deleted_object(struct store *s, store_id object, struct str inner, struct deletion *ret)
{
	struct file_info f;
	int64_t until, seen = TIME_NONE;
	store_id what = 0, maker;
	bool other;
	*ret = (struct deletion){0};
	int r = store_file(s, object, &f);
	if (r <= 0 || !f.within || f.kind == TERM_kind_xattr || inner.n <= 2)
		return r < 0 ? r : 0;
	store_id within = f.within;
	r = store_object_named_until(s, object, inner, &until, &other);
	if (r <= 0 || other)
		return r < 0 ? r : 0;
	r = find_last_observed(s, object, &seen, &maker);
	if (r >= 0)
		r = find_what_was_deleted(s, object, &f, inner, until, seen, &what, ret);
	if (r >= 0 && what)
		r = find_deleter(s, what, within, ret->time, &ret->by);
	bool found = what;
	/* A name that nobody deleted was taken by another object, in a file that was made anew. */
	if (r >= 0 && !ret->by && seen != TIME_NONE) {
		r = file_remade(s, within, seen, maker, ret);
		found |= r > 0;
	}
	if (r >= 0 && found)
		r = version_then(s, object, ret);
	return r < 0 ? r : found;
}

/* ---- names of groups ---- */

/* Did the execution give a group of the file another name? 1, 0, -errno. */
static int moves_group(struct store *s, store_id exec, store_id file)
{
	struct ios ios = {0};
	struct file_info f;
	bool moved = false;
	int r = store_io(s, exec, &ios);
	for (size_t i = 0; r >= 0 && !moved && i < ios.n; i++) {
		if (ios.v[i].api != TERM_ioapi_rename || !ios.v[i].calls)
			continue;
		r = store_file(s, ios.v[i].target, &f);
		moved = r > 0 && f.within == file && f.kind == TERM_kind_group;
	}
	ios_release(&ios);
	return r < 0 ? r : moved;
}

/* The number of the file's first version whose makers did; 0 there is none. 0, -errno. */
static int find_first_regrouped(struct store *s, store_id file, uint32_t *ret)
{
	struct edges gens = {0};
	int r = 1;
	*ret = 0;
	for (uint32_t n = 1; r > 0 && !*ret && n <= REGROUPED_VERSIONS; n++) {
		store_id id;
		r = store_version_of(s, file, n, &id);
		if (r > 0 && (r = store_gens(s, id, &gens)) == 0)
			r = 1;
		for (size_t i = 0; r > 0 && !*ret && i < gens.n; i++) {
			int moves = moves_group(s, gens.v[i].to, file);
			*ret = moves > 0 ? n : 0;
			r = moves < 0 ? moves : 1;
		}
	}
	edges_release(&gens);
	return r < 0 ? r : 0;
}

int deleted_group_name(struct objects *o, store_id version, store_id file)
{
	struct version_info v;
	bool is_new;
	uint32_t *first = idmap_add(&o->regrouped, file, 0, &is_new);
	int r = !first ? -ENOMEM : is_new ? find_first_regrouped(o->s, file, first) : 0;
	if (r == 0 && *first)
		r = store_version(o->s, version, &v);
	return r > 0 ? v.n >= *first : r;
}
