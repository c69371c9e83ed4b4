#include "answer/shape.h"
#include "answer/makers.h"
#include "answer/peers.h"
#include "answer/zarr/zarr_fold.h"
#include "query/fold.h"
#include "query/fold_jobs.h"
#include "query/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns what a sentence says of an edge of that type, "" where it needs nothing. */
static const char *edge_words(bool up, enum lineage_edge_type type)
{
	switch (type) {
	case LINEAGE_DERIVED:
		return up ? "derived from " : "became ";
	case LINEAGE_INFORMED:
		return up ? "informed by " : "informed ";
	case LINEAGE_USED:
	case LINEAGE_GENERATED:
		break;
	}
	return "";
}

/* Did the program only read what it wrote itself? Not where it left a file there: that is a result as well, and stands
 * in the lineage of what was made from it. 1, 0, -errno. */
static int is_own(struct store *s, struct makers *m, const struct lineage_edge *e, store_id version)
{
	struct version_info v;
	struct file_info f;
	int r = maker_own(m, e);
	if (r <= 0 || store_version(s, version, &v) <= 0 || store_file(s, v.file, &f) <= 0)
		return r;
	return f.kind != TERM_kind_regular || !f.named;
}

/* Is the edge shown below its node, and as which branch? 1 the edge is shown, 0 not, -errno. *ret_held: where not,
 * it is because it was only held. */
static int branch_of(const struct shape_of *v, struct makers *m, uint32_t node, const struct lineage_edge *e,
                     struct branch *ret, bool *ret_held)
{
	const struct lineage *l = v->l;
	bool up = v->options->direction == LINEAGE_UP;
	*ret_held = false;
	*ret = (struct branch){up ? e->to : e->from, edge_words(up, e->type), e, e->e.sure};
	if (v->options->all)
		return 1;
	if (!up) /* a stream that may have been written to, and that nobody read, is somebody's terminal or log */
		return e->e.sure || !l->nodes[ret->child].stream || l->nodes[ret->child].n;
	if (e->type == LINEAGE_USED) {
		int r = is_own(v->s, m, e, l->nodes[ret->child].id);
		*ret_held = r == 0;
		if (r == 0)
			r = maker_held(m, e);
		if (r == 0)
			r = peer_idle(v->s, l, node, e);
		return r < 0 ? r : !r;
	}
	int r = e->type == LINEAGE_GENERATED ? maker_role(m, node, e) : MAKER_WRITER;
	if (r == MAKER_WRITER || r < 0)
		return r < 0 ? r : 1;
	if (!e->e.sure && e->e.via == TERM_via_descriptor)
		return 0; /* it only held the descriptor on its way to the program */
	uint32_t from = maker_forked_from(m, ret->child);
	ret->child = from != UINT32_MAX ? from : ret->child;
	ret->words = "opened by ";
	return 1;
}

/* Follows the branches, or those that are sure, from the roots. Sets ret of the nodes that are met; ret is all false
 * before. 0, -ENOMEM. */
static int mark_shape_reachable(const struct lineage *l, const struct shape *s, bool sure, bool *ret)
{
	uint32_t *queue = malloc((l->n_nodes + 1) * sizeof(*queue));
	size_t n = 0;
	if (!queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n_roots; i++) {
		if (!shape_is_root(s, i))
			continue;
		queue[n++] = i;
		ret[i] = true;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = s->first[queue[i]]; k < s->first[queue[i] + 1]; k++) {
			uint32_t child = s->branches[k].child;
			if (ret[child] || (sure && !s->branches[k].sure))
				continue;
			queue[n++] = child;
			ret[child] = true;
		}
	free(queue);
	return 0;
}

/* Finds a branch of a node again by its child: of each child the last one, of each branch the one before it. */
struct branch_index {
	uint32_t *owner; /* of each node: whose branch `last` is, from 1 */
	size_t *last, *before;
};

