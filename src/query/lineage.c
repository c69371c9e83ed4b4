#include "query/lineage.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "query/idmap.h"
#include "query/objects.h"
#include "query/submit.h"
#include "query/system.h"

#include <errno.h>
#include <stdlib.h>

const char *const lineage_omit_name[OMIT_COUNT] = {
    [OMIT_system] = "system", [OMIT_absent] = "absent",       [OMIT_cache] = "cache",         [OMIT_fork] = "fork",
    [OMIT_shm] = "shm",       [OMIT_sync] = "sync",           [OMIT_uncertain] = "uncertain", [OMIT_unseen] = "unseen",
    [OMIT_object] = "object", [OMIT_container] = "container",
};

enum kind_class { CLASS_DATA, CLASS_SYSTEM, CLASS_NAMED, CLASS_ABSENT }; /* in 8 bits */

/* A moment that bounds what is followed, by the clock of a host; host 0: by any clock, skew already allowed for. */
struct bound {
	int64_t t;
	uint32_t host;
};

/* What the walk knows of a node besides the result. */
struct state {
	struct bound pending; /* best it was reached with; what it was expanded with, once it was */
	uint8_t queued;       /* in which queues, enum place */
	bool reached;         /* false: only folded, so not in the result */
	bool expanded;
	bool root;
	uint8_t class; /* enum kind_class, of versions, once classified */
	bool observed;
	bool no_script;    /* an execution, known to have run none */
	uint32_t arrivals; /* list in walk.arrivals, until it is classified */
	uint32_t omitted;  /* place in walk.omitted, 0 none */
};

/* Edges that a node left out at its last expansion. Few nodes do. */
struct omitted {
	uint32_t count[OMIT_COUNT];
};

/* A version is classified when it is expanded, where its row is at hand anyway, and not when it is come to: until then
 * it is not known which of the edges that lead to it count. */
struct arrival {
	uint32_t edge, next; /* next: 0 at the end */
	struct bound bound;
};

#define GONE ((enum lineage_edge_type)UINT8_MAX)

enum place { IN_NEAR = 1, IN_FAR = 2 }; /* a version is in one queue at a time: one bit does for both of theirs */

struct queue {
	uint32_t *v;
	size_t n, cap;
	enum place place;
};

struct walk {
	struct store *s;
	const struct lineage_options *o;
	struct table seen; /* nodes by id */
	struct lineage_node *nodes;
	struct state *states;
	size_t n_nodes, cap_nodes;
	struct lineage_edge *edges; /* of type GONE: it does not count */
	size_t n_edges, cap_edges;
	struct arrival *arrivals; /* from 1 on */
	size_t n_arrivals, cap_arrivals;
	uint32_t free_arrivals;  /* list of those that are done with */
	struct omitted *omitted; /* from 1 on */
	size_t n_omitted, cap_omitted;
	struct queue now, next; /* versions of this level and the next one */
	struct queue near,
	    far; /* executions: those behind a stream of this level, which lead to this level, and the rest */
	struct queue *versions, *execs; /* where what is come to goes: now and near, or next and far */
	struct edges got;
	uint32_t depth;
	bool cut;
	struct objects objects;
	struct submit_edges *submits;
	struct idmap hosts; /* hash of the name -> number from 1; used with a skew only */
};

static int queue_push(struct queue *q, uint32_t i)
{
	if (!vec_has_room(q->v, q->n, q->cap))
		return -ENOMEM;
	q->v[q->n++] = i;
	return 0;
}

/* ---- time ---- */

