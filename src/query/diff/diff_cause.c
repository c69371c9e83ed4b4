/* diff_cause.c - how far differences reach, and which one is the likeliest first cause.
 *
 * A difference is carried forward along the edges of its side: a version to the executions that read it, an execution
 * to the versions whose writing ended after the reading began (B9), a version to those that were made by writing on to
 * it. Sixty-four at a time, as bits of a mask, in start
 * order until nothing changes. What reaches nothing that way is carried once more, from parents to children too: a
 * changed driver script acts through the arguments of what it starts. */
#include "query/diff/diff_int.h"

#include "base/os/system.h"

#include <errno.h>
#include <stdlib.h>

/* Is the item there on that side? Changed ones are on side 1. */
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

/* Adds to what reaches an execution what reaches its parent (c->fork) and the versions it used. Did anything change? */
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

/* Gives each item the number of final outputs that it reaches, and of those that differ. differs: by version. */
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

/* Is it known that something differs? */
static bool is_certain(const struct diff_item *i)
{
	return i->kind != DIFF_REWRITTEN || i->content == CONTENT_DIFFERS;
}

/* May it explain others, and be the cause? Who changes a file by hand changes what it says; a program that makes it
 * anew may say the same again. */
static bool may_explain(const struct diff_item *i)
{
	return is_certain(i) || (i->unseen && i->content == CONTENT_UNKNOWN);
}

enum { CARRIED_MAX = 512 }; /* items; more differences than that are no longer causes but another program */

/* explained[i]: something else reaches the execution that concern i is of. */
static void mark_explained(const struct concern *v, size_t n, const struct carry *c, int side, bool *explained)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].exec[side] != NONE && c->from[v[i].exec[side]] & ~c->bit[v[i].item])
			explained[i] = true;
}

/* What a turn of carrying is for. */
enum carry_pass { REACH_DATA, REACH_FORK, EXPLAIN, CARRY_PASSES };

/* Does the item go along with data in this pass? */
static bool is_carried(const struct diff_item *i, enum carry_pass pass, int side)
{
	if (!diff_category_words[i->category].cause || i->category == DIFF_machine || i->category == DIFF_order)
		return false;
	if (pass == EXPLAIN) /* what changed can explain what is on one side only, whichever that is */
		return may_explain(i) && (of_side(i, side) || i->kind == DIFF_CHANGED || i->kind == DIFF_REWRITTEN);
	return of_side(i, side) && !i->reaches;
}

/* An item is no root if all its concerns on this side are explained; one that is not makes it one again. */
static void all_explained(struct items *it, const struct concern *v, size_t n, int side, const bool *explained)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].exec[side] != NONE && of_side(&it->v[v[i].item], side) && explained[i])
			it->v[v[i].item].rooted = false;
	for (size_t i = 0; i < n; i++) /* one that is not makes it a root after all */
		if (v[i].exec[side] != NONE && of_side(&it->v[v[i].item], side) && !explained[i])
			it->v[v[i].item].rooted = true;
}

/* What is noted while items are carried along side c.s. */
struct reach {
	struct carry c;
	struct items *it;
	int side;
	bool *differs;              /* of versions: an output that differs */
	bool *by_concern, *by_user; /* of concerns and users: something explains what is on one side only */
};

/* Prepares to find which outputs a difference reaches. 0, -ENOMEM; reach_end frees in both cases. */
static int reach_begin(struct reach *r, struct side *s, struct items *it, int side)
{
	*r = (struct reach){.c = {.s = s,
	                          .exec = calloc(s->n_execs + 1, sizeof(*r->c.exec)),
	                          .from = calloc(s->n_execs + 1, sizeof(*r->c.from)),
	                          .bit = calloc(it->n + 1, sizeof(*r->c.bit))},
	                    .it = it,
	                    .side = side,
	                    .differs = calloc(s->n_versions + 1, sizeof(*r->differs)),
	                    .by_concern = calloc(it->n_concerns + 1, sizeof(*r->by_concern)),
	                    .by_user = calloc(it->n_users + 1, sizeof(*r->by_user))};
	return r->c.exec && r->c.from && r->c.bit && r->differs && r->by_concern && r->by_user ? 0 : -ENOMEM;
}

