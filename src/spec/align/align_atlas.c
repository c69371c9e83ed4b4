#include "spec/align/align_traces.h"

#include "spec/align/match.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* m is empty then; the specifications stay. */
void atlas_release(struct atlas *m)
{
	free(m->parts[0]);
	free(m->parts[1]);
	for (uint32_t i = 0; m->node && m->spec[1] && i < m->spec[1]->n_functions; i++)
		free(m->node[i]);
	for (uint32_t i = 0; m->layout && i < m->n; i++)
		flow_layout_release(&m->layout[i]);
	free(m->node);
	free(m->function);
	free(m->layout);
	free(m->layouts);
	free(m->changed);
	*m = (struct atlas){0};
}

/* Does the node leave a step? */
static bool leaves_step(const struct spec_node *n)
{
	return n->kind == SPEC_CALL || n->kind == SPEC_SYSCALL ||
	       (n->kind == SPEC_DECISION && !(n->flags & SPEC_UNRECORDED));
}

/* A function that is too large gets none: 0, and *ret stays as it is. -ENOMEM. */
static int make_function_layout(const struct spec *s, uint32_t function, struct flow_layout *ret)
{
	const struct spec_function *f = &s->functions[function];
	size_t n_edges = 0, k = 0;
	for (uint32_t i = 0; i < f->n_nodes; i++)
		n_edges += spec_node(s, function, i)->n_edges;
	struct layout_edge *edges = malloc((n_edges + 1) * sizeof(*edges));
	bool *seen = malloc(f->n_nodes + 1);
	int r = edges && seen ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < f->n_nodes; i++) {
		const struct spec_node *n = spec_node(s, function, i);
		seen[i] = leaves_step(n);
		for (uint32_t e = 0; e < n->n_edges; e++)
			edges[k++] = (struct layout_edge){i, spec_edge(s, n, e)->to};
	}
	if (r == 0)
		r = flow_layout_make(f->n_nodes, seen, 0, edges, n_edges, ret);
	free(edges);
	free(seen);
	return r == -E2BIG ? 0 : r; /* too large: compared without regions */
}

/* What makes a node the same in another build: not its line, and not how a decision is written. */
static uint64_t node_label(const struct spec_node *n)
{
	return hash_more(n->kind, n->name, strlen(n->name));
}

/* Node by node, with conditions and edges. */
static bool functions_equal(const struct spec *a, uint32_t fa, const struct spec *b, uint32_t fb)
{
	const struct spec_function *x = &a->functions[fa], *y = &b->functions[fb];
	if (x->n_nodes != y->n_nodes)
		return false;
	for (uint32_t i = 0; i < x->n_nodes; i++) {
		const struct spec_node *p = spec_node(a, fa, i), *q = spec_node(b, fb, i);
		if (p->kind != q->kind || p->n_edges != q->n_edges || strcmp(p->name, q->name) != 0 ||
		    strcmp(p->condition, q->condition) != 0)
			return false;
		for (uint32_t e = 0; e < p->n_edges; e++)
			if (spec_edge(a, p, e)->to != spec_edge(b, q, e)->to ||
			    spec_edge(a, p, e)->outcome != spec_edge(b, q, e)->outcome)
				return false;
	}
	return true;
}

/* Nodes that only B's function has are numbered behind A's. *ret: for each node of B's its number, the caller's. 0,
 * -ENOMEM. */
static int map_nodes(const struct spec *a, uint32_t fa, const struct spec *b, uint32_t fb, uint32_t **ret)
{
	uint32_t na = a->functions[fa].n_nodes, nb = b->functions[fb].n_nodes;
	uint64_t *la = malloc((na + 1) * sizeof(*la)), *lb = malloc((nb + 1) * sizeof(*lb));
	uint32_t *to = malloc((nb + 1) * sizeof(*to));
	bool exact = true;
	int r = la && lb && to ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < na; i++)
		la[i] = node_label(spec_node(a, fa, i));
	for (uint32_t i = 0; r == 0 && i < nb; i++)
		lb[i] = node_label(spec_node(b, fb, i));
	if (r == 0)
		r = match_rows(lb, nb, la, na, to, &exact);
	for (uint32_t i = 0; r == 0 && i < nb; i++)
		if (to[i] == MATCH_NONE)
			to[i] = na + i;
	free(la);
	free(lb);
	if (r < 0)
		free(to);
	else
		*ret = to;
	return r;
}

struct named {
	const char *name, *file;
	uint32_t function;
};

/* Order of qsort: by name, file, and number. */
static int compare_named_by_name(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int c = strcmp(a->name, b->name);
	if (!c)
		c = strcmp(a->file, b->file);
	return c ? c : a->function < b->function ? -1 : a->function > b->function;
}

