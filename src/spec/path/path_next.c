/* path_next.c - from one call to the next: the states that can make it (path_search.h). */
#include "spec/path/path_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* t is empty then. */
void table3_release(struct table3 *t)
{
	free(t->key);
	free(t->value);
	*t = (struct table3){0};
}

/* The place of the key, or the empty one (value 0) for it. The table must have one. */
static uint32_t find_slot3(const struct table3 *t, uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15u + b) * 0xbf58476d1ce4e5b9u + c;
	uint32_t i = (uint32_t)((h ^ h >> 31) * 0x94d049bb133111ebu >> 32) & t->mask;
	while (t->value[i] && (t->key[i][0] != a || t->key[i][1] != b || t->key[i][2] != c))
		i = (i + 1) & t->mask;
	return i;
}

/* The place of the key's value, which is 0 where the key is new; NULL: no memory. */
uint32_t *table3_value(struct table3 *t, uint32_t a, uint32_t b, uint32_t c)
{
	if (!t->value || t->n > t->mask / 2) {
		uint32_t size = t->value ? 2 * (t->mask + 1) : 1024;
		struct table3 more = {.mask = size - 1, .n = t->n};
		more.key = calloc(size, sizeof(*more.key));
		more.value = calloc(size, sizeof(*more.value));
		if (!more.key || !more.value) {
			table3_release(&more);
			return NULL;
		}
		for (uint32_t i = 0; t->value && i <= t->mask; i++)
			if (t->value[i]) {
				uint32_t k = find_slot3(&more, t->key[i][0], t->key[i][1], t->key[i][2]);
				memcpy(more.key[k], t->key[i], sizeof(*more.key));
				more.value[k] = t->value[i];
			}
		table3_release(t);
		*t = more;
	}
	uint32_t i = find_slot3(t, a, b, c);
	if (!t->value[i]) {
		t->key[i][0] = a;
		t->key[i][1] = b;
		t->key[i][2] = c;
		t->n++;
	}
	return &t->value[i];
}

void table3_clear(struct table3 *t)
{
	if (t->value && t->mask > 4096 && t->n < t->mask / 32) {
		table3_release(t); /* one large search shall not slow down all that follow */
		return;
	}
	if (t->value && t->n)
		memset(t->value, 0, ((size_t)t->mask + 1) * sizeof(*t->value));
	t->n = 0;
}

int search_cell(struct search *x, uint32_t node, uint32_t parent, uint32_t *ret)
{
	uint32_t *v = table3_value(&x->cell_table, node, parent, 0);
	int r = v ? reserve_one_more(&x->cells, &x->cap_cells, x->n_cells, sizeof(*x->cells)) : -ENOMEM;
	if (r == 0 && !*v) {
		x->cells[x->n_cells++] = (struct cell){node, parent, parent == SPEC_NONE ? 1 : x->cells[parent].depth + 1};
		*v = x->n_cells;
	}
	*ret = r == 0 ? *v - 1 : 0;
	return r;
}

int search_state(struct search *x, uint32_t node, uint32_t cell, uint32_t *ret)
{
	uint32_t *v = table3_value(&x->state_table, node, cell, 0);
	int r = v ? reserve_one_more(&x->states, &x->cap_states, x->n_states, sizeof(*x->states)) : -ENOMEM;
	if (r == 0 && !*v) {
		x->states[x->n_states++] = (struct state){node, cell};
		*v = x->n_states;
	}
	*ret = r == 0 ? *v - 1 : 0;
	return r;
}

/* ---- from one call to the next ---- */

/* Control comes to the node. Once, and only where a call of the bit may follow. 0, -ENOMEM; -E2BIG: too much work. */
int search_arrive(struct search *x, uint32_t node, uint32_t cell, uint32_t low, uint64_t bit)
{
	if (++x->done > x->most)
		return -E2BIG;
	if (!(x->first[node] & bit) && !x->ends[node])
		return 0;
	uint32_t *v = table3_value(&x->seen, node, cell, low);
	if (!v)
		return -ENOMEM;
	if (*v)
		return 0;
	*v = 1;
	int r = reserve_one_more(&x->work, &x->cap_work, x->n_work, sizeof(*x->work));
	if (r == 0)
		x->work[x->n_work++] = (struct item){node, cell, low};
	return r;
}

/* ... behind it. */
static int arrive_after(struct search *x, uint32_t node, uint32_t cell, uint32_t low, uint64_t bit)
{
	const struct spec_node *n = &x->s->nodes[node];
	uint32_t first = x->s->functions[x->function[node]].first_node;
	int r = 0;
	for (uint32_t e = 0; r == 0 && e < n->n_edges; e++)
		r = search_arrive(x, first + spec_edge(x->s, n, e)->to, cell, low, bit);
	return r;
}