static int64_t offset_time(int64_t t, int64_t by)
{
	int64_t sum;
	return __builtin_add_overflow(t, by, &sum) ? (by < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* By how much a bound moves, towards allowing more, at a host with another clock. */
static int64_t skew_widening(const struct walk *w)
{
	int64_t twice = w->o->skew > INT64_MAX / 2 ? INT64_MAX : 2 * w->o->skew;
	return w->o->direction == LINEAGE_UP ? twice : -twice;
}

/* Of two times, does the first allow more? */
static bool is_better_time(const struct walk *w, int64_t a, int64_t b)
{
	return w->o->direction == LINEAGE_UP ? a > b : a < b;
}

/* The time that allows least: nothing is worse. */
static int64_t worst_time(const struct walk *w)
{
	return w->o->direction == LINEAGE_UP ? INT64_MIN : INT64_MAX;
}

/* The bound as the clock of a host shows it. */
static int64_t at_host(const struct walk *w, struct bound b, uint32_t host)
{
	return !b.host || b.host == host ? b.t : offset_time(b.t, skew_widening(w));
}

/* Betters *b by `by`; false if that already allows as much. Moments of two clocks within the skew cannot be ordered:
 * then both give way to one that allows what either does, so that nothing true is missed. */
static bool improve_bound(const struct walk *w, struct bound *b, struct bound by)
{
	if (!w->o->skew || b->host == by.host) {
		if (!is_better_time(w, by.t, b->t))
			return false;
		*b = by;
		return true;
	}
	int64_t mine = b->host ? offset_time(b->t, skew_widening(w)) : b->t;
	int64_t its = by.host ? offset_time(by.t, skew_widening(w)) : by.t;
	if (!is_better_time(w, its, b->t))
		return false;
	*b = !is_better_time(w, mine, by.t) ? by : (struct bound){is_better_time(w, its, mine) ? its : mine, 0};
	return true;
}

/* May the walk follow an edge that holds over [lo, hi] at an execution of `host`, and with which bound does it go on?
 * Up: the later thing's end bounds what it can have taken in. Down is the same relation reversed: what began bounds
 * where it can have ended up. */
static bool passes_bound(const struct walk *w, struct bound b, uint32_t host, int64_t lo, int64_t hi, struct bound *ret)
{
	if (hi == TIME_NONE)
		hi = TIME_NEVER;
	int64_t t = at_host(w, b, host), limit = w->o->direction == LINEAGE_UP ? hi : lo;
	if (w->o->direction == LINEAGE_UP ? lo > t : hi < t)
		return false;
	*ret = is_better_time(w, t, limit) ? (struct bound){limit, host} : b;
	return true;
}

/* The number of an execution's host; 0 where clocks are taken as one. */
static int load_exec_host(struct walk *w, store_id exec, uint32_t *ret)
{
	struct exec_info x;
	*ret = 0;
	int r = w->o->skew ? store_exec(w->s, exec, &x) : 0;
	if (r <= 0)
		return r;
	bool is_new;
	uint32_t *at = idmap_add(&w->hosts, hash_str(x.host) | 1, (uint32_t)w->hosts.n + 1, &is_new);
	if (!at)
		return -ENOMEM;
	*ret = *at;
	return 0;
}

/* ---- nodes ---- */

static uint32_t lineage_node_hash(store_id id, bool exec)
{
	return (uint32_t)hash_mix(id << 1 | exec, 0);
}

/* The nodes that edges lead to are looked up one after the other; what each look-up waits for comes meanwhile. */
static void prefetch_targets(const struct walk *w, const struct edges *e, bool exec)
{
	for (size_t k = 0; w->seen.slot && k < e->n; k++)
		__builtin_prefetch(&w->seen.slot[lineage_node_hash(e->v[k].to, exec) & w->seen.mask]);
}

static int node_of(struct walk *w, store_id id, bool exec, uint32_t *ret)
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
		struct state *states = realloc(w->states, cap * sizeof(*states));
		if (!states)
			return -ENOMEM;
		w->states = states;
		w->cap_nodes = cap;
	}
	w->nodes[w->n_nodes] = (struct lineage_node){.id = id, .exec = exec};
	w->states[w->n_nodes] = (struct state){.pending = {worst_time(w), 0}};
	if (!table_add(&w->seen, hash, (uint32_t)w->n_nodes))
		return -ENOMEM;
	*ret = (uint32_t)w->n_nodes++;
	return 0;
}

/* ---- what a version is ---- */

/* A cache of Python's is passed through to the source it was made from (B14), so it is not folded where it stands among
 * somebody's own files. */
static bool is_bytecode(struct str path)
{
	return memmem(path.p, path.n, "/__pycache__/", 13) != NULL;
}