/* It may not be used afterwards. */
static void reach_end(struct reach *r)
{
	free(r->c.exec);
	free(r->c.from);
	free(r->c.bit);
	free(r->differs);
	free(r->by_concern);
	free(r->by_user);
}

/* Of final outputs those that certainly differ. */
static void mark_differing_outputs(struct reach *r)
{
	for (size_t i = 0; i < r->it->n; i++) {
		const struct diff_item *x = &r->it->v[i];
		store_id id = x->category == DIFF_outputs && is_certain(x) ? (r->side ? x->b : x->a) : 0;
		uint32_t *at = id ? idmap_find(&r->c.s->by_version, id) : NULL;
		if (at)
			r->differs[*at] = true;
	}
}

/* Carries the items list[0..n), at most 64, and notes what they reach or explain. */
static void reach_items(struct reach *r, enum carry_pass pass, const uint32_t *list, size_t n)
{
	struct items *it = r->it;
	carry_items(&r->c, it, list, n, r->side);
	if (pass == EXPLAIN) {
		mark_explained(it->concerns, it->n_concerns, &r->c, r->side, r->by_concern);
		mark_explained(it->users, it->n_users, &r->c, r->side, r->by_user);
	} else {
		count_outputs(r->c.s, it, list, n, r->differs);
	}
	for (size_t i = 0; i < n; i++)
		r->c.bit[list[i]] = 0;
}

/* All items that are carried in the pass, 64 at a time. */
static void reach_pass(struct reach *r, enum carry_pass pass)
{
	uint32_t list[64];
	size_t n = 0, done = 0;
	r->c.fork = pass != REACH_DATA;
	for (uint32_t k = 0; k < r->it->n && done < CARRIED_MAX; k++) {
		if (!is_carried(&r->it->v[k], pass, r->side))
			continue;
		list[n++] = k;
		done++;
		if (n == 64) {
			reach_items(r, pass, list, n);
			n = 0;
		}
	}
	if (n)
		reach_items(r, pass, list, n);
}

/* What each item of side `which` reaches, and which items are roots. 0, -ENOMEM. */
static int mark_reached_items(struct side side[2], struct items *it, int which)
{
	struct reach r;
	int rc = reach_begin(&r, &side[which], it, which);
	if (rc == 0) {
		mark_differing_outputs(&r);
		for (int pass = 0; pass < CARRY_PASSES; pass++)
			reach_pass(&r, (enum carry_pass)pass);
		all_explained(it, it->concerns, it->n_concerns, which, r.by_concern);
		all_explained(it, it->users, it->n_users, which, r.by_user);
	}
	reach_end(&r);
	return rc;
}

/* Is it what the user ran, and no program's doing? */
static bool is_first_program(const struct side *s, uint32_t exec)
{
	while ((exec = s->execs[exec].parent) != NONE)
		if (s->execs[exec].argv.count)
			return false;
	return true;
}

/* Can the character be part of a name? */
static bool is_part(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c & 0x80;
}

/* After the last slash. */
static struct str last_name(struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return slash ? str_n(slash + 1, (size_t)(path.p + path.n - slash) - 1) : path;
}

/* Does the name stand in text, as a word of its own? */
static bool has_word(struct str text, struct str name)
{
	for (size_t at = 0, n; name.n && text.n - at >= name.n; at = n + 1) {
		const char *p = memmem(text.p + at, text.n - at, name.p, name.n);
		if (!p)
			return false;
		n = (size_t)(p - text.p);
		if ((!n || !is_part(p[-1])) && (n + name.n == text.n || !is_part(p[name.n])))
			return true;
	}
	return false;
}

/* Is the name a component of the path, but not one that begins it? */
static bool has_component(struct str path, struct str name)
{
	for (size_t i = 0; i + name.n < path.n; i++)
		if (path.p[i] == '/' && !memcmp(path.p + i + 1, name.p, name.n) &&
		    (i + 1 + name.n == path.n || path.p[i + 1 + name.n] == '/'))
			return true;
	return false;
}

/* Of a variable, parts between colons as in LD_LIBRARY_PATH: does one that the other side's does not have name the file
 * or a folder above it? */
