#include "spec/spec_join.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many of each there are in all, in the fields of ret. False: too many to be numbered. */
static bool count_parts(const struct spec *const *parts, size_t n, struct spec *ret)
{
	uint64_t files = 0, functions = 0, nodes = 0, edges = 0, targets = 0, gaps = 0, unexamined = 0;
	for (size_t i = 0; i < n; i++) {
		files += parts[i]->n_files;
		functions += parts[i]->n_functions;
		nodes += parts[i]->n_nodes;
		edges += parts[i]->n_edges;
		targets += parts[i]->n_targets;
		gaps += parts[i]->n_gaps;
		unexamined += parts[i]->n_unexamined;
	}
	if ((files | functions | nodes | edges | targets | gaps | unexamined) >= UINT32_MAX / 2)
		return false;
	ret->n_files = (uint32_t)files;
	ret->n_functions = (uint32_t)functions;
	ret->n_nodes = (uint32_t)nodes;
	ret->n_edges = (uint32_t)edges;
	ret->n_targets = (uint32_t)targets;
	ret->n_gaps = (uint32_t)gaps;
	ret->n_unexamined = (uint32_t)unexamined;
	return true;
}

/* For all parts. false: no memory, and what there is must be released. */
static bool make_join_room(struct spec *s)
{
	s->files = calloc(s->n_files + 1, sizeof(*s->files));
	s->functions = calloc(s->n_functions + 1, sizeof(*s->functions));
	s->nodes = calloc(s->n_nodes + 1, sizeof(*s->nodes));
	s->edges = calloc(s->n_edges + 1, sizeof(*s->edges));
	s->targets = calloc(s->n_targets + 1, sizeof(*s->targets));
	s->gaps = calloc(s->n_gaps + 1, sizeof(*s->gaps));
	s->unexamined = calloc(s->n_unexamined + 1, sizeof(*s->unexamined));
	return s->files && s->functions && s->nodes && s->edges && s->targets && s->gaps && s->unexamined;
}

/* SPEC_NONE stays. */
static uint32_t shift_file(uint32_t file, uint32_t by)
{
	return file == SPEC_NONE ? SPEC_NONE : file + by;
}

/* Where the next part begins. */
struct join_place {
	uint32_t files, functions, nodes, edges, targets, gaps, unexamined;
};

/* Appends p, with its numbers shifted; *at moves on. */
static void join_part(const struct spec *p, struct join_place *at, struct spec *ret)
{
	memcpy(ret->files + at->files, p->files, p->n_files * sizeof(*p->files));
	memcpy(ret->edges + at->edges, p->edges, p->n_edges * sizeof(*p->edges));
	memcpy(ret->gaps + at->gaps, p->gaps, p->n_gaps * sizeof(*p->gaps));
	if (p->n_unexamined)
		memcpy(ret->unexamined + at->unexamined, p->unexamined, p->n_unexamined * sizeof(*p->unexamined));
	for (uint32_t i = 0; i < p->n_targets; i++)
		ret->targets[at->targets + i] = p->targets[i] + at->functions;
	for (uint32_t i = 0; i < p->n_functions; i++) {
		struct spec_function *f = &ret->functions[at->functions + i];
		*f = p->functions[i];
		f->file = shift_file(f->file, at->files);
		f->first_node += at->nodes;
	}
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		struct spec_node *n = &ret->nodes[at->nodes + i];
		*n = p->nodes[i];
		n->file = shift_file(n->file, at->files);
		n->first_edge += at->edges;
		n->first_target += at->targets;
	}
	if (ret->main == SPEC_NONE && p->main != SPEC_NONE)
		ret->main = at->functions + p->main;
	at->files += p->n_files;
	at->functions += p->n_functions;
	at->nodes += p->n_nodes;
	at->edges += p->n_edges;
	at->targets += p->n_targets;
	at->gaps += p->n_gaps;
	at->unexamined += p->n_unexamined;
}

/* Sums each figure. */
static void add_stats(const struct spec_stats *from, struct spec_stats *to)
{
	uint64_t a[sizeof(*to) / sizeof(uint64_t)], b[sizeof(*to) / sizeof(uint64_t)];
	memcpy(a, to, sizeof(a));
	memcpy(b, from, sizeof(b));
	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		a[i] += b[i];
	memcpy(to, a, sizeof(a));
}

int spec_join(const struct spec *const *parts, size_t n, struct spec **ret)
{
	struct spec *s = calloc(1, sizeof(*s));
	struct join_place at = {0};
	struct buf ids = {0};
	int r = s ? 0 : -ENOMEM;
	if (r == 0 && !count_parts(parts, n, s))
		r = -E2BIG;
	else if (r == 0 && (!make_join_room(s) || !(s->producer = strdup(n ? parts[0]->producer : ""))))
		r = -ENOMEM;
	if (r == 0)
		s->main = SPEC_NONE;
	for (size_t i = 0; r == 0 && i < n; i++) {
		join_part(parts[i], &at, s);
		add_stats(&parts[i]->stats, &s->stats);
		buf_add(&ids, &parts[i]->id, sizeof(parts[i]->id));
	}
	if (r == 0 && ids.failed)
		r = -ENOMEM;
	if (r == 0)
		s->id = hash_bytes(ids.p, ids.n);
	buf_release(&ids);
	if (r < 0)
		spec_free(s);
	else
		*ret = s;
	return r;
}
