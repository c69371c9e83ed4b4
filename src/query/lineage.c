/* lineage.c - the walk: nodes by levels, edges under the rule of time (lineage_time.c). */
#include "query/lineage_int.h"

#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

static int queue_push(struct lineage_queue *q, uint32_t i)
{
	if (!vec_has_room(q->v, q->n, q->cap))
		return -ENOMEM;
	q->v[q->n++] = i;
	return 0;
}

/* ---- nodes ---- */

static uint32_t lineage_node_hash(store_id id, bool exec)
{
	return (uint32_t)hash_mix(id << 1 | exec, 0);
}

/* The nodes that edges lead to are looked up one after the other; what each look-up waits for comes meanwhile. */
static void lineage_prefetch_targets(const struct lineage_walk *w, const struct edges *e, bool exec)
{
	for (size_t k = 0; w->seen.slot && k < e->n; k++)
		__builtin_prefetch(&w->seen.slot[lineage_node_hash(e->v[k].to, exec) & w->seen.mask]);
}

static int lineage_node_of(struct lineage_walk *w, store_id id, bool exec, uint32_t *ret)
{
	uint32_t hash = lineage_node_hash(id, exec), at;
	for (size_t pos = TABLE_START; (at = table_next(&w->seen, hash, &pos)) != VEC_NONE;)
		if (w->nodes[at].id == id && w->nodes[at].exec == exec) {
			*ret = at;
			return 0;
		}
	if (w->n_nodes == VEC_NONE)
		return -E2BIG;
	if (w->n_nodes == w->cap_nodes) {
		size_t cap = w->cap_nodes ? w->cap_nodes * 2 : 256;
		struct lineage_node *nodes = realloc(w->nodes, cap * sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		w->nodes = nodes;
		struct lineage_state *states = realloc(w->states, cap * sizeof(*states));
		if (!states)
			return -ENOMEM;
		w->states = states;
		w->cap_nodes = cap;
	}
	w->nodes[w->n_nodes] = (struct lineage_node){.id = id, .exec = exec};
	w->states[w->n_nodes] = (struct lineage_state){.pending = {lineage_worst_time(w), 0},
	                                               .settled = {lineage_worst_time(w), 0},
	                                               .informed = {lineage_worst_time(w), 0}};
	if (!table_add(&w->seen, hash, (uint32_t)w->n_nodes))
		return -ENOMEM;
	*ret = (uint32_t)w->n_nodes++;
	return 0;
}

/* Are versions classified at all? */
static bool classifies_versions(const struct lineage_walk *w)
{
	return !w->o->all || w->o->depth;
}

/* ---- the walk ---- */

/* Why an edge of any type is not followed, or OMIT_COUNT. */
static enum lineage_omit edge_omitted(const struct lineage_walk *w, enum lineage_edge_type type, const struct edge *e)
{
	if (w->o->read && type == LINEAGE_USED && e->reading < TERM_reading_read)
		return OMIT_unread;
	if (e->via == TERM_via_sync && !w->o->all)
		return OMIT_sync;
	if (!e->sure && !w->o->fork) {
		if (e->via == TERM_via_fork)
			return OMIT_fork;
		if (e->via == TERM_via_shm)
			return OMIT_shm;
	}
	if (!e->sure && w->o->certain)
		return OMIT_uncertain;
	return OMIT_COUNT;
}

static int lineage_record_omission(struct lineage_walk *w, uint32_t node, enum lineage_omit why)
{
	struct lineage_state *st = &w->states[node];
	if (!st->omitted) {
		if (w->n_omitted + 1 >= w->cap_omitted) {
			size_t cap = w->cap_omitted ? w->cap_omitted * 2 : 64;
			struct lineage_omitted *v = realloc(w->omitted, cap * sizeof(*v));
			if (!v)
				return -ENOMEM;
			w->omitted = v;
			w->cap_omitted = cap;
		}
		w->omitted[++w->n_omitted] = (struct lineage_omitted){{0}};
		st->omitted = (uint32_t)w->n_omitted;
	}
	w->omitted[st->omitted].count[why]++;
	return 0;
}

static int append_lineage_edge(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, uint32_t other,
                               const struct edge *e)
{
	if (w->n_edges == w->cap_edges) {
		if (w->n_edges >= UINT32_MAX / 2)
			return -E2BIG;
		size_t cap = w->cap_edges ? w->cap_edges * 2 : 1024;
		struct lineage_edge *v = realloc(w->edges, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		w->edges = v;
		w->cap_edges = cap;
	}
	bool up = w->o->direction == LINEAGE_UP;
	w->edges[w->n_edges++] =
	    (struct lineage_edge){.from = up ? node : other, .to = up ? other : node, .type = type, .e = *e};
	w->nodes[node].n++;
	return 0;
}

static void lineage_mark_reached(struct lineage_walk *w, uint32_t i, uint32_t depth)
{
	if (!w->states[i].reached) {
		w->states[i].reached = true;
		w->nodes[i].depth = depth;
	}
}

/* With a limit, a stream is as near as what led to it. */
static uint32_t node_depth_at(const struct lineage_walk *w, uint32_t i, uint32_t level)
{
	return level - (w->o->depth && w->nodes[i].stream && level);
}

static int lineage_enqueue(struct lineage_walk *w, struct lineage_queue *q, uint32_t i)
{
	if (w->states[i].queued & q->place)
		return 0;
	w->states[i].queued |= (uint8_t)q->place;
	return queue_push(q, i);
}

static int arrive_with_bound(struct lineage_walk *w, struct lineage_queue *q, uint32_t i, struct lineage_bound bound)
{
	struct lineage_state *st = &w->states[i];
	return lineage_improve(w, &st->pending, bound) || !st->expanded ? lineage_enqueue(w, q, i) : 0;
}

/* Comes to a version of which it is not known yet whether it counts. */
static int arrive_untold(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	uint32_t at = w->free_arrivals;
	if (at)
		w->free_arrivals = w->arrivals[at].next;
	if (!at && w->n_arrivals + 1 >= w->cap_arrivals) {
		size_t cap = w->cap_arrivals ? w->cap_arrivals * 2 : 1024;
		struct lineage_arrival *v = realloc(w->arrivals, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		w->arrivals = v;
		w->cap_arrivals = cap;
	}
	if (!at)
		at = (uint32_t)++w->n_arrivals;
	w->arrivals[at] = (struct lineage_arrival){(uint32_t)w->n_edges - 1, w->states[i].arrivals, bound};
	w->states[i].arrivals = at;
	return lineage_enqueue(w, w->versions, i);
}

/* Classifies a version that is about to be expanded, and takes back the edges to it that do not count. */
static int lineage_classify_expanded(struct lineage_walk *w, uint32_t i)
{
	if (!classifies_versions(w) || w->nodes[i].classified)
		return 0;
	int r = lineage_classify(w, i);
	for (uint32_t k = w->states[i].arrivals, next; k && r == 0; k = next) {
		struct lineage_arrival *a = &w->arrivals[k];
		struct lineage_edge *e = &w->edges[a->edge];
		enum lineage_omit why;
		next = a->next;
		r = lineage_judge(w, i, &e->e, lineage_other(e, i), &why);
		if (r == 0 && why == OMIT_COUNT) {
			lineage_improve(w, &w->states[i].pending, a->bound);
			lineage_mark_reached(w, i, node_depth_at(w, i, w->depth));
		} else if (r == 0) {
			e->type = LINEAGE_GONE;
		}
		a->next = w->free_arrivals;
		w->free_arrivals = k;
	}
	w->states[i].arrivals = 0;
	return r;
}

/* Goes along one edge from `node` to the version `to`. */
static int lineage_to_version(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                              struct lineage_bound bound)
{
	uint32_t i;
	enum lineage_omit why = edge_omitted(w, type, e);
	if (why != OMIT_COUNT && why != OMIT_unread)
		return lineage_record_omission(w, node, why);
	int r = lineage_node_of(w, e->to, false, &i);
	if (r < 0)
		return r;
	if (why == OMIT_unread) { /* counted at the end, by what it is */
		w->states[i].unread = true;
		return lineage_classify(w, i);
	}
	if (classifies_versions(w) && !w->nodes[i].classified) {
		r = append_lineage_edge(w, type, node, i, e);
		return r < 0 ? r : arrive_untold(w, i, bound);
	}
	r = lineage_judge(w, i, e, node, &why);
	if (r < 0 || why != OMIT_COUNT)
		return r; /* folded versions are counted once, at the end */
	r = append_lineage_edge(w, type, node, i, e);
	if (r < 0)
		return r;
	lineage_mark_reached(w, i, node_depth_at(w, i, w->depth + (w->versions == &w->next)));
	return arrive_with_bound(w, w->versions, i, bound);
}

/* *ret: the node of the execution, VEC_NONE where it is not followed. */
static int lineage_to_exec(struct lineage_walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                           struct lineage_bound bound, uint32_t *ret)
{
	uint32_t i;
	enum lineage_omit why = edge_omitted(w, type, e);
	*ret = VEC_NONE;
	if (why != OMIT_COUNT)
		return lineage_record_omission(w, node, why);
	int r = lineage_node_of(w, e->to, true, &i);
	if (r == 0)
		r = append_lineage_edge(w, type, node, i, e);
	if (r < 0)
		return r;
	lineage_mark_reached(w, i, w->depth - (w->versions == &w->now && w->depth));
	/* What wrote a cache's entry took the rest of its inputs for itself (B14). */
	if (type == LINEAGE_GENERATED && e->via == TERM_via_cache && !w->o->all)
		return lineage_record_omission(w, node, OMIT_cache);
	if (type == LINEAGE_GENERATED && w->states[node].empty && !w->o->all)
		return lineage_record_omission(w, node, OMIT_empty);
	*ret = i;
	return arrive_with_bound(w, w->execs, i, bound);
}

/* Execution i was reached by way of a part of it, with what surely comes in time for that. */
static int lineage_settle_part(struct lineage_walk *w, uint32_t i, uint32_t part, struct lineage_bound bound)
{
	struct lineage_bound *at = lineage_part_bound(w, i, part, true);
	if (!at)
		return -ENOMEM;
	return lineage_improve(w, at, bound) ? lineage_enqueue(w, w->execs, i) : 0;
}

static void lineage_begin_expansion(struct lineage_walk *w, uint32_t i)
{
	struct lineage_state *st = &w->states[i];
	struct lineage_node *n = &w->nodes[i];
	/* What an earlier expansion found comes again. */
	for (uint32_t k = 0; k < n->n; k++)
		w->edges[n->first + k].type = LINEAGE_GONE;
	if (st->omitted)
		w->omitted[st->omitted] = (struct lineage_omitted){{0}};
	st->expanded = true;
	n->first = (uint32_t)w->n_edges;
	n->n = 0;
}

/* Of the edges got[k..end) to parts of one execution, on `host`, those that the walk may follow; where only what is
 * sure is followed, and one of them is, those that are. */
static void collect_run(struct lineage_walk *w, struct lineage_bound bound, uint32_t host, size_t k, size_t end,
                        struct lineage_run *ret)
{
	bool up = w->o->direction == LINEAGE_UP, sure = false;
	struct lineage_bound then = bound;
	*ret = (struct lineage_run){.n = 0};
	for (size_t m = k; w->o->certain && m < end; m++)
		sure |= w->got.v[m].sure;
	for (size_t m = k; m < end; m++) {
		const struct edge *e = &w->got.v[m];
		int64_t hi = !up ? INT64_MAX : w->o->certain ? e->over : e->hi;
		if ((e->sure || !sure) && lineage_passes(w, bound, host, e->lo, hi, &then))
			lineage_run_add(w, ret, e, then);
	}
}

/* Execution i is come to by more than what it copied: all of it counts. 0 or -ENOMEM. */
static int lineage_reach_whole(struct lineage_walk *w, uint32_t i)
{
	if (w->states[i].whole)
		return 0;
	w->states[i].whole = true;
	return lineage_enqueue(w, w->execs, i);
}

/* Version i was made by the execution as a copy: it came from the original, *ret, and from nothing else of what the
 * execution used but its program. Or was the execution come to by (down) its program, or by more than objects? */
static int follow_copy(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, const struct edge *e,
                       uint32_t exec)
{
	struct edges *from;
	store_id version = w->nodes[i].id;
	if (!w->objects.any || w->o->all)
		return lineage_reach_whole(w, exec);
	if (w->o->direction == LINEAGE_DOWN) {
		int r = lineage_is_program(w, e->to, version, e->mode);
		return r > 0 ? lineage_reach_whole(w, exec) : r;
	}
	int r = lineage_copy_of(w, version, e->to, &from);
	if (r == 0 && !from->n)
		return lineage_reach_whole(w, exec);
	for (size_t k = 0; r == 0 && k < from->n; k++)
		r = lineage_to_version(w, LINEAGE_DERIVED, i, &from->v[k], bound);
	return r;
}

/* From version i to an execution, by the edges got[k..end), one for each part of it. */
static int follow_one_exec(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, size_t k, size_t end)
{
	bool up = w->o->direction == LINEAGE_UP;
	struct lineage_run run;
	struct lineage_bound settled;
	uint32_t host, exec;
	int r = lineage_exec_host(w, w->got.v[k].to, &host);
	if (r < 0)
		return r;
	collect_run(w, bound, host, k, end, &run);
	if (!run.n)
		return 0;
	r = lineage_to_exec(w, up ? LINEAGE_GENERATED : LINEAGE_USED, i, &run.e, run.bound, &exec);
	if (r == 0 && exec != VEC_NONE)
		r = follow_copy(w, i, bound, &run.e, exec);
	for (size_t m = k; r == 0 && exec != VEC_NONE && m < end; m++) {
		const struct edge *e = &w->got.v[m];
		if ((e->sure || !run.e.sure || !w->o->certain) &&
		    lineage_passes(w, bound, host, e->lo, up ? e->over : INT64_MAX, &settled))
			r = lineage_settle_part(w, exec, e->part, settled);
	}
	return r;
}

/* The end of the edges from the k-th on that lead to one thing. */
static size_t lineage_run_end(const struct edges *e, size_t k)
{
	size_t end = k + 1;
	while (end < e->n && e->v[end].to == e->v[k].to)
		end++;
	return end;
}

/* From version i to the executions that made it, or (down) that used it. */
static int follow_execs(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	w->got.parts = true;
	int r = up ? store_gens(w->s, id, &w->got) : store_readers(w->s, id, &w->got);
	if (r == 0 && !up && !w->o->all && !w->states[i].root)
		r = objects_readers(&w->objects, id, &w->got);
	for (size_t k = 0, end; r == 0 && k < w->got.n; k = end) {
		end = lineage_run_end(&w->got, k);
		r = follow_one_exec(w, i, bound, k, end);
	}
	w->got.parts = false;
	return r;
}

/* From version i to the versions that it came from, or (down) that came from it. */
static int follow_derivations(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	int r = up ? store_derived(w->s, id, &w->got) : store_derivatives(w->s, id, &w->got);
	if (r == 0 && !up)
		r = objects_carriers(&w->objects, id, &w->got);
	if (r == 0 && !up)
		r = lineage_copies_from(w, id, &w->copies.made);
	for (size_t k = 0; r == 0 && !up && k < w->copies.made.n; k++)
		r = edges_add(&w->got, &w->copies.made.v[k]);
	for (size_t k = 0; r == 0 && k < w->got.n; k++) {
		const struct edge *e = &w->got.v[k];
		struct version_info v;
		r = w->o->seen_only ? store_version(w->s, up ? id : e->to, &v) : 0;
		if (r > 0 && v.origin == ORIGIN_UNOBSERVED) {
			r = lineage_record_omission(w, i, OMIT_unseen);
			continue;
		}
		r = r < 0 ? r : lineage_to_version(w, LINEAGE_DERIVED, i, e, bound);
	}
	return r;
}

/* Where the bound is kept with which the connections of a server were followed. */
static struct lineage_bound *served_bound(struct lineage_walk *w, store_id server)
{
	bool is_new;
	uint32_t *at = idmap_add(&w->servers, server, (uint32_t)w->servers.n, &is_new);
	if (!at)
		return NULL;
	uint32_t place = *at;
	if (place >= w->cap_served) {
		size_t cap = w->cap_served ? w->cap_served * 2 : 16;
		struct lineage_bound *v = realloc(w->served, cap * sizeof(*v));
		if (!v)
			return NULL;
		w->served = v;
		w->cap_served = cap;
	}
	if (is_new)
		w->served[place] = (struct lineage_bound){lineage_worst_time(w), 0};
	return &w->served[place];
}

/* From connection i to the others of its server: from one of them with the best bound is enough. */
static int follow_servers(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	struct file_info f;
	store_id id = w->nodes[i].id, server = 0;
	int r = lineage_server_of(w, id, &server);
	if (r > 0)
		r = store_file(w->s, server, &f);
	if (r <= 0)
		return r;
	struct lineage_bound *best = served_bound(w, server), then;
	if (!best)
		return -ENOMEM;
	if (!lineage_improve(w, best, bound))
		return 0;
	for (uint64_t n = 1; r >= 0 && n <= f.versions; n++) {
		struct lineage_connection c;
		uint32_t host;
		r = lineage_connection_of(w, server, n, &c);
		if (r <= 0 || c.version == id)
			continue;
		r = lineage_exec_host(w, c.exec, &host);
		struct edge e = {.to = c.version, .via = TERM_via_socket, .lo = c.lo, .hi = c.hi};
		if (r >= 0 && lineage_passes(w, bound, host, c.lo, c.hi, &then))
			r = lineage_to_version(w, LINEAGE_DERIVED, i, &e, bound);
	}
	return r < 0 ? r : 0;
}

static int lineage_expand_version(struct lineage_walk *w, uint32_t i)
{
	lineage_begin_expansion(w, i);
	struct lineage_bound bound = w->states[i].pending;
	int r = follow_execs(w, i, bound);
	if (r >= 0)
		r = follow_derivations(w, i, bound);
	return r >= 0 && w->o->servers ? follow_servers(w, i, bound) : r;
}

/* To what informed an execution: the submission of its job; of a submission, what the program was started with, for
 * that is the workflow. And down the same way. */
static int follow_submission(struct lineage_walk *w, store_id id)
{
	bool up = w->o->direction == LINEAGE_UP;
	int r = 0;
	for (size_t k = 0; r >= 0 && k < w->got.n; k++) {
		struct edge *e = &w->got.v[k];
		if (e->sure || e->via != TERM_via_fork || w->o->fork)
			continue;
		r = submit_edges_is(w->submits, up ? id : e->to);
		if (r > 0)
			e->via = TERM_via_submit;
	}
	return r < 0 ? r : submit_edges_add(w->submits, id, !up, &w->got);
}

/* From execution i, on `host`, to the version to which the edges got[k..end) lead, one for each part. */
static int follow_one_file(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, uint32_t host, size_t k,
                           size_t end)
{
	bool up = w->o->direction == LINEAGE_UP;
	struct lineage_run run = {.n = 0};
	struct lineage_bound then = bound;
	for (; k < end; k++) {
		struct edge *e = &w->got.v[k];
		if (!lineage_passes(w, bound, host, e->lo, up ? INT64_MAX : e->hi, &then))
			continue;
		lineage_settle(w, i, host, e, &then);
		if (w->o->certain && run.n && e->sure != run.e.sure) {
			run.n = e->sure ? 0 : run.n; /* what is not sure does not count beside what is */
			if (!e->sure)
				continue;
		}
		lineage_run_add(w, &run, e, then);
	}
	if (!run.n)
		return 0;
	if (!up && run.e.via == TERM_via_cache && !w->o->all)
		return lineage_record_omission(w, i, OMIT_cache);
	return lineage_to_version(w, up ? LINEAGE_USED : LINEAGE_GENERATED, i, &run.e, run.bound);
}

/* The files that objects lie in which w->got leads to. 0 or -errno. */
static int find_holders(struct lineage_walk *w, struct idmap *ret)
{
	bool is_new;
	int r = 0;
	for (size_t k = 0; r >= 0 && k < w->got.n; k++) {
		struct version_sort v;
		r = store_version_sort(w->s, w->got.v[k].to, &v);
		if (r > 0 && objects_is_object(v.kind) && !idmap_add(ret, v.within, 1, &is_new))
			r = -ENOMEM;
	}
	return r < 0 ? r : 0;
}

/* Is the version one of a file that stands beside its objects, for these do not tell all? 1, 0, -errno. */
static int is_holder(struct lineage_walk *w, store_id version, const struct idmap *holders)
{
	struct version_sort v;
	int r = holders->n ? store_version_sort(w->s, version, &v) : 0;
	return r > 0 ? v.kind == TERM_kind_regular && idmap_find(holders, v.file) : r;
}

/* Does the walk go on from execution i by that edge, where it is not come to as a whole: up to its program, and to
 * files whose objects do not tell all, down to all but what it copied? 1, 0, -errno. */
static int is_part_followed(struct lineage_walk *w, uint32_t i, const struct edge *e, const struct idmap *holders)
{
	struct edges *from;
	if (w->states[i].whole)
		return 1;
	if (w->o->direction == LINEAGE_UP) {
		int holds = is_holder(w, e->to, holders);
		return holds ? holds : lineage_is_program(w, w->nodes[i].id, e->to, e->mode);
	}
	int r = lineage_copy_of(w, e->to, w->nodes[i].id, &from);
	return r < 0 ? r : !from->n;
}

/* From execution i, on `host`, to the versions that it used, or (down) that it made. */
static int follow_files(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, uint32_t host)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	struct objects_hidden hidden = {0};
	w->got.parts = true;
	int r = up ? store_uses(w->s, id, &w->got) : store_outputs(w->s, id, &w->got);
	if (r == 0 && !w->o->all && !w->o->wholes)
		r = objects_choose(&w->objects, id, !up, &w->got, &hidden);
	for (; r == 0 && hidden.objects; hidden.objects--)
		r = lineage_record_omission(w, i, OMIT_object);
	for (; r == 0 && hidden.files; hidden.files--)
		r = lineage_record_omission(w, i, OMIT_container);
	struct idmap holders = {0};
	if (r == 0 && up && !w->states[i].whole)
		r = find_holders(w, &holders);
	lineage_prefetch_targets(w, &w->got, false);
	for (size_t k = 0, end; r == 0 && k < w->got.n; k = end) {
		end = lineage_run_end(&w->got, k);
		int part = is_part_followed(w, i, &w->got.v[k], &holders);
		r = part > 0 ? follow_one_file(w, i, bound, host, k, end) : part;
	}
	idmap_release(&holders);
	w->got.parts = false;
	return r;
}

/* From execution i, on `host`, to the executions that informed it, or (down) that it informed. */
static int follow_informed(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, uint32_t host)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	struct lineage_bound then = bound;
	uint32_t exec = VEC_NONE;
	if (up && !w->states[i].whole) /* bytes that it only copied are no news of what informed it */
		return 0;
	int r = up ? store_informed(w->s, id, &w->got) : store_informs(w->s, id, &w->got);
	if (r == 0)
		r = follow_submission(w, id);
	for (size_t k = 0; r == 0 && k < w->got.n; k++) {
		const struct edge *e = &w->got.v[k];
		bool submits = e->via == TERM_via_submit && e->to != id;
		uint32_t its = host;
		exec = VEC_NONE;
		/* What they share may have been there before it was seen: only its end bounds. A submission's time is its own.
		 */
		if (submits)
			r = lineage_exec_host(w, e->to, &its);
		if (r == 0 && lineage_passes(w, bound, its, submits ? e->lo : INT64_MIN, e->hi, &then))
			r = lineage_to_exec(w, LINEAGE_INFORMED, i, e, then, &exec);
		if (r == 0 && exec != VEC_NONE)
			r = lineage_reach_whole(w, exec);
		if (r == 0 && exec != VEC_NONE && lineage_improve(w, &w->states[exec].informed, then))
			r = lineage_enqueue(w, w->execs, exec);
	}
	return r;
}

static int lineage_expand_exec(struct lineage_walk *w, uint32_t i)
{
	store_id id = w->nodes[i].id, script = 0;
	lineage_begin_expansion(w, i);
	struct lineage_bound bound = w->states[i].pending;
	uint32_t host;
	int r = lineage_exec_host(w, id, &host);
	if (r == 0)
		r = follow_files(w, i, bound, host);
	if (r == 0)
		r = follow_informed(w, i, bound, host);
	if (r == 0 && w->o->direction == LINEAGE_UP && !w->o->all) /* its row is at hand still */
		r = store_exec_script(w->s, id, &script);
	w->states[i].no_script = r > 0 && !script;
	return r < 0 ? r : 0;
}

/* Is there anything beyond a version at the depth limit? */
static int look_beyond(struct lineage_walk *w, uint32_t i)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	int r = up ? store_gens(w->s, id, &w->got) : store_readers(w->s, id, &w->got);
	if (r == 0 && !w->got.n)
		r = up ? store_derived(w->s, id, &w->got) : store_derivatives(w->s, id, &w->got);
	w->cut |= r == 0 && w->got.n;
	return r;
}

