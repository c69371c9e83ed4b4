/* collect_status.c - what `stemma collect --status` prints: senders, and clocks. */
#include "cmd/site/collect_int.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "site/clocks.h"

#include <stdlib.h>

/* null where ns is none: there is no bound. */
static json_t *bound_json(int64_t ns, int64_t none)
{
	return ns == none ? json_null() : json_integer(ns);
}

/* The caller owns it. */
static json_t *clocks_json(const struct clock_pairs *p)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->list.n; i++) {
		const struct clock_pair *c = &p->list.v[i];
		json_t *o = json_object();
		js_str(o, "host", str_of(c->a));
		js_str(o, "other", str_of(c->b));
		js_put(o, "low_ns", bound_json(c->low, INT64_MIN));
		js_put(o, "high_ns", bound_json(c->high, INT64_MAX));
		js_num(o, "files", c->files);
		js_add(list, o);
	}
	return list;
}

/* A cell with a duration, negative ones too; "-" where ns is none. */
static void bound_cell(struct table *t, int64_t ns, int64_t none)
{
	struct buf b = {0};
	if (ns == none) {
		buf_char(&b, '-');
	} else {
		if (ns < 0)
			buf_char(&b, '-');
		fmt_duration(&b, ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns);
	}
	table_cellf(t, "%s", buf_cstr(&b));
	buf_release(&b);
}

/* Says, too, if a pair's bounds contradict each other. */
static void print_clocks(const struct collecting *x, const struct clock_pairs *p)
{
	static const char *const heads[] = {"HOST", "AHEAD OF", "AT LEAST", "AT MOST", "FILES"};
	struct table t = {.heads = heads, .align = "llrrr", .n_columns = 5};
	struct buf name = {0};
	bool set = false;
	for (size_t i = 0; i < p->list.n; i++) {
		const struct clock_pair *c = &p->list.v[i];
		buf_reset(&name);
		fmt_name(&name, str_of(c->b));
		table_cellf(&t, "%s", buf_cstr(&name));
		buf_reset(&name);
		fmt_name(&name, str_of(c->a));
		table_cellf(&t, "%s", buf_cstr(&name));
		bound_cell(&t, c->low, INT64_MIN);
		bound_cell(&t, c->high, INT64_MAX);
		table_cellf(&t, "%llu", (unsigned long long)c->files);
		set |= c->low > c->high;
	}
	buf_release(&name);
	printf("\n");
	if (p->list.n)
		table_print(&t, &x->c->out, 0);
	else
		printf("no host read what another one wrote: nothing is known of their clocks\n");
	if (set)
		report_hint("AT LEAST above AT MOST means that a clock was set or drifted meanwhile");
}

/* Gives the exit status. Release ret. */
static int read_clocks(struct collecting *x, struct clock_pairs *ret)
{
	struct err err = {0};
	int status = cmd_store(x->c, false);
	if (status != STATUS_OK)
		return status;
	return clocks_read(store_sqlite(x->c->store), &err, ret) < 0 ? report_err(&err, STATUS_SELF) : STATUS_OK;
}

/* Adds the sender to list, or, if that is NULL, to t. */
static void add_sender(json_t *list, struct table *t, const struct collector_state *s)
{
	struct buf b = {0};
	if (list) {
		json_t *o = json_object();
		js_text(o, "sender", s->name);
		js_num(o, "hosts", s->hosts);
		js_num(o, "sessions", s->sessions);
		js_num(o, "open_sessions", s->open);
		js_num(o, "missing_frames", s->missing);
		js_num(o, "bytes", s->bytes);
		js_time(o, "until", s->until);
		js_add(list, o);
		return;
	}
	table_cellf(t, "%s", s->name);
	table_cellf(t, "%llu", (unsigned long long)s->hosts);
	table_cellf(t, "%llu", (unsigned long long)s->sessions);
	table_cellf(t, "%llu", (unsigned long long)s->open);
	table_cellf(t, "%llu", (unsigned long long)s->missing);
	fmt_size(&b, s->bytes, false);
	table_cellf(t, "%s", buf_cstr(&b));
	buf_reset(&b);
	fmt_time(&b, s->until, false);
	table_cellf(t, "%s", buf_cstr(&b));
	buf_release(&b);
}

/* Gives the exit status. */
static int print_status(struct collecting *x, const struct clock_pairs *clocks)
{
	const struct collector_state *v;
	size_t n;
	static const char *const heads[] = {"SENDER", "HOSTS", "SESSIONS", "OPEN", "MISSING", "SIZE", "UNTIL"};
	struct table t = {.heads = heads, .align = "lrrrrrl", .n_columns = 7};
	if (collector_states(x->collector, &v, &n) < 0)
		return report_lack(STATUS_SELF);
	json_t *list = x->o->json ? json_array() : NULL;
	for (size_t i = 0; i < n; i++)
		add_sender(list, &t, &v[i]);
	if (list) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "senders", list);
		if (x->o->clocks)
			js_put(all, "clocks", clocks_json(clocks));
		return js_print(all, false);
	}
	if (n)
		table_print(&t, &x->c->out, 0);
	else
		printf("nothing was received yet\n");
	if (x->o->clocks)
		print_clocks(x, clocks);
	return STATUS_OK;
}

int collect_status(struct collecting *x)
{
	struct clock_pairs clocks = {0};
	int status = x->o->clocks ? read_clocks(x, &clocks) : STATUS_OK;
	status = status == STATUS_OK ? print_status(x, &clocks) : status;
	clocks_release(&clocks);
	return status;
}
