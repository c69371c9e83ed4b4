/* report_gather.c - which files and executions a page has, and the edges between them. */
#include "answer/show/show.h"
#include "answer/why/why.h"
#include "base/map.h"
#include "report/report_int.h"

#include <errno.h>
#include <stdlib.h>

uint32_t report_find_node(const struct report *r, store_id id, bool exec)
{
	const uint32_t *at = idmap_find(&r->at, id << 1 | exec);
	return at ? *at : VEC_NONE;
}

/* Finds a node of the report, or adds it. Its place; VEC_NONE without memory. */
static uint32_t report_add_node(struct report *r, store_id id, bool exec)
{
	bool is_new = false;
	if (!vec_has_room(r->nodes, r->n_nodes, r->cap_nodes))
		return VEC_NONE;
	uint32_t *at = idmap_add(&r->at, id << 1 | exec, (uint32_t)r->n_nodes, &is_new);
	if (at && is_new)
		r->nodes[r->n_nodes++] = (struct report_node){.id = id, .exec = exec, .start = TIME_NONE};
	return at ? *at : VEC_NONE;
}

/* Numbers the nodes, when all are there. 0 or -ENOMEM. */
static int report_number_nodes(struct report *r)
{
	uint32_t n = 0;
	r->order = calloc(r->n_nodes + 1, sizeof(*r->order));
	if (!r->order)
		return -ENOMEM;
	for (int exec = 0; exec < 2; exec++) {
		for (size_t i = 0; i < r->n_nodes; i++)
			if (r->nodes[i].exec == exec) {
				r->nodes[i].number = n;
				r->order[n++] = (uint32_t)i;
			}
		if (!exec)
			r->n_files = n;
	}
	for (size_t k = 0; k < r->n_edges; k++) {
		r->edges[k].from = r->nodes[r->edges[k].from].number;
		r->edges[k].to = r->nodes[r->edges[k].to].number;
	}
	return 0;
}

/* ---- the lineage ---- */

/* Adds an edge of the report. 0, -ENOMEM. */
static int add_edge(struct report *r, const struct report_edge *e)
{
	if (!vec_has_room(r->edges, r->n_edges, r->cap_edges))
		return -ENOMEM;
	r->edges[r->n_edges++] = *e;
	return 0;
}

/* The first q->most nodes of the lineage (0: all) and the edges among them; the number of the rest goes into left_out.
 * 0, -ENOMEM. */
static int add_first_nodes_of_lineage(struct report *r)
{
	size_t n = r->q->most && r->q->most < r->l.n_nodes ? r->q->most : r->l.n_nodes;
	int rc = 0;
	r->lineage_nodes = n;
	r->left_out = r->l.n_nodes - n;
	for (size_t i = 0; i < n && rc == 0; i++)
		if (report_add_node(r, r->l.nodes[i].id, r->l.nodes[i].exec) != i)
			rc = -ENOMEM;
	for (size_t k = 0; k < r->l.n_edges && rc == 0; k++) {
		const struct lineage_edge *e = &r->l.edges[k];
		if (e->from < n && e->to < n)
			rc = add_edge(r, &(struct report_edge){e->from, e->to, e->type, (uint32_t)k, true, e->e});
	}
	return rc;
}

/* The lineage of the roots, into r->l, with what of it is certain. -errno, mostly with a sentence. */
static int walk_from(struct report *r, const store_id *roots, size_t n, struct err *err)
{
	if (!n)
		return 0;
	int rc = lineage_walk(r->a->store, roots, n, &r->options, err, &r->l);
	bool *certain = rc == 0 ? calloc(r->l.n_nodes + 1, sizeof(*certain)) : NULL;
	if (rc == 0)
		rc = certain ? lineage_certain(r->a->store, &r->l, &r->options, err, certain) : -ENOMEM;
	if (rc == 0)
		rc = shape_make(&(struct shape_of){r->a->store, &r->l, &r->options}, &r->shape);
	if (rc == 0)
		rc = add_first_nodes_of_lineage(r);
	for (size_t i = 0; i < r->lineage_nodes && rc == 0; i++)
		r->nodes[i].sure = certain[i];
	free(certain);
	return rc;
}

/* ---- what is no lineage ---- */

/* Edges that there are already: of a walk. */
struct known_edges {
	struct idmap map;
};

/* Never 0. */
static uint64_t edge_key(uint32_t from, uint32_t to)
{
	return ((uint64_t)from << 32 | to) + 1;
}

/* Notes which edges the report has. 0, -ENOMEM. Adds each edge of the report to ret->map. */
static int know_edges(const struct report *r, struct known_edges *ret)
{
	bool is_new;
	for (size_t k = 0; k < r->n_edges; k++)
		if (!idmap_add(&ret->map, edge_key(r->edges[k].from, r->edges[k].to), 1, &is_new))
			return -ENOMEM;
	return 0;
}

