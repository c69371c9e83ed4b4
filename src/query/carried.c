#include "query/carried.h"

#include "base/os/system.h"
#include "graph/graph.h"
#include "query/digest_told.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy of a whole file: versions. */
struct carried_whole {
	store_id from, to;
};

/* What was found out, and is asked for again for each object of a file. */
struct carried {
	struct idmap carriers; /* version of an object -> number of the version of its file that carries it, 0 none */
	struct idmap holders;  /* files -> whether objects may be in them */
	struct idmap copied;   /* versions of files whose copies are in `copies` */
	VEC(struct carried_whole) copies;
	store_id version; /* of which `whole` tells, 0 none */
	struct carried_pair whole;
	bool is_copy;
};

/* What was found out of copies so far. NULL without memory. */
static struct carried *carried_memo(struct objects *o)
{
	if (!o->carried)
		o->carried = calloc(1, sizeof(*o->carried));
	return o->carried;
}

void carried_free(struct carried *c)
{
	if (!c)
		return;
	idmap_release(&c->carriers);
	idmap_release(&c->holders);
	idmap_release(&c->copied);
	vec_release(&c->copies);
	free(c);
}

/* ---- which version of the file an object came with ---- */

/* May objects be in the file? A file that was opened by its name has its root group in the record. 1, 0, -errno. */
static int may_hold(struct objects *o, store_id file)
{
	static const char *const suffixes[] = {
#define CONTAINER(suffix) suffix,
#include "query/containers.def"
#undef CONTAINER
	};
	bool is_new;
	store_id root;
	struct file_info f;
	struct carried *memo = carried_memo(o);
	if (!memo)
		return -ENOMEM;
	const uint32_t *known = idmap_find(&memo->holders, file);
	if (known)
		return (int)*known;
	int r = store_objects_by_name(o->s, file, str_of("//"), &root, 1);
	bool holds = r > 0;
	if (r == 0 && (r = store_file(o->s, file, &f)) > 0)
		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
			holds |= f.kind == TERM_kind_regular && str_ends(f.path, str_of(suffixes[i]));
	if (r < 0) /* which is not remembered as an answer */
		return r;
	return idmap_add(&memo->holders, file, holds, &is_new) ? holds : -ENOMEM;
}

/* Of the file's versions 1..n, the last whose makers did not tell what they did to each object. 1, 0, -errno. */
static int find_carrier(struct objects *o, store_id file, uint64_t n, store_id *ret)
{
	int r = 1;
	for (uint64_t left = CARRIED_VERSIONS; r > 0 && n && left; n--, left--) {
		struct version_info v;
		bool told = false;
		r = store_version_of(o->s, file, n, ret);
		if (r > 0)
			r = store_version(o->s, *ret, &v);
		if (r <= 0 || v.origin == ORIGIN_EXTERNAL)
			return r < 0 ? r : 0;
		if (v.origin == ORIGIN_OBSERVED)
			r = objects_made_so(o, *ret, file, &told);
		if (r < 0 || !told)
			return r < 0 ? r : 1;
		r = 1;
	}
	return r < 0 ? r : 0;
}

/* The number of the file's last version that began by t; 0: none. -errno. */
static int version_at(struct store *s, store_id file, int64_t t, uint64_t *ret)
{
	struct version_info v;
	store_id id;
	*ret = 0;
	int r = store_version_of(s, file, 0, &id);
	if (r > 0)
		r = store_version(s, id, &v);
	for (uint64_t n = r > 0 ? v.n : 0, left = CARRIED_VERSIONS; r > 0 && n && left; n--, left--) {
		r = store_version_of(s, file, n, &id);
		if (r > 0)
			r = store_version(s, id, &v);
		if (r > 0 && v.start <= t) {
			*ret = n;
			return 0;
		}
	}
	return r < 0 ? r : 0;
}

int carried_latest(struct objects *o, store_id file, store_id *ret)
{
	struct file_info f;
	int r = store_file(o->s, file, &f);
	return r > 0 ? find_carrier(o, file, f.versions, ret) : r;
}

/* The number of the version of the file that carries this version of an object, 0 none. 0, -errno. */
static int find_carrier_number(struct objects *o, store_id version, store_id file, uint32_t *ret)
{
	struct version_info v;
	store_id carrier;
	uint64_t n;
	*ret = 0;
	int r = may_hold(o, file);
	if (r > 0)
		r = store_version(o->s, version, &v);
	if (r > 0)
		r = version_at(o->s, file, v.start, &n) < 0 ? -EIO : find_carrier(o, file, n, &carrier);
	if (r > 0)
		r = store_version(o->s, carrier, &v);
	if (r > 0 && v.n < UINT32_MAX)
		*ret = (uint32_t)v.n;
	return r < 0 ? r : 0;
}

