#include "answer/trace/trace_pairing.h"

#include <errno.h>
#include <stdlib.h>

#define NOBODY SIZE_MAX

/* A process of a set: one of its traces, which tells what it is. */
struct process {
	size_t trace;
	store_id exec, became; /* of the record, 0 */
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
	struct trace_partner *const *of;
};

/* The processes of the set's traces, by number; each without a partner. 0, -ENOMEM. */
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
		if (f->became)
			p->became = f->became;
		if (f->info.ranks) {
			p->has_rank = true;
			p->rank = f->info.rank;
		}
	}
	return 0;
}

/* ---- processes ---- */

enum way { BY_RANK, BY_PROGRAM, BY_SPEC, BY_PLACE, WAYS };

/* Only traces of one kind can be compared: of calls, or of functions. */
static bool are_of_one_kind(const struct pairing *p, const struct process *a, const struct process *b)
{
	return p->side[0].set->v[a->trace].calls == p->side[1].set->v[b->trace].calls;
}

/* Do two processes belong together in this way of pairing; always only of one group and kind. */
static bool go_together(const struct pairing *p, const struct process *a, const struct process *b, enum way way)
{
	const struct trace_file *x = &p->side[0].set->v[a->trace], *y = &p->side[1].set->v[b->trace];
	if (x->group != y->group || !are_of_one_kind(p, a, b))
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

/* The execution of the process, or, became, the one that it became. 0 where it has no trace or has a partner already.
 * */
static store_id exec_of_role(const struct process *p, bool became)
{
	return p->trace == NOBODY || p->partner != NOBODY ? 0 : became ? p->became : p->exec;
}

/* The traces of A's executions stand in another order than the pairs do: each pair is looked up on both sides. An
 * execution that left traces of both kinds stands there twice. What a shell forks is told apart by what it becomes: its
 * children have one program, the same arguments, and begin at one time. */
static void pair_roles(struct pairing *p, const struct diff_pair_ids *pairs, size_t n_pairs)
{
	struct side *a = &p->side[0], *b = &p->side[1];
	for (size_t turn = 0; turn < 2 * n_pairs; turn++) {
		const store_id *pair = pairs[turn % n_pairs].exec;
		bool became = turn < n_pairs;
		for (size_t i = 0; i < a->n; i++) {
			size_t j = 0;
			if (!pair[0] || !pair[1] || exec_of_role(&a->v[i], became) != pair[0])
				continue;
			while (j < b->n && (exec_of_role(&b->v[j], became) != pair[1] || !are_of_one_kind(p, &a->v[i], &b->v[j])))
				j++;
			if (j == b->n)
				continue;
			a->v[i].partner = j;
			b->v[j].partner = i;
		}
	}
}

/* Pairs the processes of both sides: each way in turn, the surest first; what has found its partner stays with it. */
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

/* Do both threads begin alike? By the first function's name where both have one; else by the specification and the
 * first place. */
static bool begin_alike(const struct trace_file *a, const struct trace_file *b)
{
	const char *x = trace_first_name(a), *y = trace_first_name(b);
	if (x && y)
		return !strcmp(x, y);
	return !x == !y && a->info.spec == b->info.spec && a->first == b->first;
}

/* Does the program know a function by its name in the specification. */
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
	const char *x = trace_first_name(a), *y = trace_first_name(b);
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

/* Of the others it is not known who created them: a library did, as of std::thread and OpenMP. */
static bool is_named_thread(const struct trace_file *f)
{
	return *f->info.thread != '?';
}

enum thread_way { BY_FIRST, BY_CREATOR, BY_FUNCTION, BY_NAME, BY_ORDER, THREAD_WAYS };

/* Do two threads belong together in this way of pairing. The first thread of a process goes only with another first
 * one. */
static bool threads_go_together(const struct pairing *p, size_t i, size_t k, enum thread_way way)
{
	const struct trace_file *a = &p->side[0].set->v[i], *b = &p->side[1].set->v[k];
	bool named = is_named_thread(a) && is_named_thread(b), first = !strcmp(a->info.thread, "0");
	size_t x, y;
	if (first != !strcmp(b->info.thread, "0"))
		return false;
	switch (way) {
	case BY_FIRST:
		return first;
	case BY_CREATOR:
		x = creator(p->side[0].set, a);
		y = creator(p->side[1].set, b);
		return named && x != NOBODY && y != NOBODY && p->of[0][x].with == y && begin_alike(a, b);
	case BY_FUNCTION:
		return is_named_thread(a) == is_named_thread(b) && a->first != SPEC_NONE && begin_alike(a, b);
	case BY_NAME:
		return named && !strcmp(a->info.thread, b->info.thread) && !are_of_two_kinds(a, b);
	case BY_ORDER:
	case THREAD_WAYS:
		break;
	}
	return !named && !are_of_two_kinds(a, b);
}

/* Pairs the threads of both sides. In the order of the sets creators stand before whom they created, and what is not
 * named in the order in which it was. */
static void pair_threads(struct pairing *p)
{
	const struct trace_set *a = p->side[0].set, *b = p->side[1].set;
	for (int way = 0; way < THREAD_WAYS; way++)
		for (size_t i = 0; i < a->n; i++) {
			size_t other = p->side[0].v[a->v[i].process].partner;
			for (size_t k = 0; other != NOBODY && p->of[0][i].with == NOBODY && k < b->n; k++)
				if (p->of[1][k].with == NOBODY && b->v[k].process == other &&
				    threads_go_together(p, i, k, (enum thread_way)way)) {
					p->of[0][i].with = k;
					p->of[1][k].with = i;
				}
		}
}

/* Of the threads of a process, those that could stand in the place of this one: they begin alike, and their creators
 * are one, where that is known. */
static size_t count_alike(const struct pairing *p, int side, size_t process, const struct trace_file *f,
                          size_t creator_is)
{
	const struct trace_set *s = p->side[side].set;
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct trace_file *g = &s->v[i];
		n += g->process == process && strcmp(g->info.thread, "0") != 0 && is_named_thread(g) == is_named_thread(f) &&
		     begin_alike(f, g) && (creator_is == NOBODY || creator(s, g) == creator_is);
	}
	return n;
}