/* A version of this level: expands it, unless it is at the limit. With a limit, what lies behind a stream is as near as
 * the stream is. */
static int visit_version(struct lineage_walk *w, uint32_t i)
{
	w->states[i].queued = 0;
	int r = lineage_classify_expanded(w, i);
	if (r < 0 || !w->states[i].reached)
		return r;
	bool through = w->o->depth && w->nodes[i].stream && w->depth;
	if (through) {
		w->versions = &w->now;
		w->execs = &w->near;
		return lineage_expand_version(w, i);
	}
	w->versions = &w->next;
	w->execs = &w->far;
	if (!w->o->depth || w->depth < w->o->depth)
		return lineage_expand_version(w, i);
	return w->cut ? 0 : look_beyond(w, i);
}

static int visit_exec(struct lineage_walk *w, uint32_t i, struct lineage_queue *execs, struct lineage_queue *versions)
{
	w->states[i].queued &= (uint8_t)~execs->place;
	w->execs = execs;
	w->versions = versions;
	return lineage_expand_exec(w, i);
}

/* What is known of a node that comes after place `at` is on its way meanwhile. */
static void prefetch_next(const struct lineage_walk *w, const struct lineage_queue *q, size_t at)
{
	if (at + 2 >= q->n)
		return;
	__builtin_prefetch(&w->nodes[q->v[at + 2]]);
	__builtin_prefetch(&w->states[q->v[at + 2]]);
}

