#include "cmd/diff_trace_pair.h"

#include <errno.h>
#include <stdlib.h>

#define NOBODY SIZE_MAX

/* A process of a set: one of its traces, which tells what it is. */
struct process {
	size_t trace;
	store_id exec;
	bool has_rank;
	uint32_t rank;
	size_t partner;
};
struct side {
	const struct trace_set *set;
	struct process *v;
	size_t n;
};
struct pairing {
	struct side side[2];
	size_t *with;
	bool *taken;
};

static int list_processes(const struct trace_set *set, struct side *ret)
{
	*ret = (struct side){.set = set};
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i].process >= ret->n)
			ret->n = set->v[i].process + 1;
	ret->v = calloc(ret->n + 1, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < ret->n; i++)
		ret->v[i] = (struct process){.trace = NOBODY, .partner = NOBODY};
	for (size_t i = 0; i < set->n; i++) {
		const struct trace_file *f = &set->v[i];
		struct process *p = &ret->v[f->process];
		if (p->trace == NOBODY)
			p->trace = i;
		if (f->exec)
			p->exec = f->exec;
		if (f->info.ranks) {
			p->has_rank = true;
			p->rank = f->info.rank;
		}
	}
	return 0;
}

/* ---- processes ---- */

enum way { BY_RANK, BY_PROGRAM, BY_SPEC, BY_PLACE, WAYS };

static bool go_together(const struct pairing *p, const struct process *a, const struct process *b, enum way way)
{
	const struct trace_file *x = &p->side[0].set->v[a->trace], *y = &p->side[1].set->v[b->trace];
	if (x->group != y->group || x->calls != y->calls)
		return false;
	switch (way) {
	case BY_RANK:
		return a->has_rank && b->has_rank && a->rank == b->rank && !strcmp(trace_program(x), trace_program(y));
	case BY_PROGRAM:
		return !strcmp(trace_program(x), trace_program(y));
	case BY_SPEC:
		return x->info.spec == y->info.spec && x->functions == y->functions;
	case BY_PLACE:
	case WAYS:
		break;
	}
	return x->place == y->place;
}

/* The traces of A's executions stand in another order than the pairs do: each pair is looked up on both sides. */
static void pair_roles(struct pairing *p, const struct diff_pair_ids *pairs, size_t n_pairs)
{
	struct side *a = &p->side[0], *b = &p->side[1];
	for (size_t k = 0; k < n_pairs; k++) {
		size_t i = 0, j = 0;
		while (i < a->n && (a->v[i].exec != pairs[k].exec[0] || a->v[i].partner != NOBODY))
			i++;
		while (i < a->n && j < b->n && (b->v[j].exec != pairs[k].exec[1] || b->v[j].partner != NOBODY))
			j++;
		if (i == a->n || j == b->n || a->v[i].trace == NOBODY || b->v[j].trace == NOBODY)
			continue;
		a->v[i].partner = j;
		b->v[j].partner = i;
	}
}

static void pair_processes(struct pairing *p)
{
	struct side *a = &p->side[0], *b = &p->side[1];
	for (int way = 0; way < WAYS; way++)
		for (size_t i = 0; i < a->n; i++)
			for (size_t k = 0; a->v[i].trace != NOBODY && a->v[i].partner == NOBODY && k < b->n; k++)
				if (b->v[k].trace != NOBODY && b->v[k].partner == NOBODY &&
				    go_together(p, &a->v[i], &b->v[k], (enum way)way)) {
					a->v[i].partner = k;
					b->v[k].partner = i;
				}
}

/* ---- threads ---- */

static const char *first_name(const struct trace_file *f)
{
	return f->spec && f->first < f->spec->n_functions ? f->spec->functions[f->first].name : NULL;
}

static bool begin_alike(const struct trace_file *a, const struct trace_file *b)
{
	const char *x = first_name(a), *y = first_name(b);
	if (x && y)
		return !strcmp(x, y);
	return !x == !y && a->info.spec == b->info.spec && a->first == b->first;
}

static bool knows_function(const struct spec *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_functions; i++)
		if (!strcmp(s->functions[i].name, name))
			return true;
	return false;
}

/* Are they certainly of different kinds? Where a function was given another name they are not. */
static bool are_of_two_kinds(const struct trace_file *a, const struct trace_file *b)
{
	const char *x = first_name(a), *y = first_name(b);
	return x && y && strcmp(x, y) != 0 && knows_function(a->spec, y) && knows_function(b->spec, x);
}

/* Of the set, the trace of the thread that created this one; NOBODY. */
static size_t creator(const struct trace_set *s, const struct trace_file *f)
{
	const char *dot = strrchr(f->info.thread, '.');
	size_t n = dot ? (size_t)(dot - f->info.thread) : 0;
	for (size_t i = 0; n && i < s->n; i++)
		if (s->v[i].process == f->process && strlen(s->v[i].info.thread) == n &&
		    !memcmp(s->v[i].info.thread, f->info.thread, n))
			return i;
	return NOBODY;
}

enum thread_way { BY_FIRST, BY_CREATOR, BY_FUNCTION, BY_NAME, BY_ORDER, THREAD_WAYS };

static bool threads_go_together(const struct pairing *p, size_t i, size_t k, enum thread_way way)
{
	const struct trace_file *a = &p->side[0].set->v[i], *b = &p->side[1].set->v[k];
	bool named = *a->info.thread != '?' && *b->info.thread != '?', first = !strcmp(a->info.thread, "0");
	size_t x, y;
	if (first != !strcmp(b->info.thread, "0"))
		return false;
	switch (way) {
	case BY_FIRST:
		return first;
	case BY_CREATOR:
		x = creator(p->side[0].set, a);
		y = creator(p->side[1].set, b);
		return named && x != NOBODY && y != NOBODY && p->with[x] == y && begin_alike(a, b);
	case BY_FUNCTION:
		return named && a->first != SPEC_NONE && begin_alike(a, b);
	case BY_NAME:
		return named && !strcmp(a->info.thread, b->info.thread) && !are_of_two_kinds(a, b);
	case BY_ORDER:
	case THREAD_WAYS:
		break;
	}
	return !named && !are_of_two_kinds(a, b);
}

/* In the order of the sets creators stand before whom they created. */
static void pair_threads(struct pairing *p)
{
	const struct trace_set *a = p->side[0].set, *b = p->side[1].set;
	for (int way = 0; way < THREAD_WAYS; way++)
		for (size_t i = 0; i < a->n; i++) {
			size_t other = p->side[0].v[a->v[i].process].partner;
			for (size_t k = 0; other != NOBODY && p->with[i] == NOBODY && k < b->n; k++)
				if (!p->taken[k] && b->v[k].process == other && threads_go_together(p, i, k, (enum thread_way)way)) {
					p->with[i] = k;
					p->taken[k] = true;
				}
		}
}

int trace_sets_pair(const struct trace_set *a, const struct trace_set *b, const struct diff_pair_ids *pairs,
                    size_t n_pairs, size_t *with, bool *taken)
{
	struct pairing p = {.with = with, .taken = taken};
	for (size_t i = 0; i < a->n; i++)
		with[i] = NOBODY;
	if (a->n == 1 && b->n == 1) {
		with[0] = 0;
		taken[0] = true;
		return 0;
	}
	int r = list_processes(a, &p.side[0]);
	if (r == 0)
		r = list_processes(b, &p.side[1]);
	if (r == 0) {
		pair_roles(&p, pairs, n_pairs);
		pair_processes(&p);
		pair_threads(&p);
	}
	free(p.side[0].v);
	free(p.side[1].v);
	return r;
}
