#include "spec/path/path_merged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A frame of a function that a root leads to; number 0: the first frame, of main, whose root is SPEC_NONE. */
struct place {
	uint32_t function, root;
};
/* A call in the frame of a cell: who may have called something. */
struct caller {
	uint32_t node, cell;
};
struct root {
	uint32_t first, n;       /* its callers */
	uint32_t reach, n_reach; /* functions that they lead to, in words */
	uint32_t bit;
	bool jumps; /* one of these may do a longjmp */
};
/* Control came to the node in the cell; node SPEC_NONE: a jump unwinds, and is at this frame. */
struct visit {
	uint32_t node, cell;
	uint32_t from;   /* the visit before it, SPEC_NONE none */
	uint32_t popped; /* the call whose frame, that of `from`, was left for it; SPEC_NONE none was */
};
/* Numbers, each once, in the order in which they came. */
struct list {
	uint32_t *v, n, cap;
	struct table3 seen;
};
struct merging {
	struct place *cells;
	uint32_t n_cells, cap_cells;
	struct state *states;
	uint32_t n_states, cap_states;
	struct root *roots;
	uint32_t n_roots, cap_roots;
	struct caller *callers; /* of roots, and of cells */
	uint32_t n_callers, cap_callers;
	uint32_t *words; /* lists, their length before them */
	uint32_t n_words, cap_words;
	struct visit *visits;
	uint32_t n_visits, cap_visits;
	struct caller *pushes;
	uint32_t n_pushes, cap_pushes;
	struct list nodes, functions;
	struct table3 cell_table, state_table, root_table, summary_table, caller_table, closed, seen;
	uint32_t ended; /* the visit at which main returns, + 1; 0 none */
};

int merged_begin(struct search *x)
{
	uint32_t none;
	struct merging *m = x->merging = calloc(1, sizeof(*m));
	int r = m ? reserve_one_more(&m->cells, &m->cap_cells, 0, sizeof(*m->cells)) : -ENOMEM;
	if (r == 0)
		m->cells[m->n_cells++] = (struct place){x->s->main, SPEC_NONE};
	for (uint32_t i = 0; r == 0 && i < FIRST_STATE; i++) {
		none = m->n_states;
		r = reserve_one_more(&m->states, &m->cap_states, none, sizeof(*m->states));
		if (r == 0)
			m->states[m->n_states++] = (struct state){SPEC_NONE, SPEC_NONE};
	}
	return r;
}

/* Frees x->merging, and sets NULL. Nothing if there is none. */
void merged_end(struct search *x)
{
	struct merging *m = x->merging;
	if (!m)
		return;
	struct table3 *tables[] = {&m->cell_table, &m->state_table, &m->root_table, &m->summary_table, &m->caller_table,
	                           &m->closed,     &m->seen,        &m->nodes.seen, &m->functions.seen};
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		table3_release(tables[i]);
	free(m->cells);
	free(m->states);
	free(m->roots);
	free(m->callers);
	free(m->words);
	free(m->visits);
	free(m->pushes);
	free(m->nodes.v);
	free(m->functions.v);
	free(m);
	x->merging = NULL;
}

/* One step of it. 0; -E2BIG: too much was done. */
static int count_work(struct search *x)
{
	return ++x->done > x->most ? -E2BIG : 0;
}

/* Empties the list. */
static void list_clear(struct list *l)
{
	table3_clear(&l->seen);
	l->n = 0;
}

/* Appends a number, if the list does not have it. 0, -ENOMEM; -E2BIG: too much work. */
static int list_append_once(struct search *x, struct list *l, uint32_t number)
{
	uint32_t *v = table3_value(&l->seen, number, 0, 0);
	int r = v ? count_work(x) : -ENOMEM;
	if (r < 0 || *v)
		return r;
	*v = 1;
	r = reserve_one_more(&l->v, &l->cap, l->n, sizeof(*l->v));
	if (r == 0)
		l->v[l->n++] = number;
	return r;
}