static int classify_version(struct walk *w, uint32_t i)
{
	if (w->nodes[i].classified)
		return 0;
	struct version_sort v;
	int r = store_version_sort(w->s, w->nodes[i].id, &v);
	if (r < 0)
		return r;
	struct state *st = &w->states[i];
	w->nodes[i].classified = true;
	st->class = CLASS_DATA;
	if (r == 0)
		return 0;
	st->observed = v.origin == ORIGIN_OBSERVED;
	w->nodes[i].object = objects_is_object(v.kind);
	w->nodes[i].stream = v.kind >= TERM_kind_fifo && v.kind <= TERM_kind_terminal;
	if (v.kind == TERM_kind_absent) {
		st->class = CLASS_ABSENT;
	} else if (v.kind == TERM_kind_pseudo) {
		st->class = CLASS_SYSTEM;
	} else if (v.kind == TERM_kind_regular) {
		enum system_class c = system_path(v.path, w->o->system_extra);
		if (c == SYSTEM_YES)
			st->class = CLASS_SYSTEM;
		else if (c == SYSTEM_UNLESS_NAMED)
			st->class = is_bytecode(v.path) ? CLASS_SYSTEM : CLASS_NAMED;
	}
	return 0;
}

/* Was the execution given the version's path as, or within, an argument? */
static int named_in_argv(struct walk *w, store_id exec, store_id version, bool *ret)
{
	struct exec_info x;
	struct version_sort v;
	*ret = false;
	int r = store_version_sort(w->s, version, &v);
	if (r > 0)
		r = store_exec(w->s, exec, &x);
	if (r <= 0)
		return r;
	struct str arg;
	for (size_t pos = 0; !*ret && strlist_next(&x.argv, &pos, &arg);)
		*ret = memmem(arg.p, arg.n, v.path.p, v.path.n) != NULL;
	return 0;
}

/* Is the version the script that the execution ran? */
static int is_script(struct walk *w, store_id version, store_id exec, bool *ret)
{
	store_id script = 0;
	struct version_sort v;
	*ret = false;
	int r = store_exec_script(w->s, exec, &script);
	if (r < 0 || !script)
		return r;
	r = store_version_sort(w->s, version, &v);
	*ret = r > 0 && v.file == script;
	return r;
}

/* Is version node i, classified, to be folded where the walk comes to it by e from node `other`, an execution or, by
 * derivation, a version? *ret_omit says why, or is OMIT_COUNT. */
static int judge_fold(struct walk *w, uint32_t i, const struct edge *e, uint32_t other, enum lineage_omit *ret_omit)
{
	const struct state *st = &w->states[i], *from = &w->states[other];
	store_id exec = w->nodes[other].exec ? w->nodes[other].id : 0;
	bool yes = false;
	int r = 0;
	*ret_omit = OMIT_COUNT;
	if (w->o->all || st->root)
		return 0;
	switch ((enum kind_class)st->class) {
	case CLASS_ABSENT:
		*ret_omit = OMIT_absent;
		return 0;
	case CLASS_SYSTEM:
		*ret_omit = OMIT_system;
		return 0;
	case CLASS_NAMED:
		r = exec ? named_in_argv(w, exec, w->nodes[i].id, &yes) : 0;
		if (!yes)
			*ret_omit = OMIT_system;
		return r;
	case CLASS_DATA:
		break;
	}
	/* The script is what the user calls the program, and the interpreter is not. */
	if (exec && e->mode & ACCESS_PROGRAM && !st->observed && w->o->direction == LINEAGE_UP) {
		r = from->no_script ? 0 : is_script(w, w->nodes[i].id, exec, &yes);
		if (!yes)
			*ret_omit = OMIT_system;
	}
	return r < 0 ? r : 0;
}

/* Are versions classified at all? */
static bool classifies_versions(const struct walk *w)
{
	return !w->o->all || w->o->depth;
}

/* ---- the walk ---- */

