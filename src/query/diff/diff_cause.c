/* diff_cause.c - how far differences reach, and which one is the likeliest first cause.
 *
 * A difference is carried forward along the edges of its side: a version to the executions that read it, an execution
 * to the versions whose writing ended after the reading began (B9), a version to those that were made by writing on to
 * it. Sixty-four at a time, as bits of a mask, in start
 * order until nothing changes. What reaches nothing that way is carried once more, from parents to children too: a
 * changed driver script acts through the arguments of what it starts. */
#include "query/diff/diff_int.h"

#include <errno.h>
#include <stdlib.h>

static bool of_side(const struct diff_item *i, int side)
{
	return side == (i->kind == DIFF_REMOVED ? 0 : 1);
}

struct carry {
	struct side *s;
	uint64_t *exec; /* masks of executions by themselves */
	uint64_t *from; /* of executions: what reached them from those that started them */
	uint64_t *bit;  /* of items, those at hand */
	bool fork;
};

static bool carry_exec(struct carry *c, uint32_t at)
{
	struct dexec *x = &c->s->execs[at];
	bool changed = false;
	if (c->fork && x->parent != NONE) {
		const struct dexec *p = &c->s->execs[x->parent];
		uint64_t mask = c->exec[x->parent];
		for (uint32_t u = 0; u < p->n_uses; u++) {
			const struct duse *use = &c->s->uses[p->first_use + u];
			if (use->lo <= x->begun)
				mask |= c->s->versions[use->version].mask;
		}
		changed |= (mask & ~c->exec[at]) != 0;
		c->exec[at] |= mask;
		c->from[at] |= mask;
	}
	for (uint32_t g = 0; g < x->n_gens; g++) {
		const struct duse *gen = &c->s->gens[x->first_gen + g];
		uint64_t mask = c->exec[at];
		for (uint32_t u = 0; u < x->n_uses; u++) {
			const struct duse *use = &c->s->uses[x->first_use + u];
			if (use->lo < gen->hi)
				mask |= c->s->versions[use->version].mask;
		}
		struct dversion *v = &c->s->versions[gen->version];
		changed |= (mask & ~v->mask) != 0;
		v->mask |= mask;
	}
	return changed;
}

/* Carries the items which[0 .. n), at most 64. */
static void carry_items(struct carry *c, struct items *it, const uint32_t *which, size_t n, int side)
{
	struct side *s = c->s;
	uint64_t *bit = c->bit;
	for (size_t i = 0; i < s->n_versions; i++)
		s->versions[i].mask = 0;
	memset(c->exec, 0, s->n_execs * sizeof(*c->exec));
	memset(c->from, 0, s->n_execs * sizeof(*c->from));
	for (size_t k = 0; k < n; k++) {
		const struct diff_item *i = &it->v[which[k]];
		store_id version = side ? i->b : i->a;
		uint32_t *at = version ? idmap_find(&s->by_version, version) : NULL;
		if (at)
			s->versions[*at].mask |= 1ull << k;
		bit[which[k]] = 1ull << k;
	}
	for (size_t f = 0; f < it->n_concerns; f++) {
		const struct concern *x = &it->concerns[f];
		if (x->exec[side] != NONE)
			c->exec[x->exec[side]] |= bit[x->item];
	}
	bool changed = true;
	for (int pass = 0; changed && pass < 64; pass++) {
		changed = false;
		for (uint32_t i = 0; i < s->n_execs; i++)
			changed |= carry_exec(c, i);
		for (size_t i = 0; i < s->n_derived; i++) {
			uint64_t mask = s->versions[s->derived[i].from].mask, *to = &s->versions[s->derived[i].to].mask;
			changed |= (mask & ~*to) != 0;
			*to |= mask;
		}
	}
}

static void count_outputs(struct side *s, struct items *it, const uint32_t *which, size_t n, const bool *differs)
{
	for (size_t p = 0; p < s->n_paths; p++) {
		if (s->paths[p].output == NONE || s->paths[p].system)
			continue;
		uint64_t mask = s->versions[s->paths[p].output].mask;
		for (size_t k = 0; k < n; k++)
			if (mask >> k & 1) {
				it->v[which[k]].reaches++;
				it->v[which[k]].reaches_differing += differs[s->paths[p].output];
			}
	}
}

/* May it explain others, and be the cause? Who changes a file by hand changes what it says; a program that makes it
 * anew may say the same again. */
static bool may_explain(const struct diff_item *i)
{
	return i->kind != DIFF_REWRITTEN || i->unseen || i->content == CONTENT_DIFFERS;
}

