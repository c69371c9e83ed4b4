#include "answer/why/why_int.h"
#include "base/hash.h"
#include "base/map.h"
#include "query/fold.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>

#define HELPER_DEPTH 8 /* executions between a program's output and its input, all of which count to it */
#define ABOVE 64       /* forks and execs from a shell up to what is named */
#define FORKS_BELOW 8  /* forks of a shell, one below the other, that are looked at for what they started */

const char *why_role_word(enum why_role role, bool many)
{
	static const char *const words[][2] = {
#define ROLE(role, word, many) {word, many},
#include "answer/why/why_roles.def"
#undef ROLE
	};
	return words[role][many];
}

/* n itself may not be used afterwards. */
void why_release(struct why *n)
{
	lineage_release(&n->l);
	free(n->makers);
	free(n->stage);
	free(n->helpers);
	free(n->reps);
	free(n->times);
	free(n->inputs);
	free(n->opener_inputs);
	free(n->sort);
	free(n->role);
	free(n->certain);
	free(n->is);
}

/* Goes on, from a maker or helper, through files that only those know that count to the same execution. 0, -errno. */
static int add_helpers(const struct answer_source *a, struct why *n, uint32_t x, store_id rep)
{
	const struct lineage_node *node = &n->l.nodes[x];
	int r = 0;
	for (uint32_t k = 0; k < node->n && r >= 0; k++) {
		const struct lineage_edge *e = &n->l.edges[node->first + k];
		const struct lineage_node *v = &n->l.nodes[e->to];
		if (e->type != LINEAGE_USED || v->stream || !e->to || n->is[e->to] & WHY_IS_PRIVATE)
			continue;
		r = fold_private(a->store, v->id, rep);
		if (r <= 0)
			continue;
		n->is[e->to] |= WHY_IS_PRIVATE;
		for (uint32_t j = 0; j < v->n; j++) {
			uint32_t by = n->l.edges[v->first + j].to;
			if (!n->l.nodes[by].exec || n->is[by] & WHY_IS_HELPER)
				continue;
			n->is[by] |= WHY_IS_HELPER;
			n->helpers[n->n_helpers++] = by;
		}
	}
	return r < 0 ? r : 0;
}

/* A fork of a shell is shown as that, where the shell is a maker too; the last are the parents. 0 or -ENOMEM. */
static int show_forks_as_shells(struct why *n)
{
	uint32_t *place = malloc((n->l.n_nodes + 1) * sizeof(*place)); /* among the makers, where it is one */
	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < n->n_makers; i++)
		place[n->makers[i]] = (uint32_t)i;
	for (size_t i = n->n_makers; i-- > 0;) {
		const struct lineage_node *x = &n->l.nodes[n->makers[i]];
		for (uint32_t k = 0; k < x->n; k++) {
			const struct lineage_edge *e = &n->l.edges[x->first + k];
			if (why_is_fork(e) && n->is[e->to] & WHY_IS_MAKER)
				n->reps[i] = n->reps[place[e->to]];
		}
	}
	free(place);
	return 0;
}

/* Looks to whom the makers count. Any of them to another execution: *ret_any. all: they count to themselves. 0, -errno.
 * */
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
	return all ? 0 : show_forks_as_shells(n);
}

/* Where all who may have written are one program and its forks, that program wrote, whichever of them it was; and the
 * one that opened the file for the others is part of it. 0 or -errno. */
static int settle_one_program(const struct answer_source *a, struct why *n)
{
	const struct lineage_node *v = &n->l.nodes[0];
	store_id rep = 0;
	for (uint32_t k = 0; k < v->n && n->n_direct; k++) {
		const struct lineage_edge *e = &n->l.edges[v->first + k];
		if (e->type != LINEAGE_GENERATED)
			continue;
		int r = fold_representative(a->store, n->l.nodes[e->to].id, &rep);
		if (r < 0 || rep != n->reps[0])
			return r < 0 ? r : 0;
	}
	if (!rep)
		return 0;
	n->sure = true;
	if (n->opener != UINT32_MAX && fold_representative(a->store, n->l.nodes[n->opener].id, &rep) > 0 &&
	    rep == n->reps[0]) {
		n->helpers[n->n_helpers++] = n->opener;
		n->is[n->opener] = WHY_IS_HELPER;
		n->opener = UINT32_MAX;
	}
	return 0;
}

