/* lineage.c - the walk: from its roots level by level (from nodes on: lineage_versions.c and lineage_execs.c; under the
 * rule of time: lineage_time.c). */
#include "query/lineage/lineage_int.h"

#include <stdlib.h>

/* Is there anything beyond a version at the depth limit? Sets w->cut. 0, -errno. */
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

/* Expands a reached version unless it is at the depth limit; there it only looks whether more lies beyond (w->cut).
 * What lies behind a stream counts as near as the stream. 0, -errno. */
static int visit_version(struct lineage_walk *w, uint32_t i)
{
	w->states[i].queued = 0;
	int r = lineage_classify_expanded(w, i);
	if (r < 0 || !w->states[i].reached)
		return r;
	bool through = w->o->depth && w->nodes[i].near && w->depth;
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

/* From here on what is found is put into these queues. 0 or -errno. */
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
	if (at + 12 < q->n) {
		__builtin_prefetch(&w->nodes[q->v[at + 12]]);
		__builtin_prefetch(&w->states[q->v[at + 12]]);
	}
	if (at + 8 < q->n)
		store_expect(w->s, w->nodes[q->v[at + 8]].id, w->nodes[q->v[at + 8]].exec, false);
	if (at + 4 < q->n)
		store_expect(w->s, w->nodes[q->v[at + 4]].id, w->nodes[q->v[at + 4]].exec, true);
}

/* One level after the other, until nothing is left to be looked at. 0 or -errno. */
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

/* What the walk begins at decides which of a file and its objects stand for what was made (query/objects.h). 0, -errno.
 * */
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

/* The roots are reached at no time that would bound what is followed. -errno, or 0; a version that is not in the record
 * is passed over. */
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

/* Releases what the walk has used, but for its result. */
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
	lineage_scripts_release(&w->scripts);
	lineage_copiers_release(&w->copiers);
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
		err_set(err, -r, "cannot follow the lineage in the index");
	release_walk(&w);
	return r;
}