/* Prepares to find a node's branches by where they lead. 0, -ENOMEM: release it in either case. */
static int branch_index_begin(const struct lineage *l, struct branch_index *ret)
{
	*ret = (struct branch_index){.owner = calloc(l->n_nodes + 1, sizeof(*ret->owner)),
	                             .last = calloc(l->n_nodes + 1, sizeof(*ret->last)),
	                             .before = calloc(l->n_edges + 1, sizeof(*ret->before))};
	return ret->owner && ret->last && ret->before ? 0 : -ENOMEM;
}

/* Releases what branch_index_begin made. */
static void branch_index_end(struct branch_index *x)
{
	free(x->owner);
	free(x->last);
	free(x->before);
}

/* Adds a branch of `node` to the n that there are; or, where there is such a one, leaves of the two the sure one. Those
 * of a node come one after the other. */
static void add_branch(struct branch_index *x, struct branch *branches, size_t *n, uint32_t node,
                       const struct branch *b)
{
	bool met = x->owner[b->child] == node + 1;
	for (size_t k = met ? x->last[b->child] : SIZE_MAX; k != SIZE_MAX; k = x->before[k]) {
		if (strcmp(branches[k].words, b->words) != 0)
			continue;
		if (b->sure && !branches[k].sure)
			branches[k] = *b;
		return;
	}
	x->before[*n] = met ? x->last[b->child] : SIZE_MAX;
	x->owner[b->child] = node + 1;
	x->last[b->child] = *n;
	branches[(*n)++] = *b;
}

/* ---- folding ---- */

#define FOLDS 8 /* times that a lineage of what is certain is folded anew, with fewer nodes as one */

/* From a node outside of a group to a member of it, surely. */
struct entry {
	uint32_t leader, from, member;
};
/* What a group leads to, and from how many of the nodes that lead to it. Arrays by node. */
struct common {
	VEC(struct entry) entries; /* by leader, then by `from` */
	uint32_t *seen, *met;      /* the last search that came to the member, to the child */
	uint32_t *count;           /* of a child: in how many searches for the group there was a sure way to it */
	uint32_t *of;              /* of a child: for which group that is, its leader + 1 */
	uint32_t *alone;           /* of a member: it was searched from, and from it alone */
	uint32_t *queue;
	uint32_t searches;
	uint64_t steps; /* what the searches may still cost */
};

struct folding {
	struct store *s;
	const struct lineage *l;
	const struct shape *from;
	uint32_t *leader; /* of each node: the node it is shown as; UINT32_MAX: as none */
	uint32_t *next;   /* of each node: the next one of those with the same leader, 0 the last */
	bool *sure;       /* of each node: come to from a root by what is sure */
	struct fold_jobs jobs;
	bool *certain; /* and in time: what a fork's parent read later, is not */
	struct common common;
	bool *split; /* of each node: it is not shown as another one; NULL: all that folding makes uncertain is shown so */
	bool again;  /* a node was added to these */
};

/* Makes known to f->jobs all executions that are shown. 0, -errno. */
static int find_jobs(struct folding *f)
{
	int r = 0;
	for (uint32_t i = 0; i < f->l->n_nodes && r == 0; i++)
		if (f->l->nodes[i].exec && f->from->shown[i])
			r = fold_jobs_add(&f->jobs, f->s, f->l->nodes[i].id);
	return r;
}

/* What stands for a node: of a rank of an MPI job the first one. *ret_ranks: how many there are, 0 it is none. */
static int representative_of(struct folding *f, store_id exec, store_id *ret, uint64_t *ret_ranks)
{
	const struct fold_job *job;
	int r = fold_jobs_find(&f->jobs, f->s, exec, &job);
	*ret_ranks = 0;
	if (r == 0)
		return fold_representative(f->s, exec, ret);
	if (r > 0) {
		*ret = job->first;
		*ret_ranks = job->ranks;
	}
	return r;
}

/* The nodes of one representative get one leader. A leader of more than one has its representative in to->rep; rank
 * counts and members stand at the leader, too. 0, -errno. */
