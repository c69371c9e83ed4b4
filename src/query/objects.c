#include "query/objects.h"

#include "base/hash.h"
#include "base/vec.h"
#include "graph/graph.h"
#include "query/carried.h"
#include "query/deleted.h"

#include <errno.h>
#include <stdlib.h>

bool objects_is_object(uint64_t kind)
{
	return gkind_is_object((unsigned)kind) && kind != TERM_kind_xattr;
}

bool objects_is_housekeeping(uint64_t kind, struct str path)
{
	static const struct {
		const char *name;
		bool root;
	} kept[] = {
#define HOUSEKEEPING(name, root) {name, root},
#include "query/housekeeping.def"
#undef HOUSEKEEPING
	};
	size_t at = path.n;
	while (at && path.p[at - 1] != '@')
		at--;
	if (kind != TERM_kind_attribute || at < 3)
		return false;
	const bool root = path.p[at - 2] == '/' && path.p[at - 3] == '/';
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (str_is(str_n(path.p + at, path.n - at), kept[i].name) && (!root || kept[i].root))
			return true;
	return false;
}

/* 0 or -errno; objects_end frees in both cases. */
int objects_begin(struct objects *o, struct store *s, enum objects_view view)
{
	*o = (struct objects){.s = s, .view = view};
	int r = store_has_objects(s);
	o->any = r > 0;
	return r < 0 ? r : 0;
}

int objects_ask_whole(struct objects *o, store_id file)
{
	bool is_new;
	return !o->any || idmap_add(&o->whole, file, 1, &is_new) ? 0 : -ENOMEM;
}

static void objects_calls_free(struct objects_calls *c);