int carried_by(struct objects *o, store_id version, store_id *ret)
{
	struct version_sort sort;
	bool is_new;
	if (!o->any)
		return 0;
	int r = store_version_sort(o->s, version, &sort);
	if (r <= 0 || !sort.within || sort.origin != ORIGIN_EXTERNAL || !objects_is_object(sort.kind))
		return r < 0 ? r : 0;
	const store_id file = sort.within;
	struct carried *memo = carried_memo(o);
	if (!memo)
		return -ENOMEM;
	const uint32_t *known = idmap_find(&memo->carriers, version);
	uint32_t n = known ? *known : 0;
	if (!known && (r = find_carrier_number(o, version, file, &n)) < 0)
		return r;
	if (!known && !idmap_add(&memo->carriers, version, n, &is_new))
		return -ENOMEM;
	return n ? store_version_of(o->s, file, n, ret) : 0;
}

/* ---- copies of whole files ---- */

/* What is asked of a version of a regular file. */
struct content {
	store_id version, file;
	uint64_t size;
	char name[256], digest[DIGEST_TEXT]; /* the name's last part; the digest is empty where none is told */
};

/* Reads what is to be compared of a version: size and name. 1; 0: it is no regular file of the user's with a known
 * size; -errno. */
static int load_content(struct store *s, store_id version, struct content *ret)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(s, version, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r <= 0 || f.kind != TERM_kind_regular || !v.has_size || !v.size || system_path(f.path, NULL) != SYSTEM_NO)
		return r < 0 ? r : 0;
	struct str base = str_base_name(f.path);
	*ret = (struct content){.version = version, .file = v.file, .size = v.size};
	if (base.n < sizeof(ret->name))
		memcpy(ret->name, base.p, base.n);
	r = digest_told(s, &v, &f, ret->digest);
	if (r == 0)
		ret->digest[0] = '\0';
	return r < 0 ? r : 1;
}

/* Is the execution a program that copies files as they are? 1, 0, -errno. */
static int is_copier(struct store *s, store_id exec)
{
	static const char *const copiers[] = {
#define COPIER(name) name,
#include "query/copiers.def"
#undef COPIER
	};
	struct exec_info x;
	struct str name;
	size_t pos = 0;
	int r = store_exec(s, exec, &x);
	if (r <= 0 || !strlist_next(&x.argv, &pos, &name))
		return r < 0 ? r : 0;
	for (size_t i = 0; i < sizeof(copiers) / sizeof(copiers[0]); i++)
		if (str_is(str_base_name(name), copiers[i]))
			return 1;
	return 0;
}

/* The one execution that wrote the version: by the only edge, or the only one that is sure. NULL: there are several. */
static const struct edge *only_writer(const struct edges *gens)
{
	const struct edge *one = NULL;
	size_t sure = 0;
	for (size_t i = 0; i < gens->n; i++) {
		sure += gens->v[i].sure;
		if (gens->v[i].sure || gens->n == 1)
			one = &gens->v[i];
	}
	return gens->n == 1 || sure == 1 ? one : NULL;
}

/* Among what the writer used: the version with the same digest, else, if the writer copies files, the only one of the
 * same size, or of the same size and name. 1: *ret is the edge to it; 0; -errno. */
static int find_source(struct store *s, const struct content *copy, bool copier, const struct edges *uses,
                       struct edge *ret)
{
	size_t alike = 0, named = 0;
	struct edge by_name = {0};
	for (size_t i = 0; i < uses->n; i++) {
		struct content c;
		int r = uses->v[i].mode & ACCESS_PROGRAM ? 0 : load_content(s, uses->v[i].to, &c);
		if (r < 0)
			return r;
		if (r == 0 || c.file == copy->file || c.size != copy->size)
			continue;
		if (*c.digest && *copy->digest) {
			if (strcmp(c.digest, copy->digest))
				continue;
			*ret = uses->v[i];
			ret->sure = true;
			return 1;
		}
		alike++;
		*ret = uses->v[i];
		if (*c.name && !strcmp(c.name, copy->name)) {
			named++;
			by_name = uses->v[i];
		}
	}
	if (alike > 1)
		*ret = by_name;
	ret->sure = false;
	return copier && (alike == 1 || named == 1);
}

