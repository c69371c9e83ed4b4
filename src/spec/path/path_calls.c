#include "spec/path/path_merged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- a whole trace ---- */

/* l may be NULL. */
static void call_layers_release(struct layer *l, uint32_t n)
{
	for (uint32_t i = 0; l && i < n; i++) {
		free(l[i].state);
		free(l[i].link);
		free(l[i].alive);
		free(l[i].ways);
	}
	free(l);
}

/* By its ends, then by how deep it goes. */
static int by_link(const void *x, const void *y)
{
	const struct link *a = x, *b = y;
	return a->from != b->from ? (a->from < b->from ? -1 : 1)
	       : a->to != b->to   ? (a->to < b->to ? -1 : 1)
	       : a->low < b->low  ? -1
	                          : a->low > b->low;
}

static int compare_state_numbers(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	return a < b ? -1 : a > b;
}

/* The state's index in the layer; its n: it is not in it. */
static uint32_t find_in_layer(const struct layer *l, uint32_t state)
{
	const uint32_t *at = l->n ? bsearch(&state, l->state, l->n, sizeof(state), compare_state_numbers) : NULL;
	return at ? (uint32_t)(at - l->state) : l->n;
}

/* The states that a call of this bit can lead to from those of the layer before; NULL: the first layer. 0, -ENOMEM;
 * -E2BIG: too many. */
static int fill_layer(struct search *x, const struct layer *before, uint32_t bit, struct layer *ret)
{
	static const uint32_t first = BEFORE_MAIN;
	uint32_t n = before ? before->n : 1, kept = 0;
	int r = 0;
	table3_clear(&x->placed);
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		uint32_t from, count;
		r = x->merging ? merged_next(x, before ? before->state[i] : first, bit, &from, &count)
		               : search_next(x, before ? before->state[i] : first, bit, &from, &count);
		for (uint32_t k = 0; r == 0 && k < count; k++) {
			struct reached to = x->pool[from + k];
			uint32_t *v = table3_value(&x->placed, to.state, 0, 0);
			r = v ? reserve_one_more(&ret->state, &ret->cap, ret->n, sizeof(*ret->state)) : -ENOMEM;
			if (r == 0 && !*v) {
				ret->state[ret->n++] = to.state;
				*v = 1;
			}
			if (r == 0 && (ret->n > CALL_PATH_STATES || ++x->done > x->most))
				r = -E2BIG;
			if (r == 0)
				r = reserve_one_more(&ret->link, &ret->cap_links, ret->n_links, sizeof(*ret->link));
			if (r == 0)
				ret->link[ret->n_links++] = (struct link){i, to.state, to.low};
		}
	}
	if (r < 0 || !ret->n_links)
		return r;
	qsort(ret->state, ret->n, sizeof(*ret->state), compare_state_numbers);
	for (uint32_t i = 0; i < ret->n_links; i++)
		ret->link[i].to = find_in_layer(ret, ret->link[i].to);
	qsort(ret->link, ret->n_links, sizeof(*ret->link), by_link);
	for (uint32_t i = 0; i < ret->n_links; i++)
		if (!kept || by_link(&ret->link[kept - 1], &ret->link[i]) != 0)
			ret->link[kept++] = ret->link[i];
	ret->n_links = kept;
	ret->alive = calloc(ret->n, 1);
	ret->ways = calloc(ret->n, sizeof(*ret->ways));
	return ret->alive && ret->ways ? 0 : -ENOMEM;
}

/* Finds all paths of a side, layer by layer: which states the program may be in at each call. 1: there is a path; 0:
 * none; -E2BIG, -ENOMEM. Layers in any case. */
