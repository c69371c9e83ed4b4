/* stemma why: one line for a file: what made it, from what, who, when, where. */
#include "cmd/ui/makers.h"
#include "cmd/ui/peers.h"
#include "cmd/ui/things.h"
#include "query/fold.h"
#include "query/lineage.h"
#include "query/system.h"
#include "query/target.h"

#include <errno.h>
#include <stdlib.h>

#define PIPELINE_MAX 6 /* commands of a pipeline that are named */
#define HELPER_DEPTH 8 /* executions between a program's output and its input, all of which count to it */

#define ABOVE 64 /* forks and execs from a shell up to what is named */

#define SHELL_MAX 24 /* columns of the shell that opened the file */

/* What stands near a version in its lineage of depth 1: streams are passed through. */
struct near {
	struct lineage l;
	uint32_t *makers; /* nodes: who wrote it, then who wrote to the pipe that they read, and so on backwards */
	size_t n_makers, n_direct;
	uint32_t *helpers; /* nodes of those that count to the same execution as a maker and wrote what only they knew */
	size_t n_helpers;
	uint32_t *private; /* nodes of files that only they knew */
	size_t n_private;
	store_id *reps;     /* beside makers: to which execution each counts */
	uint32_t opener;    /* node of the shell that opened it for them, UINT32_MAX none */
	store_id within;    /* what is named as where it was done, 0 nothing */
	uint32_t *doubtful; /* nodes of openers that may have written too */
	size_t n_doubtful;
	uint32_t *inputs; /* nodes of files: what who wrote it used, then those upstream, then what it was before, then the
	                     doubtful; each in the order of use */
	size_t n_inputs, n_seen; /* inputs[n_seen..) are those of the doubtful only */
	uint32_t *opener_inputs; /* what the opener used, where it only opened */
	size_t n_opener_inputs;
	uint8_t *sort; /* of each node that is an input: enum thing_sort */
	bool sure;     /* that the makers made it */
	bool *certain; /* of each node: a way to it is sure all along */
	uint64_t gaps;
};

static void near_release(struct near *n)
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

static bool holds(const uint32_t *v, size_t n, uint32_t x)
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

/* Those who generated a node, without those who only opened it, which are returned apart. */
static int add_makers(struct makers *m, struct near *n, uint32_t version, bool root)
{
	const struct lineage_node *v = &n->l.nodes[version];
	for (uint32_t k = 0; k < v->n; k++) {
		const struct lineage_edge *e = &n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED || (!root && peer_is_client(&e->e)))
			continue;
		int role = maker_role(m, version, e);
		if (role < 0)
			return role;
		if (role == MAKER_WRITER && !holds(n->makers, n->n_makers, e->to)) {
			n->makers[n->n_makers++] = e->to;
			if (root)
				n->sure &= e->e.sure;
		} else if (role != MAKER_WRITER && root) {
			uint32_t from = maker_forked_from(m, e->to);
			n->opener = from != UINT32_MAX ? from : e->to;
			if (role == MAKER_BOTH && !holds(n->doubtful, n->n_doubtful, n->opener))
				n->doubtful[n->n_doubtful++] = n->opener;
		}
	}
	return 0;
}

/* Upstream: who wrote to the streams that maker number i read, and what it is a fork of, for a fork knows what its
 * parent had read. */
static int add_upstream(struct makers *m, struct near *n, size_t i)
{
	const struct lineage_node *x = &n->l.nodes[n->makers[i]];
	int r = 0;
	for (uint32_t k = 0; k < x->n && r >= 0; k++) {
		const struct lineage_edge *e = &n->l.edges[x->first + k];
		if (e->type == LINEAGE_USED && n->l.nodes[e->to].stream)
			r = add_makers(m, n, e->to, false);
		else if (is_fork_of(e) && !holds(n->makers, n->n_makers, e->to))
			n->makers[n->n_makers++] = e->to;
	}
	return r < 0 ? r : 0;
}

/* Data come before sockets and shared memory; of each what is certain comes first; in that the inputs of who wrote it,
 * then those upstream. Attributes come after the data: a library reads a dozen of them for one dataset. */
enum { RANK_BEFORE = 2, RANK_DOUBTFUL, RANK_OPENER };

