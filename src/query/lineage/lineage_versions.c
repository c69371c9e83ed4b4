/* lineage_versions.c - from a version on: to the executions that made it or used it, to the versions it came from or
 * went into, and along the connections of a server that nobody saw. */
#include "query/lineage/lineage_int.h"

#include "query/carried.h"

#include <errno.h>
#include <stdlib.h>

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

/* From version i, an engine's copy of a script, to the script. 0 or -errno. */
static int follow_script(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	struct edge made;
	int r = lineage_script_sources(w, w->nodes[i].id, &made);
	for (size_t k = 0; r == 0 && k < w->scripts.sources.n; k++)
		r = lineage_to_version(w, LINEAGE_DERIVED, i, &w->scripts.sources.v[k], bound);
	return r;
}

/* Follows a version to a program that is known to copy (copiers.def, checkouts.def). *ret_done: it is one, and no
 * more is to be followed than was here. 0, -errno. */
static int follow_copier(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, const struct edge *e,
                         uint32_t exec, bool *ret_done)
{
	const bool up = w->o->direction == LINEAGE_UP;
	const store_id version = w->nodes[i].id;
	struct edges *found = &w->copiers.copies;
	enum lineage_copier kind;
	const enum version_class class = (enum version_class)w->states[i].class;
	const bool data = class == VERSION_DATA || class == VERSION_NAMED;
	if (e->mode & ACCESS_PROGRAM || !(data || (up && class == VERSION_SYSTEM))) /* a library that it used is in all */
		return 0;
	int r = lineage_copier_kind(w, exec, &kind);
	if (r < 0 || kind == LINEAGE_COPIER_none)
		return r;
	if (kind == LINEAGE_COPIER_checkout) { /* of the work folder it only compared what it read */
		r = up ? 1 : lineage_is_checked_out(w, version);
		*ret_done = r > 0;
		return r > 0 && up ? lineage_reach_tree(w, exec) : r < 0 ? r : 0;
	}
	if (up)
		r = lineage_copier_sources(w, version, e->to, &found);
	else
		r = lineage_copier_copies(w, version, e->to, found);
	*ret_done = found->n || !up;
	for (size_t k = 0; r == 0 && k < found->n; k++)
		r = lineage_to_version(w, LINEAGE_DERIVED, i, &found->v[k], bound);
	return r;
}

/* Goes on from version i, which the execution made or used. Up, where the execution only copied it from others: to
 * those, and not to all that the execution used. Down, where it is the execution's program, and whenever the walk is
 * not of objects alone: to the whole execution. 0, -errno. */
static int follow_copy(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, const struct edge *e,
                       uint32_t exec)
{
	struct edges *from;
	store_id version = w->nodes[i].id;
	if (w->o->direction == LINEAGE_UP && w->states[i].copied)
		return follow_script(w, i, bound);
	bool done = false;
	int known = w->o->all ? 0 : follow_copier(w, i, bound, e, exec, &done);
	if (known < 0 || done)
		return known;
	if (!w->objects.any || w->o->all)
		return lineage_reach_whole(w, exec);
	if (w->o->direction == LINEAGE_DOWN) {
		int r = lineage_is_program(w, e->to, version, e->mode);
		if (r == 0)
			r = lineage_is_holder_of_used(w, e->to, version);
		return r > 0 ? lineage_reach_whole(w, exec) : r;
	}
	int r = lineage_is_renamed(w, version, e->to);
	if (r != 0)
		return r < 0 ? r : lineage_reach_partly(w, exec);
	r = lineage_copy_of(w, version, e->to, &from);
	if (r == 0 && !from->n)
		return lineage_reach_whole(w, exec);
	if (r == 0)
		r = lineage_reach_partly(w, exec);
	for (size_t k = 0; r == 0 && k < from->n; k++)
		r = lineage_to_version(w, LINEAGE_DERIVED, i, &from->v[k], bound);
	return r;
}

/* A bound that is better than none and lets nothing through. */
static struct lineage_bound never_in_time(const struct lineage_walk *w)
{
	const bool up = w->o->direction == LINEAGE_UP;
	return (struct lineage_bound){lineage_worst_time(w) + (up ? 1 : -1), 0};
}

/* From version i to an execution, by the edges got[k..end), one for each part of it. -errno, or 0; nothing where no
 * edge passes the bounds. */