static int group(struct folding *f, struct shape *to)
{
	struct idmap map = {0};
	int r = find_jobs(f);
	for (uint32_t i = 0; i < f->l->n_nodes && r >= 0; i++) {
		store_id rep = 0;
		uint64_t ranks;
		bool is_new;
		f->leader[i] = i;
		if (!f->l->nodes[i].exec || !f->from->shown[i] || (f->split && f->split[i]))
			continue;
		r = representative_of(f, f->l->nodes[i].id, &rep, &ranks);
		if (r <= 0)
			continue;
		uint32_t *at = idmap_add(&map, rep, i, &is_new);
		if (!at) {
			r = -ENOMEM;
			break;
		}
		f->leader[i] = *at;
		to->members[*at]++;
		to->ranks[*at] = ranks;
		if (rep != f->l->nodes[*at].id || rep != f->l->nodes[i].id)
			to->rep[*at] = rep;
		if (*at != i) {
			f->next[i] = f->next[*at];
			f->next[*at] = i;
		}
	}
	idmap_release(&map);
	return r < 0 ? r : 0;
}

/* Hides files that only the members of one group used: sets their leader to UINT32_MAX. Roots stay. to: its rep says
 * which nodes are groups; the rest of it is not read. 0, -errno. */
static int hide_private(struct folding *f, const struct shape *to)
{
	int r = 0;
	for (uint32_t i = 0; i < f->l->n_nodes && r >= 0; i++) {
		for (size_t k = f->from->first[i]; k < f->from->first[i + 1] && r >= 0; k++) {
			uint32_t child = f->from->branches[k].child, by = f->leader[i];
			if (!f->l->nodes[i].exec || f->l->nodes[child].exec || f->leader[child] == UINT32_MAX ||
			    child < f->l->n_roots || by == UINT32_MAX || !to->rep[by])
				continue;
			const struct fold_job *job;
			r = fold_jobs_find(&f->jobs, f->s, f->l->nodes[by].id, &job);
			if (r > 0)
				r = fold_jobs_private(&f->jobs, f->s, f->l->nodes[child].id, job);
			else if (r == 0)
				r = fold_private(f->s, f->l->nodes[child].id, to->rep[by]);
			if (r > 0)
				f->leader[child] = UINT32_MAX;
		}
	}
	return r < 0 ? r : 0;
}

/* Is this where a wrapper only opened a file, or is only what another one was started by? 1, 0, -errno. */
static int is_bare_child(const struct folding *f, const struct branch *b)
{
	enum fold_class c;
	if (!*b->words || !f->l->nodes[b->child].exec || f->from->first[b->child] != f->from->first[b->child + 1])
		return 0;
	int r = fold_class(f->s, f->l->nodes[b->child].id, &c);
	return r <= 0 ? r : fold_is_starter(c) || c == FOLD_launcher;
}

/* Is it a part of an array, upwards, that this program alone made? It reads an array's metadata when it has written
 * them. */
static bool is_own_array(const struct folding *f, const struct shape_of *v, const struct shape *to, uint32_t exec,
                         uint32_t child)
{
	if (v->options->direction != LINEAGE_UP || !f->l->nodes[exec].exec || !shape_is_array(to, child))
		return false;
	bool any = false;
	for (size_t k = f->from->first[child]; k < f->from->first[child + 1]; k++) {
		const uint32_t by = f->from->branches[k].child;
		if (f->l->nodes[by].exec && f->leader[by] != exec)
			return false;
		any |= f->l->nodes[by].exec;
	}
	return any;
}

#define COMMON_STEPS 4000000 /* branches that all searches look at: a few tens of ms */

static void common_release(struct common *c)
{
	vec_release(&c->entries);
	free(c->seen);
	free(c->met);
	free(c->count);
	free(c->of);
	free(c->alone);
	free(c->queue);
}

static int compare_entries(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	if (a->leader != b->leader)
		return a->leader < b->leader ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->member > b->member) - (a->member < b->member);
}

/* Makes the tables of c, and its sorted list of the sure edges that enter a group. 0; -ENOMEM. The caller releases c
 * in either case. */