/* Finds the version of which this one is a whole copy. As carried_whole_copy, which remembers it. */
static int find_whole_copy(struct store *s, store_id version, struct carried_pair *ret)
{
	struct content copy;
	struct edges gens = {0}, uses = {0};
	const struct edge *writer = NULL;
	bool copier = false;
	int r = load_content(s, version, &copy);
	if (r > 0)
		r = store_gens(s, version, &gens) < 0 ? -EIO : 1;
	if (r > 0 && (writer = only_writer(&gens)))
		r = is_copier(s, writer->to);
	copier = r > 0;
	if (r >= 0 && writer && (copier || *copy.digest)) {
		ret->gen = *writer;
		r = store_uses(s, writer->to, &uses);
		r = r < 0 ? r : find_source(s, &copy, copier, &uses, &ret->from);
	} else if (r > 0) {
		r = 0;
	}
	edges_release(&gens);
	edges_release(&uses);
	return r;
}

int carried_whole_copy(struct objects *o, store_id version, struct carried_pair *ret)
{
	struct carried *memo = carried_memo(o);
	if (!memo)
		return -ENOMEM;
	if (memo->version != version) {
		int r = find_whole_copy(o->s, version, &memo->whole);
		if (r < 0)
			return r;
		memo->version = version;
		memo->is_copy = r > 0;
	}
	*ret = memo->whole;
	return memo->is_copy;
}

/* ---- the same object in the file that was copied ---- */

/* The last version of the object that began by t; what nobody was seen making was there before it was met. 1:
 * *ret_since is when it began; 0; -errno. */
static int object_version_then(struct store *s, const struct file_info *object, int64_t t, store_id *ret,
                               int64_t *ret_since)
{
	const store_id id = object->id;
	int r = 1;
	for (uint64_t n = object->versions, left = CARRIED_VERSIONS; r > 0 && n && left; n--, left--) {
		struct version_info v;
		r = store_version_of(s, id, n, ret);
		if (r > 0)
			r = store_version(s, *ret, &v);
		*ret_since = r > 0 && v.origin == ORIGIN_EXTERNAL ? INT64_MIN : v.start;
		if (r > 0 && *ret_since <= t)
			return 1;
	}
	return r < 0 ? r : 0;
}

/* Of the objects of that kind in a file that were ever called so, the version that the file had at t. 1, 0, -errno. */
static int find_object_then(struct objects *o, store_id file, struct str inner, uint64_t kind, int64_t t, store_id *ret)
{
	store_id ids[16], id;
	int n = store_objects_by_name(o->s, file, inner, ids, sizeof(ids) / sizeof(ids[0])), r = n < 0 ? n : 0;
	int64_t best = 0, since;
	bool found = false;
	for (int i = 0; r >= 0 && i < n; i++) {
		struct file_info f;
		r = store_file(o->s, ids[i], &f);
		if (r > 0)
			r = f.kind == kind ? object_version_then(o->s, &f, t, &id, &since) : 0;
		if (r <= 0 || (found && since <= best))
			continue;
		best = since;
		*ret = id;
		found = true;
	}
	return r < 0 ? r : found;
}

/* The object `inner` of that kind in the file that was copied, as it was then. 1; 0: that has none, and *ret_carrier is
 * the version that carries what is in it, 0 none; -errno. */
static int find_in_source(struct objects *o, const struct carried_pair *copy, struct str inner, uint64_t kind,
                          store_id *ret, store_id *ret_carrier)
{
	struct version_info v;
	*ret_carrier = 0;
	int r = store_version(o->s, copy->from.to, &v);
	if (r <= 0)
		return r;
	const store_id file = v.file;
	const uint64_t n = v.n;
	/* The file had all then that began by this. */
	const int64_t t = v.end != TIME_NEVER && v.end < copy->from.hi ? v.end : copy->from.hi;
	r = find_object_then(o, file, inner, kind, t, ret);
	if (r != 0)
		return r;
	r = find_carrier(o, file, n, ret_carrier);
	if (r <= 0)
		*ret_carrier = 0;
	return r < 0 ? r : 0;
}

