/* stage_cost.c - what the programs of a stage cost together. */
#include "answer/stages/stage_view.h"
#include "query/idmap.h"

#include <errno.h>

enum { KNOWN_CPU = 1, KNOWN_RSS = 4, KNOWN_READ = 7, KNOWN_WRITE = 8 }; /* bits of exec_info.known */

/* Ended by a signal, or with a status other than 0. An end that is not known is none. */
static bool has_failed(const struct exec_info *x)
{
	return x->ending == TERM_ending_signaled || (x->ending == TERM_ending_exited && x->code);
}

/* Widens c's span by the execution's. One that still runs makes the end TIME_NEVER; a time that is not known changes
 * nothing. */
static void add_times(struct stage_cost *c, const struct exec_info *x)
{
	if (x->start != TIME_NONE && (c->start == TIME_NONE || x->start < c->start))
		c->start = x->start;
	if (x->end == TIME_NEVER)
		c->end = TIME_NEVER;
	else if (x->end != TIME_NONE && c->end != TIME_NEVER && (c->end == TIME_NONE || x->end > c->end))
		c->end = x->end;
}

/* Adds a figure, or takes the greater. */
static void add_figure(const struct exec_info *x, unsigned bit, uint64_t value, bool most, struct stage_figure *to)
{
	bool known = x->known >> bit & 1;
	to->whole &= known;
	if (!known)
		return;
	to->known = true;
	if (!most)
		to->value += value;
	else if (value > to->value)
		to->value = value;
}

/* Executions whose process went on as another program: the figures of a process stand at its last execution. Adds them
 * to ret. 0, -errno. */
static int find_replaced(struct store *s, const store_id *execs, size_t n, struct idmap *ret)
{
	bool is_new;
	int r = 0;
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct exec_brief x;
		r = store_exec_brief(s, execs[i], &x);
		if (r > 0 && x.n && x.parent && !idmap_add(ret, x.parent, 1, &is_new))
			r = -ENOMEM;
	}
	return r < 0 ? r : 0;
}

int stage_cost(struct store *s, const store_id *execs, size_t n, struct stage_cost *ret)
{
	struct stage_figure none = {.whole = true};
	*ret = (struct stage_cost){
	    .start = TIME_NONE, .end = TIME_NONE, .cpu = none, .rss = none, .read_bytes = none, .write_bytes = none};
	struct idmap replaced = {0};
	int r = find_replaced(s, execs, n, &replaced);
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct exec_info x;
		r = store_exec(s, execs[i], &x);
		if (r <= 0)
			continue;
		add_times(ret, &x);
		ret->programs += x.n > 0;
		ret->failed += has_failed(&x);
		ret->gaps |= x.gaps;
		if (idmap_find(&replaced, execs[i]))
			continue;
		add_figure(&x, KNOWN_CPU, x.cpu, false, &ret->cpu);
		add_figure(&x, KNOWN_RSS, x.rss, true, &ret->rss);
		add_figure(&x, KNOWN_READ, x.read_bytes, false, &ret->read_bytes);
		add_figure(&x, KNOWN_WRITE, x.write_bytes, false, &ret->write_bytes);
	}
	idmap_release(&replaced);
	return r < 0 ? r : 0;
}
