/* diff_failure.c - a program that failed on one side only: the first cause, unless something else that differs reached
 * it before (doc/diff.md, "The first cause"). */
#include "query/diff/diff_int.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

/* By a signal, or with a status that is not 0; what was not seen has not failed. */
static bool has_failed(const struct dexec *x)
{
	return x->ending == TERM_ending_signaled || (x->ending == TERM_ending_exited && x->code);
}

/* Did a program that went on tell it to end? As a pool does with its workers, and a closed pipe with who writes to it.
 */
static bool was_told_to_end(const struct side *s, const struct dexec *x)
{
	return x->ending == TERM_ending_signaled && (x->code == SIGTERM || x->code == SIGPIPE || x->code == SIGHUP) &&
	       x->parent != NONE && !has_failed(&s->execs[x->parent]);
}

/* Executions of side `side` that failed while their partners did not. */
struct failures {
	const struct side *s, *other;
	int side;
	bool *failed;        /* of s's executions */
	bool *deepest;       /* and none that they started did */
	bool *above;         /* deepest, or above one that is */
	bool *used;          /* of s's versions: one that failed used it */
	bool *read, *beyond; /* of the other side's: it was read; and not by those alone that are cut */
	bool *cut;           /* of the other side's: what is below the partner of one that failed, or that itself */
	size_t n;
};

/* Side k's executions that failed, the deepest of them, and what was cut off by it on the other side. 0, -ENOMEM;
 * failures_release frees in both cases. */
static int find_failures(struct side side[2], int k, struct failures *f)
{
	*f = (struct failures){.s = &side[k], .other = &side[!k], .side = k};
	f->failed = calloc(f->s->n_execs + 1, sizeof(*f->failed));
	f->deepest = calloc(f->s->n_execs + 1, sizeof(*f->deepest));
	f->cut = calloc(f->other->n_execs + 1, sizeof(*f->cut));
	f->above = calloc(f->s->n_execs + 1, sizeof(*f->above));
	f->used = calloc(f->s->n_versions + 1, sizeof(*f->used));
	f->read = calloc(f->other->n_versions + 1, sizeof(*f->read));
	f->beyond = calloc(f->other->n_versions + 1, sizeof(*f->beyond));
	if (!f->failed || !f->deepest || !f->cut || !f->above || !f->used || !f->read || !f->beyond)
		return -ENOMEM;
	for (size_t i = 0; i < f->s->n_execs; i++) {
		const struct dexec *x = &f->s->execs[i];
		const struct dexec *y = x->partner != NONE ? &f->other->execs[x->partner] : NULL;
		if (!y || !has_failed(x) || has_failed(y) || y->ending != TERM_ending_exited || was_told_to_end(f->s, x))
			continue;
		f->failed[i] = f->deepest[i] = true;
		f->cut[x->partner] = true;
		f->n++;
	}
	for (size_t i = 0; i < f->s->n_execs; i++)
		for (uint32_t p = f->failed[i] ? f->s->execs[i].parent : NONE; p != NONE; p = f->s->execs[p].parent)
			f->deepest[p] = false;
	for (size_t i = 0; i < f->other->n_execs; i++) { /* parents stand before their children */
		const struct dexec *x = &f->other->execs[i];
		f->cut[i] |= x->parent != NONE && f->cut[x->parent] && x->partner == NONE;
	}
	for (size_t i = 0; i < f->s->n_execs; i++)
		for (uint32_t p = f->deepest[i] ? (uint32_t)i : NONE; p != NONE && !f->above[p]; p = f->s->execs[p].parent)
			f->above[p] = true;
	for (size_t u = 0; u < f->s->n_uses; u++)
		f->used[f->s->uses[u].version] |= f->failed[f->s->uses[u].exec];
	for (size_t u = 0; u < f->other->n_uses; u++) {
		f->read[f->other->uses[u].version] = true;
		f->beyond[f->other->uses[u].version] |= !f->cut[f->other->uses[u].exec];
	}
	return 0;
}

/* It may not be used afterwards. */
static void failures_release(struct failures *f)
{
	free(f->failed);
	free(f->deepest);
	free(f->cut);
	free(f->above);
	free(f->used);
	free(f->read);
	free(f->beyond);
}

/* Did one that failed use the version? */
static bool is_used_by_failure(const struct failures *f, store_id version)
{
	const uint32_t *at = version ? idmap_find(&f->s->by_version, version) : NULL;
	return at && f->used[*at];
}

/* Was a file of the other side read only by who failed here, or by what did not come to run for that? */
static bool is_read_beyond_failure(const struct failures *f, store_id version)
{
	const uint32_t *at = version ? idmap_find(&f->other->by_version, version) : NULL;
	return at && f->read[*at] && !f->beyond[*at];
}

/* Has the other side this item, and the one that failed not? */
static bool is_missing_here(const struct failures *f, const struct diff_item *i)
{
	return i->kind == (f->side ? DIFF_REMOVED : DIFF_ADDED);
}

/* What a file item has to do with the failures. */
static void judge_file(const struct failures *f, struct diff_item *i)
{
	store_id here = f->side ? i->b : i->a, there = f->side ? i->a : i->b;
	if (is_missing_here(f, i) && i->absent_before)
		i->failure = DIFF_FAILURE_EXPLAINED; /* it was looked for, and was not there */
	else if (is_missing_here(f, i) && is_read_beyond_failure(f, there))
		i->rooted = false;
	else if (!is_missing_here(f, i) && is_used_by_failure(f, here))
		i->failure = DIFF_FAILURE_EXPLAINED;
}

/* Sets the item's failure, and since when, by one execution that it concerns. */
static void judge_concern(const struct failures *f, const struct concern *x, struct diff_item *i)
{
	uint32_t here = x->exec[f->side], there = x->exec[!f->side];
	if (i->category == DIFF_outcome && here != NONE && f->deepest[here]) {
		int64_t when = f->s->execs[here].start;
		i->when = i->failure == DIFF_FAILURE_ITSELF && i->when < when ? i->when : when;
		i->failure = DIFF_FAILURE_ITSELF;
	} else if (i->category == DIFF_executions && here == NONE && there != NONE && f->cut[there])
		i->rooted = false;
	else if ((i->category == DIFF_options || i->category == DIFF_environment) && here != NONE && f->above[here])
		i->failure = DIFF_FAILURE_EXPLAINED;
}

int diff_failures(struct side side[2], struct items *it)
{
	for (int k = 0; k < 2; k++) {
		struct failures f;
		int r = find_failures(side, k, &f);
		for (size_t i = 0; r == 0 && f.n && i < it->n; i++)
			if (it->v[i].category == DIFF_inputs || it->v[i].category == DIFF_programs ||
			    it->v[i].category == DIFF_configuration)
				judge_file(&f, &it->v[i]);
		for (size_t i = 0; r == 0 && f.n && i < it->n_concerns; i++)
			judge_concern(&f, &it->concerns[i], &it->v[it->concerns[i].item]);
		failures_release(&f);
		if (r < 0)
			return r;
	}
	return 0;
}