/* o is empty then. */
void objects_end(struct objects *o)
{
	objects_calls_free(o->calls);
	carried_free(o->carried);
	idmap_release(&o->written);
	edges_release(&o->uses);
	free(o->looks);
	idmap_release(&o->tells);
	idmap_release(&o->whole);
	idmap_release(&o->regrouped);
	idmap_release(&o->containers);
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

/* What the choice asks of a version. 1, 0: it is gone, -errno. */
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

/* Was part of the recording of HDF5 lost in the execution? 0, -errno. */
static int has_hdf5_gap(struct store *s, store_id exec, bool *ret)
{
	struct exec_info x;
	int r = store_exec(s, exec, &x);
	*ret = r > 0 && x.gaps & 1u << TERM_gap_hdf5;
	return r < 0 ? r : 0;
}

/* What an execution's calls of HDF5 say of a file, whatever they moved. */
struct calls {
	bool any;          /* it did something with an object of the file */
	bool renames;      /* deleted one, or gave it another name */
	bool root;         /* its root group is among them: the file was opened by its name */
	uint64_t most;     /* so many opens of the file these calls account for, at most: by its name */
	uint64_t followed; /* ... and where its name was not asked for, by links to it */
};

/* Of one execution, the one that was asked for last, by file: its calls are gone through once, however many files it
 * used. */
struct objects_calls {
	store_id exec;       /* 0: none */
	struct idmap places; /* file -> place in v */
	VEC(struct calls) v;
};

/* Adds a counted call of HDF5 to what is known of an execution. root: on the file's root group. */
static void add_call(const struct io_info *io, bool root, struct calls *c)
{
	c->any = true;
	c->renames |= io->api == TERM_ioapi_delete || io->api == TERM_ioapi_rename;
	c->root |= root;
	if (io->api == TERM_ioapi_h5open)
		*(root ? &c->most : &c->followed) += io->calls + io->failed;
	if (root && io->api == TERM_ioapi_create) /* H5Fcreate looks first whether the file is there */
		c->most += 2 * (io->calls + io->failed);
}

/* What the calls say of a file; NULL without memory. */
static struct calls *calls_of_file(struct objects_calls *c, store_id file)
{
	bool is_new;
	uint32_t *at = idmap_add(&c->places, file, (uint32_t)c->v.n, &is_new);
	if (!at)
		return NULL;
	if (!is_new)
		return &c->v.v[*at];
	struct calls *one = vec_add(&c->v);
	if (one)
		*one = (struct calls){0};
	return one;
}

/* Of the execution that was asked for last. */
static void forget_calls(struct objects_calls *c)
{
	c->exec = 0;
	idmap_release(&c->places);
	c->places = (struct idmap){0};
	c->v.n = 0;
}

/* NULL is no error. */
static void objects_calls_free(struct objects_calls *c)
{
	if (!c)
		return;
	forget_calls(c);
	vec_release(&c->v);
	free(c);
}

/* Goes through all calls of HDF5 by the execution. Remembered in c until another one is asked for. -errno, or 0. */
static int load_calls(struct store *s, store_id exec, struct objects_calls *c)
{
	struct ios ios = {0};
	struct file_info f;
	forget_calls(c);
	int r = store_io(s, exec, &ios);
	for (size_t i = 0; r >= 0 && i < ios.n; i++) {
		if (ios.v[i].api < TERM_ioapi_data)
			continue;
		r = store_file(s, ios.v[i].target, &f);
		struct calls *one = r > 0 && f.within ? calls_of_file(c, f.within) : NULL;
		if (one)
			add_call(&ios.v[i], str_ends(f.path, str_of("//")), one);
		else if (r > 0 && f.within)
			r = -ENOMEM;
	}
	ios_release(&ios);
	if (r >= 0)
		c->exec = exec;
	return r < 0 ? r : 0;
}

/* What the execution did with objects of the file; read once for each execution. 0 or -errno. */
static int find_calls(struct objects *o, store_id exec, store_id file, struct calls *ret)
{
	*ret = (struct calls){0};
	if (!o->calls && !(o->calls = calloc(1, sizeof(*o->calls))))
		return -ENOMEM;
	int r = o->calls->exec == exec ? 0 : load_calls(o->s, exec, o->calls);
	const uint32_t *at = r == 0 ? idmap_find(&o->calls->places, file) : NULL;
	if (at)
		*ret = o->calls->v.v[*at];
	return r;
}

/* Did the execution open the file in another way than by HDF5 as well? n: so often it was seen being opened. What HDF5
 * opened to follow a link it was asked for by no name: at most with each open of an object; and what was open before a
 * fork is open once. Before a netCDF file is opened by HDF5 the library looks at its first bytes; it also opens the
 * root group, which counts here, so that both are even. */
static bool opened_otherwise(const struct calls *c, uint64_t n)
{
	return n > (c->root ? c->most : c->followed > 1 ? c->followed : 1);
}

/* Do its libraries open a file once more, without reading it, each time? uses: all that the execution used. 0, -errno.
 * */
static int only_looks(struct objects *o, const struct edges *uses, bool *ret)
{
	static const char *const looking[] = {
#define LOOKS(library) library,
#include "query/objects.def"
#undef LOOKS
	};
	int r = 0;
	*ret = false;
	for (size_t i = 0; r >= 0 && !*ret && i < uses->n; i++) {
		struct version_sort v;
		r = store_version_sort(o->s, uses->v[i].to, &v);
		for (size_t k = 0; r > 0 && k < sizeof(looking) / sizeof(looking[0]); k++)
			*ret |= str_starts(str_base_name(v.path), str_of(looking[k]));
	}
	return r < 0 ? r : 0;
}

/* Notes of which files the execution made objects, once, where it is not the one that was asked for before. -errno, or
 * 0. */
static int load_written(struct objects *o, store_id exec)
{
	bool is_new;
	idmap_release(&o->written);
	o->written = (struct idmap){0};
	o->writer = 0;
	int r = store_outputs(o->s, exec, &o->more);
	for (size_t i = 0; r == 0 && i < o->more.n; i++) {
		struct look l;
		r = load_look(o->s, o->more.v[i].to, &l);
		if (r == 0 && l.within && !idmap_add(&o->written, l.within, 1, &is_new))
			r = -ENOMEM;
	}
	if (r == 0)
		o->writer = exec;
	return r;
}

/* Did the execution make objects of the file? 0, -errno. */
static int wrote_objects(struct objects *o, store_id exec, store_id file, bool *ret)
{
	int r = o->writer == exec ? 0 : load_written(o, exec);
	*ret = r == 0 && idmap_find(&o->written, file);
	return r;
}

/* What of a file is among an execution's uses. */
struct used {
	bool some;      /* objects of it */
	int64_t oldest; /* when the oldest of them was made; INT64_MIN: nobody was seen making it */
	uint64_t opens; /* so often the file itself was opened to be read */
};

/* Finds what of the file is among the uses. looks: what is known of each; NULL: it is read. 0, -errno. */
static int find_used(struct objects *o, store_id file, const struct edges *uses, const struct look *looks,
                     struct used *ret)
{
	int r = 0;
	*ret = (struct used){.oldest = INT64_MAX};
	for (size_t i = 0; r == 0 && i < uses->n; i++) {
		struct look l;
		if (looks)
			l = looks[i];
		else
			r = load_look(o->s, uses->v[i].to, &l);
		if (r == 0 && l.file == file)
			ret->opens += uses->v[i].count;
		if (r < 0 || l.within != file)
			continue;
		ret->some = true;
		/* What came with the bytes of the file leads on by itself to who wrote these. */
		store_id carrier;
		int carried = l.origin != ORIGIN_OBSERVED ? carried_by(o, uses->v[i].to, &carrier) : 1;
		if (carried <= 0)
			l.start = INT64_MIN;
		r = carried < 0 ? carried : 0;
		ret->oldest = l.start < ret->oldest ? l.start : ret->oldest;
	}
	return r;
}

/* How often the execution was seen opening the file, which it wrote by gen. -errno, or 0. */
static int count_opens(struct objects *o, store_id file, const struct edge *gen, uint64_t *ret)
{
	struct edges uses = {0};
	struct used used = {0};
	int r = store_uses(o->s, gen->to, &uses);
	if (r == 0)
		r = find_used(o, file, &uses, NULL, &used);
	edges_release(&uses);
	if (!(gen->mode & ACCESS_READ))
		*ret = used.opens + gen->count;
	else /* who reads and writes is among both */
		*ret = used.opens > gen->count ? used.opens : gen->count;
	return r;
}

/* Is it known what the execution did to each object of the file: which it wrote, or that it wrote none? gen: its edge
 * to the version of the file that it wrote. 0, -errno. */
static int tells_of_writes(struct objects *o, const struct edge *gen, store_id file, bool *ret)
{
	bool gap;
	struct calls c;
	uint64_t opens = 0;
	*ret = false;
	int r = has_hdf5_gap(o->s, gen->to, &gap);
	if (r < 0 || gap)
		return r;
	r = wrote_objects(o, gen->to, file, ret);
	if (r < 0 || *ret)
		return r;
	r = find_calls(o, gen->to, file, &c);
	*ret = c.renames;
	if (r < 0 || *ret || !c.any)
		return r;
	/* HDF5 writes to a file that is open for writing, whatever the program does with it. */
	r = count_opens(o, file, gen, &opens);
	*ret = r == 0 && !opened_otherwise(&c, opens);
	return r;
}

/* Does one of the edges lead to that? e may be NULL: none. */
static bool is_among(const struct edges *e, store_id to)
{
	for (size_t i = 0; e && i < e->n; i++)
		if (e->v[i].to == to)
			return true;
	return false;
}

/* Was the file's version made by such an execution, or one of `own` (may be NULL), and by nobody else? 0, -errno. */
static int made_by_objects(struct objects *o, store_id version, store_id file, const struct edges *own, bool *ret)
{
	struct edges gens = {0};
	int r = store_gens(o->s, version, &gens);
	*ret = r == 0 && gens.n > 0;
	for (size_t i = 0; r == 0 && *ret && i < gens.n; i++)
		if (!is_among(own, gens.v[i].to))
			r = tells_of_writes(o, &gens.v[i], file, ret);
	edges_release(&gens);
	return r;
}

int objects_made_so(struct objects *o, store_id version, store_id file, bool *ret)
{
	return made_by_objects(o, version, file, NULL, ret);
}

/* Since t, was every version up to `version` made so? t = INT64_MIN: since it came from outside. 0, -errno. */
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
		*ret = v.origin == ORIGIN_OBSERVED || (v.origin == ORIGIN_EXTERNAL && t == INT64_MIN);
		if (*ret && v.origin == ORIGIN_OBSERVED)
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
	objects_end(&o);
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

/* What the objects of a file that an execution used tell of its use of the file. */
enum telling {
	TELLS_ALL = 1, /* what it used, and where that came from */
	TELLS_NOT = 2, /* it may have used more */
	TELLS_USE = 3, /* what it used; who else wrote to the file is not known object by object */
};

/* As use_telling, which remembers it. TELLS_NOT, too, where the recording of HDF5 has a gap. -errno, or 0. */
static int find_use_telling(struct objects *o, store_id exec, store_id version, store_id file, const struct edges *uses,
                            const struct look *looks, enum telling *ret)
{
	bool gap, only, all = false;
	struct used used;
	struct calls c;
	*ret = TELLS_NOT;
	int r = has_hdf5_gap(o->s, exec, &gap);
	if (r < 0 || gap)
		return r;
	r = find_used(o, file, uses, looks, &used);
	if (r == 0)
		r = find_calls(o, exec, file, &c);
	if (r == 0 && opened_otherwise(&c, used.opens)) {
		r = only_looks(o, uses, &only);
		c.most += only ? c.most / 2 : 0;
	}
	if (r < 0 || opened_otherwise(&c, used.opens))
		return r;
	/* One that only wrote objects of the file, or named them, used nothing of it. */
	all = !used.some && c.renames;
	if (used.some)
		r = was_made_so_since(o, version, file, used.oldest, NULL, &all);
	else if (!all)
		r = wrote_objects(o, exec, file, &all);
	if (r == 0 && all && used.some && o->view == OBJECTS_FILES)
		all = (r = deleted_group_name(o, version, file)) == 0;
	*ret = all ? TELLS_ALL : used.some ? TELLS_USE : TELLS_NOT;
	return r < 0 ? r : 0;
}

/* uses: all that the execution used, the version of the file among them; looks: beside them, NULL where not known. */
static int use_telling(struct objects *o, store_id exec, store_id version, store_id file, const struct edges *uses,
                       const struct look *looks, enum telling *ret)
{
	bool is_new;
	uint64_t key = hash_mix(hash_mix(exec, version), 7) | 1;
	uint32_t *known = idmap_add(&o->tells, key, 0, &is_new);
	*ret = TELLS_NOT;
	if (!known)
		return -ENOMEM;
	if (!is_new && *known) {
		*ret = (enum telling) * known;
		return 0;
	}
	int r = find_use_telling(o, exec, version, file, uses, looks, ret);
	if (r == 0 && (known = idmap_find(&o->tells, key)))
		*known = (uint32_t)*ret;
	return r;
}

/* Which files e's objects lie in, and those that the execution made. looks: has room for one of each edge. -errno, or
 * 0. */
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
	int r = store_outputs(o->s, exec, &o->more);
	for (size_t i = 0; r == 0 && i < o->more.n; i++) {
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

/* Which of the edges are of objects, and of files that hold some. 0 or -errno; choice_end frees in both cases. */
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

/* Did nothing come of a version, as far as is known? 0, -errno. */
static int is_unused(struct objects *o, store_id version, bool *ret)
{
	int r = store_readers(o->s, version, &o->edges);
	*ret = r == 0 && !o->edges.n;
	if (*ret)
		r = store_derivatives(o->s, version, &o->edges);
	*ret &= r == 0 && !o->edges.n;
	return r;
}

/* Did only the execution itself make the version, from nothing? 0, -errno. */
static int is_own(struct objects *o, store_id exec, store_id version, bool *ret)
{
	int r = store_gens(o->s, version, &o->edges);
	*ret = r == 0 && o->edges.n == 1 && o->edges.v[0].to == exec;
	if (*ret)
		r = store_derived(o->s, version, &o->edges);
	*ret &= r == 0 && !o->edges.n;
	return r;
}

/* Is edge i to be taken out? Of what was used, the file beside its objects, where they tell all. Of what was made, the
 * file beside its objects in a walk from an object; in any other an object beside its file of which nothing came, or
 * which its maker read back. 0, -errno. */
static int is_left_out(struct objects *o, struct choice *c, size_t i, bool *ret)
{
	const struct look *l = &c->looks[i];
	*ret = false;
	if (c->outputs && o->view == OBJECTS_FILES && l->within && idmap_find(&c->files, l->within))
		return is_unused(o, c->all.v[i].to, ret);
	if (!c->outputs && o->view == OBJECTS_FILES && l->within)
		return is_own(o, c->exec, c->all.v[i].to, ret);
	if (!l->regular || !idmap_find(&c->with, l->file))
		return 0;
	if (!c->outputs) {
		enum telling tells;
		int r = use_telling(o, c->exec, c->all.v[i].to, l->file, &c->all, c->looks, &tells);
		*ret = r == 0 && tells == TELLS_ALL;
		c->all.v[i].bears = r == 0 && tells == TELLS_USE;
		return r;
	}
	*ret = o->view == OBJECTS_OBJECTS && !c->gap;
	return 0;
}

int objects_choose(struct objects *o, store_id exec, bool outputs, struct edges *e, struct objects_hidden *hidden)
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
		else if (c.looks[i].within)
			hidden->objects++;
		else
			hidden->files++;
	}
	if (r == 0 && c.with.n)
		e->n = n;
	choice_end(&c);
	return r;
}

