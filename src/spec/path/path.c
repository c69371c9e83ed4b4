#include "spec/path/path_layers.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

struct name {
	const char *text;
	uint32_t side, number;
};

static int by_text(const void *x, const void *y)
{
	const struct name *a = x, *b = y;
	int c = strcmp(a->text, b->text);
	return c                       ? c
	       : a->side != b->side    ? (a->side < b->side ? -1 : 1)
	       : a->number < b->number ? -1
	                               : a->number > b->number;
}

/* All names of functions, nodes and traces get one numbering. Sides: 0, 1 traces; 2 functions; 3 nodes. */
static int number_names(struct frame_search *x)
{
	const struct spec *s = x->s;
	size_t most = (size_t)x->e[0].n_names + x->e[1].n_names + s->n_functions + s->n_nodes, n = 0;
	struct name *v = malloc((most + 1) * sizeof(*v));
	for (int k = 0; k < 2; k++)
		x->name[k] = malloc((x->e[k].n_names + 1) * sizeof(*x->name[k]));
	x->function = malloc((most + 1) * sizeof(*x->function));
	x->shown = calloc(most + 1, 1);
	x->node_name = malloc((s->n_nodes + 1) * sizeof(*x->node_name));
	x->function_name = malloc((s->n_functions + 1) * sizeof(*x->function_name));
	if (!v || !x->name[0] || !x->name[1] || !x->function || !x->shown || !x->node_name || !x->function_name) {
		free(v);
		return -ENOMEM;
	}
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < x->e[k].n_names; i++)
			v[n++] = (struct name){x->e[k].names[i], k, i};
	for (uint32_t i = 0; i < s->n_functions; i++)
		v[n++] = (struct name){s->functions[i].name, 2, i};
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		x->node_name[i] = SPEC_NONE;
		if (*s->nodes[i].name)
			v[n++] = (struct name){s->nodes[i].name, 3, i};
	}
	qsort(v, n, sizeof(*v), by_text);
	for (size_t i = 0, end; i < n; i = end, x->n_names++) {
		x->function[x->n_names] = SPEC_NONE;
		bool shown = false;
		for (end = i; end < n && !strcmp(v[end].text, v[i].text); end++)
			switch (v[end].side) {
			case 0:
			case 1:
				x->name[v[end].side][v[end].number] = x->n_names;
				shown = true;
				break;
			case 2:
				x->function_name[v[end].number] = x->n_names;
				if (x->function[x->n_names] == SPEC_NONE) /* of several the first; traces cannot tell them apart */
					x->function[x->n_names] = v[end].number;
				break;
			default:
				x->node_name[v[end].number] = shown ? x->n_names : SPEC_NONE;
			}
		x->shown[x->n_names] = shown;
		if (!shown) /* no trace has it */
			for (size_t k = i; k < end; k++)
				if (v[k].side == 3)
					x->node_name[v[k].number] = SPEC_NONE;
	}
	free(v);
	return 0;
}

bool frame_search_is_call(const struct spec_node *n)
{
	return n->kind == SPEC_CALL || n->kind == SPEC_SYSCALL;
}

bool frame_search_may_call(const struct frame_search *x, uint32_t function, uint32_t node, uint32_t name)
{
	const struct spec_node *n = spec_node(x->s, function, node);
	uint32_t all = x->s->functions[function].first_node + node;
	if (x->node_name[all] == name)
		return true;
	for (uint32_t i = 0; i < n->n_targets; i++)
		if (x->function_name[x->s->targets[n->first_target + i]] == name)
			return true;
	return n->flags & SPEC_INDIRECT && (n->flags & SPEC_UNKNOWN || !n->n_targets);
}