/* Points into path. */
static const char *name_after_slash(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* The caller's; NULL without memory. */
static struct named *names_of(const struct spec *s)
{
	struct named *v = malloc((s->n_functions + 1) * sizeof(*v));
	for (uint32_t i = 0; v && i < s->n_functions; i++)
		v[i] = (struct named){s->functions[i].name, name_after_slash(spec_file(s, s->functions[i].file)), i};
	if (v)
		qsort(v, s->n_functions, sizeof(*v), compare_named_by_name);
	return v;
}

/* Functions of one name, and where the name occurs twice of one file, are the same function. 0, -ENOMEM. */
static int bring_together(struct atlas *m)
{
	const struct spec *a = m->spec[0], *b = m->spec[1];
	struct named *va = names_of(a), *vb = names_of(b);
	uint32_t i = 0, k = 0;
	int r = va && vb ? 0 : -ENOMEM;
	while (r == 0 && (i < a->n_functions || k < b->n_functions)) {
		int c = i == a->n_functions ? 1 : k == b->n_functions ? -1 : strcmp(va[i].name, vb[k].name);
		bool twice =
		    c == 0 && ((i + 1 < a->n_functions && !strcmp(va[i].name, va[i + 1].name)) ||
		               (k + 1 < b->n_functions && !strcmp(vb[k].name, vb[k + 1].name)) ||
		               (i && !strcmp(va[i].name, va[i - 1].name)) || (k && !strcmp(vb[k].name, vb[k - 1].name)));
		if (twice)
			c = strcmp(va[i].file, vb[k].file);
		if (c < 0) {
			m->changed[m->n_changed++] = va[i++].function;
		} else if (c > 0) {
			m->function[vb[k].function] = a->n_functions + vb[k].function;
			m->changed[m->n_changed++] = a->n_functions + vb[k++].function;
		} else {
			uint32_t fa = va[i++].function, fb = vb[k++].function;
			m->function[fb] = fa;
			if (!functions_equal(a, fa, b, fb)) {
				m->changed[m->n_changed++] = fa;
				r = map_nodes(a, fa, b, fb, &m->node[fb]);
			}
		}
	}
	free(va);
	free(vb);
	return r;
}

int atlas_set_parts(struct atlas *m, int side, const struct spec *const *parts, size_t n)
{
	uint32_t first = 0;
	if (!(m->parts[side] = calloc(n + 1, sizeof(*m->parts[side]))))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		m->parts[side][i] = (struct atlas_part){parts[i]->id, first, parts[i]->n_functions};
		first += parts[i]->n_functions;
	}
	m->n_parts[side] = n;
	return 0;
}

int atlas_make(const struct spec *a, const struct spec *b, struct atlas *ret)
{
	struct atlas m = {.spec = {a, b}};
	int r = 0;
	if (a == b || !a || !b || a->id == b->id) {
		m.n = a ? a->n_functions : b ? b->n_functions : 0;
	} else {
		m.built_otherwise = true;
		m.n = a->n_functions + b->n_functions;
		m.function = malloc((b->n_functions + 1) * sizeof(*m.function));
		m.node = calloc(b->n_functions + 1, sizeof(*m.node));
		m.changed = malloc((m.n + 1) * sizeof(*m.changed));
		r = m.function && m.node && m.changed ? bring_together(&m) : -ENOMEM;
	}
	if (r == 0) {
		m.layout = calloc(m.n + 1, sizeof(*m.layout));
		m.layouts = calloc(m.n + 1, sizeof(*m.layouts));
		r = m.layout && m.layouts ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; r == 0 && i < m.n; i++) {
		const struct spec *s = a ? a : b;
		bool mine = i < s->n_functions;
		if (!mine && m.function[i - s->n_functions] != i)
			continue;
		r = mine ? make_function_layout(s, i, &m.layout[i]) : make_function_layout(b, i - s->n_functions, &m.layout[i]);
		m.layouts[i] = m.layout[i].n ? &m.layout[i] : NULL;
	}
	if (r < 0)
		atlas_release(&m);
	else
		*ret = m;
	return r;
}

/* B's own number of a function that has this one here; SPEC_NONE. */
static uint32_t number_in_b(const struct atlas *m, uint32_t function)
{
	if (!m->built_otherwise)
		return function;
	if (function >= m->spec[0]->n_functions)
		return function - m->spec[0]->n_functions;
	for (uint32_t i = 0; i < m->spec[1]->n_functions; i++)
		if (m->function[i] == function)
			return i;
	return SPEC_NONE;
}

const struct spec_function *atlas_function(const struct atlas *m, int side, uint32_t function)
{
	const struct spec *s = m->built_otherwise ? m->spec[side] : m->spec[0] ? m->spec[0] : m->spec[1];
	if (side == 1)
		function = number_in_b(m, function);
	return s && function < s->n_functions ? &s->functions[function] : NULL;
}

/* NULL: that side's specification has it not. */
const struct spec_node *atlas_node(const struct atlas *m, int side, uint32_t function, uint32_t node)
{
	const struct spec *s = m->built_otherwise ? m->spec[side] : m->spec[0] ? m->spec[0] : m->spec[1];
	if (side == 1 && m->built_otherwise) {
		function = number_in_b(m, function);
		if (function != SPEC_NONE && m->node[function]) {
			uint32_t n = s->functions[function].n_nodes, i = 0;
			while (i < n && m->node[function][i] != node)
				i++;
			node = i;
		}
	}
	if (!s || function >= s->n_functions || node >= s->functions[function].n_nodes)
		return NULL;
	return spec_node(s, function, node);
}
