/* constraints_order.c - constraints 30 to 49 and 52: the order of events.
 *
 * Every entity has a generation and an invalidation, every activity a start and an end, whether told or not (inferences
 * 7 and 8); several of one entity are at once (31, 32, 39, 40), so each is one node. A use is a node of its own.
 * Strongly connected components are found by Tarjan's algorithm, with a stack of its own: documents may be long chains.
 */
#include "import/constraints_int.h"

#include <errno.h>

enum { GEN, INV, START, END, USE };
#define NO_STATEMENT UINT32_MAX

struct edge {
	uint32_t from, to, st; /* events; the statement it comes from */
	uint8_t number;
	bool strict;
};
struct instant {
	uint32_t word; /* of a use: its statement */
	uint8_t what;
	int64_t time;       /* told, TIME_NONE */
	uint32_t time_from; /* by which statement */
};
struct order {
	struct check *c;
	struct map map; /* word << 3 | what -> event */
	VEC(struct instant) events;
	VEC(struct edge) edges;
	uint32_t *first; /* by event: its edges, after sorting */
	uint32_t *component;
	uint32_t *came, *queue; /* while cycles are told */
};

/* The event's place, made where it is new. No memory: 0, and o->c->failed. */
static uint32_t event_index(struct order *o, uint32_t word, unsigned what)
{
	uint64_t key = (uint64_t)word << 3 | what;
	uint32_t i = map_get(&o->map, key);
	if (i != VEC_NONE)
		return i;
	struct instant *e = vec_add(&o->events);
	if (!e || !map_set(&o->map, key, (uint32_t)(o->events.n - 1))) {
		o->c->failed = true;
		return 0;
	}
	*e = (struct instant){.word = word, .what = (uint8_t)what, .time = TIME_NONE, .time_from = NO_STATEMENT};
	return (uint32_t)(o->events.n - 1);
}

/* The first time that is told of an event counts. TIME_NONE, or an event that is not there: nothing. */
static void set_event_time(struct order *o, uint32_t e, int64_t time, uint32_t st)
{
	if (time != TIME_NONE && e < o->events.n && o->events.v[e].time == TIME_NONE) {
		o->events.v[e].time = time;
		o->events.v[e].time_from = st;
	}
}

/* Event from is not after event to, by constraint number and statement st. Without memory o->c->failed. */
static void not_after(struct order *o, uint32_t from, uint32_t to, unsigned number, uint32_t st)
{
	struct edge *e = vec_add(&o->edges);
	if (e)
		*e = (struct edge){.from = from, .to = to, .st = st, .number = (uint8_t)number};
	else
		o->c->failed = true;
}

/* Notes that one event must come before another by this constraint. As not_after, but they are not at the same time
 * either. */
static void strictly_before(struct order *o, uint32_t from, uint32_t to, unsigned number, uint32_t st)
{
	not_after(o, from, to, number, st);
	if (!o->c->failed)
		o->edges.v[o->edges.n - 1].strict = true;
}

/* An entity's trigger of a start or end (43, 44), and who made the trigger (inferences 9, 10). */
static void order_trigger(struct order *o, const struct doc_statement *s, uint32_t at, uint32_t when, unsigned number)
{
	if (!s->arg[1])
		return;
	not_after(o, event_index(o, s->arg[1], GEN), when, number, at);
	not_after(o, when, event_index(o, s->arg[1], INV), number, at);
	if (s->arg[2]) {
		not_after(o, event_index(o, s->arg[2], START), event_index(o, s->arg[1], GEN), 34, at);
		not_after(o, event_index(o, s->arg[1], GEN), event_index(o, s->arg[2], END), 34, at);
	}
}

/* What was derived was made after that from which it was, and after its use. */
static void order_derivation(struct order *o, const struct doc_statement *s, uint32_t at, const struct map *by_id)
{
	strictly_before(o, event_index(o, s->arg[1], GEN), event_index(o, s->arg[0], GEN), 42, at);
	uint32_t use = s->arg[4] ? map_get(by_id, s->arg[4]) : VEC_NONE;
	if (s->arg[2] && use != VEC_NONE && o->c->d->st.v[use].kind == DOC_used)
		not_after(o, event_index(o, use, USE), event_index(o, s->arg[0], GEN), 41, at);
}