/* The edges of an execution that no way led along, to versions that the page has. used: those that it used. -errno, or
 * 0; e is for use. */
static int add_exec_edges(struct report *r, struct known_edges *known, uint32_t exec, bool used, struct edges *e)
{
	store_id id = r->nodes[exec].id;
	int rc = used ? store_uses(r->a->store, id, e) : store_outputs(r->a->store, id, e);
	for (size_t i = 0; i < e->n && rc >= 0; i++) {
		uint32_t version = report_find_node(r, e->v[i].to, false);
		uint32_t from = used ? exec : version, to = used ? version : exec;
		bool is_new = false;
		if (version == VEC_NONE)
			continue;
		if (!idmap_add(&known->map, edge_key(from, to), 1, &is_new))
			rc = -ENOMEM;
		else if (is_new)
			rc = add_edge(
			    r, &(struct report_edge){from, to, used ? LINEAGE_USED : LINEAGE_GENERATED, VEC_NONE, false, e->v[i]});
	}
	return rc < 0 ? rc : 0;
}

/* Adds the edges of the report's executions that the lineage passed over, each once. 0, -errno. */
static int add_other_edges(struct report *r, const store_id *execs, size_t n)
{
	struct known_edges known = {0};
	struct edges e = {0};
	int rc = know_edges(r, &known);
	for (size_t i = 0; i < n && rc == 0; i++) {
		uint32_t exec = report_find_node(r, execs[i], true);
		if (exec == VEC_NONE)
			continue;
		rc = add_exec_edges(r, &known, exec, true, &e);
		if (rc == 0)
			rc = add_exec_edges(r, &known, exec, false, &e);
	}
	edges_release(&e);
	idmap_release(&known.map);
	return rc;
}

/* A run's own executions and what it used and made, so far as there is room. What has no room counts as left out.
 * -ENOMEM, -errno, or 0. */
static int add_rest_of_run(struct report *r, const struct show_run *run)
{
	size_t most = r->q->most ? r->q->most : SIZE_MAX;
	const struct show_items *lists[] = {&run->made, &run->used};
	int rc = 0;
	for (size_t k = 0; k < 2 && rc == 0; k++)
		for (size_t i = 0; i < lists[k]->items.n && rc == 0; i++) {
			if (lists[k]->sorts[i] == SHOW_UNLISTED)
				continue;
			if (r->n_nodes >= most && report_find_node(r, lists[k]->items.v[i].version, false) == VEC_NONE)
				r->left_out++;
			else if (report_add_node(r, lists[k]->items.v[i].version, false) == VEC_NONE)
				rc = -ENOMEM;
		}
	for (size_t i = 0; i < run->n && rc == 0; i++) {
		if (r->n_nodes >= most && report_find_node(r, run->execs[i], true) == VEC_NONE)
			r->left_out++;
		else if (report_add_node(r, run->execs[i], true) == VEC_NONE)
			rc = -ENOMEM;
	}
	return rc;
}

/* ---- a run, a file ---- */

/* Gathers the nodes and edges of the report's run. -ENOENT: there is no such run; -errno. */
static int gather_run(struct report *r, struct err *err)
{
	struct show_run run;
	size_t n = 0;
	int rc = show_run_load(r->a, r->run, false, &run);
	if (rc <= 0)
		return rc < 0 ? rc : -ENOENT;
	store_id *roots = malloc((run.made.items.n + 1) * sizeof(*roots));
	for (size_t i = 0; i < run.made.items.n && roots; i++)
		if (run.made.sorts[i] == ENTITY_DATA || run.made.sorts[i] == ENTITY_PROGRAM)
			roots[n++] = run.made.items.v[i].version;
	rc = roots ? walk_from(r, roots, n, err) : -ENOMEM;
	if (rc == 0)
		rc = add_rest_of_run(r, &run);
	if (rc == 0)
		rc = add_other_edges(r, run.execs, run.n);
	r->run_gaps = run.run.gaps;
	free(roots);
	show_run_release(&run);
	return rc;
}

/* The run of who made the file, if anybody is known. Sets r->run. 0, -errno. */
static int find_run_of_file(struct report *r)
{
	struct edges e = {0};
	struct exec_info x;
	int rc = store_gens(r->a->store, r->q->target.file.version, &e);
	for (size_t i = 0; i < e.n && rc >= 0 && !r->run; i++)
		if ((rc = store_exec(r->a->store, e.v[i].to, &x)) > 0)
			r->run = x.run;
	edges_release(&e);
	return rc < 0 ? rc : 0;
}

int report_gather(struct report *r, struct err *err)
{
	int rc;
	if (r->q->target.kind == TARGET_RUN) {
		r->run = r->q->target.id;
		rc = gather_run(r, err);
	} else {
		rc = walk_from(r, &r->q->target.file.version, 1, err);
		if (rc == 0)
			rc = find_run_of_file(r);
	}
	return rc == 0 ? report_number_nodes(r) : rc;
}