/* Is it the same command: the same program with the same arguments in the same folder? As the ranks of an MPI job are.
 * 1, 0, -errno. */
static int is_same_command(struct store *s, store_id one, store_id other)
{
	struct exec_info x;
	struct buf argv = {0}, cwd = {0};
	int r = store_exec(s, one, &x);
	store_id exe = r > 0 ? x.exe : 0;
	if (r > 0 && x.n) {
		buf_str(&argv, x.argv.raw);
		buf_str(&cwd, x.cwd);
		r = argv.failed || cwd.failed ? -ENOMEM : store_exec(s, other, &x);
	}
	if (r > 0)
		r = exe && x.n && x.exe == exe && str_eq(x.argv.raw, buf_view(&argv)) && str_eq(x.cwd, buf_view(&cwd));
	buf_release(&argv);
	buf_release(&cwd);
	return r;
}

int why_is_other_rank(struct store *s, store_id one, store_id other)
{
	struct exec_info x;
	struct buf rank = {0};
	int r = store_exec(s, one, &x);
	if (r > 0)
		buf_str(&rank, x.rank);
	r = r > 0 && rank.n ? is_same_command(s, one, other) : r < 0 ? r : 0;
	if (r > 0)
		r = store_exec(s, other, &x);
	if (r > 0)
		r = x.rank.n && !str_eq(x.rank, buf_view(&rank));
	buf_release(&rank);
	return r;
}

/* Does another rank of the job of the first maker take part? Then its rank tells something. Sets n->ranked. 0, -errno.
 * */
static int find_other_ranks(struct store *s, struct why *n)
{
	int r = 0;
	for (size_t i = 0; n->n_makers && i < n->n_helpers + n->n_makers && r == 0; i++) {
		uint32_t node = i < n->n_helpers ? n->helpers[i] : n->makers[i - n->n_helpers];
		r = why_is_other_rank(s, n->l.nodes[n->makers[0]].id, n->l.nodes[node].id);
	}
	n->ranked = r > 0;
	return r < 0 ? r : 0;
}

/* What is the same for one command: a hash of the program, its arguments and the folder; 0 for a fork without exec. */
static int hash_command(struct store *s, store_id exec, uint64_t *ret)
{
	struct exec_info x;
	int r = store_exec(s, exec, &x);
	*ret = r > 0 && x.exe && x.n ? hash_mix(hash_mix(x.exe, hash_str(x.argv.raw)), hash_str(x.cwd)) | 1 : 0;
	return r < 0 ? r : 0;
}

/* Which of the makers kept so far stands for maker i, or UINT32_MAX: of those that count to one execution the first; of
 * the direct ones that are one command, too. 0, -errno. */
static int find_same_maker(struct store *s, struct why *n, size_t i, struct idmap *reps, struct idmap *commands,
                           size_t kept, uint32_t *ret)
{
	bool is_new;
	uint64_t hash = 0;
	*ret = UINT32_MAX;
	uint32_t *at = idmap_add(reps, n->reps[i], (uint32_t)kept, &is_new);
	if (!at)
		return -ENOMEM;
	if (!is_new) {
		*ret = *at;
		return 0;
	}
	int r = i < n->n_direct ? hash_command(s, n->reps[i], &hash) : 0;
	if (r < 0 || !hash)
		return r;
	uint32_t *same = idmap_add(commands, hash, (uint32_t)kept, &is_new);
	if (!same || is_new)
		return same ? 0 : -ENOMEM;
	r = is_same_command(s, n->reps[*same], n->reps[i]);
	if (r > 0) {
		n->times[*same]++;
		*at = *same;
		*ret = *same;
	}
	return r < 0 ? r : 0;
}

