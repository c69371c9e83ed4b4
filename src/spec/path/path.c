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

/* Then by side and number. */
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

/* A call within the program, or one of a library's function. */
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

/* Which names a call can have at all: what reaches no system call has no node. 0, -ENOMEM. */
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

/* A walk from one node of a function to the calls that may be the next one. */
struct next_walk {
	uint32_t *work, *mark; /* nodes that are to be looked at; by node: 1 + the one it was reached from last */
	uint32_t *to, n_to, cap;
};

/* Appends a node that may come next. 0, -ENOMEM. */
static int append_next(struct next_walk *w, uint32_t node)
{
	if (w->n_to == w->cap) {
		uint32_t cap = w->cap ? 2 * w->cap : 64;
		uint32_t *p = realloc(w->to, cap * sizeof(*p));
		if (!p)
			return -ENOMEM;
		w->to = p;
		w->cap = cap;
	}
	w->to[w->n_to++] = node;
	return 0;
}

/* Puts the nodes that follow into w->work, each once for the beginning i. */
static uint32_t push_followers(const struct frame_search *x, const struct spec_node *node, uint32_t i,
                               struct next_walk *w, uint32_t n)
{
	for (uint32_t e = 0; e < node->n_edges; e++) {
		uint32_t q = spec_edge(x->s, node, e)->to;
		if (w->mark[q] != i + 1) {
			w->mark[q] = i + 1;
			w->work[n++] = q;
		}
	}
	return n;
}

/* Appends the calls that may be the next one behind node i to w->to. *ret_ends: the function may end before. 0 or
 * -ENOMEM. */
static int find_next_calls(const struct frame_search *x, uint32_t function, int way, uint32_t i, struct next_walk *w,
                           bool *ret_ends)
{
	uint32_t n = 0;
	w->work[n++] = i;
	for (bool start = true; n; start = false) {
		uint32_t at = w->work[--n];
		const struct spec_node *node = spec_node(x->s, function, at);
		if (!start && frame_search_is_call(node) && (way == 0 || frame_search_may_leave_mark(x, function, at))) {
			if (append_next(w, at) < 0)
				return -ENOMEM;
			if (way == 0 || !may_hide(x, node))
				continue;
		}
		/* A function ends at a return, or where nothing follows: what it called did not come back. */
		*ret_ends |= node->kind == SPEC_RETURN || !node->n_edges;
		n = push_followers(x, node, i, w, n);
	}
	return 0;
}

/* All calls of the function, once. 0 or -ENOMEM. */
static int list_calls(const struct frame_search *x, uint32_t function, struct next *nx)
{
	const struct spec_function *f = &x->s->functions[function];
	if (nx->all)
		return 0;
	nx->all = malloc((f->n_nodes + 1) * sizeof(*nx->all));
	for (uint32_t i = 0; nx->all && i < f->n_nodes; i++)
		if (frame_search_is_call(spec_node(x->s, function, i)))
			nx->all[nx->n_all++] = i;
	return nx->all ? 0 : -ENOMEM;
}

int frame_search_make_next(struct frame_search *x, uint32_t function, int way)
{
	struct next *nx = &x->next[function];
	const struct spec_function *f = &x->s->functions[function];
	struct next_walk w = {.work = malloc((f->n_nodes + 1) * sizeof(*w.work)),
	                      .mark = calloc(f->n_nodes + 1, sizeof(*w.mark))};
	nx->first[way] = calloc((size_t)f->n_nodes + 1, sizeof(uint32_t));
	nx->ends[way] = calloc((size_t)f->n_nodes + 1, 1);
	int r = w.work && w.mark && nx->first[way] && nx->ends[way] ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < f->n_nodes; i++) {
		nx->first[way][i] = w.n_to;
		if (!i || frame_search_is_call(spec_node(x->s, function, i)))
			r = find_next_calls(x, function, way, i, &w, &nx->ends[way][i]);
	}
	if (r == 0)
		nx->first[way][f->n_nodes] = w.n_to;
	if (r == 0 && !w.to)
		r = (w.to = malloc(sizeof(*w.to))) ? 0 : -ENOMEM; /* no call follows any: an empty list is a list */
	nx->to[way] = w.to;
	nx->made[way] = r == 0;
	if (r == 0)
		r = list_calls(x, function, nx);
	free(w.work);
	free(w.mark);
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