static bool list_names_path(struct str text, struct str other, struct str path)
{
	for (size_t at = 0, end; at < text.n; at = end + 1) {
		for (end = at; end < text.n && text.p[end] != ':';)
			end++;
		struct str part = str_n(text.p + at, end - at);
		while (part.n && part.p[part.n - 1] == '/')
			part.n--;
		if (!part.n || str_is(part, ".") || str_is(part, "..") ||
		    (other.n >= part.n && memmem(other.p, other.n, part.p, part.n)))
			continue;
		if (has_component(path, last_name(part)))
			return true;
	}
	return false;
}

/* Does text speak of the file at path? Arguments by its last name; of a variable a part that the other side's does not
 * have by that or by a folder above it. */
static bool speaks_of(struct str text, struct str other, struct str path, bool variable)
{
	return variable ? list_names_path(text, other, path) : has_word(text, last_name(path));
}

/* Is it a file that side k alone read, and that was not there for the other? */
static bool is_read_alone(const struct diff_item *i, int k)
{
	return i->kind == (k ? DIFF_ADDED : DIFF_REMOVED) && !i->absent_before &&
	       (i->category == DIFF_inputs || i->category == DIFF_programs || i->category == DIFF_configuration);
}

/* A file that one side only read is no cause where what the user wrote, arguments or variables, names it there. */
static void explain_by_arguments(const struct side side[2], struct items *it)
{
	for (size_t f = 0; f < it->n_concerns; f++) {
		const struct concern *x = &it->concerns[f];
		const struct diff_item *said = &it->v[x->item];
		bool variable = said->category == DIFF_environment;
		if (!variable && said->category != DIFF_options)
			continue;
		for (int k = 0; k < 2; k++) {
			if (x->exec[k] == NONE || !is_first_program(&side[k], x->exec[k]))
				continue;
			struct str text = k ? said->after : said->before, other = k ? said->before : said->after;
			for (size_t i = 0; text.n && i < it->n; i++)
				if (is_read_alone(&it->v[i], k) && speaks_of(text, other, it->v[i].subject, variable))
					it->v[i].rooted = false;
		}
	}
}

/* What ran on one side only is the cause, and not the machine's program file and libraries that it needed for that. */
static void explain_by_executions(struct items *it)
{
	bool alone[2] = {false, false};
	for (size_t i = 0; i < it->n; i++) {
		const struct diff_item *x = &it->v[i];
		if (x->category == DIFF_executions && x->rooted && x->reaches)
			alone[x->kind == DIFF_ADDED] = true;
	}
	for (size_t i = 0; i < it->n; i++) {
		struct diff_item *x = &it->v[i];
		if (x->category == DIFF_programs && x->lonely && system_path(x->subject, NULL) != SYSTEM_NO &&
		    alone[x->kind == DIFF_ADDED])
			x->rooted = false;
	}
}

/* What one of the sides made anew with the same size is no cause: it may say the same again. */
static void explain_by_sides(const struct side side[2], struct items *it)
{
	for (size_t i = 0; i < it->n; i++) {
		struct diff_item *x = &it->v[i];
		if (x->kind == DIFF_REWRITTEN && !may_explain(x) && x->changed_by &&
		    (idmap_find(&side[0].by_exec, x->changed_by) || idmap_find(&side[1].by_exec, x->changed_by)))
			x->rooted = false;
	}
}

/* Does the path name what Python keeps of the source: /w/__pycache__/a.cpython-311.pyc of /w/a.py? */
static bool is_cache_of(struct str cache, struct str source)
{
	static const struct str folder = {"__pycache__/", 12};
	size_t above = source.n - str_base_name(source).n;
	struct str stem = str_n(source.p + above, source.n - above);
	if (!str_ends(stem, str_of(".py")) || cache.n <= above + folder.n || memcmp(cache.p, source.p, above) != 0)
		return false;
	stem.n -= 2; /* with the dot */
	struct str rest = str_n(cache.p + above, cache.n - above);
	if (!str_starts(rest, folder))
		return false;
	return str_starts(str_n(rest.p + folder.n, rest.n - folder.n), stem);
}

/* A module's source that one side alone read is no cause where the other read what was kept of it. */
static void explain_by_caches(const struct side side[2], struct items *it)
{
	for (size_t i = 0; i < it->n; i++) {
		struct diff_item *x = &it->v[i];
		if ((x->kind != DIFF_ADDED && x->kind != DIFF_REMOVED) || !str_ends(x->subject, str_of(".py")))
			continue;
		const struct side *other = &side[x->kind == DIFF_REMOVED];
		for (size_t p = 0; p < other->n_paths && x->rooted; p++)
			x->rooted = other->paths[p].input == NONE || !is_cache_of(other->paths[p].path, x->subject);
	}
}

