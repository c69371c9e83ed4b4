#include "answer/hyperslab.h"

#include "graph/graph.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A box that an execution wrote. */
struct written {
	store_id exec;
	struct hyperslab_box box;
	bool dense; /* each call wrote all of it */
};
/* What is known of the dataset from the runs that were asked for. */
struct slab_facts {
	struct store *s;
	store_id dataset;
	VEC(store_id) runs;
	VEC(struct written) boxes;
	uint64_t shape[HYPERSLAB_RANK]; /* as it was told last */
	int64_t shaped;                 /* when */
	unsigned rank;                  /* 0: not known */
};

/* The numbers of a list. False: they are too many, or none. */
static bool read_numbers(const struct strlist *l, uint64_t ret[HYPERSLAB_RANK], unsigned *ret_n)
{
	struct str one;
	char digits[24];
	*ret_n = 0;
	for (size_t pos = 0; strlist_next(l, &pos, &one); ++*ret_n) {
		if (*ret_n >= HYPERSLAB_RANK || !one.n || one.n >= sizeof(digits))
			return false;
		memcpy(digits, one.p, one.n);
		digits[one.n] = '\0';
		ret[*ret_n] = strtoull(digits, NULL, 10);
	}
	return *ret_n > 0;
}

/* Of the box the elements, times the calls: did each call move all of them? */
static bool is_dense(const struct event_h5_part *p, const struct hyperslab_box *box, unsigned rank)
{
	uint64_t n = p->calls;
	for (unsigned i = 0; i < rank; i++)
		if (__builtin_mul_overflow(n, box->to[i] - box->from[i], &n))
			return false;
	return n == p->elements;
}