/* Merges makers: those for whom another one stands are helpers. times[] counts for how many each stands. 0, -errno.
 */
static int merge_makers(struct store *s, struct why *n)
{
	struct idmap reps = {0}, commands = {0};
	size_t kept = 0, direct = 0;
	int r = 0;
	for (size_t i = 0; i < n->n_makers && r == 0; i++) {
		uint32_t same;
		r = find_same_maker(s, n, i, &reps, &commands, kept, &same);
		if (r == 0 && same != UINT32_MAX) {
			n->helpers[n->n_helpers++] = n->makers[i];
		} else if (r == 0) {
			direct += i < n->n_direct;
			n->makers[kept] = n->makers[i];
			n->times[kept] = 1;
			n->reps[kept++] = n->reps[i];
		}
	}
	if (r == 0) {
		n->n_makers = kept;
		n->n_direct = direct;
	}
	idmap_release(&reps);
	idmap_release(&commands);
	return r;
}

/* Is the execution one of the makers? Linear in them. */
static bool is_among_makers(const struct why *n, store_id exec)
{
	for (size_t i = 0; i < n->n_makers; i++)
		if (n->l.nodes[n->makers[i]].id == exec || n->reps[i] == exec)
			return true;
	return false;
}

/* Did a shell, or forks of it, start a program that is none of the makers? 1, 0, -errno. */
static int starts_others(const struct answer_source *a, const struct why *n, store_id shell, int depth)
{
	struct edges e = {0};
	int r = store_informs(a->store, shell, &e);
	bool found = false;
	for (size_t i = 0; i < e.n && r >= 0 && !found; i++) {
		struct exec_brief x;
		if (e.v[i].via != TERM_via_fork || is_among_makers(n, e.v[i].to))
			continue;
		r = store_exec_brief(a->store, e.v[i].to, &x);
		if (r > 0 && x.n)
			found = true;
		else if (r > 0 && depth)
			found = (r = starts_others(a, n, e.v[i].to, depth - 1)) > 0;
	}
	edges_release(&e);
	return r < 0 ? r : found;
}

/* Does a shell that was given its commands do more than to run what made the version, once: is it a script? 1, 0,
 * -errno. */
static int is_script_in_argument(const struct answer_source *a, const struct why *n, store_id shell)
{
	return n->n_direct > 1 ? 1 : starts_others(a, n, shell, FORKS_BELOW);
}

/* Finds the execution that the version is shown to be made within: of wrappers and of shells that were given one
 * command, what people mean is what started them, if that is in the record. all: it is the opener itself. Sets
 * n->within, 0 where there is none. 0, -errno. */
static int find_within(const struct answer_source *a, struct why *n, bool all)
{
	store_id id = n->opener != UINT32_MAX ? n->l.nodes[n->opener].id : 0, at = id;
	bool command = false; /* the last one is a shell that was given one command */
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
		if (!is_fork || !i) {
			n->within = at;
			command = !is_fork && class == FOLD_command;
		}
		if (!is_fork && !fold_is_starter(class))
			break;
		if (!is_fork && class == FOLD_command && (r = is_script_in_argument(a, n, at)) != 0)
			return r < 0 ? r : 0;
		at = parent;
	}
	if (!at && command && !n->n_opener_inputs) /* nothing above it is recorded, and it read nothing itself */
		n->within = 0;
	return 0;
}

