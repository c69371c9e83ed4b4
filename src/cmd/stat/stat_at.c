/* stat_at.c - which calls were under way at a moment, as a table. */
#include "cmd/stat/stat_view.h"

#include <stdio.h>

#define SECOND 1000000000
#define DEFAULT_LINES 10

/* Returns how long after `from` a time is, in seconds. Times may be anything that a log holds. */
static double seconds_since(int64_t t, int64_t from)
{
	return (double)(int64_t)((uint64_t)t - (uint64_t)from) / SECOND;
}

/* Times are seconds before and behind `at`. 0, -errno. */
static int at_row(struct cmd *c, struct table *t, const struct when_row *row, int64_t at)
{
	struct exec_info x;
	struct buf b = {0};
	table_cell(t, str_of(stat_call(row->api, row->write)));
	table_cellf(t, "%llu", (unsigned long long)row->calls);
	table_cellf(t, "%.3f", seconds_since(row->first, at));
	table_cellf(t, "+%.3f", seconds_since(row->last, at));
	int r = store_exec(c->store, row->exec, &x);
	fmt_name(&b, r > 0 && x.rank.n ? x.rank : str_of("-"));
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	r = r < 0 ? r : exec_name(c->store, row->exec, true, 12, &b);
	table_cell(t, buf_view(&b));
	buf_reset(&b);
	r = r < 0 ? r : stat_name(c->store, row->file, false, &b);
	table_cell(t, buf_view(&b));
	buf_release(&b);
	return r < 0 ? r : 0;
}

int stat_print_at(struct cmd *c, const struct opts_stat *o, const struct stat_when *w, const char *of)
{
	static const char *const heads[] = {"CALL", "CALLS", "FROM", "TO", "RANK", "BY", ""};
	struct table t = {.heads = heads, .align = "lrrrrll", .n_columns = 7};
	struct buf name = {0}, when = {0};
	size_t most = o->count ? (size_t)o->count : DEFAULT_LINES;
	int r = 0;
	fmt_name(&name, str_of(of));
	fmt_time(&when, w->at, false);
	printf("%s at %s: %s\n", buf_cstr(&name), buf_cstr(&when),
	       w->n ? "calls were made before and after" : "no calls were in progress");
	for (size_t i = 0; i < w->n && i < most && r >= 0; i++)
		r = at_row(c, &t, &w->v[i], w->at);
	if (w->n) {
		putchar('\n');
		table_print(&t, &c->out, c->out.width);
	}
	if (w->n > most)
		printf("+ %zu more (--max-count)\n", w->n - most);
	if (w->untimed)
		printf("%llu call%s with unknown times\n", (unsigned long long)w->untimed, w->untimed == 1 ? " was" : "s were");
	buf_release(&name);
	buf_release(&when);
	return r < 0 ? r : 0;
}