struct input {
	uint32_t node, rank;
	enum thing_sort sort;
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
static int is_outside(struct cmd *c, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = store_version(c->store, version, &v);
	if (r > 0)
		r = store_file(c->store, v.file, &f);
	if (r <= 0)
		return r;
	if (f.kind == TERM_kind_terminal)
		return v.origin == ORIGIN_EXTERNAL;
	struct str unix_name = str_of("unix:");
	if (str_starts(f.path, unix_name) && system_path(str_n(f.path.p + unix_name.n, f.path.n - unix_name.n),
	                                                 config_get(&c->config, CONFIG_system)) == SYSTEM_YES)
		return 0;
	return peer_unseen(c->store, &v, &f);
}

static int add_inputs(struct cmd *c, struct makers *m, struct near *n)
{
	struct input *in = calloc(n->l.n_nodes + 1, sizeof(*in));
	uint32_t *at = calloc(n->l.n_nodes + 1, sizeof(*at)); /* place in `in`, from 1 */
	size_t count = 0;
	int r = in && at ? 0 : -ENOMEM;
	for (size_t k = 0; r >= 0 && k < n->l.n_edges; k++) {
		const struct lineage_edge *e = &n->l.edges[k];
		const struct lineage_node *to = &n->l.nodes[e->to];
		bool of_maker = e->type == LINEAGE_USED &&
		                (holds(n->makers, n->n_makers, e->from) || holds(n->helpers, n->n_helpers, e->from));
		bool doubtful = holds(n->doubtful, n->n_doubtful, e->from);
		if (to->exec || !e->to || !(of_maker || doubtful || e->from == n->opener || e->from == 0))
			continue;
		if (holds(n->private, n->n_private, e->to))
			continue;
		r = to->stream ? is_outside(c, to->id) : maker_own(m, e);
		if (r < 0 || !r == to->stream)
			continue;
		r = peer_idle(c->store, &n->l, e->from, e);
		if (r)
			continue;
		uint32_t rank = of_maker       ? !holds(n->makers, n->n_direct, e->from)
		                : e->from == 0 ? RANK_BEFORE
		                : doubtful     ? RANK_DOUBTFUL
		                               : RANK_OPENER;
		struct input *i = &in[at[e->to] ? at[e->to] - 1 : count];
		if (!at[e->to]) {
			struct version_sort v = {0};
			r = store_version_sort(c->store, to->id, &v);
			n->sort[e->to] = (uint8_t)thing_sort(v.kind, v.path);
			*i = (struct input){.node = e->to,
			                    .rank = rank,
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
static int add_helpers(struct cmd *c, struct near *n, uint32_t x, store_id rep)
{
	const struct lineage_node *node = &n->l.nodes[x];
	int r = 0;
	for (uint32_t k = 0; k < node->n && r >= 0; k++) {
		const struct lineage_edge *e = &n->l.edges[node->first + k];
		const struct lineage_node *v = &n->l.nodes[e->to];
		if (e->type != LINEAGE_USED || v->stream || !e->to || holds(n->private, n->n_private, e->to))
			continue;
		r = fold_private(c->store, v->id, rep);
		if (r <= 0)
			continue;
		n->private[n->n_private++] = e->to;
		for (uint32_t j = 0; j < v->n; j++) {
			uint32_t by = n->l.edges[v->first + j].to;
			if (n->l.nodes[by].exec && !holds(n->helpers, n->n_helpers, by))
				n->helpers[n->n_helpers++] = by;
		}
	}
	return r < 0 ? r : 0;
}

/* Looks to whom the makers count. Any of them to another execution: *ret_any. */
static int find_reps(struct cmd *c, struct near *n, bool all, bool *ret_any)
{
	*ret_any = false;
	for (size_t i = 0; i < n->n_makers; i++) {
		store_id id = n->l.nodes[n->makers[i]].id;
		n->reps[i] = id;
		int r = all ? 0 : fold_representative(c->store, id, &n->reps[i]);
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
static void merge_makers(struct near *n)
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
static int find_within(struct cmd *c, struct near *n, bool all)
{
	store_id id = n->opener != UINT32_MAX ? n->l.nodes[n->opener].id : 0, at = id;
	n->within = id;
	for (int i = 0; i < ABOVE && at && !all; i++) {
		struct exec_info x;
		enum fold_class class;
		int r = store_exec(c->store, at, &x);
		store_id parent = r > 0 ? x.parent : 0;
		bool is_fork = r > 0 && !x.n;
		if (r > 0)
			r = fold_class(c->store, at, &class);
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

static int near_walk(struct cmd *c, store_id version, unsigned depth, bool all, struct near *ret, bool *ret_again)
{
	struct lineage_options o = {
	    .depth = depth,
	    .skew = config_duration(&c->config, CONFIG_skew),
	    .system_extra = config_get(&c->config, CONFIG_system),
	};
	struct err err = {0};
	struct near n = {.sure = true, .opener = UINT32_MAX};
	struct makers m = {0};
	int r = lineage_walk(c->store, &version, 1, &o, &err, &n.l);
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
	        ? makers_init(&m, c->store, &n.l)
	        : -ENOMEM;
	if (r == 0)
		r = add_makers(&m, &n, 0, true);
	n.n_direct = n.n_makers;
	for (size_t i = 0; i < n.n_makers && r == 0; i++)
		r = add_upstream(&m, &n, i);
	bool any = false;
	if (r == 0)
		r = find_reps(c, &n, all, &any);
	*ret_again = any && depth == 1;
	for (size_t i = 0; i < n.n_makers && r == 0 && any; i++)
		if (n.reps[i] != n.l.nodes[n.makers[i]].id) {
			size_t from = n.n_helpers;
			r = add_helpers(c, &n, n.makers[i], n.reps[i]);
			for (; from < n.n_helpers && r == 0; from++)
				r = add_helpers(c, &n, n.helpers[from], n.reps[i]);
		}
	if (r == 0)
		r = lineage_certain(c->store, &n.l, &o, &err, n.certain);
	if (r == 0)
		r = add_inputs(c, &m, &n);
	if (r == 0)
		r = find_within(c, &n, all);
	if (r == 0 && !all)
		merge_makers(&n);
	makers_release(&m);
	for (uint32_t i = 0; i < n.l.n_nodes && r == 0; i++) {
		struct exec_info x;
		struct run_info run;
		if (!n.l.nodes[i].exec || store_exec(c->store, n.l.nodes[i].id, &x) <= 0)
			continue;
		n.gaps |= x.gaps;
		/* A record without an end was cut off, by a full disk or a crash, or goes on. */
		if (store_run(c->store, x.run, &run) > 0 && run.end == TIME_NONE)
			n.gaps |= 1u << TERM_gap_unended;
	}
	if (r < 0)
		near_release(&n);
	else
		*ret = n;
	return r;
}

static int near_get(struct cmd *c, store_id version, bool all, struct near *ret)
{
	bool again;
	int r = near_walk(c, version, 1, all, ret, &again);
	if (r < 0 || !again)
		return r;
	near_release(ret);
	*ret = (struct near){0};
	return near_walk(c, version, HELPER_DEPTH, all, ret, &again);
}

/* Is there a sure edge to node i? */
static bool is_sure(const struct lineage *l, uint32_t i)
{
	for (size_t k = 0; k < l->n_edges; k++)
		if (l->edges[k].to == i && l->edges[k].e.sure)
			return true;
	return false;
}

/* "sort x | uniq -c in fit.sh": each about max columns. */
static int fmt_makers(struct cmd *c, const struct near *n, size_t max, bool shell, struct buf *b)
{
	size_t shown = n->n_makers < PIPELINE_MAX ? n->n_makers : PIPELINE_MAX;
	bool pipeline = n->n_direct == 1; /* then each wrote for the one before it in the list */
	int r = 0;
	for (size_t k = 0; k < shown && r >= 0; k++) {
		if (k)
			buf_printf(b, pipeline ? " | " : k + 1 < n->n_direct ? ", " : k < n->n_direct ? " and " : " after ");
		size_t from = b->n;
		r = exec_name(c->store, n->reps[pipeline ? shown - 1 - k : k], true, max * 4, b);
		fmt_fit(b, from, max, c->out.utf8);
	}
	if (n->n_makers > shown)
		buf_printf(b, " and %zu more", n->n_makers - shown);
	if (!n->sure)
		buf_printf(b, " ?");
	if (shell && n->within && r >= 0) {
		buf_printf(b, " in ");
		size_t from = b->n;
		r = exec_name(c->store, n->within, true, SHELL_MAX * 4, b);
		fmt_fit(b, from, SHELL_MAX, c->out.utf8);
	}
	return r < 0 ? r : 0;
}

#define FOLD 2     /* segments, or sockets, that are told as their number */
#define FOLD_MAX 3 /* where fewer inputs are named, they count with the rest */

static bool is_certain(const struct near *n, size_t input)
{
	return input < n->n_seen && n->certain[n->inputs[input]];
}

static int fmt_inputs(struct cmd *c, const struct near *n, size_t max, struct buf *b)
{
	size_t of[THING_SORTS] = {0}, shown = 0, left = 0;
	bool sure[THING_SORTS] = {true, true, true, true};
	for (size_t i = 0; i < n->n_inputs; i++) {
		of[n->sort[n->inputs[i]]]++;
		sure[n->sort[n->inputs[i]]] &= is_certain(n, i);
	}
	for (size_t i = 0; i < n->n_inputs; i++) {
		struct version_info v;
		unsigned sort = n->sort[n->inputs[i]];
		if (sort >= THING_SEGMENT && of[sort] >= FOLD) {
			left += max < FOLD_MAX;
			continue;
		}
		if (shown >= max) {
			left++;
			continue;
		}
		struct file_info f;
		int r = store_version(c->store, n->l.nodes[n->inputs[i]].id, &v);
		if (r > 0)
			r = store_file(c->store, v.file, &f);
		if (r < 0)
			return r;
		buf_printf(b, shown++ ? ", " : "");
		version_name(b, &v, &f);
		if (f.kind == TERM_kind_socket || f.kind == TERM_kind_terminal)
			buf_printf(b, f.kind == TERM_kind_socket ? " (not observed)" : " (typed)");
		if (!is_certain(n, i))
			buf_char(b, '?');
	}
	if (left && !shown)
		buf_printf(b, "%zu input%s", left, left == 1 ? "" : "s");
	else if (left)
		buf_printf(b, ", +%zu", left);
	for (unsigned sort = THING_SEGMENT; max >= FOLD_MAX && sort < THING_SORTS; sort++) {
		if (of[sort] < FOLD)
			continue;
		buf_printf(b, shown || left ? ", " : "");
		left++;
		fmt_things(b, sort, of[sort]);
		buf_printf(b, "%s%s", sort == THING_SOCKET ? " (not observed)" : "", sure[sort] ? "" : "?");
	}
	return 0;
}

/* The version, by the name that was asked for where it has that; and by which other one it is recorded. */
static int fmt_asked(const char *text, const struct file_target *t, const struct version_info *v,
                     const struct file_info *f, struct buf *b)
{
	struct buf path = {0};
	char *name = t->name == NAME_SHOWN ? NULL : strndup(text, t->name_n);
	if (name)
		target_path(name, &path);
	if (t->name != NAME_SHOWN && (!name || path.failed)) {
		free(name);
		buf_release(&path);
		return -ENOMEM;
	}
	if (t->name == NAME_KNOWN || t->name == NAME_NEW)
		fmt_version(b, buf_view(&path), v->n);
	else
		version_name(b, v, f);
	if (t->name == NAME_NEW && !f->path.n) {
		buf_printf(b, " (recorded without a name)"); /* it was longer than a path can be */
	} else if (t->name == NAME_NEW || t->name == NAME_OLD || t->name == NAME_LINK) {
		buf_printf(b, t->name == NAME_NEW ? " (recorded as " : t->name == NAME_LINK ? " (linked as " : " (was ");
		fmt_path(b, t->name == NAME_NEW ? f->path : buf_view(&path));
		buf_char(b, ')');
	}
	free(name);
	buf_release(&path);
	return 0;
}

static int fmt_disk(struct cmd *c, const struct file_target *t, size_t max, bool brief, struct buf *b)
{
	static const char *const words[] = {[DISK_SAME] = "",
	                                    [DISK_CHANGED] = "; CHANGED on disk since",
	                                    [DISK_REPLACED] = "; ANOTHER file has the name now",
	                                    [DISK_GONE] = "; GONE",
	                                    [DISK_AROUND] = "; its FILE was written since, unseen what of it",
	                                    [DISK_DELETED] = "; DELETED"};
	if (t->n)
		return 0;
	buf_printf(b, "%s", words[t->disk]);
	return t->disk == DISK_DELETED ? fmt_deleted(c->store, &t->deleted, max, brief, c->out.utf8, b) : 0;
}

/* The line of a version that somebody was seen making: as much of the command and the inputs as the width takes. */
static int made_line(struct cmd *c, const char *text, const struct file_target *t, const struct version_info *v,
                     const struct near *n, struct buf *line)
{
	static const struct {
		size_t argv, inputs;
		int brief; /* 1: without the shell and the seconds; 2: without the time of day */
	} tries[] = {{400, 6, 0}, {160, 5, 0}, {100, 4, 0}, {60, 4, 0}, {40, 3, 0}, {28, 3, 0}, {40, 2, 1},
	             {28, 2, 1},  {20, 2, 1},  {20, 1, 1},  {12, 1, 1}, {12, 0, 1}, {12, 0, 2}};
	struct buf name = {0}, who = {0};
	struct file_info f;
	size_t width = c->out.tty || getenv("COLUMNS") ? (size_t)c->out.width : 200;
	int r = store_file(c->store, v->file, &f);
	if (r > 0)
		r = fmt_asked(text, t, v, &f, &name) < 0 ? -ENOMEM : r;
	if (r > 0)
		r = exec_who(c->store, n->l.nodes[n->makers[0]].id, &who);
	int64_t when = v->end != TIME_NEVER && v->end != TIME_NONE ? v->end : v->start;
	for (size_t k = 0; k < sizeof(tries) / sizeof(tries[0]) && r >= 0; k++) {
		buf_reset(line);
		buf_printf(line, "%s: made by ", buf_cstr(&name));
		r = fmt_makers(c, n, tries[k].argv, !tries[k].brief, line);
		if (n->n_inputs) {
			buf_printf(line, " from ");
			if (!tries[k].inputs)
				buf_printf(line, "%zu input%s", n->n_inputs, n->n_inputs == 1 ? "" : "s");
			else if (r >= 0)
				r = fmt_inputs(c, n, tries[k].inputs, line);
		}
		buf_printf(line, " by %s%s", buf_cstr(&who), tries[k].brief ? " " : ", ");
		fmt_time(line, when, tries[k].brief);
		if (tries[k].brief && line->n > 3 && line->p[line->n - 3] == ':')
			line->n -= tries[k].brief == 1 ? 3 : 9; /* no seconds, no time of day */
		buf_printf(line, "%s", n->gaps ? "; part unseen" : "");
		if (r >= 0)
			r = fmt_disk(c, t, tries[k].argv, tries[k].brief != 0, line);
		if (fmt_columns(buf_view(line)) <= width)
			break;
	}
	buf_release(&name);
	buf_release(&who);
	return r < 0 ? r : 0;
}

/* The line of a version that nobody was seen making. */
static int found_line(struct cmd *c, const char *text, const struct file_target *t, const struct version_info *v,
                      struct buf *line)
{
	struct file_info f;
	int r = store_file(c->store, v->file, &f);
	if (r <= 0)
		return r;
	r = fmt_asked(text, t, v, &f, line);
	if (r < 0)
		return r;
	if (v->origin == ORIGIN_OBSERVED) {
		buf_printf(line, ": what made it was not seen");
	} else if (v->origin == ORIGIN_UNOBSERVED) {
		buf_printf(line, ": changed where nobody recorded it, before ");
		fmt_time(line, v->start, false);
	} else {
		buf_printf(line, ": not made under stemma; first seen ");
		fmt_time(line, v->start, false);
	}
	struct edges readers = {0};
	r = store_readers(c->store, v->id, &readers);
	if (r >= 0 && readers.n)
		buf_printf(line, ", used by %zu execution%s", readers.n, readers.n == 1 ? "" : "s");
	edges_release(&readers);
	if (r >= 0)
		r = fmt_disk(c, t, 60, false, line);
	return r < 0 ? r : 0;
}

/* n_seen: how many of them may be certain; of openers an edge says so, of the rest the whole way to them. */
static int node_list_json(struct cmd *c, const struct near *n, const uint32_t *nodes, size_t count, size_t n_seen,
                          bool openers, json_t *list)
{
	for (size_t i = 0; i < count; i++) {
		json_t *one = NULL;
		store_id id = n->l.nodes[nodes[i]].id;
		int r;
		if (n->l.nodes[nodes[i]].exec) {
			struct exec_info x;
			r = store_exec(c->store, id, &x);
			if (r > 0)
				r = exec_json(c->store, &x, &one);
			if (r >= 0 && one)
				r = representative_json(c->store, id, one);
		} else {
			struct version_info v;
			struct file_info f;
			r = store_version(c->store, id, &v);
			if (r > 0)
				r = store_file(c->store, v.file, &f);
			if (r > 0) {
				one = entity_json(&v, &f);
				r = peer_json(c->store, &v, &f, one);
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

static int why_json(struct cmd *c, const struct file_target *t, const struct version_info *v, const struct near *n,
                    json_t *list)
{
	static const char *const disk[] = {"same", "changed", "replaced", "gone", "file-written", "deleted"};
	struct file_info f;
	json_t *o = json_object(), *makers = json_array(), *inputs = json_array(), *openers = json_array(),
	       *before = json_array();
	int r = store_file(c->store, v->file, &f);
	if (r > 0) {
		json_t *entity = entity_json(v, &f);
		r = notes_json(c->store, entity, NOTES_FILE, v->file, v->n);
		js_put(o, "entity", entity);
		if (r >= 0)
			r = node_list_json(c, n, n->makers, n->n_makers, n->n_makers, false, makers);
	}
	if (r >= 0)
		r = node_list_json(c, n, n->inputs, n->n_inputs, n->n_seen, false, inputs);
	if (r >= 0 && n->opener != UINT32_MAX)
		r = node_list_json(c, n, &n->opener, 1, 1, true, openers);
	if (r >= 0)
		r = node_list_json(c, n, n->opener_inputs, n->n_opener_inputs, n->n_opener_inputs, true, before);
	js_num(o, "makers_direct", n->n_direct);
	js_put(o, "makers", makers);
	js_put(o, "inputs", inputs);
	js_put(o, "openers", openers);
	js_put(o, "opener_inputs", before);
	js_text(o, "disk", disk[t->disk]);
	if (r >= 0 && t->disk == DISK_DELETED)
		r = deleted_json(c->store, &t->deleted, o);
	js_add(list, o);
	return r;
}

/* One file. The status. */
static int why(struct cmd *c, const char *text, bool all, json_t *list)
{
	struct err err = {0};
	struct file_target t;
	int r = target_file(c->store, text, &err, &t);
	if (r <= 0)
		return say_err(&err, cmd_target_status(r));
	if (!t.version) {
		say("'%s' is known by name only; no content of it is recorded", text);
		return STATUS_NOTHING;
	}
	struct version_info v;
	struct near n = {0};
	struct buf line = {0};
	bool made = false;
	r = store_version(c->store, t.version, &v);
	if (r > 0)
		r = near_get(c, t.version, all || list, &n);
	if (r >= 0) {
		made = n.n_direct > 0;
		if (list)
			r = why_json(c, &t, &v, &n, list);
		else
			r = made ? made_line(c, text, &t, &v, &n, &line) : found_line(c, text, &t, &v, &line);
	}
	if (r < 0)
		say("cannot say why '%s' is there", text);
	else if (!list)
		puts(buf_cstr(&line));
	buf_release(&line);
	near_release(&n);
	return r < 0 ? STATUS_SELF : made ? STATUS_OK : STATUS_NOTHING;
}

int cmd_why(struct cmd *c, const struct opts_why *o)
{
	if (!c->n_operands)
		return say_usage(c, "why needs a file");
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;
	json_t *list = o->json ? json_array() : NULL;
	for (int i = 0; i < c->n_operands && status != STATUS_SELF; i++) {
		int one = why(c, c->operands[i], o->all, list);
		status = one > status ? one : status;
	}
	if (o->json && status != STATUS_SELF) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "answers", list);
		int printed = js_print(all, false);
		status = printed != STATUS_OK ? printed : status;
	} else {
		json_decref(list);
	}
	return status;
}
