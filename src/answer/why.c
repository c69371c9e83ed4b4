#include "answer/why.h"

#include "answer/makers.h"
#include "answer/peers.h"
#include "base/system.h"
#include "query/fold.h"

#include <errno.h>
#include <stdlib.h>

#define HELPER_DEPTH 8 /* executions between a program's output and its input, all of which count to it */
#define ABOVE 64       /* forks and execs from a shell up to what is named */

void why_release(struct why *n)
{
	lineage_release(&n->l);
	free(n->makers);
	free(n->helpers);
	free(n->private);
	free(n->reps);
	free(n->inputs);
	free(n->opener_inputs);
	free(n->sort);
	free(n->doubtful);
	free(n->certain);
}

static bool has_number(const uint32_t *v, size_t n, uint32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

/* An edge from a fork without exec to its parent? */
static bool is_fork_of(const struct lineage_edge *e)
{
	return e->type == LINEAGE_INFORMED && e->e.sure && e->e.via == TERM_via_fork;
}

/* Those who generated a node, without those who only opened it, which are returned apart. clients: also who only
 * connected to it. */
static int add_makers(struct makers *m, struct why *n, uint32_t version, bool root, bool clients)
{
	const struct lineage_node *v = &n->l.nodes[version];
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *e = &n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED || (!root && !clients && peer_is_client(&e->e)))
			continue;
		int role = maker_role(m, version, e);
		if (role < 0)
			return role;
		if (role == MAKER_WRITER && !has_number(n->makers, n->n_makers, e->to)) {
			n->makers[n->n_makers++] = e->to;
			if (root)
				n->sure &= e->e.sure;
		} else if (role != MAKER_WRITER && root) {
			uint32_t from = maker_forked_from(m, e->to);
			n->opener = from != UINT32_MAX ? from : e->to;
			if (role == MAKER_BOTH && !has_number(n->doubtful, n->n_doubtful, n->opener))
				n->doubtful[n->n_doubtful++] = n->opener;
		}
	}
	return 0;
}

/* Who wrote to a stream; and, where that was asked for, to another connection of the same server. */
static int add_writers(struct makers *m, struct why *n, uint32_t stream)
{
	const struct lineage_node *v = &n->l.nodes[stream];
	int r = add_makers(m, n, stream, false, false);
	for (uint32_t k = 0; k < v->n && r >= 0; k++) {
		const struct lineage_edge *e = &n->l.edges[v->first + k];
		if (e->type == LINEAGE_DERIVED && e->e.via == TERM_via_socket)
			r = add_makers(m, n, e->to, false, true);
	}
	return r;
}

/* Upstream: who wrote to the streams that maker number i read, and what it is a fork of, for a fork knows what its
 * parent had read. */
static int add_upstream(struct makers *m, struct why *n, size_t i)
{
	const struct lineage_node *x = &n->l.nodes[n->makers[i]];
	int r = 0;
	for (uint32_t k = 0; k < x->n && r >= 0; k++) {
		const struct lineage_edge *e = &n->l.edges[x->first + k];
		if (e->type == LINEAGE_USED && n->l.nodes[e->to].stream)
			r = add_writers(m, n, e->to);
		else if (is_fork_of(e) && !has_number(n->makers, n->n_makers, e->to))
			n->makers[n->n_makers++] = e->to;
	}
	return r < 0 ? r : 0;
}

/* Data come before sockets and shared memory; of each what is certain comes first; in that the inputs of who wrote it,
 * then those upstream. Attributes come after the data: a library reads a dozen of them for one dataset. */
enum { RANK_BEFORE = 2, RANK_DOUBTFUL, RANK_OPENER };

struct input {
	uint32_t node, rank;
	store_id server; /* the address of a socket whose other end was not seen, 0 none */
	enum entity_sort sort;
	bool possible;
	unsigned char part; /* 0 the data; 1 asked of an object of a file, it is a file; 2 an attribute */
	int64_t lo;
};