static int fill_layers(struct search *x, int side, struct layer *l, uint64_t *ret_ways)
{
	const struct events *e = &x->ev[side];
	double sum = 0;
	for (uint32_t i = 0; i < e->n; i++) {
		int r = fill_layer(x, i ? &l[i - 1] : NULL, e->bit[i], &l[i]);
		if (r < 0)
			return r;
		if (!l[i].n)
			return 0;
	}
	for (uint32_t i = e->n; i-- > 0;)
		for (uint32_t k = 0; k < (i + 1 < e->n ? l[i + 1].n_links : l[i].n); k++)
			if (i + 1 == e->n)
				l[i].alive[k] = true;
			else if (l[i + 1].alive[l[i + 1].link[k].to])
				l[i].alive[l[i + 1].link[k].from] = true;
	for (uint32_t i = 0; i < e->n; i++)
		for (uint32_t k = 0; k < l[i].n_links; k++)
			l[i].ways[l[i].link[k].to] += i ? l[i - 1].ways[l[i].link[k].from] : 1;
	for (uint32_t k = 0; e->n && k < l[e->n - 1].n; k++)
		sum += l[e->n - 1].ways[k];
	*ret_ways = e->n == 0 ? 1 : sum < CALL_PATH_WAYS ? (uint64_t)sum : CALL_PATH_WAYS;
	return 1;
}

/* ---- choosing ---- */

/* How many functions are open in a state. 0 for the states that are none. */
static uint32_t state_depth(const struct search *x, uint32_t state)
{
	return state < FIRST_STATE ? 0 : x->cells[x->states[state].cell].depth;
}

/* An order of states that does not depend on which side was searched first: of their frames from the outermost in. */
static int compare_states(const struct search *x, uint32_t a, uint32_t b)
{
	uint32_t v[2], cell[2];
	int r = 0;
	if (a == b)
		return 0;
	/* Their numbers are in the order in which they were found, and that is one for both sides (find_first_side). */
	if (x->merging || a < FIRST_STATE || b < FIRST_STATE)
		return a < b ? -1 : 1;
	uint32_t depth[2] = {state_depth(x, a), state_depth(x, b)};
	v[0] = x->states[a].node, cell[0] = x->states[a].cell;
	v[1] = x->states[b].node, cell[1] = x->states[b].cell;
	for (int s = 0; s < 2; s++)
		for (uint32_t d = depth[s]; d > depth[!s]; d--) {
			v[s] = x->cells[cell[s]].node;
			cell[s] = x->cells[cell[s]].parent;
		}
	/* The outermost difference is met last. */
	for (;;) {
		if (v[0] != v[1])
			r = v[0] < v[1] ? -1 : 1;
		if (cell[0] == cell[1])
			break;
		for (int s = 0; s < 2; s++) {
			v[s] = x->cells[cell[s]].node;
			cell[s] = x->cells[cell[s]].parent;
		}
	}
	return r ? r : depth[0] < depth[1] ? -1 : depth[0] > depth[1];
}

/* Of the links of a layer from that node of the one before, the smallest that is alive. */
static struct chosen find_smallest_link(const struct search *x, const struct layer *l, uint32_t from, uint32_t *ret_at)
{
	struct chosen best = {SPEC_NONE, 0};
	for (uint32_t k = 0; k < l->n_links; k++) {
		const struct link *q = &l->link[k];
		if (q->from != from || !l->alive[q->to])
			continue;
		uint32_t state = l->state[q->to];
		int c = best.state == SPEC_NONE ? -1 : compare_states(x, state, best.state);
		/* Of two ways to one state that on which more frames stayed. */
		if (c < 0 || (c == 0 && q->low > best.low)) {
			best = (struct chosen){state, q->low};
			*ret_at = q->to;
		}
	}
	return best;
}

/* The layer's links must be sorted. */
static bool has_link(const struct layer *l, uint32_t from, uint32_t to, uint32_t low)
{
	struct link want = {from, to, low};
	return l->n_links && bsearch(&want, l->link, l->n_links, sizeof(want), by_link);
}

/* Which links of A's i-th layer both have, where a common way leads to them: ok[i] is made, by A's links; ok[i - 1] is
 * that of the layer before. 1 there are such, 0 none, -ENOMEM. */