/* Appends a word to what is kept of stacks. 0, -ENOMEM, as reserve_one_more. */
static int append_pooled(struct merging *m, uint32_t word)
{
	int r = reserve_one_more(&m->words, &m->cap_words, m->n_words, sizeof(*m->words));
	if (r == 0)
		m->words[m->n_words++] = word;
	return r;
}

/* The number of the frame of a function with that root, made if it is new. 0, -ENOMEM. */
static int number_merged_cell(struct merging *m, uint32_t function, uint32_t root, uint32_t *ret)
{
	uint32_t *v = table3_value(&m->cell_table, function, root, 0);
	int r = v ? reserve_one_more(&m->cells, &m->cap_cells, m->n_cells, sizeof(*m->cells)) : -ENOMEM;
	if (r == 0 && !*v) {
		m->cells[m->n_cells++] = (struct place){function, root};
		*v = m->n_cells;
	}
	*ret = r == 0 ? *v - 1 : 0;
	return r;
}

/* The number of the state, made if it is new. 0, -ENOMEM. */
static int merged_state(struct merging *m, uint32_t node, uint32_t cell, uint32_t *ret)
{
	uint32_t *v = table3_value(&m->state_table, node, cell, 0);
	int r = v ? reserve_one_more(&m->states, &m->cap_states, m->n_states, sizeof(*m->states)) : -ENOMEM;
	if (r == 0 && !*v) {
		m->states[m->n_states++] = (struct state){node, cell};
		*v = m->n_states;
	}
	*ret = r == 0 ? *v - 1 : 0;
	return r;
}

/* Does a call lead to the function, which may make a call of this bit first? function SPEC_NONE: to any such. */
static bool may_lead_to(const struct search *x, uint32_t node, uint32_t function, uint64_t bit)
{
	const struct spec_node *n = &x->s->nodes[node];
	bool any = false;
	for (uint32_t t = 0; t < n->n_targets && !any; t++) {
		uint32_t f = x->s->targets[n->first_target + t];
		any = (function == SPEC_NONE || f == function) && x->function_first[f] & bit;
	}
	return any && !search_makes_thread(n);
}

/* ---- of a function: what may come first ---- */

/* The nodes that may make the call, or lead on to it, or jump: in words from *ret + 1 on, their number at *ret. 0,
 * -ENOMEM, -E2BIG. */
static int summary_of(struct search *x, uint32_t function, uint32_t bit_number, uint32_t *ret)
{
	struct merging *m = x->merging;
	uint64_t bit = 1ull << bit_number;
	uint32_t *known = table3_value(&m->summary_table, function, bit_number, 0), at = m->n_words;
	const struct spec_function *is = &x->s->functions[function];
	int r = known ? 0 : -ENOMEM;
	if (r == 0 && *known) {
		*ret = *known - 1;
		return 0;
	}
	list_clear(&m->nodes);
	if (r == 0)
		r = append_pooled(m, 0);
	if (r == 0)
		r = list_append_once(x, &m->nodes, is->first_node);
	for (uint32_t i = 0; r == 0 && i < m->nodes.n; i++) {
		uint32_t node = m->nodes.v[i];
		const struct spec_node *n = &x->s->nodes[node];
		if (x->accepts[node] & bit || may_lead_to(x, node, SPEC_NONE, bit) || search_is_longjmp(n))
			r = append_pooled(m, node);
		for (uint32_t e = 0; r == 0 && x->pass[node] && e < n->n_edges; e++) {
			uint32_t to = is->first_node + spec_edge(x->s, n, e)->to;
			if (x->first[to] & bit)
				r = list_append_once(x, &m->nodes, to);
		}
	}
	if (r < 0)
		return r;
	m->words[at] = m->n_words - at - 1;
	*table3_value(&m->summary_table, function, bit_number, 0) = at + 1;
	*ret = at;
	return 0;
}

/* ---- roots ---- */