/* Which names a call can have at all: what reaches no system call has no node. */
static int find_placed(struct frame_search *x)
{
	const struct spec *s = x->s;
	bool any = false;
	x->placed = calloc((size_t)x->n_names + 1, 1);
	if (!x->placed)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		any |= s->nodes[i].flags & SPEC_INDIRECT && (s->nodes[i].flags & SPEC_UNKNOWN || !s->nodes[i].n_targets);
		if (x->node_name[i] != SPEC_NONE)
			x->placed[x->node_name[i]] = true;
	}
	for (uint32_t i = 0; i < s->n_targets; i++)
		x->placed[x->function_name[s->targets[i]]] = true;
	for (uint32_t i = 0; any && i < s->n_functions; i++)
		x->placed[x->function_name[i]] = true;
	return 0;
}

/* Of a call through a pointer: may it have been of something that would not have been shown? */
static bool may_hide(const struct frame_search *x, const struct spec_node *n)
{
	if (!x->chosen || !(n->flags & SPEC_INDIRECT))
		return false;
	bool hides = n->flags & SPEC_UNKNOWN || !n->n_targets;
	for (uint32_t i = 0; i < n->n_targets && !hides; i++)
		hides = !x->shown[x->function_name[x->s->targets[n->first_target + i]]];
	return hides;
}

bool frame_search_may_leave_mark(const struct frame_search *x, uint32_t function, uint32_t node)
{
	const struct spec_node *n = spec_node(x->s, function, node);
	if (x->node_name[x->s->functions[function].first_node + node] != SPEC_NONE || n->flags & SPEC_INDIRECT)
		return true;
	return false;
}

int frame_search_make_next(struct frame_search *x, uint32_t function, int way)
{
	struct next *nx = &x->next[function];
	const struct spec_function *f = &x->s->functions[function];
	uint32_t *work = malloc((f->n_nodes + 1) * sizeof(*work)), *mark = calloc(f->n_nodes + 1, sizeof(*mark)),
	         *to = NULL;
	uint32_t n_to = 0, cap = 0;
	nx->first[way] = calloc((size_t)f->n_nodes + 1, sizeof(uint32_t));
	nx->ends[way] = calloc((size_t)f->n_nodes + 1, 1);
	int r = work && mark && nx->first[way] && nx->ends[way] ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < f->n_nodes; i++) {
		uint32_t n = 0;
		nx->first[way][i] = n_to;
		if (i && !frame_search_is_call(spec_node(x->s, function, i)))
			continue;
		work[n++] = i;
		for (bool start = true; r == 0 && n; start = false) {
			uint32_t at = work[--n];
			const struct spec_node *node = spec_node(x->s, function, at);
			if (!start && frame_search_is_call(node) && (way == 0 || frame_search_may_leave_mark(x, function, at))) {
				if (n_to == cap) {
					cap = cap ? 2 * cap : 64;
					uint32_t *p = realloc(to, cap * sizeof(*p));
					if (!p) {
						r = -ENOMEM;
						break;
					}
					to = p;
				}
				to[n_to++] = at;
				if (way == 0 || !may_hide(x, node))
					continue;
			}
			/* A function ends at a return, or where nothing follows: what it called did not come back. */
			nx->ends[way][i] |= node->kind == SPEC_RETURN || !node->n_edges;
			for (uint32_t e = 0; e < node->n_edges; e++) {
				uint32_t q = spec_edge(x->s, node, e)->to;
				if (mark[q] != i + 1) {
					mark[q] = i + 1;
					work[n++] = q;
				}
			}
		}
	}
	if (r == 0)
		nx->first[way][f->n_nodes] = n_to;
	if (r == 0 && !to)
		r = (to = malloc(sizeof(*to))) ? 0 : -ENOMEM; /* no call follows any: an empty list is a list */
	nx->to[way] = to;
	nx->made[way] = r == 0;
	if (r == 0 && !nx->all) {
		nx->all = malloc((f->n_nodes + 1) * sizeof(*nx->all));
		for (uint32_t i = 0; nx->all && i < f->n_nodes; i++)
			if (frame_search_is_call(spec_node(x->s, function, i)))
				nx->all[nx->n_all++] = i;
		r = nx->all ? 0 : -ENOMEM;
	}
	free(work);
	free(mark);
	return r;
}

/* ---- whole traces ---- */

struct frame_paths {
	struct layers layers;
	uint32_t n, *names, *events;
	bool *broken;
};

