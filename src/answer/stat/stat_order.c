/* stat_order.c - executions and files of a count in order: the most used first.
 *
 * What is equally used is in the order of names, then of ranks, of when it began: whatever came first into the record.
 * Names are read of those alone that may be among the ones that are asked for, the rest where names are equal. */
#include "answer/stat/stat_count.h"

#include <errno.h>
#include <stdlib.h>

struct named {
	struct stat_sum *sum;
	char *name;
	bool known; /* what follows was read */
	uint64_t rank;
	int64_t began;
	struct pubid pub;
};

/* The sums of one list while they are put in order. */
struct ordering {
	struct store *s;
	bool exec;
	struct stat_list *l;
	struct named *v;  /* that are in it: a heap with the last one first, until they are sorted */
	struct named **p; /* the same, in order */
	size_t n, most;
	int rc; /* the first error, -errno */
};

/* Bytes where known, then accesses. 0: equally used; below 0: a is used more. */
static int by_use(const struct stat_sum *a, const struct stat_sum *b)
{
	uint64_t x = 0, y = 0, n = 0, m = 0;
	for (unsigned i = 0; i < STAT_WAYS; i++) {
		x += a->way[i].bytes + stat_io(&a->way[i])->bytes;
		y += b->way[i].bytes + stat_io(&b->way[i])->bytes;
		n += a->way[i].accesses;
		m += b->way[i].accesses;
	}
	if (x != y)
		return x < y ? 1 : -1;
	return n == m ? 0 : n < m ? 1 : -1;
}

/* Its name for the order, into b; "" where the record does not have it. 0, -errno. */
static int read_name(const struct ordering *o, store_id id, struct buf *b)
{
	struct exec_brief x;
	struct file_brief f;
	buf_reset(b);
	int r = o->exec ? store_exec_brief(o->s, id, &x) : store_file_brief(o->s, id, &f);
	if (r > 0 && !o->exec)
		buf_str(b, f.path);
	else if (r > 0 && x.argv.count)
		fmt_argv(b, &x.argv, false, SIZE_MAX);
	else if (r > 0)
		r = exec_name(o->s, id, false, SIZE_MAX, b);
	return r < 0 ? r : b->failed ? -ENOMEM : 0;
}

/* Reads once what decides between equal names: public id, and of an execution start and rank. An error stays in
 * o->rc. */
static void read_rest(struct ordering *o, struct named *n)
{
	struct exec_info x;
	struct file_info f;
	if (n->known || o->rc < 0)
		return;
	n->known = true;
	int r = o->exec ? store_exec(o->s, n->sum->id, &x) : store_file(o->s, n->sum->id, &f);
	if (r < 0)
		o->rc = r;
	else if (r > 0 && !o->exec)
		n->pub = f.pub;
	if (r <= 0 || !o->exec)
		return;
	n->pub = x.pub;
	n->began = x.start;
	for (size_t i = 0; i < x.rank.n && i < 18 && x.rank.p[i] >= '0' && x.rank.p[i] <= '9'; i++)
		n->rank = n->rank * 10 + (uint64_t)(x.rank.p[i] - '0');
}

/* The most used first; equal ones by name, rank, start and id, so that the order is always the same. */
static int compare_named(struct ordering *o, struct named *a, struct named *b)
{
	int d = by_use(a->sum, b->sum);
	if (!d)
		d = strcmp(a->name, b->name);
	if (d)
		return d;
	read_rest(o, a);
	read_rest(o, b);
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->began != b->began)
		return a->began < b->began ? -1 : 1;
	return strcmp(a->pub.text, b->pub.text);
}

/* For qsort_r. */
static int compare_places(const void *a, const void *b, void *ordering)
{
	return compare_named(ordering, *(struct named *const *)a, *(struct named *const *)b);
}

/* The one at i takes its place among those below it. */
static void sift_down(struct ordering *o, size_t i)
{
	for (size_t k; (k = 2 * i + 1) < o->n; i = k) {
		if (k + 1 < o->n && compare_named(o, o->p[k + 1], o->p[k]) > 0)
			k++;
		if (compare_named(o, o->p[i], o->p[k]) >= 0)
			return;
		struct named *one = o->p[i];
		o->p[i] = o->p[k];
		o->p[k] = one;
	}
}

/* One more, in the place of the last one where there are enough. name: of sum. -errno or 0. */
static int take(struct ordering *o, struct stat_sum *sum, struct buf *name)
{
	struct named one = {.sum = sum, .name = (char *)buf_cstr(name)};
	const bool full = o->n == o->most;
	if (full && compare_named(o, &one, o->p[0]) >= 0)
		return o->rc;
	if (!(one.name = strdup(one.name)))
		return -ENOMEM;
	if (full) {
		free(o->p[0]->name);
		*o->p[0] = one;
		sift_down(o, 0);
		return o->rc;
	}
	o->v[o->n] = one;
	o->p[o->n] = &o->v[o->n];
	o->n++;
	/* Now it is a heap. */
	for (size_t i = o->n == o->most ? o->n / 2 : 0; i--;)
		sift_down(o, i);
	return o->rc;
}

/* Moves those that were taken to the front of the list. 0, -ENOMEM. */
static int move_to_front(struct ordering *o)
{
	struct stat_sum *front = malloc((o->n + 1) * sizeof(*front));
	size_t to = o->l->n;
	if (!front)
		return -ENOMEM;
	for (size_t i = 0; i < o->n; i++) {
		front[i] = *o->p[i]->sum;
		o->p[i]->sum->id = 0;
	}
	for (size_t i = o->l->n; i--;)
		if (o->l->v[i].id)
			o->l->v[--to] = o->l->v[i];
	memcpy(o->l->v, front, o->n * sizeof(*front));
	free(front);
	return 0;
}

/* Orders sums: of executions (exec) by the program's name, of files by the path. 0 or -errno; the order is as before
 * then. */
static int order_sums(struct store *s, bool exec, uint64_t most, struct stat_list *l)
{
	struct ordering o = {.s = s, .exec = exec, .l = l, .most = most && most < l->n ? (size_t)most : l->n};
	struct buf name = {0};
	if (!l->n)
		return 0;
	o.v = malloc(o.most * sizeof(*o.v));
	o.p = malloc(o.most * sizeof(*o.p));
	int r = o.v && o.p ? 0 : -ENOMEM;
	for (size_t i = 0; i < l->n && r == 0; i++) {
		if (o.n == o.most && by_use(&l->v[i], o.p[0]->sum) > 0)
			continue;
		r = read_name(&o, l->v[i].id, &name);
		if (r == 0)
			r = take(&o, &l->v[i], &name);
	}
	if (r == 0)
		qsort_r(o.p, o.n, sizeof(*o.p), compare_places, &o);
	r = r < 0 ? r : o.rc;
	if (r == 0)
		r = move_to_front(&o);
	for (size_t i = 0; i < o.n; i++)
		free(o.v[i].name);
	free(o.v);
	free(o.p);
	buf_release(&name);
	return r;
}

int stat_finish(struct stat_sums *w)
{
	if (w->unseen) {
		stat_not_all(&w->total);
		for (unsigned i = 0; i < STAT_ACCESS_APIS; i++)
			stat_not_all(&w->api[i]);
		for (size_t i = 0; i < w->files.n; i++)
			stat_not_all(&w->files.v[i]);
	}
	int r = order_sums(w->source->store, true, w->most, &w->execs);
	return r < 0 ? r : order_sums(w->source->store, false, w->most, &w->files);
}