/* Order of qsort: by node, then by cell. */
static int by_caller(const void *x, const void *y)
{
	const struct caller *a = x, *b = y;
	return a->node != b->node ? (a->node < b->node ? -1 : 1) : a->cell < b->cell ? -1 : a->cell > b->cell;
}

/* Adds the targets of a call that can begin with bit's name. Of what begins a thread none. 0, -ENOMEM. */
static int append_target_functions(struct search *x, uint32_t node, uint64_t bit)
{
	const struct spec_node *n = &x->s->nodes[node];
	int r = 0;
	for (uint32_t t = 0; r == 0 && t < n->n_targets && !search_makes_thread(n); t++) {
		uint32_t f = x->s->targets[n->first_target + t];
		if (x->function_first[f] & bit)
			r = list_append_once(x, &x->merging->functions, f);
	}
	return r;
}

/* The functions that the callers of the root lead to. 0, -ENOMEM, -E2BIG. */
static int fill_root(struct search *x, struct root *root)
{
	struct merging *m = x->merging;
	uint64_t bit = 1ull << root->bit;
	uint32_t at;
	int r = 0;
	list_clear(&m->functions);
	for (uint32_t i = 0; r == 0 && i < root->n; i++)
		r = append_target_functions(x, m->callers[root->first + i].node, bit);
	for (uint32_t i = 0; r == 0 && i < m->functions.n; i++) {
		r = summary_of(x, m->functions.v[i], root->bit, &at);
		for (uint32_t k = 0; r == 0 && k < m->words[at]; k++) {
			uint32_t node = m->words[at + 1 + k];
			root->jumps |= search_is_longjmp(&x->s->nodes[node]);
			r = append_target_functions(x, node, bit);
		}
	}
	root->reach = m->n_words;
	root->n_reach = m->functions.n;
	for (uint32_t i = 0; r == 0 && i < m->functions.n; i++)
		r = append_pooled(m, m->functions.v[i]);
	return r;
}

/* The root of what is in `pushes`. Made if it is new. 0, -ENOMEM, -E2BIG. */
static int find_pushes_root(struct search *x, uint32_t bit, uint32_t *ret)
{
	struct merging *m = x->merging;
	uint64_t h = bit;
	qsort(m->pushes, m->n_pushes, sizeof(*m->pushes), by_caller);
	for (uint32_t i = 0; i < m->n_pushes; i++)
		h = ((h ^ m->pushes[i].node) * 0x9e3779b97f4a7c15u + m->pushes[i].cell) * 0xbf58476d1ce4e5b9u;
	for (uint32_t turn = 0;; turn++) {
		uint32_t *v = table3_value(&m->root_table, (uint32_t)(h >> 32), m->n_pushes, turn);
		if (!v)
			return -ENOMEM;
		if (*v) {
			const struct root *is = &m->roots[*v - 1];
			if (is->bit == bit && !memcmp(m->callers + is->first, m->pushes, m->n_pushes * sizeof(*m->pushes))) {
				*ret = *v - 1;
				return 0;
			}
			continue;
		}
		struct root root = {.first = m->n_callers, .n = m->n_pushes, .bit = bit};
		int r = reserve_one_more(&m->roots, &m->cap_roots, m->n_roots, sizeof(*m->roots));
		for (uint32_t i = 0; r == 0 && i < m->n_pushes; i++) {
			r = reserve_one_more(&m->callers, &m->cap_callers, m->n_callers, sizeof(*m->callers));
			if (r == 0)
				m->callers[m->n_callers++] = m->pushes[i];
		}
		if (r == 0)
			r = fill_root(x, &root);
		if (r < 0)
			return r;
		m->roots[m->n_roots++] = root;
		*v = m->n_roots; /* fill_root asks other tables */
		*ret = m->n_roots - 1;
		return 0;
	}
}

