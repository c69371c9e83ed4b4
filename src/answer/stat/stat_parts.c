#include "answer/stat/stat.h"

#include <errno.h>
#include <stdlib.h>

/* Appends to b FILE//PATH[0:9, 3:7].member, the bounds included. 0, -errno. */
static int name_part(struct store *s, const struct reported_event *t, struct buf *b)
{
	const struct event_h5_part *p = &t->ev.h5_part;
	struct str path, from, to, member;
	size_t a = 0, z = 0, m = 0;
	int r = store_reported_path(s, t, &path);
	if (r < 0)
		return r;
	fmt_path(b, path.n ? path : str_of("(no name)"));
	for (bool first = true; strlist_next(&p->from, &a, &from) && strlist_next(&p->to, &z, &to); first = false) {
		buf_printf(b, first ? "[" : ", ");
		buf_printf(b, "%.*s:%.*s", (int)from.n, from.p, (int)to.n, to.p);
	}
	if (p->from.count)
		buf_char(b, ']');
	for (bool first = true; strlist_next(&p->field, &m, &member); first = false)
		buf_printf(b, "%s%.*s", first ? "." : ",", (int)member.n, member.p);
	return b->failed ? -ENOMEM : 0;
}

/* Order of qsort: reads before writes, then by name. */
static int compare_parts(const void *pa, const void *pb)
{
	const struct stat_part *a = pa, *b = pb;
	return a->write != b->write ? a->write - b->write : str_cmp(buf_view(&a->name), buf_view(&b->name));
}

/* Order of qsort: the most elements first, then by name. */
static int by_elements(const void *pa, const void *pb)
{
	const struct stat_part *a = pa, *b = pb;
	if (a->elements != b->elements)
		return a->elements < b->elements ? 1 : -1;
	return str_cmp(buf_view(&a->name), buf_view(&b->name));
}

/* Sums by name and direction. On error what is in l is to be released. 0, -ENOMEM. */
static int collect_parts(struct store *s, struct stat_parts *l, const struct reported_list *told)
{
	l->v = calloc(told->n + 1, sizeof(*l->v));
	if (!l->v)
		return -ENOMEM;
	for (size_t i = 0; i < told->n; i++) {
		const struct event_h5_part *p = &told->v[i].ev.h5_part;
		struct stat_part *x = &l->v[l->n++];
		*x = (struct stat_part){.write = p->write != 0, .calls = p->calls, .elements = p->elements};
		int r = name_part(s, &told->v[i], &x->name);
		if (r < 0)
			return r;
	}
	/* Those of several executions that are the same part are one. */
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_parts);
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct stat_part *x = &l->v[i], *last = n ? &l->v[n - 1] : NULL;
		if (last && compare_parts(last, x) == 0) {
			last->calls += x->calls;
			last->elements += x->elements;
			buf_release(&x->name);
		} else {
			l->v[n++] = *x;
		}
	}
	l->n = n;
	return 0;
}

int stat_parts_load(struct store *s, store_id run, struct stat_parts *ret)
{
	struct reported_list told;
	*ret = (struct stat_parts){0};
	int r = store_reported(s, run, EVENT_h5_part, &told);
	if (r == 0)
		r = collect_parts(s, ret, &told);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_elements);
	if (r < 0)
		stat_parts_release(ret);
	reported_list_release(&told);
	return r;
}

/* l is empty then. */
void stat_parts_release(struct stat_parts *l)
{
	for (size_t i = 0; i < l->n; i++)
		buf_release(&l->v[i].name);
	free(l->v);
	*l = (struct stat_parts){0};
}