/* Appends to the pool. 0, -ENOMEM. */
int search_give(struct search *x, uint32_t state, uint32_t low)
{
	int r = reserve_one_more(&x->pool, &x->cap_pool, x->n_pool, sizeof(*x->pool));
	if (r == 0)
		x->pool[x->n_pool++] = (struct reached){state, low};
	return r;
}

/* What the node calls, and what may be behind it. 0, -ENOMEM, -E2BIG. */
static int pass_call(struct search *x, struct item i, uint64_t bit, uint32_t origin)
{
	const struct spec *s = x->s;
	const struct spec_node *n = &s->nodes[i.node];
	uint32_t to;
	int r = 0;
	if (n->kind == SPEC_RETURN) {
		struct cell c = x->cells[i.cell];
		if (c.parent == SPEC_NONE)
			return x->at_exit & bit ? search_give(x, AT_EXIT, 0) : 0;
		uint32_t depth = c.depth - 1;
		i.low = i.low < depth ? i.low : depth;
		r = arrive_after(x, c.node, c.parent, i.low, bit);
		if (r == 0 && s->nodes[c.node].flags & SPEC_CALLBACK)
			r = search_arrive(x, c.node, c.parent, i.low, bit); /* it may call again */
		return r;
	}
	if (search_is_longjmp(n)) {
		for (uint32_t cell = i.cell, in = i.node; r == 0; in = x->cells[cell].node, cell = x->cells[cell].parent) {
			const struct spec_function *f = &s->functions[x->function[in]];
			uint32_t depth = x->cells[cell].depth;
			for (uint32_t k = 0; r == 0 && k < f->n_nodes; k++)
				if (s->nodes[f->first_node + k].flags & SPEC_TWICE)
					r = arrive_after(x, f->first_node + k, cell, i.low < depth ? i.low : depth, bit);
			if (x->cells[cell].parent == SPEC_NONE)
				break;
		}
		return r;
	}
	if (x->accepts[i.node] & bit) {
		r = search_state(x, i.node, i.cell, &to);
		if (r == 0)
			r = search_give(x, to, i.low);
	}
	for (uint32_t t = 0; r == 0 && !search_makes_thread(n) && t < n->n_targets; t++) {
		uint32_t f = s->targets[n->first_target + t];
		if (!(x->function_first[f] & bit))
			continue;
		if (x->cells[i.cell].depth >= origin + CALL_PATH_FRAMES) {
			x->deep = true;
			continue;
		}
		r = search_cell(x, i.node, i.cell, &to);
		if (r == 0)
			r = search_arrive(x, s->functions[f].first_node, to, i.low, bit);
	}
	return r == 0 && x->pass[i.node] ? arrive_after(x, i.node, i.cell, i.low, bit) : r;
}

/* Until the work list is empty. 0; -E2BIG: too much work; -ENOMEM. */
int search_work_off(struct search *x, uint64_t bit, uint32_t origin)
{
	int r = 0;
	while (r == 0 && x->n_work)
		r = pass_call(x, x->work[--x->n_work], bit, origin);
	x->n_work = 0;
	table3_clear(&x->seen);
	return r;
}

/* All that can make a call of this bit next. In pool from *ret on, *ret_n. 0, -ENOMEM, -E2BIG. */
int search_next(struct search *x, uint32_t state, uint32_t bit_number, uint32_t *ret, uint32_t *ret_n)
{
	uint64_t bit = 1ull << bit_number;
	uint32_t *v = table3_value(&x->closed, state, bit_number, 0), from = x->n_pool, cell;
	int r = v ? 0 : -ENOMEM;
	if (r == 0 && *v) {
		*ret = *v; /* the count stands before the list */
		*ret_n = x->pool[*v - 1].state;
		return 0;
	}
	if (r == 0)
		r = search_give(x, 0, 0);
	if (r == 0 && state == AT_EXIT && x->at_exit & bit)
		r = search_give(x, AT_EXIT, 0);
	if (r == 0 && state == BEFORE_MAIN) {
		r = search_cell(x, SPEC_NONE, SPEC_NONE, &cell);
		if (r == 0)
			r = search_arrive(x, x->s->functions[x->s->main].first_node, cell, 0, bit);
		if (r == 0)
			r = search_work_off(x, bit, 1);
	}
	if (r == 0 && state >= FIRST_STATE) {
		struct state is = x->states[state];
		uint32_t depth = x->cells[is.cell].depth;
		if (x->one[is.node] || x->s->nodes[is.node].flags & SPEC_TWICE)
			r = arrive_after(x, is.node, is.cell, depth, bit);
		else
			r = pass_call(x, (struct item){is.node, is.cell, depth}, bit, depth);
		if (r == 0)
			r = search_work_off(x, bit, depth);
	}
	x->n_work = 0;
	if (r < 0)
		return r;
	*ret = from + 1;
	*ret_n = x->n_pool - from - 1;
	x->pool[from].state = *ret_n;
	*table3_value(&x->closed, state, bit_number, 0) = *ret;
	return 0;
}