/* Who may have called the function of the cell: a range of callers. 0, -ENOMEM, -E2BIG. */
static int callers_of(struct search *x, uint32_t cell, uint32_t *ret, uint32_t *ret_n)
{
	struct merging *m = x->merging;
	struct place is = m->cells[cell];
	uint32_t *known = table3_value(&m->caller_table, cell, 0, 0), start, at, to;
	int r = known ? 0 : -ENOMEM;
	*ret = *ret_n = 0;
	if (r < 0 || is.root == SPEC_NONE)
		return r;
	if (*known) {
		*ret = *known;
		*ret_n = m->callers[*known - 1].node; /* the count stands before the list */
		return 0;
	}
	const struct root root = m->roots[is.root];
	uint64_t bit = 1ull << root.bit;
	start = m->n_callers;
	r = reserve_one_more(&m->callers, &m->cap_callers, m->n_callers, sizeof(*m->callers));
	if (r == 0)
		m->callers[m->n_callers++] = (struct caller){0, 0};
	for (uint32_t i = 0; r == 0 && i < root.n; i++) {
		struct caller c = m->callers[root.first + i];
		r = count_work(x);
		if (r == 0 && may_lead_to(x, c.node, is.function, bit))
			r = reserve_one_more(&m->callers, &m->cap_callers, m->n_callers, sizeof(*m->callers));
		if (r == 0 && may_lead_to(x, c.node, is.function, bit))
			m->callers[m->n_callers++] = c;
	}
	for (uint32_t i = 0; r == 0 && i < root.n_reach; i++) {
		uint32_t function = m->words[root.reach + i];
		r = summary_of(x, function, root.bit, &at);
		for (uint32_t k = 0; r == 0 && k < m->words[at]; k++) {
			uint32_t node = m->words[at + 1 + k];
			r = count_work(x);
			if (r < 0 || !may_lead_to(x, node, is.function, bit))
				continue;
			r = number_merged_cell(m, function, is.root, &to);
			if (r == 0)
				r = reserve_one_more(&m->callers, &m->cap_callers, m->n_callers, sizeof(*m->callers));
			if (r == 0)
				m->callers[m->n_callers++] = (struct caller){node, to};
		}
	}
	if (r < 0)
		return r;
	m->callers[start].node = *ret_n = m->n_callers - start - 1;
	*table3_value(&m->caller_table, cell, 0, 0) = *ret = start + 1;
	return 0;
}

/* ---- from one call to the next ---- */

/* Notes it once, if it may lead to a call of the bit. 0, -ENOMEM, -E2BIG. */
static int visit_node(struct search *x, struct visit v, uint64_t bit)
{
	struct merging *m = x->merging;
	if (v.node != SPEC_NONE && !(x->first[v.node] & bit) && !x->ends[v.node])
		return 0;
	uint32_t *seen = table3_value(&m->seen, v.node, v.cell, 0);
	int r = seen ? count_work(x) : -ENOMEM;
	if (r < 0 || *seen)
		return r;
	*seen = 1;
	r = reserve_one_more(&m->visits, &m->cap_visits, m->n_visits, sizeof(*m->visits));
	if (r == 0)
		m->visits[m->n_visits++] = v;
	return r;
}

/* What follows the node in its function. from: the visit that led there; popped: what was returned from. 0, -ENOMEM,
 * -E2BIG. */
static int visit_after(struct search *x, uint32_t node, uint32_t cell, uint32_t from, uint32_t popped, uint64_t bit)
{
	const struct spec_node *n = &x->s->nodes[node];
	uint32_t first = x->s->functions[x->function[node]].first_node;
	int r = 0;
	for (uint32_t e = 0; r == 0 && e < n->n_edges; e++)
		r = visit_node(x, (struct visit){first + spec_edge(x->s, n, e)->to, cell, from, popped}, bit);
	return r;
}