/* Has the call a node in the graph of who made it? */
static bool has_place(const struct frame_search *x, int side, const struct call_event *v)
{
	return !x->chosen || (!v->outside && x->placed[x->name[side][v->name]]);
}

/* Names of what the call at `event` called, and the events. ret_n; the arrays are as large as there are events. */
static uint32_t calls_of(const struct frame_search *x, int side, uint32_t event, struct frame_paths *p)
{
	const struct call_events *e = &x->e[side];
	uint32_t n = 0;
	for (uint32_t i = event + 1; i < e->v[event].other && i < e->n; i = e->v[i].other + 1) {
		if (!has_place(x, side, &e->v[i]))
			continue;
		p->names[n] = x->name[side][e->v[i].name];
		p->broken[n] = e->v[i].other < e->n && e->v[e->v[i].other].jump;
		p->events[n++] = i;
	}
	return n;
}

/* 1: layers are found; 0: none; -errno. */
static int search_frame(struct frame_search *x, int side, uint32_t event, uint32_t function, struct frame_paths *p)
{
	const struct call_event *v = &x->e[side].v[event];
	bool whole = v->other < x->e[side].n && !x->e[side].v[v->other].jump;
	p->n = calls_of(x, side, event, p);
	x->done[side][event] = true;
	int r = x->chosen ? 0 : path_layers_find(x, function, p->names, p->broken, p->n, whole, 0, &p->layers);
	if (r == 0) {
		r = path_layers_find(x, function, p->names, p->broken, p->n, whole, 1, &p->layers);
		x->found->unrecorded += r == 1 && !x->chosen;
		x->found->none += r == 0;
	}
	if (r == -E2BIG) {
		x->found->too_large++;
		return 0;
	}
	if (r == 1)
		x->found->ambiguous += path_layers_are_ambiguous(&p->layers);
	x->found->functions++;
	return r;
}

static uint32_t function_at(const struct frame_search *x, int side, uint32_t event)
{
	return x->function[x->name[side][x->e[side].v[event].name]];
}

/* A function that was open where the traces part: one path for both as long as there is one. */
static int search_open(struct frame_search *x, uint32_t event, uint32_t fork, bool innermost, struct frame_paths p[2],
                       uint32_t *path)
{
	uint32_t function = function_at(x, 0, event), common = 0, together = 0, apart;
	int r[2];
	for (int s = 0; s < 2; s++) {
		r[s] = search_frame(x, s, event, function, &p[s]);
		if (r[s] < 0)
			return r[s];
	}
	if (!r[0] || !r[1] || p[0].layers.way != p[1].layers.way) {
		for (int s = 0; s < 2; s++)
			if (r[s]) {
				path_layers_choose_smallest(x, &p[s].layers, path, 0);
				for (uint32_t i = 0; i < p[s].n; i++)
					x->node[s][p[s].events[i]] = path[i];
				path_layers_release(&p[s].layers);
			}
		return 0;
	}
	while (common < p[0].n && common < p[1].n && p[0].events[common] < fork && p[1].events[common] < fork)
		common++;
	struct layers l[2] = {p[0].layers, p[1].layers};
	/* The call at the fork itself may be of one function on both sides, if it is not the first of its kind. */
	uint32_t most =
	    common < p[0].n && common < p[1].n && p[0].names[common] == p[1].names[common] ? common + 1 : common;
	together = path_layers_choose_common(x, l, most, path);
	for (int s = 0; s < 2; s++) {
		path_layers_choose_smallest(x, &l[s], path, together);
		for (uint32_t i = 0; i < p[s].n; i++)
			x->node[s][p[s].events[i]] = path[i];
	}
	int e = 0;
	if (innermost || together < common) {
		struct path_found *f = x->found;
		free(f->decisions);
		f->decisions = NULL;
		f->n_decisions = 0;
		f->function = function;
		f->together = together;
		for (apart = 0; apart < together && l[0].first[apart + 1] - l[0].first[apart] == 1 &&
		                l[1].first[apart + 1] - l[1].first[apart] == 1;)
			apart++;
		f->apart = apart;
		uint32_t end[2], from = together ? x->node[0][p[0].events[together - 1]] : 0;
		for (int s = 0; s < 2; s++) {
			f->ways[s] = path_layers_count(x, &l[s]);
			end[s] = together < p[s].n ? x->node[s][p[s].events[together]] : SPEC_NONE;
		}
		if (end[0] != end[1])
			e = path_layers_decisions(x, function, from, end, l[0].way);
	}
	path_layers_release(&p[0].layers);
	path_layers_release(&p[1].layers);
	/* Where they parted in this one already, what was called from there on is not the same. */
	return e < 0 ? e : together < common;
}

