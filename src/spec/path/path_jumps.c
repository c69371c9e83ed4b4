#include "spec/path/path_jumps.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_MOST 64          /* functions that are left by one jump */
#define LOOKED_MOST 50000000u /* edges that are looked at in all; behind that nothing is found any more */

/* Of a function that is open. */
struct open_frame {
	uint32_t enter; /* its event, in what was read */
	uint32_t made;  /* ... and in what is made */
	uint32_t function;
	VEC(uint32_t) at; /* nodes that it may be at; none: its graph does not say */
};
struct jump_search {
	const struct spec *s;
	struct call_events *e;
	uint32_t *function; /* by name of the trace */
	VEC(struct open_frame) open;
	VEC(struct call_event) made;
	bool *closed; /* by ENTER that was read */
	bool *mark;   /* by node of a function, all false between two walks */
	VEC(uint32_t) next, work;
	uint64_t found, looked;
};

/* ---- names ---- */

struct named_function {
	const char *name;
	uint32_t number;
};

/* Order of qsort. */
static int by_function_name(const void *x, const void *y)
{
	const struct named_function *a = x, *b = y;
	return strcmp(a->name, b->name);
}

/* The function of each name in the trace. SPEC_NONE where there is none. 0, -ENOMEM. */
static int find_functions(struct jump_search *x)
{
	struct named_function *v = malloc((x->s->n_functions + 1) * sizeof(*v));
	x->function = malloc((x->e->n_names + 1) * sizeof(*x->function));
	if (!v || !x->function) {
		free(v);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < x->s->n_functions; i++)
		v[i] = (struct named_function){x->s->functions[i].name, i};
	qsort(v, x->s->n_functions, sizeof(*v), by_function_name);
	for (uint32_t i = 0; i < x->e->n_names; i++) {
		struct named_function key = {x->e->names[i], 0};
		const struct named_function *f = bsearch(&key, v, x->s->n_functions, sizeof(*v), by_function_name);
		/* One node, the entry alone: nothing is known of it. */
		x->function[i] = f && x->s->functions[f->number].n_nodes > 1 ? f->number : SPEC_NONE;
	}
	free(v);
	return 0;
}

/* ---- walking ---- */

/* By name or by its targets; an indirect call of unknown targets may be any. */
static bool may_call(const struct jump_search *x, const struct spec_node *n, const char *name)
{
	if (n->kind != SPEC_CALL && n->kind != SPEC_SYSCALL)
		return false;
	if (!strcmp(n->name, name))
		return true;
	for (uint32_t i = 0; i < n->n_targets; i++)
		if (!strcmp(x->s->functions[x->s->targets[n->first_target + i]].name, name))
			return true;
	return n->flags & SPEC_INDIRECT && (n->flags & SPEC_UNKNOWN || !n->n_targets);
}

/* Nodes behind those that the frame may be at, at which the name may be called, into x->next; nodes that call nothing
 * are passed through. name NULL: is there a return? 1 there are such, 0, -ENOMEM. */
static int find_next(struct jump_search *x, const struct open_frame *f, const char *name)
{
	int r = 0;
	x->next.n = x->work.n = 0;
	for (size_t i = 0; r >= 0 && i < f->at.n; i++) {
		uint32_t *p = vec_add(&x->work);
		if (p)
			*p = f->at.v[i];
		else
			r = -ENOMEM;
	}
	for (size_t i = 0; r >= 0 && i < x->work.n; i++) {
		const struct spec_node *n = spec_node(x->s, f->function, x->work.v[i]);
		for (uint32_t k = 0; r >= 0 && k < n->n_edges; k++) {
			uint32_t to = spec_edge(x->s, n, k)->to, *p;
			const struct spec_node *t = spec_node(x->s, f->function, to);
			bool call = t->kind == SPEC_CALL || t->kind == SPEC_SYSCALL, wanted = name ? may_call(x, t, name) : false;
			x->looked++;
			if (!name && t->kind == SPEC_RETURN)
				r = 1;
			if (x->mark[to] || (call && !wanted))
				continue;
			x->mark[to] = true;
			p = wanted ? vec_add(&x->next) : vec_add(&x->work);
			if (p)
				*p = to;
			else
				r = -ENOMEM;
			if (p && wanted)
				r = 1;
		}
	}
	for (size_t i = 0; i < x->next.n; i++)
		x->mark[x->next.v[i]] = false;
	for (size_t i = 0; i < x->work.n; i++)
		x->mark[x->work.v[i]] = false;
	return r;
}

/* ---- the events ---- */

/* Appends an event that was added to those of the trace. 0, -ENOMEM. */
static int push_made(struct jump_search *x, struct call_event v)
{
	struct call_event *p = vec_add(&x->made);
	if (p)
		*p = v;
	return p ? 0 : -ENOMEM;
}

/* A function was entered: opens its frame, and begins its entry if its code is known. 0, -ENOMEM. */
static int open_function(struct jump_search *x, uint32_t at)
{
	struct call_event v = x->e->v[at];
	struct open_frame *f = vec_add(&x->open);
	if (!f)
		return -ENOMEM;
	*f = (struct open_frame){.enter = at, .made = (uint32_t)x->made.n, .function = x->function[v.name]};
	if (f->function != SPEC_NONE) {
		uint32_t *p = vec_add(&f->at);
		if (!p)
			return -ENOMEM;
		*p = 0; /* the entry */
	}
	v.other = UINT32_MAX;
	return push_made(x, v);
}

