/* prov_told.c - what was told of runs, as values of theirs: results, and what was to stay and what might change. */
#include "export/out.h"
#include "export/prov_int.h"

#include <errno.h>

static const enum prov_attr told_attr[TOLD_PARTS] = {ATTR_result, ATTR_invariant, ATTR_variant, ATTR_parameter};

static void append(struct buf *to, size_t *n, const struct strlist *l)
{
	struct str s;
	for (size_t i = 0, at = 0; list_next(l, &i, &at, &s); ++*n) {
		buf_varint(to, s.n);
		buf_str(to, s);
	}
}

int prov_put_told(struct prov_source *p, store_id run)
{
	struct told_list results, machine = {0};
	size_t n[TOLD_PARTS] = {0};
	int r = store_told(p->s, run, EVENT_result, &results);
	if (r == 0)
		r = store_told(p->s, run, EVENT_machine, &machine);
	for (size_t i = 0; i < TOLD_PARTS; i++)
		buf_reset(&p->told[i]);
	for (size_t i = 0; r == 0 && i < results.n; i++)
		append(&p->told[0], &n[0], &results.v[i].ev.result.value);
	for (size_t i = 0; r == 0 && i < machine.n; i++) {
		const struct event_machine *m = &machine.v[i].ev.machine;
		append(&p->told[1], &n[1], &m->invariant);
		append(&p->told[2], &n[2], &m->variant);
		append(&p->told[3], &n[3], &m->parameter);
	}
	told_list_release(&results);
	told_list_release(&machine);
	for (size_t i = 0; r == 0 && i < TOLD_PARTS; i++) {
		if (p->told[i].failed)
			return -ENOMEM;
		prov_put_list(p, told_attr[i], &(struct strlist){.count = n[i], .raw = buf_view(&p->told[i])});
	}
	return r;
}
