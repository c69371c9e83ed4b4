/* stat_parts.c - which parts of datasets a run moved. */
#include "cmd/stat/stat.h"
#include "cmd/ui/columns.h"

#include <errno.h>
#include <stdlib.h>

struct part {
	struct buf name;
	bool write;
	uint64_t calls, elements;
};
struct parts {
	struct part *v;
	size_t n;
};

/* FILE//PATH[0:9, 3:7].member, the bounds included. */
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

static int compare_parts(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;
	return a->write != b->write ? a->write - b->write : str_cmp(buf_view(&a->name), buf_view(&b->name));
}

static int by_elements(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;
	if (a->elements != b->elements)
		return a->elements < b->elements ? 1 : -1;
	return str_cmp(buf_view(&a->name), buf_view(&b->name));
}

static int collect_parts(struct store *s, struct parts *l, const struct reported_list *told)
{
	l->v = calloc(told->n + 1, sizeof(*l->v));
	if (!l->v)
		return -ENOMEM;
	for (size_t i = 0; i < told->n; i++) {
		const struct event_h5_part *p = &told->v[i].ev.h5_part;
		struct part *x = &l->v[l->n++];
		*x = (struct part){.write = p->write != 0, .calls = p->calls, .elements = p->elements};
		int r = name_part(s, &told->v[i], &x->name);
		if (r < 0)
			return r;
	}
	/* Those of several executions that are the same part are one. */
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), compare_parts);
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct part *x = &l->v[i], *last = n ? &l->v[n - 1] : NULL;
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

int stat_parts(struct cmd *c, const struct opts_stat *o, store_id run)
{
	static const char *const heads[] = {"CALLS", "ELEMENTS", "WAY", "PART"};
	struct table t = {.heads = heads, .align = "rrll", .n_columns = 4};
	struct reported_list told;
	struct parts l = {0};
	int r = store_reported(c->store, run, EVENT_h5_part, &told);
	if (r == 0)
		r = collect_parts(c->store, &l, &told);
	size_t most = o->count > 0 ? (size_t)o->count : 10;
	if (l.n)
		qsort(l.v, l.n, sizeof(*l.v), by_elements);
	for (size_t i = 0; r == 0 && i < l.n && i < most; i++) {
		const struct part *p = &l.v[i];
		table_cellf(&t, "%llu", (unsigned long long)p->calls);
		table_cellf(&t, "%llu", (unsigned long long)p->elements);
		table_cell(&t, str_of(p->write ? "write" : "read"));
		table_cell(&t, buf_view(&p->name));
	}
	if (r == 0 && l.n) {
		printf("\nparts of datasets%s\n", l.n > most ? ", the most used" : "");
		table_print(&t, &c->out, c->out.width);
	}
	for (size_t i = 0; i < l.n; i++)
		buf_release(&l.v[i].name);
	free(l.v);
	reported_list_release(&told);
	return r;
}