/* Notes that the innermost function was left. jump: by a jump, not a return. 0, -ENOMEM. */
static int close_top(struct jump_search *x, bool jump)
{
	struct open_frame *f = &x->open.v[--x->open.n];
	uint32_t name = x->made.v[f->made].name;
	x->made.v[f->made].other = (uint32_t)x->made.n;
	x->closed[f->enter] = true;
	vec_release(&f->at);
	return push_made(x, (struct call_event){.name = name, .other = f->made, .leave = true, .jump = jump});
}

/* Does the trace not say where it ended? */
static bool is_jumping(const struct jump_search *x, const struct open_frame *f)
{
	uint32_t other = x->e->v[f->enter].other;
	return other >= x->e->n || x->e->v[other].jump;
}

/* May the function return where it is, by its graph? 1, 0, -ENOMEM. */
static int may_return(struct jump_search *x, const struct open_frame *f)
{
	return f->at.n ? find_next(x, f, NULL) : 1;
}

/* The functions above `left` were left, by what their graphs say. 0, -ENOMEM. */
static int close_down_to(struct jump_search *x, size_t left)
{
	int r = 0;
	while (r == 0 && x->open.n > left) {
		int returns = may_return(x, &x->open.v[x->open.n - 1]);
		r = returns < 0 ? returns : close_top(x, !returns);
		x->found++;
	}
	return r;
}

/* Closes what must have been left before the call. 0, -ENOMEM. */
static int close_before(struct jump_search *x, const char *name)
{
	for (size_t at = x->open.n; at > 0 && x->open.n - at < LEFT_MOST; at--) {
		const struct open_frame *f = &x->open.v[at - 1];
		int r = f->at.n ? find_next(x, f, name) : 0;
		if (r != 0)
			return r < 0 ? r : close_down_to(x, at);
		if (!is_jumping(x, f))
			return 0;
	}
	return 0;
}

/* An end that the trace has only since one that was open before ended: was it a return? */
static int close_with_caller(struct jump_search *x)
{
	const struct open_frame *caller = x->open.n > 1 ? &x->open.v[x->open.n - 2] : NULL;
	int returns = x->looked < LOOKED_MOST ? may_return(x, &x->open.v[x->open.n - 1]) : 0;
	if (returns > 0 && caller)
		returns = may_return(x, caller);
	if (returns < 0)
		return returns;
	x->found += returns > 0;
	return close_top(x, !returns);
}

/* Notes that the innermost open function calls it. 0, -ENOMEM. */
static int advance(struct jump_search *x, const char *name)
{
	struct open_frame *f = x->open.n ? &x->open.v[x->open.n - 1] : NULL;
	if (!f || !f->at.n)
		return 0;
	int r = find_next(x, f, name);
	if (r <= 0) /* no path: what it may call next is not known from here on */
		return f->at.n = 0, r;
	if (!vec_room(&f->at, x->next.n))
		return -ENOMEM;
	memcpy(f->at.v, x->next.v, x->next.n * sizeof(*f->at.v));
	f->at.n = x->next.n;
	return 0;
}

/* Closes or opens what event i leaves or enters. 0, -errno. */
static int take_event(struct jump_search *x, uint32_t i)
{
	const struct call_event *v = &x->e->v[i];
	if (v->leave)
		return x->closed[v->other] ? 0 : v->jump ? close_with_caller(x) : close_top(x, false);
	bool looks = !v->outside && x->looked < LOOKED_MOST;
	int r = looks ? close_before(x, x->e->names[v->name]) : 0;
	if (r == 0 && looks)
		r = advance(x, x->e->names[v->name]);
	return r == 0 ? open_function(x, i) : r;
}

int path_find_jumps(const struct spec *s, struct call_events *e, uint64_t *ret)
{
	struct jump_search x = {.s = s, .e = e};
	uint32_t most = 0;
	*ret = 0;
	for (uint32_t i = 0; i < s->n_functions; i++)
		if (s->functions[i].n_nodes > most)
			most = s->functions[i].n_nodes;
	x.closed = calloc((size_t)e->n + 1, sizeof(*x.closed));
	x.mark = calloc((size_t)most + 1, sizeof(*x.mark));
	int r = x.closed && x.mark ? find_functions(&x) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < e->n; i++)
		r = take_event(&x, i);
	for (size_t i = 0; i < x.open.n; i++) {
		if (x.open.v[i].made < x.made.n)
			x.made.v[x.open.v[i].made].other = (uint32_t)x.made.n;
		vec_release(&x.open.v[i].at);
	}
	if (r == 0 && x.found) {
		free(e->v);
		e->v = x.made.v;
		e->n = (uint32_t)x.made.n;
		x.made.v = NULL;
		*ret = x.found;
	}
	free(x.made.v);
	vec_release(&x.open);
	vec_release(&x.next);
	vec_release(&x.work);
	free(x.function);
	free(x.closed);
	free(x.mark);
	return r;
}