/* By category, roots before what they explain, then as people look for them. */
static int compare_diff_items(const void *pa, const void *pb)
{
	const struct diff_item *a = pa, *b = pb;
	if (a->category != b->category)
		return (int)a->category - (int)b->category;
	if (a->category == DIFF_outputs && a->kind != b->kind)
		return (int)a->kind - (int)b->kind;
	if (a->rooted != b->rooted)
		return b->rooted - a->rooted;
	if (a->reaches_differing != b->reaches_differing)
		return a->reaches_differing < b->reaches_differing ? 1 : -1;
	bool ra = !is_certain(a), rb = !is_certain(b);
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

/* What is looked for, in turn: what is known to differ, what somebody changed by hand without changing its size, the
 * rest; first of what reaches an output that is known to differ. */
enum cause_pass {
	CAUSE_CERTAIN,
	CAUSE_BY_HAND,
	CAUSE_ANY,
	CAUSE_CERTAIN_ELSE,
	CAUSE_BY_HAND_ELSE,
	CAUSE_ANY_ELSE,
	CAUSE_PASSES
};

/* Is it the first cause, of what is looked for in that pass? What is said of the sides as a whole comes last. */
static bool is_cause(const struct diff *d, const struct diff_item *x, enum cause_pass pass, bool differing)
{
	/* How a program was built tells of the program, which is the cause. */
	if (!diff_category_words[x->category].cause || !x->rooted || x->category == DIFF_build)
		return false;
	if (x->category == DIFF_order) /* programs of a pipeline start in any order */
		return pass == CAUSE_ANY_ELSE && differing;
	if (x->category == DIFF_machine)
		return pass == CAUSE_ANY_ELSE && d->side[1].outputs;
	/* That another program ran is mostly what came of the cause: a file that somebody edited goes before. */
	if (pass % CAUSE_CERTAIN_ELSE == CAUSE_CERTAIN && (!is_certain(x) || x->category == DIFF_executions))
		return false;
	if (pass % CAUSE_CERTAIN_ELSE == CAUSE_BY_HAND && !may_explain(x))
		return false;
	return pass < CAUSE_CERTAIN_ELSE ? x->reaches_differing : x->reaches;
}

/* Where a program failed on one side only, what may have made it fail, else that it failed. Else what is known to
 * differ and reaches an output that is known to differ; else what reaches any; else what was made anew. Of each kind
 * the first category's, the farthest reaching first: they are sorted so. */
size_t diff_first_cause(const struct diff *d, const struct diff_item *v, size_t n)
{
	size_t failure = SIZE_MAX, why = SIZE_MAX;
	for (size_t i = n; i-- > 0;) {
		if (v[i].failure == DIFF_FAILURE_ITSELF)
			failure = failure == SIZE_MAX || v[i].when <= v[failure].when ? i : failure;
		else if (v[i].failure == DIFF_FAILURE_EXPLAINED && v[i].rooted && may_explain(&v[i]))
			why = i;
	}
	if (failure != SIZE_MAX)
		return why != SIZE_MAX ? why : failure;
	bool differing = false; /* is an output known to differ? */
	for (size_t i = 0; i < n; i++)
		differing |= v[i].category == DIFF_outputs && v[i].content != CONTENT_SAME && may_explain(&v[i]);
	for (int pass = 0; pass < CAUSE_PASSES; pass++)
		for (size_t i = 0; i < n; i++)
			if (is_cause(d, &v[i], (enum cause_pass)pass, differing))
				return i;
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
	explain_by_executions(it);
	explain_by_sides(side, it);
	explain_by_caches(side, it);
	r = diff_failures(side, it);
	if (r == 0)
		r = diff_reuse(side, it);
	if (r < 0)
		return r;
	for (size_t i = 0; i < it->n; i++)
		if (it->v[i].category == DIFF_machine)
			it->v[i].reaches = (uint32_t)side[1].info.outputs;
	if (it->n)
		qsort(it->v, it->n, sizeof(*it->v), compare_diff_items);
	d->first = diff_first_cause(d, it->v, it->n);
	return 0;
}