/* Decides how certain each pair is. Of one creator, the order of creation tells which is which, as long as there are
 * as many on both sides. Of several, or where who it was is not known, only one of a kind is certain; of them the
 * order is that of the machine's timing. */
static void set_certainty(struct pairing *p)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < p->side[side].set->n; i++) {
			struct trace_partner *me = &p->of[side][i];
			const struct trace_file *f = &p->side[side].set->v[i];
			size_t process = f->process, other = p->side[side].v[process].partner;
			if (!strcmp(f->info.thread, "0") || other == NOBODY)
				continue;
			size_t mine = creator(p->side[side].set, f), theirs = mine == NOBODY ? NOBODY : p->of[side][mine].with;
			if (mine == NOBODY || theirs == NOBODY)
				mine = theirs = NOBODY;
			me->alike[side] = count_alike(p, side, process, f, mine);
			me->alike[!side] = count_alike(p, !side, other, f, theirs);
			bool ordered = mine != NOBODY && (me->with == NOBODY ||
			                                  creator(p->side[!side].set, &p->side[!side].set->v[me->with]) == theirs);
			me->uncertain = mine != NOBODY && p->of[side][mine].uncertain;
			bool kind = me->with == NOBODY || begin_alike(f, &p->side[!side].set->v[me->with]);
			if (me->with == NOBODY && !me->alike[!side])
				continue; /* there is none that it could belong to */
			me->uncertain |= !kind || (ordered ? me->alike[0] != me->alike[1] : me->alike[0] > 1 || me->alike[1] > 1);
		}
}

int trace_sets_pair(const struct trace_set *a, const struct trace_set *b, const struct diff_pair_ids *pairs,
                    size_t n_pairs, struct trace_partner *const of[2])
{
	struct pairing p = {.of = of};
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < (s ? b : a)->n; i++)
			of[s][i] = (struct trace_partner){.with = NOBODY};
	if (a->n == 1 && b->n == 1) {
		of[0][0].with = of[1][0].with = 0;
		return 0;
	}
	int r = list_processes(a, &p.side[0]);
	if (r == 0)
		r = list_processes(b, &p.side[1]);
	if (r == 0) {
		pair_roles(&p, pairs, n_pairs);
		pair_processes(&p);
		pair_threads(&p);
		set_certainty(&p);
	}
	free(p.side[0].v);
	free(p.side[1].v);
	return r;
}