/* Why an edge of any type is not followed, or OMIT_COUNT. */
static enum lineage_omit edge_omitted(const struct walk *w, const struct edge *e)
{
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

static int record_omission(struct walk *w, uint32_t node, enum lineage_omit why)
{
	struct state *st = &w->states[node];
	if (!st->omitted) {
		if (w->n_omitted + 1 >= w->cap_omitted) {
			size_t cap = w->cap_omitted ? w->cap_omitted * 2 : 64;
			struct omitted *v = realloc(w->omitted, cap * sizeof(*v));
			if (!v)
				return -ENOMEM;
			w->omitted = v;
			w->cap_omitted = cap;
		}
		w->omitted[++w->n_omitted] = (struct omitted){{0}};
		st->omitted = (uint32_t)w->n_omitted;
	}
	w->omitted[st->omitted].count[why]++;
	return 0;
}

static int append_lineage_edge(struct walk *w, enum lineage_edge_type type, uint32_t node, uint32_t other,
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

static void mark_node_reached(struct walk *w, uint32_t i, uint32_t depth)
{
	if (!w->states[i].reached) {
		w->states[i].reached = true;
		w->nodes[i].depth = depth;
	}
}

/* With a limit, a stream is as near as what led to it. */
static uint32_t node_depth_at(const struct walk *w, uint32_t i, uint32_t level)
{
	return level - (w->o->depth && w->nodes[i].stream && level);
}

static int enqueue_once(struct walk *w, struct queue *q, uint32_t i)
{
	if (w->states[i].queued & q->place)
		return 0;
	w->states[i].queued |= (uint8_t)q->place;
	return queue_push(q, i);
}

static int arrive_with_bound(struct walk *w, struct queue *q, uint32_t i, struct bound bound)
{
	struct state *st = &w->states[i];
	return improve_bound(w, &st->pending, bound) || !st->expanded ? enqueue_once(w, q, i) : 0;
}

/* Comes to a version of which it is not known yet whether it counts. */
static int arrive_untold(struct walk *w, uint32_t i, struct bound bound)
{
	uint32_t at = w->free_arrivals;
	if (at)
		w->free_arrivals = w->arrivals[at].next;
	if (!at && w->n_arrivals + 1 >= w->cap_arrivals) {
		size_t cap = w->cap_arrivals ? w->cap_arrivals * 2 : 1024;
		struct arrival *v = realloc(w->arrivals, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		w->arrivals = v;
		w->cap_arrivals = cap;
	}
	if (!at)
		at = (uint32_t)++w->n_arrivals;
	w->arrivals[at] = (struct arrival){(uint32_t)w->n_edges - 1, w->states[i].arrivals, bound};
	w->states[i].arrivals = at;
	return enqueue_once(w, w->versions, i);
}

/* Classifies a version that is about to be expanded, and takes back the edges to it that do not count. */
static int classify_expanded(struct walk *w, uint32_t i)
{
	if (!classifies_versions(w) || w->nodes[i].classified)
		return 0;
	int r = classify_version(w, i);
	for (uint32_t k = w->states[i].arrivals, next; k && r == 0; k = next) {
		struct arrival *a = &w->arrivals[k];
		struct lineage_edge *e = &w->edges[a->edge];
		enum lineage_omit why;
		next = a->next;
		r = judge_fold(w, i, &e->e, lineage_other(e, i), &why);
		if (r == 0 && why == OMIT_COUNT) {
			improve_bound(w, &w->states[i].pending, a->bound);
			mark_node_reached(w, i, node_depth_at(w, i, w->depth));
		} else if (r == 0) {
			e->type = GONE;
		}
		a->next = w->free_arrivals;
		w->free_arrivals = k;
	}
	w->states[i].arrivals = 0;
	return r;
}

/* Goes along one edge from `node` to the version `to`. */
static int to_version(struct walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e,
                      struct bound bound)
{
	uint32_t i;
	enum lineage_omit why = edge_omitted(w, e);
	if (why != OMIT_COUNT)
		return record_omission(w, node, why);
	int r = node_of(w, e->to, false, &i);
	if (r < 0)
		return r;
	if (classifies_versions(w) && !w->nodes[i].classified) {
		r = append_lineage_edge(w, type, node, i, e);
		return r < 0 ? r : arrive_untold(w, i, bound);
	}
	r = judge_fold(w, i, e, node, &why);
	if (r < 0 || why != OMIT_COUNT)
		return r; /* folded versions are counted once, at the end */
	r = append_lineage_edge(w, type, node, i, e);
	if (r < 0)
		return r;
	mark_node_reached(w, i, node_depth_at(w, i, w->depth + (w->versions == &w->next)));
	return arrive_with_bound(w, w->versions, i, bound);
}

static int to_exec(struct walk *w, enum lineage_edge_type type, uint32_t node, const struct edge *e, struct bound bound)
{
	uint32_t i;
	enum lineage_omit why = edge_omitted(w, e);
	if (why != OMIT_COUNT)
		return record_omission(w, node, why);
	int r = node_of(w, e->to, true, &i);
	if (r == 0)
		r = append_lineage_edge(w, type, node, i, e);
	if (r < 0)
		return r;
	mark_node_reached(w, i, w->depth - (w->versions == &w->now && w->depth));
	/* What wrote a cache's entry took the rest of its inputs for itself (B14). */
	if (type == LINEAGE_GENERATED && e->via == TERM_via_cache && !w->o->all)
		return record_omission(w, node, OMIT_cache);
	return arrive_with_bound(w, w->execs, i, bound);
}

static void begin_expansion(struct walk *w, uint32_t i)
{
	struct state *st = &w->states[i];
	struct lineage_node *n = &w->nodes[i];
	/* What an earlier expansion found comes again. */
	for (uint32_t k = 0; k < n->n; k++)
		w->edges[n->first + k].type = GONE;
	if (st->omitted)
		w->omitted[st->omitted] = (struct omitted){{0}};
	st->expanded = true;
	n->first = (uint32_t)w->n_edges;
	n->n = 0;
}

static int expand_version(struct walk *w, uint32_t i)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	begin_expansion(w, i);
	struct bound bound = w->states[i].pending, then = bound;
	int r = up ? store_gens(w->s, id, &w->got) : store_readers(w->s, id, &w->got);
	uint64_t hidden = 0;
	if (r == 0 && !up && !w->o->all && !w->states[i].root)
		r = objects_readers(&w->objects, id, &w->got, &hidden);
	for (size_t k = 0; r == 0 && k < w->got.n; k++) {
		const struct edge *e = &w->got.v[k];
		uint32_t host;
		r = load_exec_host(w, e->to, &host);
		if (r == 0 && passes_bound(w, bound, host, e->lo, up ? e->hi : INT64_MAX, &then))
			r = to_exec(w, up ? LINEAGE_GENERATED : LINEAGE_USED, i, e, then);
	}
	if (r == 0)
		r = up ? store_derived(w->s, id, &w->got) : store_derivatives(w->s, id, &w->got);
	if (r == 0 && !up)
		r = objects_carriers(&w->objects, id, &w->got);
	for (size_t k = 0; r == 0 && k < w->got.n; k++) {
		const struct edge *e = &w->got.v[k];
		struct version_info v;
		r = w->o->seen_only ? store_version(w->s, up ? id : e->to, &v) : 0;
		if (r > 0 && v.origin == ORIGIN_UNOBSERVED) {
			r = record_omission(w, i, OMIT_unseen);
			continue;
		}
		r = r < 0 ? r : to_version(w, LINEAGE_DERIVED, i, e, bound);
	}
	return r;
}

/* To what informed an execution: the submission of its job; of a submission, what the program was started with, for
 * that is the workflow. And down the same way. */
static int follow_submission(struct walk *w, store_id id)
{
	bool up = w->o->direction == LINEAGE_UP;
	int r = 0;
	for (size_t k = 0; r >= 0 && k < w->got.n; k++) {
		struct edge *e = &w->got.v[k];
		if (e->sure || e->via != TERM_via_fork || w->o->fork)
			continue;
		r = submit_is(w->s, up ? id : e->to);
		if (r > 0)
			e->via = TERM_via_submit;
	}
	return r < 0 ? r : submit_edges_add(w->submits, id, !up, &w->got);
}

static int expand_exec(struct walk *w, uint32_t i)
{
	bool up = w->o->direction == LINEAGE_UP;
	store_id id = w->nodes[i].id;
	begin_expansion(w, i);
	struct bound bound = w->states[i].pending, then = bound;
	uint32_t host;
	int r = load_exec_host(w, id, &host);
	if (r == 0)
		r = up ? store_uses(w->s, id, &w->got) : store_outputs(w->s, id, &w->got);
	uint64_t hidden = 0;
	if (r == 0 && !w->o->all)
		r = objects_choose(&w->objects, id, !up, &w->got, &hidden);
	for (; r == 0 && hidden; hidden--)
		r = record_omission(w, i, w->objects.view == OBJECTS_FILES ? OMIT_object : OMIT_container);
	prefetch_targets(w, &w->got, false);
	for (size_t k = 0; r == 0 && k < w->got.n; k++) {
		const struct edge *e = &w->got.v[k];
		if (!passes_bound(w, bound, host, e->lo, up ? INT64_MAX : e->hi, &then))
			continue;
		if (!up && e->via == TERM_via_cache && !w->o->all) {
			r = record_omission(w, i, OMIT_cache);
			continue;
		}
		r = to_version(w, up ? LINEAGE_USED : LINEAGE_GENERATED, i, e, then);
	}
	if (r == 0)
		r = up ? store_informed(w->s, id, &w->got) : store_informs(w->s, id, &w->got);
	if (r == 0)
		r = follow_submission(w, id);
	for (size_t k = 0; r == 0 && k < w->got.n; k++) {
		const struct edge *e = &w->got.v[k];
		bool submits = e->via == TERM_via_submit && e->to != id;
		uint32_t its = host;
		/* What they share may have been there before it was seen: only its end bounds. A submission's time is its own.
		 */
		if (submits)
			r = load_exec_host(w, e->to, &its);
		if (r == 0 && passes_bound(w, bound, its, submits ? e->lo : INT64_MIN, e->hi, &then))
			r = to_exec(w, LINEAGE_INFORMED, i, e, then);
	}
	store_id script = 0;
	if (r == 0 && up && !w->o->all) /* its row is at hand still */
		r = store_exec_script(w->s, id, &script);
	w->states[i].no_script = r > 0 && !script;
	return r < 0 ? r : 0;
}

/* Is there anything beyond a version at the depth limit? */
static int look_beyond(struct walk *w, uint32_t i)
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
static int visit_version(struct walk *w, uint32_t i)
{
	w->states[i].queued = 0;
	int r = classify_expanded(w, i);
	if (r < 0 || !w->states[i].reached)
		return r;
	bool through = w->o->depth && w->nodes[i].stream && w->depth;
	if (through) {
		w->versions = &w->now;
		w->execs = &w->near;
		return expand_version(w, i);
	}
	w->versions = &w->next;
	w->execs = &w->far;
	if (!w->o->depth || w->depth < w->o->depth)
		return expand_version(w, i);
	return w->cut ? 0 : look_beyond(w, i);
}

static int visit_exec(struct walk *w, uint32_t i, struct queue *execs, struct queue *versions)
{
	w->states[i].queued &= (uint8_t)~execs->place;
	w->execs = execs;
	w->versions = versions;
	return expand_exec(w, i);
}

/* What is known of a node that comes after place `at` is on its way meanwhile. */
static void prefetch_next(const struct walk *w, const struct queue *q, size_t at)
{
	if (at + 2 >= q->n)
		return;
	__builtin_prefetch(&w->nodes[q->v[at + 2]]);
	__builtin_prefetch(&w->states[q->v[at + 2]]);
}

static int run_levels(struct walk *w)
{
	int r = 0;
	for (; r == 0 && w->next.n; w->depth++) {
		struct queue t = w->now;
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

/* Leaves only what was reached, and each edge once; in place. */
static int compact_lineage(struct walk *w, struct lineage *ret)
{
	bool up = w->o->direction == LINEAGE_UP;
	uint32_t *renumber = malloc((w->n_nodes + 1) * sizeof(*renumber));
	if (!renumber)
		return -ENOMEM;
	struct lineage l = {.nodes = w->nodes, .edges = w->edges, .cut = w->cut};
	for (size_t i = 0; i < w->n_nodes; i++) {
		const struct state *st = &w->states[i];
		renumber[i] = (uint32_t)l.n_nodes;
		if (!st->reached) {
			l.omitted[st->class == CLASS_ABSENT ? OMIT_absent : OMIT_system]++;
			continue;
		}
		for (int k = 0; st->omitted && k < OMIT_COUNT; k++)
			l.omitted[k] += w->omitted[st->omitted].count[k];
		l.nodes[l.n_nodes] = w->nodes[i];
		l.nodes[l.n_nodes].first = l.nodes[l.n_nodes].n = 0;
		l.n_nodes++;
	}
	/* The edges of a node stand side by side: each expansion added its own in one go. */
	for (size_t k = 0; k < w->n_edges; k++) {
		struct lineage_edge e = w->edges[k];
		if (e.type == GONE)
			continue;
		e.from = renumber[e.from];
		e.to = renumber[e.to];
		struct lineage_node *owner = &l.nodes[up ? e.from : e.to];
		if (!owner->n++)
			owner->first = (uint32_t)l.n_edges;
		l.edges[l.n_edges++] = e;
	}
	w->nodes = NULL;
	w->edges = NULL;
	free(renumber);
	*ret = l;
	return 0;
}

int lineage_walk(struct store *s, const store_id *roots, size_t n, const struct lineage_options *o, struct err *err,
                 struct lineage *ret)
{
	struct walk w = {
	    .s = s, .o = o, .near.place = IN_NEAR, .far.place = IN_FAR, .now.place = IN_NEAR, .next.place = IN_NEAR};
	int64_t widest = o->direction == LINEAGE_UP ? INT64_MAX : INT64_MIN;
	int r = 0;
	bool viewing = store_view_begin(s, VIEW_WALK) == 0;
	enum objects_view view = OBJECTS_FILES;
	for (size_t k = 0; r == 0 && k < n; k++) {
		struct version_sort v;
		r = store_version_sort(s, roots[k], &v);
		if (r > 0 && objects_is_object(v.kind))
			view = OBJECTS_OBJECTS;
		r = r < 0 ? r : 0;
	}
	if (r == 0)
		r = objects_begin(&w.objects, s, view);
	if (r == 0)
		r = submit_edges_new(s, o->skew, &w.submits);
	for (size_t k = 0; r == 0 && k < n; k++) {
		uint32_t i;
		r = node_of(&w, roots[k], false, &i);
		if (r == 0 && !w.states[i].reached) {
			mark_node_reached(&w, i, 0);
			w.states[i].pending.t = widest;
			w.states[i].root = true;
			r = enqueue_once(&w, &w.next, i);
		}
	}
	if (r == 0)
		r = run_levels(&w);
	if (r == 0)
		r = compact_lineage(&w, ret);
	if (viewing)
		store_view_end(s);
	if (r < 0)
		err_set(err, -r, "cannot walk the graph");
	free(w.nodes);
	free(w.states);
	free(w.edges);
	free(w.arrivals);
	free(w.omitted);
	free(w.now.v);
	free(w.next.v);
	free(w.near.v);
	free(w.far.v);
	edges_release(&w.got);
	objects_end(&w.objects);
	submit_edges_free(w.submits);
	table_release(&w.seen);
	idmap_release(&w.hosts);
	return r;
}

static uint64_t node_key(const struct lineage_node *n)
{
	return n->id << 1 | n->exec;
}

int lineage_certain(struct store *s, const struct lineage *l, const struct lineage_options *o, struct err *err,
                    bool *ret)
{
	struct lineage_options only = *o;
	struct lineage sure = {0};
	struct idmap map = {0};
	bool is_new;
	only.certain = true;
	int r = lineage_walk(s, &l->nodes[0].id, 1, &only, err, &sure);
	for (size_t i = 0; i < sure.n_nodes && r == 0; i++)
		if (!idmap_add(&map, node_key(&sure.nodes[i]), 1, &is_new))
			r = -ENOMEM;
	for (size_t i = 0; i < l->n_nodes; i++)
		ret[i] = r == 0 && idmap_find(&map, node_key(&l->nodes[i]));
	idmap_release(&map);
	lineage_release(&sure);
	return r;
}

void lineage_release(struct lineage *l)
{
	free(l->nodes);
	free(l->edges);
	*l = (struct lineage){0};
}
