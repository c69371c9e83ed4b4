#include "query/objects.h"

#include "base/hash.h"
#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>

bool objects_is_object(uint64_t kind)
{
	return gkind_is_object((unsigned)kind) && kind != TERM_kind_xattr;
}

int objects_begin(struct objects *o, struct store *s, enum objects_view view)
{
	*o = (struct objects){.s = s, .view = view};
	int r = store_has_objects(s);
	o->any = r > 0;
	return r < 0 ? r : 0;
}

void objects_end(struct objects *o)
{
	idmap_release(&o->covers);
	edges_release(&o->edges);
	edges_release(&o->more);
	*o = (struct objects){0};
}

/* An edge's version, as far as it matters here. */
struct look {
	store_id file, within; /* within: 0 it is no object */
	enum origin origin;
	bool regular;
	int64_t start; /* of an object's version */
};

static int load_look(struct store *s, store_id version, struct look *ret)
{
	struct version_sort v;
	struct version_info i;
	int r = store_version_sort(s, version, &v);
	*ret = (struct look){0};
	if (r <= 0)
		return r;
	*ret =
	    (struct look){.file = v.file, .within = v.within, .origin = v.origin, .regular = v.kind == TERM_kind_regular};
	/* An extended attribute is no part of what its file holds: who has read the one has not read the other. */
	if (v.kind == TERM_kind_xattr)
		ret->within = 0;
	if (ret->within && (r = store_version(s, version, &i)) > 0)
		ret->start = i.start;
	return r < 0 ? r : 0;
}

static int has_hdf5_gap(struct store *s, store_id exec, bool *ret)
{
	struct exec_info x;
	int r = store_exec(s, exec, &x);
	*ret = r > 0 && x.gaps & 1u << TERM_gap_hdf5;
	return r < 0 ? r : 0;
}

/* Did it only delete objects of the file, or give them other names? */
static int only_renames_objects(struct store *s, store_id exec, store_id file, bool *ret)
{
	struct ios ios = {0};
	struct file_info f;
	int r = store_io(s, exec, &ios);
	for (size_t i = 0; r >= 0 && !*ret && i < ios.n; i++)
		if (ios.v[i].api == TERM_ioapi_delete || ios.v[i].api == TERM_ioapi_rename) {
			r = store_file(s, ios.v[i].target, &f);
			*ret = r > 0 && f.within == file;
		}
	ios_release(&ios);
	return r < 0 ? r : 0;
}

/* Did the execution write objects of the file, and say all of it? */
static int writes_objects(struct objects *o, store_id exec, store_id file, bool *ret)
{
	bool gap, found = false;
	int r = has_hdf5_gap(o->s, exec, &gap);
	if (r == 0 && !gap)
		r = store_outputs(o->s, exec, &o->more);
	for (size_t i = 0; r == 0 && !gap && !found && i < o->more.n; i++) {
		struct look l;
		r = load_look(o->s, o->more.v[i].to, &l);
		found = r == 0 && l.within == file;
	}
	*ret = found;
	return r < 0 || gap || found ? r : only_renames_objects(o->s, exec, file, ret);
}

static bool is_among(const struct edges *e, store_id to)
{
	for (size_t i = 0; e && i < e->n; i++)
		if (e->v[i].to == to)
			return true;
	return false;
}

/* Was the file's version made by such an execution, or one of `own` (may be NULL), and by nobody else? */
static int made_by_objects(struct objects *o, store_id version, store_id file, const struct edges *own, bool *ret)
{
	struct edges gens = {0};
	int r = store_gens(o->s, version, &gens);
	*ret = r == 0 && gens.n > 0;
	for (size_t i = 0; r == 0 && *ret && i < gens.n; i++)
		if (!is_among(own, gens.v[i].to))
			r = writes_objects(o, gens.v[i].to, file, ret);
	edges_release(&gens);
	return r;
}

/* Since t, was every version up to `version` made so? */
static int was_made_so_since(struct objects *o, store_id version, store_id file, int64_t t, const struct edges *own,
                             bool *ret)
{
	struct version_info v;
	int r = store_version(o->s, version, &v);
	*ret = r > 0;
	for (uint64_t n = r > 0 ? v.n : 0; r >= 0 && *ret && n; n--) {
		store_id id;
		r = store_version_of(o->s, file, n, &id);
		if (r > 0)
			r = store_version(o->s, id, &v);
		if (r <= 0 || v.end <= t)
			break;
		*ret = v.origin == ORIGIN_OBSERVED;
		if (*ret)
			r = made_by_objects(o, id, file, own, ret);
	}
	return r < 0 ? r : 0;
}

