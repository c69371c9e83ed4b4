/* lineage_execs.c - from an execution on: to the versions that it used or made, and to the executions that it shares
 * memory, a fork or a submission with. */
#include "query/lineage/lineage_int.h"

#include <errno.h>

/* From execution i, on `host`, to the version to which the edges got[k..end) lead, one for each part. What does not
 * pass the bounds is not followed; certain and uncertain parts are not mixed. -errno, or 0. */
static int follow_one_file(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, uint32_t host, size_t k,
                           size_t end)
{
	bool up = w->o->direction == LINEAGE_UP;
	struct lineage_run run = {.n = 0};
	struct lineage_bound then = bound;
	int object = lineage_is_object(w, w->got.v[k].to);
	if (object < 0)
		return object;
	for (; k < end; k++) {
		struct edge *e = &w->got.v[k];
		if (!lineage_passes(w, bound, host, e->lo, up ? INT64_MAX : e->hi, &then))
			continue;
		lineage_settle(w, i, host, object, e, &then);
		if (up && e->sure && e->api == TERM_api_mpi) {
			const int in_time = lineage_message_in_time(w, i, e->lo);
			if (in_time < 0)
				return in_time;
			e->sure = in_time;
		}
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
	if (w->states[i].copier == LINEAGE_COPIER_checkout) {
		int r = w->o->direction == LINEAGE_DOWN ? 1 : lineage_is_checked_out(w, e->to);
		return r < 0 ? r : !r;
	}
	if (w->states[i].copier == LINEAGE_COPIER_file && w->o->direction == LINEAGE_DOWN) {
		struct edges *sources;
		int r = lineage_copier_sources(w, e->to, w->nodes[i].id, &sources);
		return r < 0 ? r : !sources->n;
	}
	if (w->o->direction == LINEAGE_UP) {
		int holds = is_holder(w, e->to, holders);
		return holds ? holds : lineage_is_program(w, w->nodes[i].id, e->to, e->mode);
	}
	int r = lineage_is_renamed(w, e->to, w->nodes[i].id);
	if (r != 0)
		return r < 0 ? r : 0;
	r = lineage_copy_of(w, e->to, w->nodes[i].id, &from);
	return r < 0 ? r : !from->n;
}

/* From execution i, on `host`, to the versions that it used, or (down) that it made. -errno, or 0. Uses w->got. */
static int follow_files(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, uint32_t host)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	struct objects_hidden hidden = {0};
	w->got.parts = true;
	int r = up ? store_uses(w->s, id, &w->got) : store_outputs(w->s, id, &w->got);
	if (r == 0)
		r = lineage_drop_transport(w, i, &w->got);
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

/* To what informed an execution: the submission of its job; of a submission, what the program was started with, for
 * that is the workflow. And down the same way. Edges of forks that are submissions become those; possible submissions
 * are added. -errno, or 0. */
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

/* From execution i, on `host`, to the executions that informed it, or (down) that it informed. -errno, or 0. Uses
 * w->got. */
static int follow_informed(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, uint32_t host)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	struct lineage_bound then = bound;
	uint32_t exec = VEC_NONE;
	if (up && !w->states[i].whole && !w->states[i].tree) /* bytes that it only copied are no news of what informed it */
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

int lineage_expand_exec(struct lineage_walk *w, uint32_t i)
{
	store_id id = w->nodes[i].id, script = 0;
	lineage_begin_expansion(w, i);
	struct lineage_bound bound = w->states[i].pending;
	uint32_t host;
	int r = lineage_exec_host(w, id, &host);
	if (w->o->direction == LINEAGE_UP && !w->states[i].whole && !w->states[i].partly && !w->states[i].tree)
		return r; /* only by what it copied, and what that came from is known */
	if (r == 0)
		r = follow_files(w, i, bound, host);
	if (r == 0)
		r = follow_informed(w, i, bound, host);
	if (r == 0 && w->o->direction == LINEAGE_UP && !w->o->all) /* its row is at hand still */
		r = store_exec_script(w->s, id, &script);
	w->states[i].no_script = r > 0 && !script;
	return r < 0 ? r : 0;
}