/* Finds paths through a function for the calls that one side has made. 1: layers are found; 0: none; -errno. */
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

/* The function that an event enters, by its name; SPEC_NONE: of no name here. */
static uint32_t function_at(const struct frame_search *x, int side, uint32_t event)
{
	return x->function[x->name[side][x->e[side].v[event].name]];
}

/* The calls of p were made at these nodes. */
static void take_nodes(struct frame_search *x, int side, const struct frame_paths *p, const uint32_t *path)
{
	for (uint32_t i = 0; i < p->n; i++)
		x->node[side][p->events[i]] = path[i];
}

/* Each side by itself, if it has a path at all. */
static void search_apart(struct frame_search *x, struct frame_paths p[2], const int found[2], uint32_t *path)
{
	for (int s = 0; s < 2; s++) {
		if (!found[s])
			continue;
		path_layers_choose_smallest(x, &p[s].layers, path, 0);
		take_nodes(x, s, &p[s], path);
		path_layers_release(&p[s].layers);
	}
}

/* How many calls of both are before the fork. */
static uint32_t calls_before(const struct frame_paths p[2], uint32_t fork)
{
	uint32_t n = 0;
	while (n < p[0].n && n < p[1].n && p[0].events[n] < fork && p[1].events[n] < fork)
		n++;
	return n;
}

/* The function is where the ways part, as far as is known by now: after `together` common calls. 0 or -errno. */
static int note_parting(struct frame_search *x, uint32_t function, const struct frame_paths p[2],
                        const struct layers l[2], uint32_t together)
{
	struct path_found *f = x->found;
	uint32_t end[2], from = together ? x->node[0][p[0].events[together - 1]] : 0, apart = 0;
	free(f->decisions);
	f->decisions = NULL;
	f->n_decisions = 0;
	f->function = function;
	f->together = together;
	while (apart < together && l[0].first[apart + 1] - l[0].first[apart] == 1 &&
	       l[1].first[apart + 1] - l[1].first[apart] == 1)
		apart++;
	f->apart = apart;
	for (int s = 0; s < 2; s++) {
		f->ways[s] = path_layers_count(x, &l[s]);
		end[s] = together < p[s].n ? x->node[s][p[s].events[together]] : SPEC_NONE;
	}
	return end[0] != end[1] ? path_layers_decisions(x, function, from, end, l[0].way) : 0;
}

/* A function that was open where the traces part: one path for both as long as there is one. 1: the ways part in it, 0,
 * -errno. */
static int search_open(struct frame_search *x, uint32_t event, uint32_t fork, bool innermost, struct frame_paths p[2],
                       uint32_t *path)
{
	const uint32_t function = function_at(x, 0, event);
	int r[2];
	for (int s = 0; s < 2; s++) {
		r[s] = search_frame(x, s, event, function, &p[s]);
		if (r[s] < 0)
			return r[s];
	}
	if (!r[0] || !r[1] || p[0].layers.way != p[1].layers.way) {
		search_apart(x, p, r, path);
		return 0;
	}
	const uint32_t common = calls_before(p, fork);
	struct layers l[2] = {p[0].layers, p[1].layers};
	/* The call at the fork itself may be of one function on both sides, if it is not the first of its kind. */
	bool same = common < p[0].n && common < p[1].n && p[0].names[common] == p[1].names[common];
	const uint32_t together = path_layers_choose_common(x, l, same ? common + 1 : common, path);
	for (int s = 0; s < 2; s++) {
		path_layers_choose_smallest(x, &l[s], path, together);
		take_nodes(x, s, &p[s], path);
	}
	int e = innermost || together < common ? note_parting(x, function, p, l, together) : 0;
	path_layers_release(&p[0].layers);
	path_layers_release(&p[1].layers);
	/* Where they parted in this one already, what was called from there on is not the same. */
	return e < 0 ? e : together < common;
}