static int find_common_links(struct layer *const l[2], uint32_t i, unsigned char **ok)
{
	const struct layer *a = &l[0][i], *b = &l[1][i];
	const struct layer *before = i ? &l[0][i - 1] : NULL;
	unsigned char *led = before ? calloc((size_t)before->n + 1, 1) : NULL;
	int any = 0;
	ok[i] = calloc((size_t)a->n_links + 1, 1);
	if (!ok[i] || (before && !led)) {
		free(led);
		return -ENOMEM;
	}
	for (uint32_t k = 0; before && k < before->n_links; k++)
		led[before->link[k].to] |= ok[i - 1][k];
	for (uint32_t k = 0; k < a->n_links; k++) {
		const struct link *q = &a->link[k];
		if (!a->alive[q->to] || (before && !led[q->from]))
			continue;
		uint32_t to = find_in_layer(b, a->state[q->to]);
		uint32_t from = before ? find_in_layer(&l[1][i - 1], before->state[q->from]) : 0;
		if (to < b->n && b->alive[to] && has_link(b, from, to, q->low))
			any = ok[i][k] = 1;
	}
	free(led);
	return any;
}

/* The smallest of the links of A's i-th layer that are ok and lead to `next` of the layer behind; SPEC_NONE: to any. */
static uint32_t find_smallest_common(const struct search *x, const struct layer *l, uint32_t i, const unsigned char *ok,
                                     uint32_t next)
{
	const struct layer *a = &l[i];
	uint32_t best = SPEC_NONE;
	for (uint32_t k = 0; k < a->n_links; k++) {
		if (!ok[k] || (next != SPEC_NONE && a->link[k].to != next))
			continue;
		int c = best == SPEC_NONE ? -1 : compare_states(x, a->state[a->link[k].to], a->state[a->link[best].to]);
		if (c == 0 && i)
			c = compare_states(x, l[i - 1].state[a->link[k].from], l[i - 1].state[a->link[best].from]);
		if (c < 0 || (c == 0 && a->link[k].low > a->link[best].low))
			best = k;
	}
	return best;
}

/* The longest beginning that a path of both has, of at most `most` calls. path: of both. Its length, or -ENOMEM. */
static int64_t choose_common_call_path(const struct search *x, struct layer *const l[2], uint32_t most,
                                       struct chosen *path)
{
	unsigned char **ok = calloc((size_t)most + 1, sizeof(*ok));
	uint32_t length = 0;
	int any = ok ? 1 : -ENOMEM;
	while (any > 0 && length < most) {
		any = find_common_links(l, length, ok);
		length += any > 0;
	}
	/* From its end back: the smallest that leads on. */
	for (uint32_t i = length, next = SPEC_NONE; any >= 0 && i-- > 0;) {
		const struct layer *a = &l[0][i];
		const uint32_t best = find_smallest_common(x, l[0], i, ok[i], next);
		path[i] = (struct chosen){a->state[a->link[best].to], a->link[best].low};
		next = a->link[best].from;
	}
	for (uint32_t i = 0; ok && i < most; i++)
		free(ok[i]);
	free(ok);
	return any < 0 ? any : length;
}

/* Chooses the rest of the path from step from on: always the smallest link. */
static void choose_rest(const struct search *x, const struct layer *l, uint32_t n, uint32_t from, struct chosen *path)
{
	uint32_t at = from ? find_in_layer(&l[from - 1], path[from - 1].state) : 0;
	for (uint32_t i = from; i < n; i++)
		path[i] = find_smallest_link(x, &l[i], at, &at);
}

/* Is there one way only, up to here? */
static bool is_single_path(struct search *x, const struct layer *l)
{
	uint32_t n = 0, to = 0;
	for (uint32_t k = 0; k < l->n_links; k++)
		if (l->alive[l->link[k].to]) {
			n++;
			to = l->link[k].to;
		}
	return n == 1 && (!x->merging || merged_is_single(x, l->state[to]));
}

/* ---- decisions ---- */

/* Of the function in which both are: decisions between the two calls that lead to A's next by one edge and to B's by
 * another. At most 64. 0, -ENOMEM. */