int objects_are_reported(struct store *s, store_id version, bool *ret)
{
	struct objects o = {.s = s};
	struct version_info v;
	struct file_info f;
	store_id latest;
	*ret = true;
	int r = store_version(s, version, &v);
	if (r > 0)
		r = store_file(s, v.file, &f);
	if (r > 0 && f.within && f.kind != TERM_kind_xattr)
		r = store_version_of(s, f.within, 0, &latest);
	else
		return r < 0 ? r : 0;
	struct edges own = {0}; /* who made it told of it, whatever else it did */
	if (r > 0 && store_gens(s, version, &own) == 0)
		r = was_made_so_since(&o, latest, f.within, v.end != TIME_NEVER && v.end != TIME_NONE ? v.end : v.start, &own,
		                      ret);
	edges_release(&own);
	edges_release(&o.more);
	return r < 0 ? r : 0;
}

int objects_unobserved_by(struct store *s, store_id file, store_id *ret_exec)
{
	struct edges gens = {0};
	store_id latest;
	bool gap = false;
	*ret_exec = 0;
	int r = store_version_of(s, file, 0, &latest);
	if (r > 0)
		r = store_gens(s, latest, &gens);
	for (size_t i = 0; r == 0 && !*ret_exec && i < gens.n; i++)
		if ((r = has_hdf5_gap(s, gens.v[i].to, &gap)) == 0 && gap)
			*ret_exec = gens.v[i].to;
	edges_release(&gens);
	return r < 0 ? r : 0;
}

/* Were the objects of the file that are among the uses all seen being made? *ret_some: there are some; *ret_oldest:
 * when the oldest was. */
static int objects_all_observed(struct objects *o, store_id file, const struct edges *uses, bool *ret, bool *ret_some,
                                int64_t *ret_oldest)
{
	int r = 0;
	*ret = true;
	*ret_some = false;
	*ret_oldest = INT64_MAX;
	for (size_t i = 0; r == 0 && *ret && i < uses->n; i++) {
		struct look l;
		r = load_look(o->s, uses->v[i].to, &l);
		if (r == 0 && l.within == file) {
			*ret_some = true;
			*ret = l.origin == ORIGIN_OBSERVED;
			*ret_oldest = l.start < *ret_oldest ? l.start : *ret_oldest;
		}
	}
	return r;
}

/* As is_use_covered, which remembers it. */
static int find_use_covered(struct objects *o, store_id exec, store_id version, store_id file, const struct edges *uses,
                            bool *ret)
{
	bool gap, all, some;
	int64_t oldest;
	*ret = false;
	int r = has_hdf5_gap(o->s, exec, &gap);
	if (r < 0 || gap)
		return r;
	r = objects_all_observed(o, file, uses, &all, &some, &oldest);
	if (r < 0)
		return r;
	if (!some) /* one that only wrote objects of the file used nothing of it */
		return writes_objects(o, exec, file, ret);
	*ret = all;
	return all ? was_made_so_since(o, version, file, oldest, NULL, ret) : 0;
}

/* Do the objects of the file that the execution used tell all that it used of this version? uses: all that it used. */
static int is_use_covered(struct objects *o, store_id exec, store_id version, store_id file, const struct edges *uses,
                          bool *ret)
{
	bool is_new;
	uint64_t key = hash_mix(hash_mix(exec, version), 7) | 1;
	uint32_t *known = idmap_add(&o->covers, key, 0, &is_new);
	if (!known)
		return -ENOMEM;
	if (!is_new && *known) {
		*ret = *known == 1;
		return 0;
	}
	int r = find_use_covered(o, exec, version, file, uses, ret);
	if (r == 0 && (known = idmap_find(&o->covers, key)))
		*known = *ret ? 1 : 2;
	return r;
}

/* Which files e's objects lie in, and those that the execution made. */
static int find_containers(struct objects *o, store_id exec, const struct edges *e, struct look *looks,
                           struct idmap *ret)
{
	bool is_new;
	for (size_t i = 0; i < e->n; i++) {
		int r = load_look(o->s, e->v[i].to, &looks[i]);
		if (r < 0)
			return r;
		if (looks[i].within && !idmap_add(ret, looks[i].within, 1, &is_new))
			return -ENOMEM;
	}
	int r = o->view == OBJECTS_OBJECTS ? store_outputs(o->s, exec, &o->more) : 0;
	for (size_t i = 0; o->view == OBJECTS_OBJECTS && r == 0 && i < o->more.n; i++) {
		struct look l;
		r = load_look(o->s, o->more.v[i].to, &l);
		if (r == 0 && l.within && !idmap_add(ret, l.within, 1, &is_new))
			r = -ENOMEM;
	}
	return r;
}

