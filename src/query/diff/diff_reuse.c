/* diff_reuse.c - what one side has, and the other took over: where side B used what side A had made, as an incremental
 * build does with objects, B rests on all that these came from, and what A read and ran for them is no cause. */
#include "query/diff/diff_int.h"

#include <errno.h>
#include <stdlib.h>

struct reuse {
	const struct side *s, *other;
	bool *version, *exec; /* of s: something that the other side used was made of it, or is it */
};

/* Did the other side use the version without making it? */
static bool is_taken_over(const struct side *other, const struct dversion *v)
{
	const uint32_t *at = v->made && !v->stream ? idmap_find(&other->by_version, v->id) : NULL;
	return at && !other->versions[*at].made && other->versions[*at].first_user != NONE;
}

/* One turn backwards, the latest execution first: did anything change? */
static bool carry_back(struct reuse *r)
{
	const struct side *s = r->s;
	bool changed = false;
	for (size_t i = s->n_derived; i-- > 0;)
		if (r->version[s->derived[i].to] && !r->version[s->derived[i].from])
			changed = r->version[s->derived[i].from] = true;
	for (size_t i = s->n_execs; i-- > 0;) {
		const struct dexec *x = &s->execs[i];
		int64_t until = TIME_NONE; /* the end of the last write to something that was taken over */
		for (uint32_t g = 0; g < x->n_gens; g++) {
			const struct duse *gen = &s->gens[x->first_gen + g];
			if (r->version[gen->version] && gen->hi > until)
				until = gen->hi;
		}
		if (until == TIME_NONE)
			continue;
		changed |= !r->exec[i];
		r->exec[i] = true;
		for (uint32_t u = 0; u < x->n_uses; u++) {
			const struct duse *use = &s->uses[x->first_use + u];
			if (use->lo >= until || r->version[use->version])
				continue;
			changed = r->version[use->version] = true;
		}
	}
	return changed;
}

/* What started an execution that was taken over was there for it. */
static void carry_up(struct reuse *r)
{
	for (size_t i = r->s->n_execs; i-- > 0;)
		if (r->exec[i] && r->s->execs[i].parent != NONE)
			r->exec[r->s->execs[i].parent] = true;
}

/* Of the executions of one program one that was for something else is news. */
static void mark_executions(const struct reuse *r, int side, enum diff_kind alone, struct items *it)
{
	for (size_t i = 0; i < it->n; i++)
		it->v[i].reused |= it->v[i].category == DIFF_executions && it->v[i].kind == alone;
	for (size_t i = 0; i < it->n_concerns; i++) {
		const struct concern *c = &it->concerns[i];
		struct diff_item *x = &it->v[c->item];
		if (x->category == DIFF_executions && x->kind == alone && c->exec[side] != NONE && !r->exec[c->exec[side]])
			x->reused = false;
	}
}

/* Marks items on what an execution made that was not run again on the other side, and on such executions; they are no
 * roots. */
static void mark_items(const struct reuse *r, int side, struct items *it)
{
	enum diff_kind alone = side ? DIFF_ADDED : DIFF_REMOVED;
	for (size_t i = 0; i < it->n; i++) {
		struct diff_item *x = &it->v[i];
		const uint32_t *at = x->kind == alone ? idmap_find(&r->s->by_version, side ? x->b : x->a) : NULL;
		x->reused |= at && r->version[*at] && x->category != DIFF_outputs && !x->absent_before;
	}
	mark_executions(r, side, alone, it);
	for (size_t i = 0; i < it->n; i++)
		it->v[i].rooted &= !it->v[i].reused;
}

int diff_reuse(struct side side[2], struct items *it)
{
	for (int k = 0; k < 2; k++) {
		struct reuse r = {.s = &side[k], .other = &side[!k]};
		bool any = false;
		r.version = calloc(r.s->n_versions + 1, sizeof(*r.version));
		r.exec = calloc(r.s->n_execs + 1, sizeof(*r.exec));
		for (size_t i = 0; r.version && i < r.s->n_versions; i++)
			any |= r.version[i] = is_taken_over(r.other, &r.s->versions[i]);
		if (any && r.exec) {
			for (int turn = 0; turn < 64 && carry_back(&r); turn++)
				;
			carry_up(&r);
			mark_items(&r, k, it);
		}
		bool failed = !r.version || !r.exec;
		free(r.version);
		free(r.exec);
		if (failed)
			return -ENOMEM;
	}
	return 0;
}