/* Out of the frame, to who may have called it: by its return, or a jump. 0, -ENOMEM, -E2BIG. */
static int leave_frame(struct search *x, uint32_t at, bool jump, uint64_t bit)
{
	struct merging *m = x->merging;
	uint32_t first, n;
	int r = callers_of(x, m->visits[at].cell, &first, &n);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		struct caller c = m->callers[first + i];
		if (jump) {
			r = visit_node(x, (struct visit){SPEC_NONE, c.cell, at, c.node}, bit);
			continue;
		}
		r = visit_after(x, c.node, c.cell, at, c.node, bit);
		if (r == 0 && x->s->nodes[c.node].flags & SPEC_CALLBACK)
			r = visit_node(x, (struct visit){c.node, c.cell, at, c.node}, bit); /* it may call again */
	}
	return r;
}

/* What visit `at` leads to. 0, -ENOMEM, -E2BIG. */
static int go_through(struct search *x, uint32_t at, uint64_t bit)
{
	struct merging *m = x->merging;
	struct visit v = m->visits[at];
	int r = 0;
	if (v.node == SPEC_NONE) {
		const struct spec_function *f = &x->s->functions[m->cells[v.cell].function];
		for (uint32_t k = 0; r == 0 && k < f->n_nodes; k++)
			if (x->s->nodes[f->first_node + k].flags & SPEC_TWICE)
				r = visit_after(x, f->first_node + k, v.cell, at, SPEC_NONE, bit);
		return r < 0 ? r : leave_frame(x, at, true, bit);
	}
	const struct spec_node *n = &x->s->nodes[v.node];
	if (n->kind == SPEC_RETURN) {
		if (!v.cell && !m->ended)
			m->ended = at + 1;
		return leave_frame(x, at, false, bit);
	}
	if (search_is_longjmp(n))
		return visit_node(x, (struct visit){SPEC_NONE, v.cell, at, SPEC_NONE}, bit);
	if (may_lead_to(x, v.node, SPEC_NONE, bit)) {
		r = reserve_one_more(&m->pushes, &m->cap_pushes, m->n_pushes, sizeof(*m->pushes));
		if (r == 0)
			m->pushes[m->n_pushes++] = (struct caller){v.node, v.cell};
	}
	return r == 0 && x->pass[v.node] ? visit_after(x, v.node, v.cell, at, SPEC_NONE, bit) : r;
}

/* All that can be come to from the state without a call, in frames that are open: visits, pushes. *ret_root: of the
 * frames that are entered from there; SPEC_NONE none. 0, -ENOMEM, -E2BIG. */
static int explore_state(struct search *x, uint32_t state, uint32_t bit_number, uint32_t *ret_root)
{
	struct merging *m = x->merging;
	uint64_t bit = 1ull << bit_number;
	struct state is = m->states[state];
	int r = 0;
	table3_clear(&m->seen);
	m->n_visits = m->n_pushes = m->ended = 0;
	*ret_root = SPEC_NONE;
	if (state == BEFORE_MAIN)
		r = visit_node(x, (struct visit){x->s->functions[x->s->main].first_node, 0, SPEC_NONE, SPEC_NONE}, bit);
	else if (x->one[is.node] || x->s->nodes[is.node].flags & SPEC_TWICE)
		r = visit_after(x, is.node, is.cell, SPEC_NONE, SPEC_NONE, bit);
	else
		r = visit_node(x, (struct visit){is.node, is.cell, SPEC_NONE, SPEC_NONE}, bit);
	for (uint32_t i = 0, n;;) {
		for (; r == 0 && i < m->n_visits; i++)
			r = go_through(x, i, bit);
		if (r < 0 || !m->n_pushes)
			return r;
		r = find_pushes_root(x, bit_number, ret_root);
		if (r < 0 || !m->roots[*ret_root].jumps)
			return r;
		/* What was entered may jump back, silently, to frames that were open. */
		n = m->n_visits;
		for (uint32_t k = 0; r == 0 && k < n; k++)
			if (m->visits[k].node != SPEC_NONE && may_lead_to(x, m->visits[k].node, SPEC_NONE, bit))
				r = visit_node(x, (struct visit){SPEC_NONE, m->visits[k].cell, k, SPEC_NONE}, bit);
		if (r < 0 || n == m->n_visits)
			return r;
	}
}

