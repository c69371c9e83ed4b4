/* stat_print_parts.c - which parts of datasets a run moved, as a table. */
#include "cmd/stat/stat_view.h"

#include <stdio.h>

int stat_print_parts(struct cmd *c, const struct opts_stat *o, store_id run)
{
	static const char *const heads[] = {"CALLS", "ELEMENTS", "WAY", "PART"};
	struct table t = {.heads = heads, .align = "rrll", .n_columns = 4};
	struct stat_parts l;
	int r = stat_parts_load(c->store, run, &l);
	if (r < 0)
		return r;
	size_t most = o->count > 0 ? (size_t)o->count : 10;
	for (size_t i = 0; i < l.n && i < most; i++) {
		const struct stat_part *p = &l.v[i];
		table_cellf(&t, "%llu", (unsigned long long)p->calls);
		table_cellf(&t, "%llu", (unsigned long long)p->elements);
		table_cell(&t, str_of(p->write ? "write" : "read"));
		table_cell(&t, buf_view(&p->name));
	}
	if (l.n) {
		printf("\nparts of datasets%s\n", l.n > most ? ", the most used" : "");
		table_print(&t, &c->out, c->out.width);
	}
	stat_parts_release(&l);
	return 0;
}