/* Constraints 47 to 49: who acts is there at that time. */
static void order_agency(struct order *o, const struct doc_statement *s, uint32_t at)
{
	const uint8_t *is = o->c->is;
	uint32_t a = s->arg[0], b = s->arg[1];
	if (!b)
		return;
	switch (s->kind) {
	case DOC_wasAssociatedWith:
		if (is[b] & IS_ENTITY) {
			not_after(o, event_index(o, a, START), event_index(o, b, INV), 47, at);
			not_after(o, event_index(o, b, GEN), event_index(o, a, END), 47, at);
		}
		if (is[b] & IS_ACTIVITY) {
			not_after(o, event_index(o, a, START), event_index(o, b, END), 47, at);
			not_after(o, event_index(o, b, START), event_index(o, a, END), 47, at);
		}
		return;
	case DOC_wasAttributedTo:
		if (is[b] & IS_ENTITY)
			not_after(o, event_index(o, b, GEN), event_index(o, a, GEN), 48, at);
		if (is[b] & IS_ACTIVITY)
			not_after(o, event_index(o, b, START), event_index(o, a, GEN), 48, at);
		return;
	default:
		if (is[b] & IS_ENTITY && is[a] & IS_ENTITY)
			not_after(o, event_index(o, b, GEN), event_index(o, a, INV), 49, at);
		if (is[b] & IS_ACTIVITY && is[a] & IS_ACTIVITY)
			not_after(o, event_index(o, b, START), event_index(o, a, END), 49, at);
	}
}

/* What the statement says of the order of events, each with the number of its constraint. */
static void add_statement(struct order *o, uint32_t at, const struct map *by_id)
{
	const struct doc_statement *s = &o->c->d->st.v[at];
	uint32_t e;
	switch (s->kind) {
	case DOC_activity:
		set_event_time(o, event_index(o, s->id, START), s->start, at);
		set_event_time(o, event_index(o, s->id, END), s->end, at);
		return;
	case DOC_wasGeneratedBy:
		set_event_time(o, e = event_index(o, s->arg[0], GEN), s->start, at);
		if (s->arg[1]) {
			not_after(o, event_index(o, s->arg[1], START), e, 34, at);
			not_after(o, e, event_index(o, s->arg[1], END), 34, at);
		}
		return;
	case DOC_wasInvalidatedBy:
		set_event_time(o, event_index(o, s->arg[0], INV), s->start, at);
		return;
	case DOC_used:
		set_event_time(o, e = event_index(o, at, USE), s->start, at);
		not_after(o, event_index(o, s->arg[0], START), e, 33, at);
		not_after(o, e, event_index(o, s->arg[0], END), 33, at);
		if (s->arg[1]) {
			not_after(o, event_index(o, s->arg[1], GEN), e, 37, at);
			not_after(o, e, event_index(o, s->arg[1], INV), 38, at);
		}
		return;
	case DOC_wasInformedBy:
		not_after(o, event_index(o, s->arg[1], START), event_index(o, s->arg[0], END), 35, at);
		return;
	case DOC_wasStartedBy:
		set_event_time(o, e = event_index(o, s->arg[0], START), s->start, at);
		order_trigger(o, s, at, e, 43);
		return;
	case DOC_wasEndedBy:
		set_event_time(o, e = event_index(o, s->arg[0], END), s->start, at);
		order_trigger(o, s, at, e, 44);
		return;
	case DOC_wasDerivedFrom:
		order_derivation(o, s, at, by_id);
		return;
	case DOC_specializationOf:
		not_after(o, event_index(o, s->arg[1], GEN), event_index(o, s->arg[0], GEN), 45, at);
		not_after(o, event_index(o, s->arg[0], INV), event_index(o, s->arg[1], INV), 46, at);
		return;
	case DOC_wasAssociatedWith:
	case DOC_wasAttributedTo:
	case DOC_actedOnBehalfOf:
		order_agency(o, s, at);
		return;
	default:
		return;
	}
}

/* 30, 36: of everything that has both. */
static void add_lives(struct order *o)
{
	for (uint32_t i = 0, n = (uint32_t)o->events.n; i < n && !o->c->failed; i++) {
		const struct instant e = o->events.v[i];
		unsigned other = e.what == GEN ? INV : END;
		if (e.what != GEN && e.what != START)
			continue;
		uint32_t to = map_get(&o->map, (uint64_t)e.word << 3 | other);
		if (to != VEC_NONE)
			not_after(o, i, to, e.what == GEN ? 36 : 30, NO_STATEMENT);
	}
}