enum { CARRIED_MAX = 512 }; /* items; more differences than that are no longer causes but another program */

static void mark_explained(const struct concern *v, size_t n, const struct carry *c, int side, bool *explained)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].exec[side] != NONE && c->from[v[i].exec[side]] & ~c->bit[v[i].item])
			explained[i] = true;
}

/* What a turn of carrying is for. */
enum carry_pass { REACH_DATA, REACH_FORK, EXPLAIN, CARRY_PASSES };

static bool is_carried(const struct diff_item *i, enum carry_pass pass, int side)
{
	if (!diff_rung_words[i->rung].cause || i->rung == DIFF_machine || i->rung == DIFF_order)
		return false;
	if (pass == EXPLAIN) /* what changed can explain what is on one side only, whichever that is */
		return may_explain(i) && (of_side(i, side) || i->kind == DIFF_CHANGED || i->kind == DIFF_REWRITTEN);
	return of_side(i, side) && !i->reaches;
}

static void all_explained(struct items *it, const struct concern *v, size_t n, int side, const bool *explained)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].exec[side] != NONE && of_side(&it->v[v[i].item], side) && explained[i])
			it->v[v[i].item].rooted = false;
	for (size_t i = 0; i < n; i++) /* one that is not makes it a root after all */
		if (v[i].exec[side] != NONE && of_side(&it->v[v[i].item], side) && !explained[i])
			it->v[v[i].item].rooted = true;
}

static int mark_reached_items(struct side side[2], struct items *it, int which)
{
	struct side *s = &side[which];
	struct carry c = {.s = s,
	                  .exec = calloc(s->n_execs + 1, sizeof(*c.exec)),
	                  .from = calloc(s->n_execs + 1, sizeof(*c.from)),
	                  .bit = calloc(it->n + 1, sizeof(*c.bit))};
	bool *differs = calloc(s->n_versions + 1, sizeof(*differs));
	bool *by_concern = calloc(it->n_concerns + 1, sizeof(*by_concern));
	bool *by_user = calloc(it->n_users + 1, sizeof(*by_user));
	int r = c.exec && c.from && c.bit && differs && by_concern && by_user ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < it->n; i++) {
		const struct diff_item *x = &it->v[i];
		store_id id = x->rung == DIFF_outputs && x->kind != DIFF_REWRITTEN ? (which ? x->b : x->a) : 0;
		uint32_t *at = id ? idmap_find(&s->by_version, id) : NULL;
		if (at)
			differs[*at] = true;
	}
	for (int pass = 0; r == 0 && pass < CARRY_PASSES; pass++) {
		uint32_t list[64];
		size_t n = 0, done = 0;
		c.fork = pass != REACH_DATA;
		for (uint32_t k = 0; k <= it->n; k++) {
			if (k < it->n && done < CARRIED_MAX && is_carried(&it->v[k], (enum carry_pass)pass, which)) {
				list[n++] = k;
				done++;
			}
			if (!n || (n < 64 && k < it->n))
				continue;
			carry_items(&c, it, list, n, which);
			if (pass == EXPLAIN) {
				mark_explained(it->concerns, it->n_concerns, &c, which, by_concern);
				mark_explained(it->users, it->n_users, &c, which, by_user);
			} else
				count_outputs(s, it, list, n, differs);
			for (size_t i = 0; i < n; i++)
				c.bit[list[i]] = 0;
			n = 0;
		}
	}
	if (r == 0) {
		all_explained(it, it->concerns, it->n_concerns, which, by_concern);
		all_explained(it, it->users, it->n_users, which, by_user);
	}
	free(c.exec);
	free(c.from);
	free(c.bit);
	free(differs);
	free(by_concern);
	free(by_user);
	return r;
}

/* Is it what the user ran, and no program's doing? */
static bool is_first_program(const struct side *s, uint32_t exec)
{
	while ((exec = s->execs[exec].parent) != NONE)
		if (s->execs[exec].argv.count)
			return false;
	return true;
}

static bool is_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c & 0x80;
}

/* Does text speak of the file at path? Arguments by its last name; of a variable a part that the other side's does not
 * have by that or by a folder above it, as in LD_LIBRARY_PATH. */