/* What the choice among an execution's edges rests on. */
struct choice {
	store_id exec;
	bool outputs, gap;  /* outputs: the edges are its outputs; gap: it may have done more with objects than is known */
	struct look *looks; /* beside the edges */
	struct idmap with, files; /* files that have objects here; files that are here themselves */
	struct edges all;         /* the edges, while some are taken out */
};

static int choice_begin(struct objects *o, const struct edges *e, struct choice *c)
{
	bool is_new;
	c->looks = malloc(e->n * sizeof(*c->looks));
	int r = c->looks ? find_containers(o, c->exec, e, c->looks, &c->with) : -ENOMEM;
	if (r < 0 || !c->with.n)
		return r;
	if (c->outputs && (r = has_hdf5_gap(o->s, c->exec, &c->gap)) < 0)
		return r;
	for (size_t i = 0; i < e->n; i++)
		if (c->looks[i].regular && !idmap_add(&c->files, c->looks[i].file, 1, &is_new))
			return -ENOMEM;
	c->all.v = malloc(e->n * sizeof(*c->all.v));
	if (!c->all.v)
		return -ENOMEM;
	memcpy(c->all.v, e->v, e->n * sizeof(*c->all.v));
	c->all.n = c->all.cap = e->n;
	return 0;
}

static void choice_end(struct choice *c)
{
	edges_release(&c->all);
	idmap_release(&c->with);
	idmap_release(&c->files);
	free(c->looks);
}

/* Is edge i to be taken out: an object beside its file in a view of files, a file beside its objects in one of objects?
 */
static int is_left_out(struct objects *o, struct choice *c, size_t i, bool *ret)
{
	const struct look *l = &c->looks[i];
	*ret = false;
	if (o->view == OBJECTS_FILES) {
		*ret = l->within && idmap_find(&c->files, l->within);
		return 0;
	}
	if (!l->regular || !idmap_find(&c->with, l->file))
		return 0;
	*ret = c->outputs && !c->gap;
	return c->outputs ? 0 : is_use_covered(o, c->exec, c->all.v[i].to, l->file, &c->all, ret);
}

int objects_choose(struct objects *o, store_id exec, bool outputs, struct edges *e, uint64_t *hidden)
{
	struct choice c = {.exec = exec, .outputs = outputs};
	size_t n = 0;
	if (!o->any || !e->n)
		return 0;
	int r = choice_begin(o, e, &c);
	for (size_t i = 0; r == 0 && i < c.all.n; i++) {
		bool out;
		r = is_left_out(o, &c, i, &out);
		if (!out)
			e->v[n++] = c.all.v[i];
		else
			++*hidden;
	}
	if (r == 0 && c.with.n)
		e->n = n;
	choice_end(&c);
	return r;
}

int objects_readers(struct objects *o, store_id version, struct edges *e, uint64_t *hidden)
{
	struct look l;
	if (!o->any || o->view == OBJECTS_FILES || !e->n)
		return 0;
	int r = load_look(o->s, version, &l);
	size_t n = 0;
	for (size_t i = 0; r == 0 && l.regular && i < e->n; i++) {
		bool out = false;
		r = store_uses(o->s, e->v[i].to, &o->edges);
		if (r == 0)
			r = is_use_covered(o, e->v[i].to, version, l.file, &o->edges, &out);
		if (!out)
			e->v[n++] = e->v[i];
		else
			++*hidden;
	}
	if (r == 0 && l.regular)
		e->n = n;
	return r;
}

int objects_carriers(struct objects *o, store_id version, struct edges *e)
{
	struct look l;
	struct version_info v;
	struct edges readers = {0};
	uint64_t hidden = 0;
	if (!o->any || o->view == OBJECTS_FILES)
		return 0;
	int r = load_look(o->s, version, &l);
	if (r < 0 || !l.within)
		return r;
	for (uint64_t n = 1; r >= 0; n++) {
		store_id id;
		r = store_version_of(o->s, l.within, n, &id);
		if (r <= 0 || (r = store_version(o->s, id, &v)) <= 0)
			break;
		if (v.end <= l.start)
			continue;
		r = store_readers(o->s, id, &readers);
		if (r == 0)
			r = objects_readers(o, id, &readers, &hidden);
		if (r == 0 && readers.n)
			r = edges_add(e, &(struct edge){.to = id, .sure = true, .via = TERM_via_data, .lo = v.start, .hi = v.end});
	}
	edges_release(&readers);
	return r < 0 ? r : 0;
}