int carried_pair(struct objects *o, store_id version, struct carried_pair *ret)
{
	struct version_sort sort = {0};
	struct buf inner = {0};
	store_id carrier = 0;
	bool sure = true;
	int r = carried_by(o, version, &carrier), found = 0;
	if (r > 0)
		r = store_version_sort(o->s, version, &sort);
	const uint64_t kind = sort.kind;
	if (r > 0)
		r = store_object_first_name(o->s, sort.file, &inner);
	for (int k = 0; r > 0 && !found && carrier && k < CARRIED_COPIES; k++) {
		struct carried_pair copy;
		store_id object = 0;
		r = carried_whole_copy(o, carrier, &copy);
		if (r <= 0)
			break;
		sure &= copy.from.sure && copy.gen.sure;
		if (!k)
			*ret = copy;
		found = find_in_source(o, &copy, buf_view(&inner), kind, &object, &carrier);
		r = found < 0 ? found : 1;
		if (found > 0)
			ret->from.to = object;
	}
	ret->from.sure = sure;
	buf_release(&inner);
	return r < 0 ? r : found > 0;
}

/* ---- downwards ---- */

/* Adds to e, once, an edge as derived. 0, -ENOMEM. */
static int add_derived(struct edges *e, store_id version, bool sure, int64_t lo, int64_t hi)
{
	for (size_t i = 0; i < e->n; i++)
		if (e->v[i].to == version)
			return 0;
	return edges_add(e, &(struct edge){.to = version, .sure = sure, .via = TERM_via_data, .lo = lo, .hi = hi});
}

/* The version, if it is of an object that the carrier carries. 0, -errno. */
static int add_if_carried(struct objects *o, store_id version, const struct version_info *carrier, bool paired,
                          struct edges *e)
{
	struct version_sort sort;
	struct carried_pair pair;
	store_id by = 0;
	int r = store_version_sort(o->s, version, &sort);
	if (r <= 0 || sort.within != carrier->file || sort.origin != ORIGIN_EXTERNAL)
		return r < 0 ? r : 0;
	r = carried_by(o, version, &by);
	if (r > 0 && by == carrier->id && !paired && (r = carried_pair(o, version, &pair)) > 0)
		return 0;
	if (r >= 0 && by == carrier->id)
		r = add_derived(e, version, true, carrier->start, carrier->end);
	return r < 0 ? r : 0;
}

/* Of what the execution used, and of what was there before it wrote to it or gave it another name: the versions of
 * objects that the carrier carries. 0, -errno. */
static int add_used_objects(struct objects *o, store_id exec, const struct version_info *carrier, bool paired,
                            struct edges *e)
{
	struct edges uses = {0}, before = {0};
	int r = store_uses(o->s, exec, &uses);
	for (size_t i = 0; r >= 0 && i < uses.n; i++)
		r = add_if_carried(o, uses.v[i].to, carrier, paired, e);
	if (r >= 0)
		r = store_outputs(o->s, exec, &uses);
	for (size_t i = 0; r >= 0 && i < uses.n; i++) {
		struct version_sort sort;
		r = store_version_sort(o->s, uses.v[i].to, &sort);
		if (r <= 0 || sort.within != carrier->file)
			continue;
		r = store_derived(o->s, uses.v[i].to, &before);
		for (size_t k = 0; r >= 0 && k < before.n; k++)
			r = add_if_carried(o, before.v[k].to, carrier, paired, e);
	}
	edges_release(&uses);
	edges_release(&before);
	return r < 0 ? r : 0;
}

/* May the version of a file carry objects: is it of a file that may have some, and did its makers not tell of them? 1,
 * 0, -errno. */
static int is_carrier(struct objects *o, const struct version_info *v)
{
	bool told = true;
	int r = v->origin == ORIGIN_EXTERNAL ? 0 : may_hold(o, v->file);
	if (r > 0)
		r = objects_made_so(o, v->id, v->file, &told);
	return r < 0 ? r : !told;
}

/* Adds what those used who read that version of the carrier's file. 0, -errno. */
static int add_objects_of_readers(struct objects *o, store_id version, const struct version_info *carrier, bool paired,
                                  struct edges *e)
{
	struct edges readers = {0};
	int r = store_readers(o->s, version, &readers);
	for (size_t i = 0; r >= 0 && i < readers.n; i++)
		r = add_used_objects(o, readers.v[i].to, carrier, paired, e);
	edges_release(&readers);
	return r;
}