/* Adds the state of a node with a stack. As search_give. */
static int give_state(struct search *x, uint32_t node, uint32_t cell)
{
	uint32_t to;
	int r = merged_state(x->merging, node, cell, &to);
	return r < 0 ? r : search_give(x, to, 0);
}

int merged_next(struct search *x, uint32_t state, uint32_t bit_number, uint32_t *ret, uint32_t *ret_n)
{
	struct merging *m = x->merging;
	uint64_t bit = 1ull << bit_number;
	uint32_t *v = table3_value(&m->closed, state, bit_number, 0), from = x->n_pool, root = SPEC_NONE, at, cell;
	int r = v ? 0 : -ENOMEM;
	if (r == 0 && *v) {
		*ret = *v; /* the count stands before the list */
		*ret_n = x->pool[*v - 1].state;
		return 0;
	}
	if (r == 0)
		r = search_give(x, 0, 0);
	if (r == 0 && state != AT_EXIT)
		r = explore_state(x, state, bit_number, &root);
	if (r == 0 && x->at_exit & bit && (state == AT_EXIT || m->ended))
		r = search_give(x, AT_EXIT, 0);
	for (uint32_t i = 0; r == 0 && state != AT_EXIT && i < m->n_visits; i++)
		if (m->visits[i].node != SPEC_NONE && x->accepts[m->visits[i].node] & bit)
			r = give_state(x, m->visits[i].node, m->visits[i].cell);
	for (uint32_t i = 0; r == 0 && root != SPEC_NONE && i < m->roots[root].n_reach; i++) {
		uint32_t function = m->words[m->roots[root].reach + i];
		r = summary_of(x, function, bit_number, &at);
		if (r == 0)
			r = number_merged_cell(m, function, root, &cell);
		for (uint32_t k = 0; r == 0 && k < m->words[at]; k++)
			if (x->accepts[m->words[at + 1 + k]] & bit)
				r = give_state(x, m->words[at + 1 + k], cell);
	}
	if (r < 0)
		return r;
	*ret = from + 1;
	*ret_n = x->n_pool - from - 1;
	x->pool[from].state = *ret_n;
	*table3_value(&m->closed, state, bit_number, 0) = *ret;
	return 0;
}

bool merged_is_single(struct search *x, uint32_t state)
{
	struct merging *m = x->merging;
	uint32_t cell = state < FIRST_STATE ? 0 : m->states[state].cell, first, n;
	for (uint32_t turn = 0; cell; turn++) {
		if (turn > CALL_PATH_STATES || callers_of(x, cell, &first, &n) < 0 || n != 1)
			return false;
		cell = m->callers[first].cell;
	}
	return true;
}

/* ---- one stack for each ---- */

/* Frames, the outermost first: each called by the node in the frame before it. */
struct stack {
	struct caller *v;
	uint32_t n, cap;
};

/* Pushes a frame onto the stack. As reserve_one_more. */
static int push_frame(struct stack *s, uint32_t node, uint32_t cell)
{
	int r = reserve_one_more(&s->v, &s->cap, s->n, sizeof(*s->v));
	if (r == 0)
		s->v[s->n++] = (struct caller){node, cell};
	return r;
}

/* The frames that were left on the way to a visit, onto the one that is on top. 0, -ENOMEM. */
static int push_left(const struct merging *m, uint32_t at, struct stack *s)
{
	int r = 0;
	for (; r == 0 && m->visits[at].from != SPEC_NONE; at = m->visits[at].from)
		if (m->visits[at].popped != SPEC_NONE)
			r = push_frame(s, m->visits[at].popped, m->visits[m->visits[at].from].cell);
	return r;
}