/* The box of the part, and of how many dimensions it is. False: it makes no sense. */
static bool read_part_box(const struct event_h5_part *p, struct hyperslab_box *ret, unsigned *ret_n)
{
	unsigned n;
	if (!read_numbers(&p->from, ret->from, ret_n) || !read_numbers(&p->to, ret->to, &n) || n != *ret_n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (ret->to[i] == UINT64_MAX || ret->to[i]++ < ret->from[i])
			return false;
	return true;
}

/* A box that somebody wrote, where it is of this dataset and makes sense. 0, -errno. */
static int add_written(struct slab_facts *f, const struct reported_event *t)
{
	const struct event_h5_part *p = &t->ev.h5_part;
	struct written w = {0};
	unsigned n;
	if (t->file != f->dataset || !p->write || !read_part_box(p, &w.box, &n))
		return 0;
	f->rank = f->rank ? f->rank : n;
	w.dense = p->field.count == 0 && is_dense(p, &w.box, n);
	int r = store_exec_at(f->s, t->session, p->pid, (int64_t)p->started, t->ev.time, &w.exec);
	if (r <= 0 || n != f->rank)
		return r < 0 ? r : 0;
	struct written *one = vec_add(&f->boxes);
	if (one)
		*one = w;
	return one ? 0 : -ENOMEM;
}

/* The shape of the dataset, where it was told later than what is known. */
static void take_shape(struct slab_facts *f, const struct reported_event *t)
{
	uint64_t shape[HYPERSLAB_RANK];
	unsigned n;
	if (t->file != f->dataset || (f->shaped && t->ev.time < f->shaped) ||
	    !read_numbers(&t->ev.h5_object.shape, shape, &n))
		return;
	memcpy(f->shape, shape, sizeof(shape[0]) * n);
	f->rank = n;
	f->shaped = t->ev.time;
}

/* What the run told of the dataset, once. 0, -errno. */
static int load_run_facts(struct slab_facts *f, store_id run)
{
	struct reported_list told = {0};
	for (size_t i = 0; i < f->runs.n; i++)
		if (f->runs.v[i] == run)
			return 0;
	store_id *one = vec_add(&f->runs);
	if (!one)
		return -ENOMEM;
	*one = run;
	int r = store_reported(f->s, run, EVENT_h5_object, &told);
	for (size_t i = 0; r >= 0 && i < told.n; i++)
		take_shape(f, &told.v[i]);
	reported_list_release(&told);
	told = (struct reported_list){0};
	if (r >= 0)
		r = store_reported(f->s, run, EVENT_h5_part, &told);
	for (size_t i = 0; r >= 0 && i < told.n; i++)
		r = add_written(f, &told.v[i]);
	reported_list_release(&told);
	return r < 0 ? r : 0;
}

/* The runs of those who made, or used, the version. 0, -errno. */
static int load_version_facts(struct slab_facts *f, store_id version, bool used)
{
	struct edges e = {0};
	struct exec_brief x;
	int r = used ? store_readers(f->s, version, &e) : store_gens(f->s, version, &e);
	for (size_t i = 0; r >= 0 && i < e.n; i++) {
		r = store_exec_brief(f->s, e.v[i].to, &x);
		if (r > 0)
			r = load_run_facts(f, x.run);
	}
	edges_release(&e);
	return r < 0 ? r : 0;
}

/* The version of the same dataset that this one was made of: the latest of them. 1, 0, -errno. */
static int version_before(struct store *s, store_id version, store_id dataset, store_id *ret)
{
	struct edges e = {0};
	uint64_t best = 0;
	int r = store_derived(s, version, &e);
	for (size_t i = 0; r >= 0 && i < e.n; i++) {
		struct version_info v;
		r = store_version(s, e.v[i].to, &v);
		if (r <= 0 || v.file != dataset || v.n <= best)
			continue;
		best = v.n;
		*ret = v.id;
	}
	edges_release(&e);
	return r < 0 ? r : best > 0;
}

/* ---- the selection ---- */

/* A number, or `given` where there is none. False: it is too large. */
static bool read_bound(const char **at, uint64_t given, uint64_t most, uint64_t *ret)
{
	char *end;
	*ret = given;
	if (!isdigit((unsigned char)**at))
		return true;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return !errno && *ret <= most;
}

/* "0:10,3]": of dimensions that are not named, all. */
static bool read_selection(const char *at, unsigned rank, const uint64_t *shape, struct hyperslab_box *ret)
{
	*ret = (struct hyperslab_box){{0}, {0}};
	memcpy(ret->to, shape, sizeof(*shape) * rank);
	for (unsigned i = 0; *at != ']'; i++) {
		if (i >= rank || (i && *at++ != ','))
			return false;
		const char *first = at;
		if (!read_bound(&at, 0, shape[i], &ret->from[i]))
			return false;
		if (*at == ':') {
			at++;
			if (!read_bound(&at, shape[i], shape[i], &ret->to[i]))
				return false;
		} else if (at == first || ret->from[i] >= shape[i]) {
			return false;
		} else {
			ret->to[i] = ret->from[i] + 1;
		}
		if (ret->from[i] >= ret->to[i])
			return false;
	}
	return at[1] == '\0';
}

void hyperslab_text(const struct hyperslab *h, const struct hyperslab_box *box, struct buf *b)
{
	for (unsigned i = 0; i < h->rank; i++)
		buf_printf(b, "%s%llu:%llu", i ? "," : "[", (unsigned long long)box->from[i], (unsigned long long)box->to[i]);
	buf_char(b, ']');
}

/* ---- which version has them ---- */

/* What both hold. False: nothing. */
static bool box_meet(const struct hyperslab_box *a, const struct hyperslab_box *b, unsigned rank,
                     struct hyperslab_box *ret)
{
	for (unsigned i = 0; i < rank; i++) {
		ret->from[i] = a->from[i] > b->from[i] ? a->from[i] : b->from[i];
		ret->to[i] = a->to[i] < b->to[i] ? a->to[i] : b->to[i];
		if (ret->from[i] >= ret->to[i])
			return false;
	}
	return true;
}

/* Widens a so that it holds b. */
static void box_widen(struct hyperslab_box *a, const struct hyperslab_box *b, unsigned rank)
{
	for (unsigned i = 0; i < rank; i++) {
		a->from[i] = b->from[i] < a->from[i] ? b->from[i] : a->from[i];
		a->to[i] = b->to[i] > a->to[i] ? b->to[i] : a->to[i];
	}
}

/* Have both boxes the same bounds in each of the first `rank` dimensions? */
static bool box_same(const struct hyperslab_box *a, const struct hyperslab_box *b, unsigned rank)
{
	return !memcmp(a->from, b->from, sizeof(a->from[0]) * rank) && !memcmp(a->to, b->to, sizeof(a->to[0]) * rank);
}

/* Did the execution write data of the dataset? 1, 0, -errno. */
static int wrote_data(struct store *s, store_id exec, store_id dataset)
{
	struct ios ios = {0};
	int r = store_io(s, exec, &ios);
	bool wrote = false;
	for (size_t i = 0; r >= 0 && i < ios.n; i++)
		wrote |= ios.v[i].target == dataset && ios.v[i].write && ios.v[i].api == TERM_ioapi_data && ios.v[i].calls;
	ios_release(&ios);
	return r < 0 ? r : wrote;
}

#define BOXES_MAX 256 /* of one version that are looked at; with more nothing is sure */

/* What came of the elements that are asked for with one version. */
struct slab_meeting {
	VEC(struct hyperslab_box) boxes;
	bool dense, unknown; /* all of them; somebody wrote, and which elements is not known */
};

/* What the execution wrote of the elements that are asked for. 0, -errno. */
static int meet_exec_boxes(const struct slab_facts *f, const struct hyperslab *h, store_id exec, struct slab_meeting *m)
{
	bool told = false;
	for (size_t i = 0; i < f->boxes.n; i++) {
		const struct written *w = &f->boxes.v[i];
		struct hyperslab_box common = {{0}, {0}};
		told |= w->exec == exec;
		if (w->exec != exec || !box_meet(&w->box, &h->asked, h->rank, &common))
			continue;
		struct hyperslab_box *one = vec_add(&m->boxes);
		if (!one)
			return -ENOMEM;
		*one = common;
		m->dense &= w->dense;
	}
	int r = told ? 0 : wrote_data(f->s, exec, f->dataset);
	m->unknown |= r > 0;
	return r < 0 ? r : 0;
}

/* So many elements; UINT64_MAX: too many to count. */
static uint64_t box_volume(const struct hyperslab_box *b, unsigned rank)
{
	uint64_t n = 1;
	for (unsigned i = 0; i < rank; i++)
		if (__builtin_mul_overflow(n, b->to[i] - b->from[i], &n))
			return UINT64_MAX;
	return n;
}

/* Do the boxes fill the one around them? Only told of those that do not overlap; one of them may be all of it. */
static bool boxes_fill(const struct slab_meeting *m, const struct hyperslab_box *around, unsigned rank)
{
	struct hyperslab_box common;
	uint64_t sum = 0, all = box_volume(around, rank);
	for (size_t i = 0; i < m->boxes.n && m->boxes.n <= BOXES_MAX; i++) {
		bool apart = true;
		if (box_same(&m->boxes.v[i], around, rank))
			return true;
		for (size_t k = 0; k < i && apart; k++)
			apart = !box_meet(&m->boxes.v[i], &m->boxes.v[k], rank, &common);
		if (!apart)
			return false;
		sum += box_volume(&m->boxes.v[i], rank);
	}
	return all != UINT64_MAX && sum == all;
}

/* Adds a copy of the part. 0, -ENOMEM. */
static int append_part(struct hyperslab *h, const struct hyperslab_part *part)
{
	struct hyperslab_part *one = vec_add(&h->parts);
	if (one)
		*one = *part;
	return one ? 0 : -ENOMEM;
}

/* The part that came with the version, if any. *ret_all: it surely has all that is asked for. 0, -errno. */
static int add_version_part(const struct slab_facts *f, struct hyperslab *h, store_id version, bool *ret_all)
{
	struct edges gens = {0};
	struct slab_meeting m = {.dense = true};
	struct hyperslab_part part = {.version = version, .box = h->asked};
	int r = store_gens(f->s, version, &gens);
	m.unknown = r == 0 && !gens.n; /* nobody was seen making it: all of it may have been there */
	for (size_t i = 0; r == 0 && i < gens.n; i++)
		r = meet_exec_boxes(f, h, gens.v[i].to, &m);
	if (m.boxes.n && !m.unknown)
		part.box = m.boxes.v[0];
	for (size_t i = 0; i < m.boxes.n; i++)
		box_widen(&part.box, &m.boxes.v[i], h->rank);
	part.sure = m.dense && !m.unknown && boxes_fill(&m, &part.box, h->rank);
	*ret_all = part.sure && box_same(&part.box, &h->asked, h->rank);
	if (r == 0 && (m.boxes.n || m.unknown))
		r = append_part(h, &part);
	edges_release(&gens);
	vec_release(&m.boxes);
	return r < 0 ? r : 0;
}

/* Loads what the runs told of the dataset and its versions; chain: the versions, the latest first. 0, -errno. */
static int load_facts(struct slab_facts *f, store_id latest, store_id **ret, size_t *ret_n)
{
	store_id *chain = calloc(HYPERSLAB_VERSIONS, sizeof(*chain)), version = latest;
	size_t n = 0;
	int r = chain ? 1 : -ENOMEM;
	while (r > 0 && n < HYPERSLAB_VERSIONS) {
		chain[n++] = version;
		r = load_version_facts(f, version, false);
		if (r == 0)
			r = version_before(f->s, version, f->dataset, &version);
	}
	if (r >= 0 && !f->rank)
		r = load_version_facts(f, latest, true);
	*ret = chain;
	*ret_n = n;
	return r < 0 ? r : 0;
}

/* The dataset that text without its brackets names. 1, 0, -errno. */
static int find_dataset(struct store *s, const char *text, const char *bracket, struct file_target *ret)
{
	struct file_info f;
	struct err ignored = {0};
	char *name = strndup(text, (size_t)(bracket - text));
	int r = !name ? -ENOMEM : target_object(name) ? target_file(s, name, &ignored, ret) : 0;
	free(name);
	if (r > 0)
		r = store_file(s, ret->file, &f);
	if (r == -ENOENT || r == -EISDIR)
		return 0;
	return r > 0 ? f.kind == TERM_kind_dataset && ret->version : r;
}

/* Reads the selection, and finds who wrote what of it. 1, -EINVAL, -errno. */
static int find_parts(struct slab_facts *f, const char *bracket, struct err *err, struct hyperslab *h)
{
	store_id *chain = NULL;
	size_t n = 0;
	bool all = false;
	int r = load_facts(f, h->target.version, &chain, &n);
	h->rank = f->rank;
	for (unsigned i = 0; !f->shaped && i < f->rank; i++)
		f->shape[i] = UINT64_MAX;
	if (r == 0 && !f->rank) {
		r = -EINVAL;
		err_set(err, 0, "the record has this dataset only as a whole, without its elements: ask without %.200s",
		        bracket);
	} else if (r == 0 && !read_selection(bracket + 1, h->rank, f->shape, &h->asked)) {
		r = -EINVAL;
		err_set(err, 0, "'%.200s' is not a selection of this dataset: write [FROM:TO,...] within its shape", bracket);
	}
	for (size_t i = 0; r == 0 && i < n && !all; i++)
		r = add_version_part(f, h, chain[i], &all);
	free(chain);
	return r < 0 ? r : 1;
}

int hyperslab_find(struct store *s, const char *text, struct err *err, struct hyperslab *ret)
{
	const size_t n = strlen(text);
	const char *bracket = n && text[n - 1] == ']' ? strrchr(text, '[') : NULL;
	struct file_target whole;
	struct err ignored = {0};
	*ret = (struct hyperslab){.rank = 0};
	/* A dataset may be called so. */
	int r = bracket && bracket > text ? target_file(s, text, &ignored, &whole) : 1;
	if (r > 0 || (r < 0 && r != -ENOENT && r != -EISDIR))
		return r > 0 ? 0 : r;
	r = find_dataset(s, text, bracket, &ret->target);
	if (r <= 0)
		return r;
	struct slab_facts f = {.s = s, .dataset = ret->target.file};
	r = find_parts(&f, bracket, err, ret);
	vec_release(&f.runs);
	vec_release(&f.boxes);
	return r;
}

void hyperslab_release(struct hyperslab *h)
{
	vec_release(&h->parts);
}