static int follow_one_exec(struct lineage_walk *w, uint32_t i, struct lineage_bound bound, size_t k, size_t end)
{
	bool up = w->o->direction == LINEAGE_UP;
	struct lineage_run run;
	struct lineage_bound settled;
	uint32_t host, exec;
	int object = lineage_is_object(w, w->nodes[i].id);
	int r = object < 0 ? object : lineage_exec_host(w, w->got.v[k].to, &host);
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
			r = lineage_settle_part(w, exec, e->part, object, w->states[i].empty && up ? never_in_time(w) : settled);
	}
	return r;
}

/* Adds to w->got who copied the file, with which the object came whose version is i. -errno, or 0. */
static int add_copier(struct lineage_walk *w, uint32_t i)
{
	struct carried_pair pair;
	if (!w->objects.any || w->o->all)
		return 0;
	int r = carried_pair(&w->objects, w->nodes[i].id, &pair);
	return r > 0 ? edges_add(&w->got, &pair.gen) : r;
}

/* From version i to the executions that made it, or (down) that used it. -errno, or 0. Uses w->got. */
static int follow_execs(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	w->got.parts = true;
	int r = up ? store_gens(w->s, id, &w->got) : store_readers(w->s, id, &w->got);
	if (r == 0 && !w->states[i].root)
		r = lineage_drop_ranks(w, i, &w->got);
	if (r == 0 && up)
		r = add_copier(w, i);
	if (r == 0 && !up && !w->o->all && !w->states[i].root)
		r = objects_readers(&w->objects, id, &w->got);
	for (size_t k = 0, end; r == 0 && k < w->got.n; k = end) {
		end = lineage_run_end(&w->got, k);
		r = follow_one_exec(w, i, bound, k, end);
	}
	w->got.parts = false;
	return r;
}

/* Adds to w->got what is between the version of a file, and those of objects that came with its bytes: up from such an
 * object, of which nothing is known of what it was copied from, and down from the file. -errno, or 0. */
static int add_carried(struct lineage_walk *w, uint32_t i)
{
	bool up = w->o->direction == LINEAGE_UP, whole = w->o->all || w->objects.view == OBJECTS_FILES;
	store_id id = w->nodes[i].id, carrier;
	struct carried_pair pair;
	struct version_info v;
	if (!w->objects.any)
		return 0;
	if (!up)
		return carried_objects(&w->objects, id, whole, &w->got);
	int r = carried_by(&w->objects, id, &carrier);
	if (r > 0 && !w->o->all && (r = carried_pair(&w->objects, id, &pair)) > 0)
		return 0;
	if (r >= 0)
		r = carried_by(&w->objects, id, &carrier);
	if (r > 0)
		r = store_version(w->s, carrier, &v);
	if (r <= 0)
		return r;
	return edges_add(&w->got,
	                 &(struct edge){.to = carrier, .sure = true, .via = TERM_via_data, .lo = v.start, .hi = v.end});
}

/* From version i to the versions that it came from, or (down) that came from it. -errno, or 0. Uses w->got. */
static int follow_derivations(struct lineage_walk *w, uint32_t i, struct lineage_bound bound)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	int r = up ? store_derived(w->s, id, &w->got) : store_derivatives(w->s, id, &w->got);
	if (r == 0)
		r = add_carried(w, i);
	if (r == 0 && !up)
		r = objects_carriers(&w->objects, id, &w->got);
	if (r == 0 && !up)
		r = lineage_copies_from(w, id, &w->copies.made);
	for (size_t k = 0; r == 0 && !up && k < w->copies.made.n; k++)
		r = edges_add(&w->got, &w->copies.made.v[k]);
	if (r == 0 && !up)
		r = lineage_scripts_from(w, id, &w->got);
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

/* From connection i to the others of its server: from one of them with the best bound is enough. 0, -errno. */
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

int lineage_expand_version(struct lineage_walk *w, uint32_t i)
{
	lineage_begin_expansion(w, i);
	struct lineage_bound bound = w->states[i].pending;
	const struct lineage_state *st = &w->states[i];
	if (st->empty && w->o->direction == LINEAGE_DOWN && !st->root && !st->derived && !w->o->all)
		return 0; /* no path leads through it */
	int r = follow_execs(w, i, bound);
	if (r >= 0)
		r = follow_derivations(w, i, bound);
	return r >= 0 && w->o->servers ? follow_servers(w, i, bound) : r;
}