int carried_objects(struct objects *o, store_id version, bool paired, struct edges *e)
{
	struct version_info v;
	store_id id = version;
	if (!o->any)
		return 0;
	int r = store_version(o->s, version, &v);
	if (r > 0)
		r = is_carrier(o, &v);
	/* Those who used a later version, too, up to the next one whose makers did not tell. */
	for (uint64_t n = v.n; r > 0 && n < v.n + CARRIED_VERSIONS; n++) {
		bool told = true;
		r = n > v.n ? store_version_of(o->s, v.file, n, &id) : 1;
		if (r > 0 && n > v.n && objects_made_so(o, id, v.file, &told) < 0)
			r = -EIO;
		if (r <= 0 || !told)
			break;
		r = add_objects_of_readers(o, id, &v, paired, e) < 0 ? -EIO : 1;
	}
	return r < 0 ? r : 0;
}

/* Is the version as large as the other one? Two that are not are no copies. 1, 0, -errno. */
static int is_of_one_size(struct store *s, store_id version, store_id other)
{
	struct version_info a, b;
	int r = store_version(s, version, &a);
	if (r > 0)
		r = store_version(s, other, &b);
	return r > 0 ? a.has_size && b.has_size && a.size == b.size : r;
}

/* Of the versions that the execution made, notes those that are copies of this one. 0, -errno. */
static int note_copies_by(struct objects *o, store_id exec, store_id from)
{
	struct edges made = {0};
	int r = store_outputs(o->s, exec, &made);
	for (size_t i = 0; r >= 0 && i < made.n; i++) {
		struct carried_pair copy;
		r = is_of_one_size(o->s, made.v[i].to, from);
		if (r > 0)
			r = carried_whole_copy(o, made.v[i].to, &copy);
		if (r <= 0 || copy.from.to != from)
			continue;
		struct carried_whole *one = vec_add(&o->carried->copies);
		if (one)
			*one = (struct carried_whole){from, made.v[i].to};
		r = one ? 1 : -ENOMEM;
	}
	edges_release(&made);
	return r < 0 ? r : 0;
}

/* Notes all copies of the version of a file, once. 0, -errno. */
static int note_copies(struct objects *o, store_id version)
{
	struct edges readers = {0};
	struct carried *memo = carried_memo(o);
	bool is_new;
	if (!memo)
		return -ENOMEM;
	if (idmap_find(&memo->copied, version))
		return 0;
	const size_t before = memo->copies.n;
	int r = store_readers(o->s, version, &readers);
	for (size_t i = 0; r >= 0 && i < readers.n; i++)
		r = note_copies_by(o, readers.v[i].to, version);
	edges_release(&readers);
	if (r >= 0 && !idmap_add(&memo->copied, version, 1, &is_new))
		r = -ENOMEM;
	if (r < 0) /* they are asked for again, and are not to be there twice */
		memo->copies.n = before;
	return r < 0 ? r : 0;
}

/* Adds to e those objects that came from this version of an object with copies of that version of its file, and with
 * copies of these, so many times. 0, -errno. */
static int add_copied(struct objects *o, store_id object, store_id version, int depth, struct edges *e)
{
	int r = note_copies(o, version);
	for (size_t i = 0; r >= 0 && i < o->carried->copies.n; i++) {
		const struct carried_whole copy = o->carried->copies.v[i];
		struct edges carried = {0};
		if (copy.from != version)
			continue;
		r = carried_objects(o, copy.to, true, &carried);
		for (size_t k = 0; r >= 0 && k < carried.n; k++) {
			struct carried_pair pair;
			r = carried_pair(o, carried.v[k].to, &pair);
			if (r > 0 && pair.from.to == object)
				r = add_derived(e, carried.v[k].to, pair.from.sure, pair.from.lo, pair.from.hi);
		}
		edges_release(&carried);
		if (r >= 0 && depth)
			r = add_copied(o, object, copy.to, depth - 1, e);
	}
	return r < 0 ? r : 0;
}

int carried_copies(struct objects *o, store_id version, struct edges *e)
{
	struct version_sort sort;
	struct version_info v;
	store_id id;
	if (!o->any)
		return 0;
	int r = store_version_sort(o->s, version, &sort);
	if (r <= 0 || !sort.within || !objects_is_object(sort.kind))
		return r < 0 ? r : 0;
	const store_id within = sort.within;
	const bool external = sort.origin == ORIGIN_EXTERNAL;
	r = store_version(o->s, version, &v);
	const int64_t start = v.start;
	for (uint64_t n = 1; r > 0 && n <= CARRIED_VERSIONS; n++) {
		r = store_version_of(o->s, within, n, &id);
		if (r > 0)
			r = store_version(o->s, id, &v);
		if (r > 0 && (external || v.end > start))
			r = add_copied(o, version, id, CARRIED_COPIES - 1, e) < 0 ? -EIO : 1;
	}
	return r < 0 ? r : 0;
}