static int search_all(struct frame_search *x)
{
	const struct call_events *e = x->e;
	uint32_t fork = 0, most = e[0].n > e[1].n ? e[0].n : e[1].n;
	struct frame_paths p[2] = {0};
	uint32_t *path = malloc(((size_t)most + 1) * sizeof(*path));
	bool parted = false;
	int r = path ? 0 : -ENOMEM;
	for (int s = 0; s < 2; s++) {
		p[s].names = malloc(((size_t)most + 1) * sizeof(uint32_t));
		p[s].events = malloc(((size_t)most + 1) * sizeof(uint32_t));
		p[s].broken = malloc((size_t)most + 1);
		x->done[s] = calloc((size_t)e[s].n + 1, 1);
		x->node[s] = malloc(((size_t)e[s].n + 1) * sizeof(uint32_t));
		if (!p[s].names || !p[s].events || !p[s].broken || !x->done[s] || !x->node[s])
			r = -ENOMEM;
		else
			memset(x->node[s], 0xff, ((size_t)e[s].n + 1) * sizeof(uint32_t));
	}
	while (r == 0 && fork < e[0].n && fork < e[1].n && e[0].v[fork].leave == e[1].v[fork].leave &&
	       e[0].v[fork].jump == e[1].v[fork].jump && x->name[0][e[0].v[fork].name] == x->name[1][e[1].v[fork].name])
		fork++;
	bool equal = fork == e[0].n && fork == e[1].n;
	/* Functions open at the fork, outermost first. */
	for (uint32_t i = 0; r == 0 && !equal && !parted && i < fork; i++) {
		if (e[0].v[i].leave || e[0].v[i].other < fork || function_at(x, 0, i) == SPEC_NONE ||
		    x->s->functions[function_at(x, 0, i)].n_nodes < 2 || e[0].v[i].begun)
			continue;
		bool innermost = true;
		for (uint32_t k = i + 1; innermost && k < fork; k = e[0].v[k].other < fork ? e[0].v[k].other + 1 : fork)
			innermost = e[0].v[k].other < fork;
		r = search_open(x, i, fork, innermost, p, path);
		parted = r > 0;
		r = r > 0 ? 0 : r;
	}
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; r >= 0 && i < e[s].n; i++) {
			uint32_t function;
			if (e[s].v[i].leave || e[s].v[i].begun || x->done[s][i])
				continue;
			function = function_at(x, s, i);
			if (function == SPEC_NONE || x->s->functions[function].n_nodes < 2)
				continue;
			r = search_frame(x, s, i, function, &p[s]);
			if (r != 1)
				continue;
			path_layers_choose_smallest(x, &p[s].layers, path, 0);
			for (uint32_t k = 0; k < p[s].n; k++)
				x->node[s][p[s].events[k]] = path[k];
			path_layers_release(&p[s].layers);
		}
	for (int s = 0; s < 2; s++) {
		free(p[s].names);
		free(p[s].events);
		free(p[s].broken);
	}
	free(path);
	return r < 0 ? r : 0;
}

static int append_path_step(struct symbols *symbols, struct steps *steps, const struct symbol *s)
{
	uint32_t number;
	int r = symbols_number(symbols, s, &number);
	return r < 0 ? r : steps_add(steps, number);
}