static int run_levels(struct lineage_walk *w)
{
	int r = 0;
	for (; r == 0 && w->next.n; w->depth++) {
		struct lineage_queue t = w->now;
		w->now = w->next;
		w->next = t;
		w->next.n = w->near.n = w->far.n = 0;
		for (size_t v = 0, x = 0; r == 0 && (v < w->now.n || x < w->near.n);) {
			prefetch_next(w, &w->now, v);
			r = v < w->now.n ? visit_version(w, w->now.v[v++]) : visit_exec(w, w->near.v[x++], &w->near, &w->now);
		}
		for (size_t x = 0; r == 0 && x < w->far.n; x++) {
			prefetch_next(w, &w->far, x);
			r = visit_exec(w, w->far.v[x], &w->far, &w->next);
		}
	}
	return r;
}

/* What the walk begins at decides which of a file and its objects stand for what was made (query/objects.h). */
static int choose_objects_view(struct store *s, const store_id *roots, size_t n, enum objects_view *ret)
{
	*ret = OBJECTS_FILES;
	for (size_t k = 0; k < n; k++) {
		struct version_sort v;
		int r = store_version_sort(s, roots[k], &v);
		if (r < 0)
			return r;
		if (r > 0 && objects_is_object(v.kind))
			*ret = OBJECTS_OBJECTS;
	}
	return 0;
}