/* Room in all lists for each node; false without memory. */
static bool alloc_lists(struct why *n)
{
	size_t nodes = n->l.n_nodes + 1;
	n->makers = calloc(nodes, sizeof(*n->makers));
	n->stage = calloc(nodes, sizeof(*n->stage));
	n->helpers = calloc(2 * nodes, sizeof(*n->helpers)); /* all parts, and makers for which another one stands */
	n->reps = calloc(nodes, sizeof(*n->reps));
	n->times = calloc(nodes, sizeof(*n->times));
	n->inputs = calloc(nodes, sizeof(*n->inputs));
	n->opener_inputs = calloc(nodes, sizeof(*n->opener_inputs));
	n->certain = calloc(nodes, sizeof(*n->certain));
	n->sort = calloc(nodes, sizeof(*n->sort));
	n->role = calloc(nodes, sizeof(*n->role));
	n->is = calloc(nodes, sizeof(*n->is));
	const void *lists[] = {n->makers,        n->stage,   n->helpers, n->reps, n->times, n->inputs,
	                       n->opener_inputs, n->certain, n->sort,    n->role, n->is};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!lists[i])
			return false;
	return true;
}

/* Adds helpers of each maker that counts to another execution. 0, -errno. */
static int add_all_helpers(const struct answer_source *a, struct why *n)
{
	int r = 0;
	for (size_t i = 0; i < n->n_makers && r == 0; i++) {
		if (n->reps[i] == n->l.nodes[n->makers[i]].id)
			continue;
		size_t from = n->n_helpers;
		r = add_helpers(a, n, n->makers[i], n->reps[i]);
		for (; from < n->n_helpers && r == 0; from++)
			r = add_helpers(a, n, n->helpers[from], n->reps[i]);
	}
	return r;
}

enum { INPUTS_ASKED = 16 }; /* a line of text names fewer; so many cost 0.1 ms */

/* Such gaps of those who made a file that was used; where it has no name, those of the whole run. Adds to *gaps. 0,
 * -errno. */
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
		uint64_t its;
		r = store_exec_gaps(a->store, e.v[i].to, e.v[i].lo, e.v[i].hi, &its);
		*gaps |= r > 0 ? gaps_that_lack(its, GAP_WRITERS) : 0;
	}
	edges_release(&e);
	if (nameless && r >= 0 && (r = store_exec(a->store, by, &x)) > 0 && (r = store_run(a->store, x.run, &run)) > 0)
		*gaps |= gaps_that_lack(run.gaps, GAP_WRITERS);
	return r < 0 ? r : 0;
}

/* When an execution made something of what the answer is about. */
struct made {
	bool any;
	int64_t lo, until;
};

/* Of each node. NULL without memory. */
static struct made *find_when_made(const struct lineage *l)
{
	struct made *made = calloc(l->n_nodes + 1, sizeof(*made));
	for (size_t k = 0; k < l->n_edges && made; k++) {
		const struct lineage_edge *e = &l->edges[k];
		int64_t hi = e->e.hi == TIME_NONE ? TIME_NEVER : e->e.hi;
		struct made *m = &made[e->to];
		if (e->type != LINEAGE_GENERATED)
			continue;
		m->lo = !m->any || e->e.lo < m->lo ? e->e.lo : m->lo;
		m->until = !m->any || hi > m->until ? hi : m->until;
		m->any = true;
	}
	return made;
}

/* Of the gaps of an execution those of the time when it made what the answer is about; all where it made nothing of
 * that, or that cannot be told. */
static uint64_t gaps_when_made(const struct answer_source *a, store_id exec, const struct made *made, uint64_t all)
{
	uint64_t its;
	int64_t lo = made->any ? made->lo : TIME_NONE, until = made->any ? made->until : TIME_NONE;
	return store_exec_gaps(a->store, exec, lo, until, &its) > 0 ? its : all;
}

/* What could not be seen of what is told: of the programs, and of the files that they used. Only of the first
 * INPUTS_ASKED inputs. 0, -errno. */
static int add_gaps(const struct answer_source *a, struct why *n)
{
	struct made *made = find_when_made(&n->l);
	int r = made ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n->l.n_nodes && made; i++) {
		struct exec_info x;
		struct run_info run;
		if (!n->l.nodes[i].exec || store_exec(a->store, n->l.nodes[i].id, &x) <= 0)
			continue;
		n->gaps |= x.gaps ? gaps_when_made(a, n->l.nodes[i].id, &made[i], x.gaps) : 0;
		/* A record without an end was cut off, by a full disk or a crash, or goes on. */
		if (store_run_told(a->store, x.run, &run) > 0 && run.end == TIME_NONE)
			n->gaps |= 1u << TERM_gap_unended;
	}
	free(made);
	for (size_t i = 0; i < n->n_inputs && i < INPUTS_ASKED && n->n_makers && r == 0; i++)
		r = add_gaps_of_input(a, n->l.nodes[n->inputs[i]].id, n->l.nodes[n->makers[0]].id, &n->gaps);
	return r;
}