/* Order of qsort: equal ones next to each other. */
static int compare_edges_by_ends(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->st > b->st) - (a->st < b->st);
}

/* o->first: where each event's edges begin. False: no memory. */
static bool sort_edges(struct order *o)
{
	size_t n = o->events.n;
	o->first = calloc(n + 2, sizeof(*o->first));
	o->component = malloc((n + 1) * sizeof(*o->component));
	if (!o->first || !o->component)
		return false;
	if (o->edges.n)
		qsort(o->edges.v, o->edges.n, sizeof(*o->edges.v), compare_edges_by_ends);
	for (size_t i = 0; i < o->edges.n; i++)
		o->first[o->edges.v[i].from + 1]++;
	for (size_t i = 0; i < n; i++)
		o->first[i + 1] += o->first[i];
	return true;
}

/* The search of find_event_components, by event. */
struct search {
	uint32_t *index, *low; /* when it was met, from 1; the earliest that it leads back to */
	uint32_t *next;        /* its edge that is looked at next */
	uint32_t *stack, *calls;
	size_t held, depth; /* of stack, of calls */
	uint32_t count, found;
};

/* The next one, not met yet, that an edge of v leads to; VEC_NONE. */
static uint32_t next_unmet(struct order *o, struct search *s, uint32_t v)
{
	for (; s->next[v] < o->first[v + 1]; s->next[v]++) {
		uint32_t w = o->edges.v[s->next[v]].to;
		if (!s->index[w])
			return w; /* the edge is looked at again when it is done */
		if (o->component[w] == VEC_NONE && s->index[w] < s->low[v])
			s->low[v] = s->index[w];
	}
	return VEC_NONE;
}

/* One step with the event on top of the calls. */
static void search_step(struct order *o, struct search *s)
{
	uint32_t v = s->calls[s->depth - 1], w;
	if (!s->index[v]) {
		s->index[v] = s->low[v] = ++s->count;
		s->next[v] = o->first[v];
		s->stack[s->held++] = v;
	}
	w = next_unmet(o, s, v);
	if (w != VEC_NONE) {
		s->calls[s->depth++] = w;
		return;
	}
	if (s->low[v] == s->index[v]) {
		do {
			w = s->stack[--s->held];
			o->component[w] = s->found;
		} while (w != v);
		s->found++;
	}
	s->depth--;
	if (s->depth && s->low[v] < s->low[s->calls[s->depth - 1]])
		s->low[s->calls[s->depth - 1]] = s->low[v];
}

/* Strongly connected components (Tarjan 1972), the calls on a stack of our own. False: no memory. */
static bool find_event_components(struct order *o)
{
	size_t n = o->events.n, room = (n + 1) * sizeof(uint32_t);
	struct search s = {
	    .index = calloc(n + 1, sizeof(uint32_t)), .low = malloc(room), .next = malloc(room), .stack = malloc(room)};
	s.calls = malloc(room);
	bool ok = s.index && s.low && s.next && s.stack && s.calls;
	for (uint32_t i = 0; ok && i < n; i++)
		o->component[i] = VEC_NONE;
	for (uint32_t root = 0; ok && root < n; root++) {
		if (s.index[root])
			continue;
		s.calls[s.depth++] = root;
		while (s.depth)
			search_step(o, &s);
	}
	free(s.index);
	free(s.low);
	free(s.next);
	free(s.stack);
	free(s.calls);
	return ok;
}