/* Room for what is found in both traces of at most `most` events. 0 or -ENOMEM. */
static int make_search_room(struct frame_search *x, struct frame_paths p[2], uint32_t most)
{
	for (int s = 0; s < 2; s++) {
		const size_t n = (size_t)x->e[s].n + 1;
		p[s].names = malloc(((size_t)most + 1) * sizeof(uint32_t));
		p[s].events = malloc(((size_t)most + 1) * sizeof(uint32_t));
		p[s].broken = malloc((size_t)most + 1);
		x->done[s] = calloc(n, 1);
		x->node[s] = malloc(n * sizeof(uint32_t));
		if (!p[s].names || !p[s].events || !p[s].broken || !x->done[s] || !x->node[s])
			return -ENOMEM;
		memset(x->node[s], 0xff, n * sizeof(uint32_t));
	}
	return 0;
}

/* How many events the traces have in common from their beginnings on. */
static uint32_t common_events(const struct frame_search *x)
{
	const struct call_event *a = x->e[0].v, *b = x->e[1].v;
	uint32_t n = 0;
	while (n < x->e[0].n && n < x->e[1].n && a[n].leave == b[n].leave && a[n].jump == b[n].jump &&
	       x->name[0][a[n].name] == x->name[1][b[n].name])
		n++;
	return n;
}

/* Has the function a graph with a way to be chosen in it? */
static bool has_ways(const struct frame_search *x, uint32_t function)
{
	return function != SPEC_NONE && x->s->functions[function].n_nodes >= 2;
}

/* Does the call at event i, before the fork, come back at it or later, while no call in it does? */
static bool is_innermost(const struct call_events *e, uint32_t i, uint32_t fork)
{
	for (uint32_t k = i + 1; k < fork; k = e->v[k].other + 1)
		if (e->v[k].other >= fork)
			return false;
	return true;
}

/* The functions that are open where the traces part, outermost first, until the ways have parted in one. 0 or -errno.
 */
static int search_fork(struct frame_search *x, uint32_t fork, struct frame_paths p[2], uint32_t *path)
{
	const struct call_events *e = x->e;
	if (fork == e[0].n && fork == e[1].n)
		return 0;
	for (uint32_t i = 0; i < fork; i++) {
		const struct call_event *v = &e[0].v[i];
		if (v->leave || v->other < fork || !has_ways(x, function_at(x, 0, i)) || v->begun)
			continue;
		int r = search_open(x, i, fork, is_innermost(&e[0], i, fork), p, path);
		if (r)
			return r < 0 ? r : 0;
	}
	return 0;
}

/* All other calls of a trace, each by itself. 0 or -errno. */
static int search_rest(struct frame_search *x, int side, struct frame_paths *p, uint32_t *path)
{
	const struct call_events *e = &x->e[side];
	for (uint32_t i = 0; i < e->n; i++) {
		if (e->v[i].leave || e->v[i].begun || x->done[side][i])
			continue;
		uint32_t function = function_at(x, side, i);
		if (!has_ways(x, function))
			continue;
		int r = search_frame(x, side, i, function, p);
		if (r < 0)
			return r;
		if (r != 1)
			continue;
		path_layers_choose_smallest(x, &p->layers, path, 0);
		take_nodes(x, side, p, path);
		path_layers_release(&p->layers);
	}
	return 0;
}

/* Finds paths for all calls of both sides. 0, -ENOMEM, -E2BIG. */
static int search_all(struct frame_search *x)
{
	const uint32_t most = x->e[0].n > x->e[1].n ? x->e[0].n : x->e[1].n;
	struct frame_paths p[2] = {0};
	uint32_t *path = malloc(((size_t)most + 1) * sizeof(*path));
	int r = path ? make_search_room(x, p, most) : -ENOMEM;
	if (r == 0)
		r = search_fork(x, common_events(x), p, path);
	for (int s = 0; r == 0 && s < 2; s++)
		r = search_rest(x, s, &p[s], path);
	for (int s = 0; s < 2; s++) {
		free(p[s].names);
		free(p[s].events);
		free(p[s].broken);
	}
	free(path);
	return r;
}

/* Appends a step of a path. 0, -ENOMEM. */
static int append_path_step(struct symbols *symbols, struct steps *steps, const struct symbol *s)
{
	uint32_t number;
	int r = symbols_number(symbols, s, &number);
	return r < 0 ? r : steps_add(steps, number);
}

/* The steps of what was found for the side's events. 0, -ENOMEM. */
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

/* The names that are no functions of the specification, for whoever prints them. 0, -ENOMEM. */
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

/* f is empty then. */
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