/* One walk of that depth. *ret_again: a deeper one would tell more, for a maker counts to another execution. ret is to
 * be released where it is 0; -errno. */
static int walk_near(const struct answer_source *a, store_id version, unsigned depth, unsigned flags, struct why *ret,
                     bool *ret_again)
{
	struct lineage_options o = {
	    .depth = depth,
	    .servers = flags & WHY_SERVERS,
	    .handed = true,
	    .skew = a->skew,
	    .system_extra = a->system_extra,
	};
	struct err err = {0};
	struct why n = {.sure = true, .opener = UINT32_MAX};
	struct makers m = {0};
	bool all = flags & (WHY_ALL | WHY_UNFOLDED);
	n.all = flags & WHY_ALL;
	store_id together[WHY_TOGETHER];
	int r = why_find_together(a->store, version, together, n.all ? 1 : WHY_TOGETHER);
	if (r > 0)
		r = lineage_walk(a->store, together, (size_t)r, &o, &err, &n.l);
	if (r < 0)
		return r;
	r = alloc_lists(&n) ? makers_init(&m, a->store, &n.l) : -ENOMEM;
	if (r == 0)
		r = why_add_parts(&m, &n, flags & WHY_ALL);
	bool any = false;
	if (r == 0)
		r = find_reps(a, &n, all, &any);
	*ret_again = any && depth == 1;
	if (r == 0 && any)
		r = settle_one_program(a, &n);
	if (r == 0 && any)
		r = add_all_helpers(a, &n);
	if (r == 0)
		r = lineage_certain(a->store, &n.l, &o, &err, n.certain);
	if (r == 0 && !(flags & WHY_ALL))
		r = why_show_scripts(a, &n);
	if (r == 0)
		r = why_add_inputs(a, &m, &n);
	if (r == 0)
		r = find_within(a, &n, all);
	if (r == 0 && !all)
		r = merge_makers(a->store, &n);
	if (r == 0)
		r = find_other_ranks(a->store, &n);
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

store_id why_input_user(const struct why *n, size_t input)
{
	for (size_t k = 0; k < n->l.n_edges; k++)
		if (n->l.edges[k].type == LINEAGE_USED && n->l.edges[k].to == n->inputs[input])
			return n->l.nodes[n->l.edges[k].from].id;
	return 0;
}

/* Of the k-th maker that is told. */
static uint32_t stage_of(const struct why *n, const uint32_t *order, size_t k)
{
	return n->stage[n->makers[order[k]]];
}

void why_order_makers(const struct why *n, size_t n_shown, uint32_t *ret)
{
	size_t told = 0;
	for (size_t k = 0; n->n_direct != 1 && k < n_shown; k++)
		ret[told++] = (uint32_t)k;
	for (size_t end = n_shown, first; told < n_shown; end = first) {
		for (first = end - 1; first && n->stage[n->makers[first - 1]] == n->stage[n->makers[end - 1]];)
			first--;
		for (size_t k = first; k < end; k++)
			ret[told++] = (uint32_t)k;
	}
}

const char *why_word_between(const struct why *n, const uint32_t *order, size_t k, size_t n_shown)
{
	if (!k)
		return "";
	if (n->n_direct != 1)
		return k + 1 < n->n_direct ? ", " : k < n->n_direct ? " and " : " after ";
	if (stage_of(n, order, k) != stage_of(n, order, k - 1))
		return " | ";
	return k + 1 < n_shown && stage_of(n, order, k + 1) == stage_of(n, order, k) ? ", " : " and ";
}