static int by_rank(const void *pa, const void *pb)
{
	const struct input *a = pa, *b = pb;
	bool last_a = a->rank >= RANK_DOUBTFUL, last_b = b->rank >= RANK_DOUBTFUL;
	if (last_a != last_b)
		return last_a - last_b;
	if (a->sort != b->sort)
		return a->sort < b->sort ? -1 : 1;
	if (a->possible != b->possible)
		return a->possible - b->possible;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/* Is a stream an input by itself, because what wrote to it was not seen? Not those of the machine's own services. */
static int is_outside(const struct answer_source *a, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(a->store, version, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	if (r <= 0)
		return r;
	if (f.kind == TERM_kind_terminal)
		return v.origin == ORIGIN_EXTERNAL;
	struct str unix_name = str_of("unix:");
	if (str_starts(f.path, unix_name) &&
	    system_path(str_n(f.path.p + unix_name.n, f.path.n - unix_name.n), a->system_extra) == SYSTEM_YES)
		return 0;
	return peer_is_unobserved(a->store, &v, &f);
}

/* Several connections to one address are one input: its place from 1, 0 none. */
static uint32_t same_server(const struct input *in, size_t count, store_id server)
{
	for (size_t k = 0; server && k < count; k++)
		if (in[k].server == server)
			return (uint32_t)k + 1;
	return 0;
}

static int add_inputs(const struct answer_source *a, struct makers *m, struct why *n)
{
	struct input *in = calloc(n->l.n_nodes + 1, sizeof(*in));
	uint32_t *at = calloc(n->l.n_nodes + 1, sizeof(*at)); /* place in `in`, from 1 */
	size_t count = 0;
	int r = in && at ? 0 : -ENOMEM;
	for (size_t k = 0; r >= 0 && k < n->l.n_edges; k++) {
		const struct lineage_edge *e = &n->l.edges[k];
		const struct lineage_node *to = &n->l.nodes[e->to];
		bool of_maker = e->type == LINEAGE_USED &&
		                (has_number(n->makers, n->n_makers, e->from) || has_number(n->helpers, n->n_helpers, e->from));
		bool doubtful = has_number(n->doubtful, n->n_doubtful, e->from);
		if (to->exec || !e->to || !(of_maker || doubtful || e->from == n->opener || e->from == 0))
			continue;
		if (has_number(n->private, n->n_private, e->to))
			continue;
		r = to->stream ? is_outside(a, to->id) : maker_own(m, e);
		if (r < 0 || !r == to->stream)
			continue;
		r = peer_idle(a->store, &n->l, e->from, e);
		if (r)
			continue;
		uint32_t rank = of_maker       ? !has_number(n->makers, n->n_direct, e->from)
		                : e->from == 0 ? RANK_BEFORE
		                : doubtful     ? RANK_DOUBTFUL
		                               : RANK_OPENER;
		struct version_sort v = {0};
		r = at[e->to] ? 1 : store_version_sort(a->store, to->id, &v);
		at[e->to] = at[e->to] ? at[e->to] : same_server(in, count, to->stream ? v.file : 0);
		struct input *i = &in[at[e->to] ? at[e->to] - 1 : count];
		if (!at[e->to]) {
			n->sort[e->to] = (uint8_t)entity_sort(v.kind, v.path);
			*i = (struct input){.node = e->to,
			                    .rank = rank,
			                    .server = to->stream ? v.file : 0,
			                    .sort = n->sort[e->to],
			                    .possible = !n->certain[e->to],
			                    .part = v.kind == TERM_kind_attribute         ? 2
			                            : n->l.nodes[0].object && !to->object ? 1
			                                                                  : 0,
			                    .lo = e->e.lo};
			at[e->to] = (uint32_t)++count;
		}
		i->rank = rank < i->rank ? rank : i->rank;
		i->lo = e->e.lo < i->lo ? e->e.lo : i->lo;
	}
	if (count)
		qsort(in, count, sizeof(*in), by_rank);
	for (size_t i = 0; i < count; i++) {
		if (in[i].rank == RANK_OPENER)
			n->opener_inputs[n->n_opener_inputs++] = in[i].node;
		else
			n->inputs[n->n_inputs++] = in[i].node;
		n->n_seen += in[i].rank < RANK_DOUBTFUL;
	}
	free(in);
	free(at);
	return r < 0 ? r : 0;
}

/* Goes on, from a maker or helper, through files that only those know that count to the same execution. */
static int add_helpers(const struct answer_source *a, struct why *n, uint32_t x, store_id rep)
{
	const struct lineage_node *node = &n->l.nodes[x];
	int r = 0;
	for (uint32_t k = 0; k < node->n && r >= 0; k++) {
		const struct lineage_edge *e = &n->l.edges[node->first + k];
		const struct lineage_node *v = &n->l.nodes[e->to];
		if (e->type != LINEAGE_USED || v->stream || !e->to || has_number(n->private, n->n_private, e->to))
			continue;
		r = fold_private(a->store, v->id, rep);
		if (r <= 0)
			continue;
		n->private[n->n_private++] = e->to;
		for (uint32_t j = 0; j < v->n; j++) {
			uint32_t by = n->l.edges[v->first + j].to;
			if (n->l.nodes[by].exec && !has_number(n->helpers, n->n_helpers, by))
				n->helpers[n->n_helpers++] = by;
		}
	}
	return r < 0 ? r : 0;
}

/* Looks to whom the makers count. Any of them to another execution: *ret_any. */
static int find_reps(const struct answer_source *a, struct why *n, bool all, bool *ret_any)
{
	*ret_any = false;
	for (size_t i = 0; i < n->n_makers; i++) {
		store_id id = n->l.nodes[n->makers[i]].id;
		n->reps[i] = id;
		int r = all ? 0 : fold_representative(a->store, id, &n->reps[i]);
		if (r < 0)
			return r;
		*ret_any |= n->reps[i] != id;
	}
	/* A fork of a shell is shown as that, where the shell is a maker too; the last are the parents. */
	for (size_t i = n->n_makers; i-- > 0 && !all;) {
		const struct lineage_node *x = &n->l.nodes[n->makers[i]];
		for (uint32_t k = 0; k < x->n; k++) {
			const struct lineage_edge *e = &n->l.edges[x->first + k];
			for (size_t p = 0; p < n->n_makers && is_fork_of(e); p++)
				if (n->makers[p] == e->to)
					n->reps[i] = n->reps[p];
		}
	}
	return 0;
}

/* Of those that count to one execution the first one stands for all. */
static void merge_makers(struct why *n)
{
	size_t kept = 0, direct = n->n_direct;
	for (size_t i = 0; i < n->n_makers; i++) {
		bool again = false;
		for (size_t k = 0; k < kept && !again; k++)
			again = n->reps[k] == n->reps[i];
		if (again) {
			n->helpers[n->n_helpers++] = n->makers[i];
			n->n_direct -= i < direct;
			continue;
		}
		n->makers[kept] = n->makers[i];
		n->reps[kept++] = n->reps[i];
	}
	n->n_makers = kept;
}

/* Of wrappers and of shells that were given a command, what people mean is what started them, if that is in the record.
 */
static int find_within(const struct answer_source *a, struct why *n, bool all)
{
	store_id id = n->opener != UINT32_MAX ? n->l.nodes[n->opener].id : 0, at = id;
	n->within = id;
	for (int i = 0; i < ABOVE && at && !all; i++) {
		struct exec_info x;
		enum fold_class class;
		int r = store_exec(a->store, at, &x);
		store_id parent = r > 0 ? x.parent : 0;
		bool is_fork = r > 0 && !x.n;
		if (r > 0)
			r = fold_class(a->store, at, &class);
		if (r <= 0)
			return r;
		if (!is_fork || !i)
			n->within = at;
		if (!is_fork && class != FOLD_command && class != FOLD_wrapper)
			break;
		at = parent;
	}
	return 0;
}

/* Kinds of gaps by which it may not be known what a file is called, or who else wrote it. */
#define BLURRING (1u << TERM_gap_lost | 1u << TERM_gap_unreadable)
enum { INPUTS_ASKED = 16 }; /* a line of text names fewer; so many cost 0.1 ms */

/* Such gaps of those who made a file that was used; where it has no name, those of the whole run. */
static int add_gaps_of_input(const struct answer_source *a, store_id version, store_id by, uint64_t *gaps)
{
	struct version_info v;
	struct file_info f;
	struct edges e = {0};
	int r = store_version(a->store, version, &v);
	if (r > 0)
		r = store_file(a->store, v.file, &f);
	bool nameless = r > 0 && f.kind == TERM_kind_regular && !f.path.n;
	if (r > 0)
		r = store_gens(a->store, version, &e);
	struct exec_info x;
	struct run_info run;
	for (size_t i = 0; i < e.n && r >= 0; i++) {
		r = store_exec(a->store, e.v[i].to, &x);
		*gaps |= r > 0 ? x.gaps & BLURRING : 0;
	}
	edges_release(&e);
	if (nameless && r >= 0 && (r = store_exec(a->store, by, &x)) > 0 && (r = store_run(a->store, x.run, &run)) > 0)
		*gaps |= run.gaps & BLURRING;
	return r < 0 ? r : 0;
}

/* What could not be seen of what is told: of the programs, and of the files that they used. */
static int add_gaps(const struct answer_source *a, struct why *n)
{
	int r = 0;
	for (uint32_t i = 0; i < n->l.n_nodes; i++) {
		struct exec_info x;
		struct run_info run;
		if (!n->l.nodes[i].exec || store_exec(a->store, n->l.nodes[i].id, &x) <= 0)
			continue;
		n->gaps |= x.gaps;
		/* A record without an end was cut off, by a full disk or a crash, or goes on. */
		if (store_run_told(a->store, x.run, &run) > 0 && run.end == TIME_NONE)
			n->gaps |= 1u << TERM_gap_unended;
	}
	for (size_t i = 0; i < n->n_inputs && i < INPUTS_ASKED && n->n_makers && r == 0; i++)
		r = add_gaps_of_input(a, n->l.nodes[n->inputs[i]].id, n->l.nodes[n->makers[0]].id, &n->gaps);
	return r;
}

static int walk_near(const struct answer_source *a, store_id version, unsigned depth, unsigned flags, struct why *ret,
                     bool *ret_again)
{
	const bool all = flags & WHY_ALL;
	struct lineage_options o = {
	    .depth = depth,
	    .servers = flags & WHY_SERVERS,
	    .skew = a->skew,
	    .system_extra = a->system_extra,
	};
	struct err err = {0};
	struct why n = {.sure = true, .opener = UINT32_MAX};
	struct makers m = {0};
	int r = lineage_walk(a->store, &version, 1, &o, &err, &n.l);
	if (r < 0)
		return r;
	n.makers = calloc(n.l.n_nodes + 1, sizeof(*n.makers));
	n.helpers = calloc(2 * n.l.n_nodes + 1, sizeof(*n.helpers));
	n.private = calloc(n.l.n_nodes + 1, sizeof(*n.private));
	n.reps = calloc(n.l.n_nodes + 1, sizeof(*n.reps));
	n.inputs = calloc(n.l.n_nodes + 1, sizeof(*n.inputs));
	n.opener_inputs = calloc(n.l.n_nodes + 1, sizeof(*n.opener_inputs));
	n.doubtful = calloc(n.l.n_nodes + 1, sizeof(*n.doubtful));
	n.certain = calloc(n.l.n_nodes + 1, sizeof(*n.certain));
	n.sort = calloc(n.l.n_nodes + 1, sizeof(*n.sort));
	r = n.sort && n.makers && n.helpers && n.private && n.reps && n.inputs && n.opener_inputs && n.doubtful && n.certain
	        ? makers_init(&m, a->store, &n.l)
	        : -ENOMEM;
	if (r == 0)
		r = add_makers(&m, &n, 0, true, false);
	n.n_direct = n.n_makers;
	for (size_t i = 0; i < n.n_makers && r == 0; i++)
		r = add_upstream(&m, &n, i);
	bool any = false;
	if (r == 0)
		r = find_reps(a, &n, all, &any);
	*ret_again = any && depth == 1;
	for (size_t i = 0; i < n.n_makers && r == 0 && any; i++)
		if (n.reps[i] != n.l.nodes[n.makers[i]].id) {
			size_t from = n.n_helpers;
			r = add_helpers(a, &n, n.makers[i], n.reps[i]);
			for (; from < n.n_helpers && r == 0; from++)
				r = add_helpers(a, &n, n.helpers[from], n.reps[i]);
		}
	if (r == 0)
		r = lineage_certain(a->store, &n.l, &o, &err, n.certain);
	if (r == 0)
		r = add_inputs(a, &m, &n);
	if (r == 0)
		r = find_within(a, &n, all);
	if (r == 0 && !all)
		merge_makers(&n);
	makers_release(&m);
	if (r == 0)
		r = add_gaps(a, &n);
	if (r < 0)
		why_release(&n);
	else
		*ret = n;
	return r;
}

int why_find(const struct answer_source *a, store_id version, unsigned flags, struct why *ret)
{
	bool again;
	int r = walk_near(a, version, 1, flags, ret, &again);
	if (r < 0 || !again)
		return r;
	why_release(ret);
	*ret = (struct why){0};
	return walk_near(a, version, HELPER_DEPTH, flags, ret, &again);
}

bool why_is_certain(const struct why *n, size_t input)
{
	return input < n->n_seen && n->certain[n->inputs[input]];
}

/* Is there a sure edge to node i? */
static bool is_sure(const struct lineage *l, uint32_t i)
{
	for (size_t k = 0; k < l->n_edges; k++)
		if (l->edges[k].to == i && l->edges[k].e.sure)
			return true;
	return false;
}

/* n_seen: how many of them may be certain; of openers an edge says so, of the rest the whole way to them. */
static int node_list_json(const struct answer_source *a, const struct why *n, const uint32_t *nodes, size_t count,
                          size_t n_seen, bool openers, json_t *list)
{
	for (size_t i = 0; i < count; i++) {
		json_t *one = NULL;
		store_id id = n->l.nodes[nodes[i]].id;
		int r;
		if (n->l.nodes[nodes[i]].exec) {
			struct exec_info x;
			r = store_exec(a->store, id, &x);
			if (r > 0)
				r = exec_json(a->store, &x, &one);
			if (r >= 0 && one)
				r = representative_json(a->store, id, one);
		} else {
			struct version_info v;
			struct file_info f;
			r = store_version(a->store, id, &v);
			if (r > 0)
				r = store_file(a->store, v.file, &f);
			if (r > 0) {
				one = entity_json(&v, &f);
				r = peer_json(a->store, &v, &f, one);
			}
		}
		if (r < 0)
			return r;
		bool certain = openers ? is_sure(&n->l, nodes[i]) : n->certain[nodes[i]];
		js_text(one, "certainty", i < n_seen && certain ? "must" : "may");
		js_add(list, one);
	}
	return 0;
}

int why_json(const struct answer_source *a, const struct file_target *t, const struct why *n, json_t **ret)
{
	static const char *const disk[] = {"same", "changed", "replaced", "gone", "file-written", "deleted"};
	struct version_info version, *v = &version;
	struct file_info f;
	json_t *o = json_object(), *makers = json_array(), *inputs = json_array(), *openers = json_array(),
	       *before = json_array();
	int r = store_version(a->store, t->version, v);
	if (r > 0)
		r = store_file(a->store, v->file, &f);
	if (r > 0) {
		json_t *entity = entity_json(v, &f);
		r = notes_json(a->store, entity, NOTES_FILE, v->file, v->n);
		js_put(o, "entity", entity);
		if (r >= 0)
			r = node_list_json(a, n, n->makers, n->n_makers, n->n_makers, false, makers);
	}
	if (r >= 0)
		r = node_list_json(a, n, n->inputs, n->n_inputs, n->n_seen, false, inputs);
	if (r >= 0 && n->opener != UINT32_MAX)
		r = node_list_json(a, n, &n->opener, 1, 1, true, openers);
	if (r >= 0)
		r = node_list_json(a, n, n->opener_inputs, n->n_opener_inputs, n->n_opener_inputs, true, before);
	js_num(o, "makers_direct", n->n_direct);
	js_put(o, "makers", makers);
	js_put(o, "inputs", inputs);
	js_put(o, "openers", openers);
	js_put(o, "opener_inputs", before);
	js_text(o, "disk", disk[t->disk]);
	if (r >= 0 && t->disk == DISK_DELETED)
		r = deleted_json(a->store, &t->deleted, o);
	if (r < 0)
		json_decref(o);
	else
		*ret = o;
	return r < 0 ? r : 0;
}