/* May there be objects of the file? A file that was opened by its name has its root group in the record. 0, -errno. */
static int is_container(struct objects *o, store_id file, bool *ret)
{
	bool is_new;
	uint32_t *known = idmap_add(&o->containers, file, 0, &is_new);
	store_id root;
	int r = !known ? -ENOMEM : is_new ? store_objects_by_name(o->s, file, str_of("//"), &root, 1) : 0;
	if (known && is_new && r > 0)
		*known = 1;
	*ret = known && *known;
	return r < 0 ? r : 0;
}

/* What the execution used, in o->uses, with the looks beside them, where it is not the one that was asked for before.
 * -errno, or 0. */
static int load_reader(struct objects *o, store_id exec)
{
	if (o->reader == exec)
		return 0;
	o->reader = 0;
	int r = store_uses(o->s, exec, &o->uses);
	struct look *looks = r == 0 ? realloc(o->looks, (o->uses.n + 1) * sizeof(*looks)) : NULL;
	if (!looks)
		return r < 0 ? r : -ENOMEM;
	o->looks = looks;
	for (size_t i = 0; r == 0 && i < o->uses.n; i++)
		r = load_look(o->s, o->uses.v[i].to, &looks[i]);
	if (r == 0)
		o->reader = exec;
	return r;
}

int objects_readers(struct objects *o, store_id version, struct edges *e)
{
	struct look l;
	if (!o->any || !e->n)
		return 0;
	int r = load_look(o->s, version, &l);
	bool may = o->view == OBJECTS_OBJECTS;
	if (r == 0 && idmap_find(&o->whole, l.file))
		return 0;
	if (r == 0 && l.regular && !may)
		r = is_container(o, l.file, &may);
	if (r < 0 || !may)
		return r;
	size_t n = 0;
	for (size_t i = 0; r == 0 && l.regular && i < e->n; i++) {
		enum telling tells = TELLS_NOT;
		r = load_reader(o, e->v[i].to);
		if (r == 0)
			r = use_telling(o, e->v[i].to, version, l.file, &o->uses, o->looks, &tells);
		if (tells != TELLS_ALL)
			e->v[n++] = e->v[i];
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
	if (!o->any)
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
			r = objects_readers(o, id, &readers);
		if (r == 0 && readers.n)
			r = edges_add(e, &(struct edge){.to = id, .sure = true, .via = TERM_via_data, .lo = v.start, .hi = v.end});
	}
	edges_release(&readers);
	return r < 0 ? r : 0;
}