static int put_steps(const struct frame_search *x, int side, struct symbols *symbols, struct steps *ret)
{
	const struct call_events *e = &x->e[side];
	uint32_t *open = malloc(((size_t)e->n + 1) * sizeof(*open)), depth = 0; /* functions */
	bool *alone = malloc((size_t)e->n + 1); /* by event that enters: it is its node, and nothing else */
	int r = open && alone ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < e->n; i++) {
		uint32_t start = e->v[i].leave ? e->v[i].other : i, function = function_at(x, side, start),
		         node = x->node[side][start];
		uint32_t number = function == SPEC_NONE ? x->s->n_functions + x->name[side][e->v[start].name] : function;
		/* Calls of what has no graph and called nothing are their node; what is not in the specification is a mark. */
		if (!e->v[i].leave) {
			const struct spec_function *f =
			    depth && open[depth - 1] < x->s->n_functions ? &x->s->functions[open[depth - 1]] : NULL;
			alone[i] = e->v[i].other == i + 1 && f && node != SPEC_NONE && node < f->n_nodes &&
			           x->node_name[f->first_node + node] == x->name[side][e->v[i].name] &&
			           (function == SPEC_NONE || x->s->functions[function].n_nodes < 2);
		}
		if (!e->v[i].leave && node != SPEC_NONE)
			r = append_path_step(
			    symbols, ret,
			    &(struct symbol){.kind = STEP_AT, .of = depth ? open[depth - 1] : SPEC_NONE, .node = node});
		if (r < 0 || alone[start])
			continue;
		if (!e->v[i].leave) {
			r = append_path_step(symbols, ret, &(struct symbol){.kind = STEP_ENTER, .of = number});
			open[depth++] = number;
		} else {
			depth--;
			r = append_path_step(symbols, ret, &(struct symbol){.kind = STEP_LEAVE, .value = e->v[i].jump});
		}
	}
	free(open);
	free(alone);
	return r;
}

/* The names that are no functions of the specification, for whoever prints them. */
static int keep_names(const struct frame_search *x, struct path_found *f)
{
	f->names = calloc((size_t)x->n_names + 1, sizeof(*f->names));
	if (!f->names)
		return -ENOMEM;
	f->n_names = x->n_names;
	for (int s = 0; s < 2; s++)
		for (uint32_t i = 0; i < x->e[s].n_names; i++) {
			uint32_t at = x->name[s][i];
			if (x->function[at] == SPEC_NONE && !f->names[at])
				f->names[at] = strdup(x->e[s].names[i]);
			if (x->function[at] == SPEC_NONE && !f->names[at])
				return -ENOMEM;
		}
	return 0;
}

void path_found_release(struct path_found *f)
{
	for (uint32_t i = 0; f->names && i < f->n_names; i++)
		free(f->names[i]);
	free(f->names);
	free(f->decisions);
	*f = (struct path_found){0};
}

int path_search(const struct spec *s, const struct call_events e[2], struct symbols *symbols, struct steps ret[2],
                struct path_found *ret_found)
{
	struct frame_search x = {.s = s, .e = e, .found = ret_found, .chosen = e[0].chosen && e[1].chosen};
	*ret_found = (struct path_found){.function = SPEC_NONE};
	x.next = calloc((size_t)s->n_functions + 1, sizeof(*x.next));
	int r = x.next ? number_names(&x) : -ENOMEM;
	if (r == 0)
		r = find_placed(&x);
	if (r == 0)
		r = search_all(&x);
	for (int k = 0; r == 0 && k < 2; k++)
		r = put_steps(&x, k, symbols, &ret[k]);
	for (uint32_t i = 0; x.next && i < s->n_functions; i++) {
		free(x.next[i].all);
		for (int way = 0; way < 2; way++) {
			free(x.next[i].first[way]);
			free(x.next[i].to[way]);
			free(x.next[i].ends[way]);
		}
	}
	if (r == 0)
		r = keep_names(&x, ret_found);
	for (int k = 0; k < 2; k++) {
		free(x.name[k]);
		free(x.node[k]);
		free(x.done[k]);
	}
	free(x.function);
	free(x.shown);
	free(x.placed);
	free(x.node_name);
	free(x.function_name);
	free(x.next);
	return r;
}
