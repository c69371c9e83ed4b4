#include "query/stages/stages_called.h"

#include "query/stages/stages_int.h"

#include <fnmatch.h>

/* Does the pattern fit the stage's name, or NAME:WILDCARD=VALUE,...? Of what is not called anything: no. */
static bool stages_is_called(const struct stage *g, const char *glob)
{
	struct buf b = {0};
	if (!g->name)
		return false;
	bool is = fnmatch(glob, g->name, 0) == 0;
	buf_printf(&b, "%s", g->name);
	for (size_t i = 0; !is && i < g->wildcards_n; i += strlen(g->wildcards + i) + 1)
		buf_printf(&b, "%s%s", i ? "," : ":", g->wildcards + i);
	is = is || (!b.failed && fnmatch(glob, buf_cstr(&b), 0) == 0);
	buf_release(&b);
	return is;
}

int stages_called(struct stages *st, const char *glob, struct idset *execs)
{
	store_id *runs = NULL;
	size_t n = 0;
	int r = store_runs(st->s, 0, &runs, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = stages_look(st, runs[i]);
	free(runs);
	for (size_t i = 0; i < st->n && r == 0; i++) {
		size_t count = stages_is_called(&st->v[i], glob) ? st->v[i].n_execs : 0;
		for (size_t k = 0; k < count && r == 0; k++)
			r = idset_add(execs, st->v[i].execs[k]);
	}
	idset_close(execs);
	return r;
}