/* Any stack of the cell; of those with the fewest frames. -EBADMSG: it has none; -ENOMEM, -E2BIG. */
static int any_stack(struct search *x, uint32_t cell, struct stack *s)
{
	struct merging *m = x->merging;
	int r = 0;
	s->n = 0;
	table3_clear(&m->seen);
	m->n_visits = 0;
	r = visit_node(x, (struct visit){SPEC_NONE, cell, SPEC_NONE, SPEC_NONE}, ANY);
	for (uint32_t i = 0; r == 0 && i < m->n_visits; i++) {
		if (m->visits[i].cell) {
			r = leave_frame(x, i, true, ANY);
			continue;
		}
		r = push_frame(s, SPEC_NONE, 0);
		return r < 0 ? r : push_left(m, i, s);
	}
	return r < 0 ? r : -EBADMSG;
}

/* The visit of a node with that stack. SPEC_NONE: not visited. */
static uint32_t find_visit(const struct merging *m, uint32_t node, uint32_t cell)
{
	uint32_t i = 0;
	while (i < m->n_visits && (m->visits[i].node != node || m->visits[i].cell != cell))
		i++;
	return i < m->n_visits ? i : SPEC_NONE;
}

/* Goes back by a step on a path. s: that of the state `to`; it becomes one of `from` that leads there. *ret_low:
 * frames that both have. -EBADMSG: there is none; -ENOMEM, -E2BIG. */
static int step_to_previous(struct search *x, uint32_t from, uint32_t to, uint32_t bit, struct stack *s,
                            uint32_t *ret_low)
{
	struct merging *m = x->merging;
	uint32_t root, at;
	*ret_low = 0;
	if (from == AT_EXIT)
		return 0;
	int r = explore_state(x, from, bit, &root);
	if (r < 0)
		return r;
	if (to == AT_EXIT) {
		if (!m->ended)
			return -EBADMSG;
		s->n = 0;
		r = push_frame(s, SPEC_NONE, 0);
		return r < 0 ? r : push_left(m, m->ended - 1, s);
	}
	struct state is = m->states[to];
	at = find_visit(m, is.node, is.cell);
	if (at == SPEC_NONE || !(x->accepts[is.node] >> bit & 1)) {
		/* It was made in frames that were entered: below them is the one that they were entered from. */
		uint32_t k = s->n - 1;
		while (k && m->cells[s->v[k].cell].root == m->cells[is.cell].root)
			k--;
		if (k + 1 >= s->n)
			return -EBADMSG;
		at = find_visit(m, s->v[k + 1].node, s->v[k].cell);
		s->n = k + 1;
	}
	*ret_low = s->n;
	return at == SPEC_NONE ? -EBADMSG : push_left(m, at, s);
}

/* The number of the state with that stack, made if it is new. 0, -ENOMEM. */
static int intern_state(struct search *x, uint32_t node, const struct stack *s, uint32_t *ret)
{
	uint32_t cell = SPEC_NONE;
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < s->n; i++)
		r = search_cell(x, s->v[i].node, cell, &cell);
	return r < 0 ? r : search_state(x, node, cell, ret);
}

int merged_choose(struct search *x, const uint8_t *bit, struct chosen *path, uint32_t n)
{
	struct merging *m = x->merging;
	struct stack s = {0};
	uint32_t after = SPEC_NONE;
	int r = 0;
	for (uint32_t i = n; r == 0 && i-- > 0;) {
		uint32_t state = path[i].state;
		if (after == SPEC_NONE && state != AT_EXIT)
			r = any_stack(x, m->states[state].cell, &s);
		else if (after != SPEC_NONE)
			r = step_to_previous(x, state, after, bit[i + 1], &s, &path[i + 1].low);
		if (r == 0 && state != AT_EXIT && (!s.n || s.v[s.n - 1].cell != m->states[state].cell))
			r = -EBADMSG; /* a bug, and no reason to say something wrong */
		if (r == 0 && state != AT_EXIT)
			r = intern_state(x, m->states[state].node, &s, &path[i].state);
		after = state;
	}
	if (n)
		path[0].low = 0;
	free(s.v);
	return r;
}