static int common_begin(const struct folding *f, struct common *c)
{
	const size_t n = f->l->n_nodes + 1;
	*c = (struct common){.seen = calloc(n, sizeof(uint32_t)),
	                     .met = calloc(n, sizeof(uint32_t)),
	                     .count = calloc(n, sizeof(uint32_t)),
	                     .of = calloc(n, sizeof(uint32_t)),
	                     .alone = calloc(n, sizeof(uint32_t)),
	                     .queue = calloc(n, sizeof(uint32_t)),
	                     .steps = COMMON_STEPS};
	if (!c->seen || !c->met || !c->count || !c->of || !c->alone || !c->queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->l->n_nodes; i++)
		for (size_t k = f->from->first[i]; f->leader[i] != UINT32_MAX && k < f->from->first[i + 1]; k++) {
			const struct branch *b = &f->from->branches[k];
			const uint32_t leader = f->leader[b->child];
			if (!b->sure || leader == UINT32_MAX || leader == f->leader[i] || !f->next[leader])
				continue;
			struct entry *one = vec_add(&c->entries);
			if (!one)
				return -ENOMEM;
			*one = (struct entry){leader, f->leader[i], b->child};
		}
	if (c->entries.n)
		qsort(c->entries.v, c->entries.n, sizeof(*c->entries.v), compare_entries);
	return 0;
}

/* Counts, of what the group leads to, those to which there is a sure way from one of its members e[0..n). False: that
 * would cost too much. */
static bool count_from(const struct folding *f, struct common *c, const struct entry *e, size_t n)
{
	size_t queued = 0;
	c->searches++;
	for (size_t i = 0; i < n; i++)
		if (c->seen[e[i].member] != c->searches) {
			c->queue[queued++] = e[i].member;
			c->seen[e[i].member] = c->searches;
		}
	for (size_t i = 0; i < queued; i++)
		for (size_t k = f->from->first[c->queue[i]]; k < f->from->first[c->queue[i] + 1]; k++) {
			const struct branch *b = &f->from->branches[k];
			const uint32_t to = f->leader[b->child];
			if (!c->steps)
				return false;
			c->steps--;
			if (!b->sure)
				continue;
			if (to == e->leader || to == UINT32_MAX) { /* a member, or what is shown as none */
				if (c->seen[b->child] != c->searches)
					c->queue[queued++] = b->child;
				c->seen[b->child] = c->searches;
				continue;
			}
			if (c->of[to] != e->leader + 1)
				c->count[to] = 0;
			c->of[to] = e->leader + 1;
			c->count[to] += c->met[to] != c->searches;
			c->met[to] = c->searches;
		}
	return true;
}

/* The group's entries begin here. */
static size_t entries_of(const struct common *c, uint32_t leader)
{
	size_t lo = 0, hi = c->entries.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->entries.v[mid].leader < leader)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* In how many ways the group was come to, where these are several: each child's count says from how many of them there
 * is a sure way to it. 0: in one way. */
static uint32_t count_common(const struct folding *f, struct common *c, const struct shape *to, uint32_t leader)
{
	uint32_t ways = 0;
	if (!f->next[leader] ||
	    to->ranks[leader]) /* the ranks of an MPI job are one program, by what they sent each other */
		return 0;
	for (size_t i = entries_of(c, leader), n; i < c->entries.n && c->entries.v[i].leader == leader; i += n) {
		const struct entry *e = &c->entries.v[i];
		for (n = 1; i + n < c->entries.n && e[n].leader == leader && e[n].from == e->from; n++)
			;
		if (n == 1 && c->alone[e->member])
			continue; /* as another one did */
		c->alone[e->member] |= n == 1;
		if (!count_from(f, c, e, n))
			return UINT32_MAX;
		ways++;
	}
	return ways > 1 ? ways : 0;
}

/* Is there a sure way to the child, in whichever of the ways the group was come to? */
static bool is_common(const struct common *c, uint32_t leader, uint32_t child, uint32_t ways)
{
	return c->of[child] == leader + 1 && c->count[child] >= ways;
}

/* Of what is certain, folding made a branch of group i uncertain. A group of programs is to be shown as what it is:
 * each by itself; where that is not so, the branch is left out. */