static int find_call_decisions(struct search *x, uint32_t from, const struct chosen next[2], const uint32_t bit[2],
                               struct call_path_found *f)
{
	uint32_t cell = x->states[from].cell, first, n;
	const struct spec_function *is = &x->s->functions[x->function[x->states[from].node]];
	first = is->first_node;
	n = is->n_nodes;
	f->function = x->function[x->states[from].node];
	f->decisions = malloc(((size_t)n + 1) * sizeof(*f->decisions));
	if (!f->decisions)
		return -ENOMEM;
	for (uint32_t d = 0; d < n && f->n_decisions < 64; d++) {
		const struct spec_node *node = &x->s->nodes[first + d];
		uint32_t leads[2] = {0, 0};
		if (node->kind != SPEC_DECISION)
			continue;
		for (uint32_t e = 0; e < node->n_edges && e < 32; e++)
			for (int s = 0; s < 2; s++) {
				uint32_t start = x->n_pool;
				uint64_t b = 1ull << bit[s];
				table3_clear(&x->seen);
				int r = next[s].state == SPEC_NONE
				            ? 0
				            : search_arrive(x, first + spec_edge(x->s, node, e)->to, cell, x->cells[cell].depth, b);
				if (r == 0)
					r = search_work_off(x, b, x->cells[cell].depth);
				if (r < 0)
					return r;
				for (uint32_t k = start; k < x->n_pool; k++)
					if (x->pool[k].state == next[s].state)
						leads[s] |= 1u << e;
				x->n_pool = start;
			}
		if (leads[0] && leads[1] && leads[0] != leads[1])
			f->decisions[f->n_decisions++] = d;
	}
	return 0;
}

/* ---- steps ---- */

struct stepper {
	struct search *x;
	struct called_steps *out;
	int side;
	uint32_t *stack, depth, cap; /* call nodes of the open frames, outermost first; the first is SPEC_NONE */
	size_t cap_call;
};

/* Appends a step of a path. call: the number of the call that the step was made for. 0, -ENOMEM. */
static int append_call_step(struct stepper *p, uint32_t call, struct symbol s)
{
	struct called_steps *o = p->out;
	uint32_t number;
	int r = symbols_number(&o->symbols, &s, &number);
	if (r == 0)
		r = steps_add(&o->steps[p->side], number);
	if (r == 0 && o->steps[p->side].n > p->cap_call) {
		size_t cap = p->cap_call ? 2 * p->cap_call : 1024;
		uint32_t *q = realloc(o->call[p->side], cap * sizeof(*q));
		if (!q)
			return -ENOMEM;
		o->call[p->side] = q;
		p->cap_call = cap;
	}
	if (r == 0)
		o->call[p->side][o->steps[p->side].n - 1] = call;
	return r;
}

/* Appends the step of a node. 0, -ENOMEM. */
static int put_at(struct stepper *p, uint32_t call, uint32_t node, uint64_t value)
{
	uint32_t f = p->x->function[node];
	return append_call_step(
	    p, call,
	    (struct symbol){.kind = STEP_AT, .of = f, .node = node - p->x->s->functions[f].first_node, .value = value});
}

/* The steps from the frames that are open to the state `to`: leaves, enters, then STEP_AT with bit + 1, or with bit
 * where the state is in no function. 0, -ENOMEM. */
static int append_state_steps(struct stepper *p, uint32_t call, struct chosen to, uint32_t bit)
{
	struct search *x = p->x;
	uint32_t depth = state_depth(x, to.state), low = to.low < p->depth ? to.low : p->depth;
	int r = 0;
	for (; r == 0 && p->depth > low; p->depth--)
		r = append_call_step(p, call, (struct symbol){.kind = STEP_LEAVE});
	if (to.state < FIRST_STATE) /* of no function */
		return r < 0 ? r
		             : append_call_step(p, call,
		                                (struct symbol){.kind = STEP_AT, .of = SPEC_NONE, .node = 0, .value = bit});
	while (r == 0 && p->cap < depth)
		r = reserve_one_more(&p->stack, &p->cap, p->cap, sizeof(*p->stack));
	if (r < 0)
		return r;
	struct state is = x->states[to.state];
	for (uint32_t c = is.cell, d = depth; d-- > 0; c = x->cells[c].parent)
		p->stack[d] = x->cells[c].node;
	for (; r == 0 && p->depth < depth; p->depth++) {
		uint32_t in = p->depth + 1 < depth ? p->stack[p->depth + 1] : is.node;
		if (p->depth)
			r = put_at(p, call, p->stack[p->depth], 0);
		if (r == 0)
			r = append_call_step(p, call, (struct symbol){.kind = STEP_ENTER, .of = x->function[in]});
	}
	return r < 0 ? r : put_at(p, call, is.node, bit + 1);
}

