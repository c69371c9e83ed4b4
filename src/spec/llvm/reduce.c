/* Which points of a function are nodes.
 *
 * Recorded are entry, returns, calls and system calls. A branch is recorded, too, where it can decide which recorded
 * thing happens next; as recorded branches are themselves things that happen, until nothing is added: the least set
 * that is closed under weak control dependence (Danicic et al., "A unifying theory of control dependence", 2011). Every
 * other point is then followed by one node, always the same, or by none: what is taken out leaves no choice behind.
 *
 * A choice that clang invented, behind a clean-up, by the place that it stored before: the branch that led to the store
 * is recorded as well, and as it comes first, it is what is told. */
#include "spec/llvm/program.h"

#include <stdlib.h>

/* Joins what two ways say of where a decision leads. POINT_NEVER: none, POINT_MANY: several. */
static uint32_t join_points(uint32_t a, uint32_t b)
{
	return a == POINT_NEVER ? b : b == POINT_NEVER || a == b ? a : POINT_MANY;
}

/* For each point of f what the next node at or behind it is. Values only grow (never, one, many), so each changes twice
 * at most; points stand in the order of blocks, and a turn backwards settles all but what loops carry. */
static void find_next(struct program *p, struct function *f)
{
	struct point *v = p->points.v + f->first_point;
	bool changed = true;
	for (uint32_t i = 0; i < f->n_points; i++)
		v[i].next = v[i].kept ? f->first_point + i : POINT_NEVER;
	while (changed) {
		changed = false;
		for (uint32_t i = f->n_points; i-- > 0;) {
			if (v[i].kept)
				continue;
			uint32_t next = POINT_NEVER;
			for (uint32_t w = 0; w < v[i].n_successors; w++)
				next = join_points(next, p->points.v[p->successors.v[v[i].first_successor + w].to].next);
			changed |= next != v[i].next;
			v[i].next = next;
		}
	}
}

/* A branch where one side settles what comes next, and the other does not, or otherwise. */
static bool is_deciding_branch(const struct program *p, const struct point *x)
{
	if (x->kept || x->next != POINT_MANY)
		return false;
	for (uint32_t w = 0; w < x->n_successors; w++) {
		uint32_t next = p->points.v[p->successors.v[x->first_successor + w].to].next;
		if (next != POINT_MANY && next != POINT_NEVER)
			return true;
	}
	return false;
}

/* Calls of functions that reach nothing are none; nor are targets that reach nothing. */
static void keep_calls(struct program *p, struct point *x)
{
	if (x->kind == SPEC_RETURN)
		x->kept = true;
	if (x->kind != SPEC_CALL && x->kind != SPEC_SYSCALL)
		return;
	uint32_t *targets = p->targets.v + x->first_target, n = 0;
	for (uint32_t t = 0; t < x->n_targets; t++)
		if (p->functions.v[targets[t]].reaches)
			targets[n++] = targets[t];
	x->n_targets = n;
	x->kept = n > 0 || x->kind == SPEC_SYSCALL;
	if (!x->kept)
		x->kind = SPEC_EPSILON;
}

/* Adds decisions until nothing is added. */
static void keep_decisions(struct program *p, struct function *f)
{
	struct point *v = p->points.v + f->first_point;
	for (bool changed = true; changed;) {
		changed = false;
		find_next(p, f);
		for (uint32_t i = 0; i < f->n_points; i++)
			if (is_deciding_branch(p, &v[i])) {
				v[i].kind = SPEC_DECISION;
				changed = true;
			}
		for (uint32_t i = 0; i < f->n_points; i++)
			v[i].kept |= v[i].kind == SPEC_DECISION;
	}
}

/* Which of its points are nodes, and their numbers. */
static void reduce_function(struct program *p, struct function *f)
{
	struct point *v = p->points.v + f->first_point;
	bool leads = false;
	/* The begin of the first block is the entry. */
	v[0].kind = SPEC_ENTRY;
	v[0].kept = true;
	for (uint32_t i = 1; i < f->n_points; i++)
		keep_calls(p, &v[i]);
	for (uint32_t i = 1; i < f->n_points; i++)
		leads |= v[i].leads;
	keep_decisions(p, f);
	/* Of the choice behind a clean-up it is the branch that stored the value which decided: it is kept, too, as if the
	 * store were a node. Without the stores the set is still closed: each has one node behind it. */
	if (leads) {
		for (uint32_t i = 1; i < f->n_points; i++)
			v[i].kept |= v[i].leads;
		keep_decisions(p, f);
		for (uint32_t i = 1; i < f->n_points; i++)
			v[i].kept &= !v[i].leads;
		keep_decisions(p, f);
	}
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->n_points; i++)
		if (v[i].kept)
			v[i].node = n++;
}

void program_reduce(struct program *p)
{
	for (size_t i = 0; i < p->functions.n; i++)
		if (p->functions.v[i].reaches)
			reduce_function(p, &p->functions.v[i]);
}