static bool speaks_of(struct str text, struct str other, struct str path, bool variable)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	struct str last = slash ? str_n(slash + 1, (size_t)(path.p + path.n - slash) - 1) : path;
	for (size_t at = 0, n; !variable && last.n && text.n - at >= last.n; at = n + 1) {
		const char *p = memmem(text.p + at, text.n - at, last.p, last.n);
		if (!p)
			return false;
		n = (size_t)(p - text.p);
		if ((!n || !is_part(p[-1])) && (n + last.n == text.n || !is_part(p[last.n])))
			return true;
	}
	for (size_t at = 0, end; variable && at < text.n; at = end + 1) {
		for (end = at; end < text.n && text.p[end] != ':';)
			end++;
		struct str part = str_n(text.p + at, end - at);
		while (part.n && part.p[part.n - 1] == '/')
			part.n--;
		if (!part.n || str_is(part, ".") || str_is(part, "..") ||
		    (other.n >= part.n && memmem(other.p, other.n, part.p, part.n)))
			continue;
		slash = memrchr(part.p, '/', part.n);
		struct str name = slash ? str_n(slash + 1, (size_t)(part.p + part.n - slash) - 1) : part;
		for (size_t i = 0; i + name.n < path.n; i++)
			if (path.p[i] == '/' && !memcmp(path.p + i + 1, name.p, name.n) &&
			    (i + 1 + name.n == path.n || path.p[i + 1 + name.n] == '/'))
				return true;
	}
	return false;
}

/* A file that one side only read is no cause where what the user wrote, arguments or variables, names it there. */
static void explain_by_arguments(const struct side side[2], struct items *it)
{
	for (size_t f = 0; f < it->n_concerns; f++) {
		const struct concern *x = &it->concerns[f];
		const struct diff_item *said = &it->v[x->item];
		bool variable = said->rung == DIFF_environment;
		if (!variable && said->rung != DIFF_options)
			continue;
		for (int k = 0; k < 2; k++) {
			if (x->exec[k] == NONE || !is_first_program(&side[k], x->exec[k]))
				continue;
			struct str text = k ? said->after : said->before, other = k ? said->before : said->after;
			for (size_t i = 0; text.n && i < it->n; i++) {
				struct diff_item *file = &it->v[i];
				bool one = file->kind == (k ? DIFF_ADDED : DIFF_REMOVED) && !file->absent_before;
				if (one &&
				    (file->rung == DIFF_inputs || file->rung == DIFF_programs || file->rung == DIFF_configuration) &&
				    speaks_of(text, other, file->subject, variable))
					file->rooted = false;
			}
		}
	}
}

static int compare_diff_items(const void *pa, const void *pb)
{
	const struct diff_item *a = pa, *b = pb;
	if (a->rung != b->rung)
		return (int)a->rung - (int)b->rung;
	if (a->rung == DIFF_outputs && a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->rooted != b->rooted)
		return b->rooted - a->rooted;
	if (a->reaches_differing != b->reaches_differing)
		return a->reaches_differing < b->reaches_differing ? 1 : -1;
	bool ra = a->kind == DIFF_REWRITTEN, rb = b->kind == DIFF_REWRITTEN;
	if (ra != rb)
		return ra - rb;
	if (a->reaches != b->reaches)
		return a->reaches < b->reaches ? 1 : -1;
	if (a->amount < b->amount || a->amount > b->amount)
		return a->amount < b->amount ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	int c = str_cmp(a->subject, b->subject);
	return c ? c : str_cmp(a->after, b->after);
}

/* What is known to differ and reaches an output that is known to differ; else what reaches any; else what was made
 * anew. Of each kind the first rung's, the farthest reaching first: they are sorted so. */
size_t diff_first_cause(const struct diff *d, const struct diff_item *v, size_t n)
{
	for (int pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < n; i++) {
			const struct diff_item *x = &v[i];
			bool known = may_explain(x);
			/* How a program was built tells of the program, which is the cause. */
			if (!diff_rung_words[x->rung].cause || !x->rooted || x->rung == DIFF_build)
				continue;
			if (x->rung == DIFF_machine || x->rung == DIFF_order || x->rung == DIFF_executions) {
				if (pass < 3 || !d->side[1].outputs)
					continue;
				return i;
			}
			if (pass == 0   ? known && x->reaches_differing
			    : pass == 1 ? x->reaches_differing
			                : x->reaches && (known || pass > 2))
				return i;
		}
	return SIZE_MAX;
}

int diff_causes(struct side side[2], struct items *it, struct diff *d)
{
	int r = mark_reached_items(side, it, 1);
	if (r == 0)
		r = mark_reached_items(side, it, 0);
	if (r < 0)
		return r;
	explain_by_arguments(side, it);
	for (size_t i = 0; i < it->n; i++)
		if (it->v[i].rung == DIFF_machine)
			it->v[i].reaches = (uint32_t)side[1].info.outputs;
	if (it->n)
		qsort(it->v, it->n, sizeof(*it->v), compare_diff_items);
	d->first = diff_first_cause(d, it->v, it->n);
	return 0;
}