/* ---- all of it ---- */

/* Calls that the C library makes for itself: by the path that is given, and what that descriptor is. */
static bool is_c_library_call(const struct calls *c, const struct traced_call *t)
{
	static const char *const places[] = {"/usr/lib/locale/",     "/usr/share/locale/", "/usr/share/locale-langpack/",
	                                     "/usr/share/zoneinfo/", "/etc/localtime",     "/etc/locale.alias"};
	const char *given = calls_text_of(c, t->given[0]), *path = calls_text_of(c, t->path);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strncmp(given, places[i], strlen(places[i])) || !strncmp(path, places[i], strlen(places[i])))
			return true;
	return strstr(given, "/gconv/") || strstr(path, "/gconv/");
}

/* Takes the calls of a side for the search. *ret_own grows by the calls of the C library itself, which are left out.
 * 0, -ENOMEM. */
static int take_events(struct search *x, int side, uint64_t *ret_own)
{
	const struct calls *c = &x->c[side];
	struct events *e = &x->ev[side];
	e->call = malloc(((size_t)c->n + 1) * sizeof(*e->call));
	e->bit = malloc((size_t)c->n + 1);
	if (!e->call || !e->bit)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->n; i++) {
		const char *name = calls_text_of(c, c->v[i].name);
		uint32_t bit;
		if (is_c_library_call(c, &c->v[i])) {
			++*ret_own;
			continue;
		}
		int r = vocabulary_number(&x->names, name, strlen(name), &bit);
		if (r < 0)
			return r;
		e->call[e->n] = i;
		e->bit[e->n++] = (uint8_t)(bit < 63 ? bit : 63);
	}
	return 0;
}

/* What was found is forgotten: tables are freed, lists keep their memory. */
static void clear_search(struct search *x)
{
	table3_release(&x->cell_table);
	table3_release(&x->state_table);
	table3_release(&x->closed);
	table3_release(&x->seen);
	table3_release(&x->placed);
	x->n_cells = x->n_pool = x->n_work = 0;
	x->n_states = 0;
}