/* Tells of the shortest way back from a strict edge's end to its beginning, within the component. */
static void report_cycle(struct order *o, const struct edge *strict)
{
	uint32_t *came = o->came, *queue = o->queue; /* came: VEC_NONE but for what is in the queue */
	VEC(uint32_t) st = {0};
	size_t head = 0, tail = 0;
	for (queue[tail++] = strict->to; head < tail && came[strict->from] == VEC_NONE && strict->from != strict->to;) {
		uint32_t v = queue[head++];
		for (uint32_t k = o->first[v]; k < o->first[v + 1]; k++) {
			uint32_t w = o->edges.v[k].to;
			if (o->component[w] != o->component[v] || came[w] != VEC_NONE || w == strict->to)
				continue;
			came[w] = k;
			queue[tail++] = w;
		}
	}
	if (strict->st != NO_STATEMENT && vec_room(&st, 1))
		*vec_add(&st) = strict->st;
	/* Backwards from its beginning, each statement once in a row. */
	for (uint32_t v = strict->from; v != strict->to && came[v] != VEC_NONE; v = o->edges.v[came[v]].from) {
		uint32_t at = o->edges.v[came[v]].st;
		if (at == NO_STATEMENT || (st.n && st.v[st.n - 1] == at))
			continue;
		if (!vec_room(&st, 1))
			break;
		*vec_add(&st) = at;
	}
	check_report(o->c, strict->number, false, st.v, st.n, o->events.v[strict->to].word);
	while (tail)
		came[queue[--tail]] = VEC_NONE;
	vec_release(&st);
}

/* One for each component in which an edge is strict. */
static void report_cycles(struct order *o)
{
	size_t n = o->events.n;
	uint8_t *said = calloc(n + 1, 1);
	o->came = malloc((n + 1) * sizeof(*o->came));
	o->queue = malloc((n + 1) * sizeof(*o->queue));
	o->c->failed |= !said || !o->came || !o->queue;
	for (size_t i = 0; i < n && !o->c->failed; i++)
		o->came[i] = VEC_NONE;
	for (size_t i = 0; i < o->edges.n && !o->c->failed; i++) {
		const struct edge *e = &o->edges.v[i];
		uint32_t at = o->component[e->from];
		if (!e->strict || at != o->component[e->to] || said[at])
			continue;
		said[at] = 1; /* one for each component: the rest follows from it */
		report_cycle(o, e);
	}
	free(said);
	free(o->came);
	free(o->queue);
}

/* Times that contradict the order are remarks, no violations. */
static void report_time_conflicts(struct order *o)
{
	for (size_t i = 0; i < o->edges.n; i++) {
		const struct edge *e = &o->edges.v[i];
		const struct instant *a = &o->events.v[e->from], *b = &o->events.v[e->to];
		if (a->time == TIME_NONE || b->time == TIME_NONE || a->time < b->time || (!e->strict && a->time == b->time))
			continue;
		const uint32_t st[] = {a->time_from, b->time_from, e->st};
		check_report(o->c, e->number, true, st,
		             e->st == NO_STATEMENT || e->st == a->time_from || e->st == b->time_from ? 2 : 3,
		             b->what == USE ? 0 : b->word);
	}
}

/* Applies constraint 52: nothing is, by whatever steps, a specialization of itself. */
static void check_specialization(struct check *c)
{
	struct order o = {.c = c};
	for (size_t k = 0; k < c->n && !c->failed; k++) {
		const struct doc_statement *s = &c->d->st.v[c->st[k]];
		if (s->kind == DOC_specializationOf)
			strictly_before(&o, event_index(&o, s->arg[0], GEN), event_index(&o, s->arg[1], GEN), 52, c->st[k]);
	}
	if (!c->failed && o.edges.n) {
		c->failed = !sort_edges(&o) || !find_event_components(&o);
		if (!c->failed)
			report_cycles(&o);
	}
	map_release(&o.map);
	vec_release(&o.events);
	vec_release(&o.edges);
	free(o.first);
	free(o.component);
}

void check_order(struct check *c)
{
	struct order o = {.c = c};
	struct map by_id = {0};
	for (size_t k = 0; k < c->n && !c->failed; k++) {
		const struct doc_statement *s = &c->d->st.v[c->st[k]];
		if (s->kind > DOC_agent && s->id && map_get(&by_id, s->id) == VEC_NONE)
			c->failed = !map_set(&by_id, s->id, c->st[k]);
	}
	for (size_t k = 0; k < c->n && !c->failed; k++)
		add_statement(&o, c->st[k], &by_id);
	add_lives(&o);
	if (!c->failed)
		c->failed = !sort_edges(&o) || !find_event_components(&o);
	if (!c->failed)
		report_cycles(&o);
	if (!c->failed)
		report_time_conflicts(&o);
	map_release(&by_id);
	map_release(&o.map);
	vec_release(&o.events);
	vec_release(&o.edges);
	free(o.first);
	free(o.component);
	if (!c->failed)
		check_specialization(c);
}