/* The roots are reached at no time that would bound what is followed. */
static int add_roots(struct lineage_walk *w, const store_id *roots, size_t n)
{
	int r = 0;
	for (size_t k = 0; r == 0 && k < n; k++) {
		uint32_t i;
		struct version_sort v;
		r = store_version_sort(w->s, roots[k], &v);
		if (r > 0)
			r = objects_ask_whole(&w->objects, v.file);
		if (r == 0)
			r = lineage_node_of(w, roots[k], false, &i);
		if (r == 0 && !w->states[i].reached) {
			lineage_mark_reached(w, i, 0);
			w->states[i].pending.t = w->o->direction == LINEAGE_UP ? INT64_MAX : INT64_MIN;
			w->states[i].root = true;
			r = lineage_enqueue(w, &w->next, i);
		}
	}
	return r;
}

static void release_walk(struct lineage_walk *w)
{
	free(w->nodes);
	free(w->states);
	free(w->edges);
	free(w->arrivals);
	free(w->ways);
	free(w->omitted);
	free(w->now.v);
	free(w->next.v);
	free(w->near.v);
	free(w->far.v);
	edges_release(&w->got);
	objects_end(&w->objects);
	lineage_copies_release(&w->copies);
	submit_edges_free(w->submits);
	table_release(&w->seen);
	idmap_release(&w->hosts);
	idmap_release(&w->servers);
	free(w->served);
}

int lineage_walk(struct store *s, const store_id *roots, size_t n, const struct lineage_options *o, struct err *err,
                 struct lineage *ret)
{
	struct lineage_walk w = {
	    .s = s, .o = o, .near.place = IN_NEAR, .far.place = IN_FAR, .now.place = IN_NEAR, .next.place = IN_NEAR};
	bool viewing = store_view_begin(s, VIEW_WALK) == 0;
	enum objects_view view;
	int r = choose_objects_view(s, roots, n, &view);
	if (r == 0)
		r = objects_begin(&w.objects, s, view);
	if (r == 0)
		r = submit_edges_new(s, o->skew, &w.submits);
	if (r == 0)
		r = add_roots(&w, roots, n);
	if (r == 0)
		r = run_levels(&w);
	if (r == 0)
		r = lineage_compact(&w, ret);
	if (viewing)
		store_view_end(s);
	if (r < 0)
		err_set(err, -r, "cannot walk the graph");
	release_walk(&w);
	return r;
}