/* Prepares the search for paths. loose: calls of libraries that are not known may be any. 0, -ENOMEM. */
static int prepare_call_search(struct search *x, bool loose)
{
	const struct spec *s = x->s;
	clear_search(x);
	x->loose = loose;
	x->done = 0;
	x->most = x->merging ? CALL_PATH_WORK : CALL_PATH_WORK_SINGLY;
	memset(x->accepts, 0, s->n_nodes * sizeof(*x->accepts));
	memset(x->one, 0, s->n_nodes);
	memset(x->first, 0, s->n_nodes * sizeof(*x->first));
	memset(x->ends, 0, s->n_nodes);
	memset(x->function_first, 0, s->n_functions * sizeof(*x->function_first));
	memset(x->function_ends, 0, s->n_functions);
	search_know(x);
	for (uint32_t i = 0, none; i < FIRST_STATE; i++) {
		int r = search_state(x, SPEC_NONE - 1 - i, 0, &none);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Was nothing left to choose, on either side? */
static bool are_single_paths(struct search *x, struct layer *const l[2])
{
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < x->ev[s].n; i++)
			if (!is_single_path(x, &l[s][i]))
				return false;
	return true;
}

/* Chooses one path for each side, which go together as far as they can: so many calls. Or -ENOMEM. */
static int64_t choose_paths(struct search *x, struct layer *const l[2], struct chosen *const path[2],
                            struct call_path_found *f)
{
	const struct events *e = x->ev;
	uint32_t most = 0, shorter = e[0].n < e[1].n ? e[0].n : e[1].n, apart = 0;
	while (most < shorter && e[0].bit[most] == e[1].bit[most])
		most++;
	const int64_t r = choose_common_call_path(x, l, most, path[0]);
	if (r < 0)
		return r;
	const uint32_t together = (uint32_t)r;
	memcpy(path[1], path[0], together * sizeof(*path[0]));
	while (apart < together && is_single_path(x, &l[0][apart]) && is_single_path(x, &l[1][apart]))
		apart++;
	for (int s = 0; s < 2; s++)
		choose_rest(x, l[s], e[s].n, together, path[s]);
	f->parts = together < e[0].n || together < e[1].n;
	f->together = together ? e[0].call[together - 1] + 1 : 0;
	f->apart = apart ? e[0].call[apart - 1] + 1 : 0;
	return r;
}

/* Of merged states: which one of those that were merged each call was made in. *together: how far the paths go together
 * then. 0 or -errno. */
static int choose_merged(struct search *x, struct chosen *const path[2], uint32_t *together)
{
	const uint32_t up_to = *together;
	x->done = 0;
	x->most = 10 * CALL_PATH_WORK; /* the same steps again for each call, which the layers did once */
	for (int s = 0; s < 2; s++) {
		int r = merged_choose(x, x->ev[s].bit, path[s], x->ev[s].n);
		if (r < 0)
			return r;
	}
	uint32_t i = 0;
	while (i < up_to && path[0][i].state == path[1][i].state && path[0][i].low == path[1][i].low)
		i++;
	*together = i;
	return 0;
}

/* The steps of both paths. 0 or -errno. */
static int append_steps(struct search *x, struct chosen *const path[2], struct called_steps *ret)
{
	int r = 0;
	for (int s = 0; r == 0 && s < 2; s++) {
		const struct events *e = &x->ev[s];
		struct stepper p = {.x = x, .out = ret, .side = s};
		for (uint32_t i = 0; r == 0 && i < e->n; i++)
			r = append_state_steps(&p, e->call[i], path[s][i], e->bit[i]);
		free(p.stack);
	}
	return r;
}

/* What decided which way each side went behind the `together` calls that they have in common; none where that is too
 * much to find out. 0 or -errno. */
static int find_parting(struct search *x, struct chosen *const path[2], uint32_t together, struct call_path_found *f)
{
	struct chosen next[2] = {{SPEC_NONE, 0}, {SPEC_NONE, 0}};
	uint32_t bit[2] = {0, 0};
	for (int s = 0; s < 2; s++)
		if (together < x->ev[s].n) {
			next[s] = path[s][together];
			bit[s] = x->ev[s].bit[together];
		}
	x->done = 0;
	int r = find_call_decisions(x, path[0][together - 1].state, next, bit, f);
	if (r != -E2BIG)
		return r;
	f->n_decisions = 0;
	return 0;
}

/* Both sides have at least one path through their layers: chooses one for each, which go together as far as they can,
 * and puts their steps into ret and what is known of the place where they part into f. 0, -ENOMEM, or -E2BIG and
 * -EBADMSG where a path would be only half of one. */
static int choose_both_paths(struct search *x, struct layer *const l[2], struct called_steps *ret,
                             struct call_path_found *f)
{
	struct chosen *path[2];
	for (int s = 0; s < 2; s++)
		path[s] = malloc(((size_t)x->ev[s].n + 1) * sizeof(*path[s]));
	int64_t chosen = path[0] && path[1] ? choose_paths(x, l, path, f) : -ENOMEM;
	uint32_t together = chosen < 0 ? 0 : (uint32_t)chosen;
	int r = chosen < 0 ? (int)chosen : 0;
	f->merged = r == 0 && x->merging && !are_single_paths(x, l);
	if (r == 0 && x->merging)
		r = choose_merged(x, path, &together);
	if (r == 0)
		r = append_steps(x, path, ret);
	if (r == 0 && f->parts && together && path[0][together - 1].state >= FIRST_STATE)
		r = find_parting(x, path, together, f);
	free(path[0]);
	free(path[1]);
	return r;
}

/* Which side is searched first: that does not depend on the order in which they are given. */
static int find_first_side(const struct search *x)
{
	const struct events *e = x->ev;
	uint32_t i = 0;
	for (; i < e[0].n && i < e[1].n; i++) {
		int c = strcmp(calls_text_of(&x->c[0], x->c[0].v[e[0].call[i]].name),
		               calls_text_of(&x->c[1], x->c[1].v[e[1].call[i]].name));
		if (c)
			return c > 0;
	}
	return e[0].n > e[1].n;
}

/* One attempt. 0 or -ENOMEM. */
static int search_by(struct search *x, bool loose, bool merged, struct called_steps *ret, struct call_path_found *f)
{
	struct layer *l[2] = {NULL, NULL};
	int is[2] = {0, 0}, first = merged ? find_first_side(x) : 0;
	merged_end(x);
	x->deep = false;
	f->too_large = false;
	int r = merged ? merged_begin(x) : 0;
	if (r == 0)
		r = prepare_call_search(x, loose);
	for (int i = 0; r == 0 && i < 2; i++) {
		int k = i ^ first;
		l[k] = calloc((size_t)x->ev[k].n + 1, sizeof(*l[k]));
		is[k] = l[k] ? fill_layers(x, k, l[k], &f->ways[k]) : -ENOMEM;
		r = is[k] == -ENOMEM ? is[k] : 0;
		f->none[k] = is[k] == 0;
		f->too_large |= is[k] == -E2BIG;
	}
	if (r == 0 && is[0] == 1 && is[1] == 1) {
		r = choose_both_paths(x, l, ret, f);
		f->found = r == 0;
		f->loose = loose;
		f->too_large = r == -E2BIG;
		if (r == -E2BIG || r == -EBADMSG) /* no path is told rather than half of one */
			r = 0;
	}
	for (int k = 0; k < 2; k++)
		call_layers_release(l[k], l[k] ? x->ev[k].n : 0);
	return r;
}

int call_path_search(const struct spec *s, const struct calls c[2], enum call_path_by by, struct called_steps *ret,
                     struct call_path_found *f)
{
	struct search x = {.s = s, .c = c};
	int r = 0;
	*ret = (struct called_steps){0};
	*f = (struct call_path_found){.function = SPEC_NONE};
	if (s->main == SPEC_NONE) {
		f->none[0] = f->none[1] = true;
		return 0;
	}
	x.function = malloc(((size_t)s->n_nodes + 1) * sizeof(*x.function));
	x.accepts = calloc((size_t)s->n_nodes + 1, sizeof(*x.accepts));
	x.first = calloc((size_t)s->n_nodes + 1, sizeof(*x.first));
	x.one = calloc((size_t)s->n_nodes + 1, 1);
	x.pass = calloc((size_t)s->n_nodes + 1, 1);
	x.ends = calloc((size_t)s->n_nodes + 1, 1);
	x.function_first = calloc((size_t)s->n_functions + 1, sizeof(*x.function_first));
	x.function_ends = calloc((size_t)s->n_functions + 1, 1);
	if (!x.function || !x.accepts || !x.first || !x.one || !x.pass || !x.ends || !x.function_first || !x.function_ends)
		r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < s->n_functions; i++)
		for (uint32_t k = 0; k < s->functions[i].n_nodes; k++)
			x.function[s->functions[i].first_node + k] = i;
	for (int k = 0; r == 0 && k < 2; k++)
		r = take_events(&x, k, &f->own[k]);
	for (int loose = 0; r == 0 && loose < 2 && !f->found && !f->too_large; loose++) {
		bool again = by == CALL_PATH_MERGED;
		if (by != CALL_PATH_MERGED) {
			r = search_by(&x, loose, false, ret, f);
			again = by == CALL_PATH_BEST && (f->too_large || (!f->found && x.deep));
		}
		if (r == 0 && again)
			r = search_by(&x, loose, true, ret, f);
	}
	merged_end(&x);
	f->deep = x.deep;
	clear_search(&x);
	for (int k = 0; k < 2; k++) {
		free(x.ev[k].call);
		free(x.ev[k].bit);
	}
	vocabulary_release(&x.names);
	free(x.function);
	free(x.accepts);
	free(x.first);
	free(x.one);
	free(x.pass);
	free(x.ends);
	free(x.function_first);
	free(x.function_ends);
	free(x.cells);
	free(x.states);
	free(x.pool);
	free(x.work);
	return r;
}