static void split_group(struct folding *f, uint32_t i, struct shape *to)
{
	to->unsure++;
	for (uint32_t j = i; f->l->nodes[i].exec && f->next[i] && !f->split[i]; j = f->next[j]) {
		f->again = true;
		if (j != i)
			f->split[j] = true;
		if (!f->next[j]) {
			f->split[i] = true;
			break;
		}
	}
}

/* What the members of group i lead to, as branches of it. n: how many branches there are. 0, -errno. */
static int fold_group(struct folding *f, const struct shape_of *v, struct branch_index *index, uint32_t i, size_t *n,
                      struct shape *to)
{
	const struct shape *from = f->from;
	const uint32_t ways = count_common(f, &f->common, to, i);
	bool any = f->sure[i];
	int r = 0;
	for (uint32_t j = i; f->next[j]; j = f->next[j])
		any |= f->sure[f->next[j]];
	for (uint32_t j = i; r >= 0; j = f->next[j]) {
		for (size_t k = from->first[j]; k < from->first[j + 1] && r >= 0; k++) {
			struct branch b = from->branches[k];
			r = is_bare_child(f, &b);
			uint32_t child = b.child;
			b.child = f->leader[child];
			to->folded += r > 0;
			if (r || b.child == UINT32_MAX || b.child == i || is_own_array(f, v, to, i, b.child))
				continue;
			b.sure &= (f->sure[j] && (!f->next[i] || f->certain[child])) || !any;
			b.folded = b.sure && ways && !is_common(&f->common, i, b.child, ways);
			b.sure &= !b.folded;
			if (f->split && !b.sure && b.e->e.sure)
				split_group(f, i, to);
			else
				add_branch(index, to->branches, n, i, &b);
		}
		if (!f->next[j])
			break;
	}
	to->folded += to->members[i] ? to->members[i] - 1 : 0;
	return r;
}

static void folding_release(struct folding *f)
{
	fold_jobs_release(&f->jobs);
	common_release(&f->common);
	free(f->leader);
	free(f->next);
	free(f->sure);
	free(f->certain);
}

/* Which nodes are shown as one, and which of them are sure. 0, -errno. */
static int find_groups(struct folding *f, const struct shape_of *v, struct shape *to)
{
	const size_t nodes = v->l->n_nodes;
	struct err err = {0};
	bool any_group = false;
	f->leader = calloc(nodes + 1, sizeof(*f->leader));
	f->next = calloc(nodes + 1, sizeof(*f->next));
	f->sure = calloc(nodes + 1, sizeof(*f->sure));
	f->certain = calloc(nodes + 1, sizeof(*f->certain));
	int r = f->leader && f->next && f->sure && f->certain ? group(f, to) : -ENOMEM;
	if (r == 0)
		r = mark_shape_reachable(v->l, f->from, true, f->sure);
	if (r == 0)
		r = hide_private(f, to);
	if (r == 0 && v->arrays)
		r = zarr_fold(v->s, v->l, f->from, f->leader, f->next, to);
	for (uint32_t i = 0; i < nodes && r == 0; i++)
		any_group |= f->next[i] != 0;
	if (r == 0 && any_group)
		r = common_begin(f, &f->common);
	return r == 0 && any_group ? lineage_certain(v->s, v->l, v->options, &err, f->certain) : r;
}

/* Puts what `from` shows, folded, into `to`, whose arrays are there. split, *ret_again: as in struct folding. 0,
 * -errno. */
static int fold(const struct shape_of *v, const struct shape *from, bool *split, struct shape *to, bool *ret_again)
{
	size_t n = 0;
	struct folding f = {.s = v->s, .l = v->l, .from = from, .split = split};
	struct branch_index index;
	int r = branch_index_begin(v->l, &index);
	if (r == 0)
		r = find_groups(&f, v, to);
	for (uint32_t i = 0; i < v->l->n_nodes && r >= 0; i++) {
		to->first[i] = n;
		if (f.leader[i] == i)
			r = fold_group(&f, v, &index, i, &n, to);
	}
	to->first[v->l->n_nodes] = n;
	branch_index_end(&index);
	*ret_again = f.again;
	folding_release(&f);
	return r < 0 ? r : 0;
}

/* Allocates the arrays of a shape for all nodes and edges of l. -ENOMEM: what could be had is in ret, which is to be
 * released in any case. */
static int shape_alloc(const struct lineage *l, struct shape *ret)
{
	*ret = (struct shape){
	    .branches = calloc(l->n_edges + 1, sizeof(*ret->branches)),
	    .first = calloc(l->n_nodes + 1, sizeof(*ret->first)),
	    .shown = calloc(l->n_nodes + 1, sizeof(*ret->shown)),
	    .rep = calloc(l->n_nodes + 1, sizeof(*ret->rep)),
	    .members = calloc(l->n_nodes + 1, sizeof(*ret->members)),
	    .ranks = calloc(l->n_nodes + 1, sizeof(*ret->ranks)),
	};
	return ret->branches && ret->first && ret->shown && ret->rep && ret->members && ret->ranks ? 0 : -ENOMEM;
}

/* Every edge as a branch, but for those that are no news. 0, -errno. */
static int unfolded(const struct shape_of *v, struct shape *s)
{
	const struct lineage *l = v->l;
	struct makers m = {0};
	struct branch_index index;
	int r = branch_index_begin(l, &index);
	if (r == 0)
		r = makers_init(&m, v->s, l);
	size_t n = 0;
	for (uint32_t i = 0; i < l->n_nodes && r >= 0; i++) {
		s->first[i] = n;
		for (uint32_t k = 0; k < l->nodes[i].n && r >= 0; k++) {
			struct branch b;
			const struct lineage_edge *e = &l->edges[l->nodes[i].first + k];
			bool held;
			r = branch_of(v, &m, i, e, &b, &held);
			s->held += r == 0 && held;
			if (r > 0)
				add_branch(&index, s->branches, &n, i, &b);
		}
	}
	s->first[l->n_nodes] = n;
	makers_release(&m);
	branch_index_end(&index);
	return r < 0 ? r : mark_shape_reachable(l, s, false, s->shown);
}

/* Folds until no group of programs makes uncertain what is certain (options->certain), at most FOLDS times. ret is to
 * be released in any case. 0, -errno. */
static int fold_certain(const struct shape_of *v, const struct shape *from, struct shape *ret)
{
	bool again = true, *split = v->options->certain ? calloc(v->l->n_nodes + 1, sizeof(*split)) : NULL;
	int r = split || !v->options->certain ? 0 : -ENOMEM;
	*ret = (struct shape){0};
	for (int i = 0; i < FOLDS && again && r == 0; i++) {
		shape_release(ret);
		r = shape_alloc(v->l, ret);
		if (r == 0)
			r = fold(v, from, split, ret, &again);
	}
	free(split);
	return r;
}

int shape_make(const struct shape_of *v, struct shape *ret)
{
	struct shape s, folded = {0};
	int r = shape_alloc(v->l, &s);
	if (r == 0)
		r = unfolded(v, &s);
	if (r == 0 && !v->options->all) {
		r = fold_certain(v, &s, &folded);
		folded.held = s.held;
		shape_release(&s);
		s = folded;
		if (r == 0)
			r = mark_shape_reachable(v->l, &s, false, s.shown);
	}
	if (r < 0)
		shape_release(&s);
	else
		*ret = s;
	return r;
}

void shape_mark_shown(const struct lineage *l, struct shape *s, uint32_t *queue)
{
	size_t n = 1;
	queue[0] = 0;
	s->shown[0] = l->n_nodes > 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = s->first[queue[i]]; k < s->first[queue[i] + 1]; k++)
			if (!s->shown[s->branches[k].child]) {
				s->shown[s->branches[k].child] = true;
				queue[n++] = s->branches[k].child;
			}
}

/* s is empty then. */
void shape_release(struct shape *s)
{
	free(s->branches);
	free(s->first);
	free(s->shown);
	free(s->rep);
	free(s->members);
	free(s->ranks);
	zarr_free(s->zarr);
	free(s->array);
	free(s->parts);
	*s = (struct shape){0};
}
