/* diff_pair_items.c - how two executions that are a pair differ: options, environment, outcome, resources. */
#include "query/diff/diff_int.h"

#include "base/hash.h"
#include "event/env.h"

#include <errno.h>
#include <stdlib.h>

struct merged {
	struct items *it;
	struct idmap seen; /* hash of category, subject, before, after -> item */
	struct buf before, after;
};

/* One item for all pairs that differ in the same way. */
static struct diff_item *merge_pair_item(struct merged *m, enum diff_category category, enum diff_kind kind,
                                         struct str subject, const struct dexec *a, const struct dexec *b)
{
	uint64_t h = hash_more((uint64_t)category * 8 + (uint64_t)kind + 1, subject.p, subject.n);
	bool new;
	h = hash_more(h, m->before.p, m->before.n);
	h = hash_more(h + 1, m->after.p, m->after.n);
	uint32_t *slot = idmap_add(&m->seen, h ? h : 1, (uint32_t)m->it->n, &new);
	struct items *it = m->it;
	if (!slot || m->before.failed || m->after.failed || !diff_room(it->concerns, it->n_concerns, it->cap_concerns))
		return NULL;
	it->concerns[it->n_concerns++] = (struct concern){*slot, {a ? a->at : NONE, b ? b->at : NONE}};
	if (!new) {
		m->it->v[*slot].count++;
		return &m->it->v[*slot];
	}
	struct diff_item *i = diff_items_append(m->it, category, kind, subject);
	if (!i)
		return NULL;
	i->before = diff_keep_text(m->it->text, buf_view(&m->before));
	i->after = diff_keep_text(m->it->text, buf_view(&m->after));
	i->exec_a = a ? a->id : 0;
	i->exec_b = b ? b->id : 0;
	return i;
}

/* With a blank between. */
static void append_text_token(struct buf *b, struct str token)
{
	if (b->n)
		buf_char(b, ' ');
	buf_str(b, token);
}

struct tokens {
	struct str *v;
	uint64_t *key;
	size_t n;
};

/* The list's words, and what they are compared by. 0, -ENOMEM; diff_tokens_release frees in both cases. */
static int tokens_of(const struct side *s, const struct strlist *l, struct buf *scratch, struct tokens *ret)
{
	size_t pos = 0;
	*ret = (struct tokens){.v = calloc(l->count + 1, sizeof(*ret->v)), .key = calloc(l->count + 1, sizeof(*ret->key))};
	if (!ret->v || !ret->key)
		return -ENOMEM;
	while (ret->n < l->count && strlist_next(l, &pos, &ret->v[ret->n])) {
		buf_reset(scratch);
		diff_mask_path(s, ret->v[ret->n], scratch);
		ret->key[ret->n] = hash_bytes(scratch->p, scratch->n);
		ret->n++;
	}
	return 0;
}

static void diff_tokens_release(struct tokens *t)
{
	free(t->v);
	free(t->key);
}

/* Are both words of command lines the same? As they stand they are the same for both programs; else by their masked
 * form. */
static bool same_token(const struct tokens *a, size_t i, const struct tokens *b, size_t k)
{
	return a->key[i] == b->key[k] || str_eq(a->v[i], b->v[k]);
}

enum { MATCHED_MAX = 512 }; /* tokens of a side between the equal ends; 2 bytes for each pair */

/* The tokens from `first` on, `n` of one list and m of the other, that are not in their longest common subsequence. 0,
 * -ENOMEM. */
static int append_uncommon(const struct tokens *a, const struct tokens *b, size_t first, size_t n, size_t m,
                           struct buf *before, struct buf *after)
{
	uint16_t *t = calloc((n + 1) * (m + 1), sizeof(*t));
	if (!t)
		return -ENOMEM;
	for (size_t i = n; i-- > 0;)
		for (size_t k = m; k-- > 0;) {
			uint16_t down = t[(i + 1) * (m + 1) + k], right = t[i * (m + 1) + k + 1];
			t[i * (m + 1) + k] = same_token(a, first + i, b, first + k) ? (uint16_t)(t[(i + 1) * (m + 1) + k + 1] + 1)
			                     : down > right                         ? down
			                                                            : right;
		}
	for (size_t i = 0, k = 0; i < n || k < m;) {
		if (i < n && k < m && same_token(a, first + i, b, first + k))
			i++, k++;
		else if (k == m || (i < n && t[(i + 1) * (m + 1) + k] >= t[i * (m + 1) + k + 1]))
			append_text_token(before, a->v[first + i++]);
		else
			append_text_token(after, b->v[first + k++]);
	}
	free(t);
	return 0;
}

/* "-" alone is none: it stands for a stream. */
static bool is_option(struct str token)
{
	return token.n > 1 && token.p[0] == '-';
}

/* What the lists have in common at both ends. *ret_first: where they begin to differ; *ret_a and *ret_b: where they end
 * to. */
static void common_ends(const struct tokens *a, const struct tokens *b, size_t *ret_first, size_t *ret_a, size_t *ret_b)
{
	size_t first = 0, la = a->n, lb = b->n;
	while (first < la && first < lb && same_token(a, first, b, first))
		first++;
	while (la > first && lb > first && same_token(a, la - 1, b, lb - 1))
		la--, lb--;
	*ret_first = first;
	*ret_a = la;
	*ret_b = lb;
}

/* The tokens that are not common, by the longest common subsequence of what lies between the equal ends (W. Miller, E.
 * W. Myers 1985 would be faster; command lines are short). An option before a changed value stands with it. 0, -ENOMEM.
 * */
static int diff_tokens(const struct tokens *a, const struct tokens *b, struct buf *before, struct buf *after)
{
	size_t first, la, lb;
	common_ends(a, b, &first, &la, &lb);
	size_t n = la - first, m = lb - first;
	if (first && (n || m) && n <= 1 && m <= 1 && is_option(a->v[first - 1])) {
		append_text_token(before, a->v[first - 1]);
		append_text_token(after, b->v[first - 1]);
	}
	if (n <= MATCHED_MAX && m <= MATCHED_MAX)
		return append_uncommon(a, b, first, n, m, before, after);
	/* Too many to be told apart: all of them. */
	for (size_t i = 0; i < n; i++)
		append_text_token(before, a->v[first + i]);
	for (size_t k = 0; k < m; k++)
		append_text_token(after, b->v[first + k]);
	return 0;
}

/* Items of m on options in which the two command lines differ. 0, -ENOMEM. */
static int pair_options(const struct side side[2], const struct dexec *a, const struct dexec *b, struct merged *m)
{
	struct buf scratch = {0};
	struct tokens t[2] = {{NULL}};
	int r = tokens_of(&side[0], &a->argv, &scratch, &t[0]);
	if (r == 0)
		r = tokens_of(&side[1], &b->argv, &scratch, &t[1]);
	if (r == 0) {
		buf_reset(&m->before);
		buf_reset(&m->after);
		r = diff_tokens(&t[0], &t[1], &m->before, &m->after);
	}
	if (r == 0 && (m->before.n || m->after.n))
		r = merge_pair_item(m, DIFF_options, DIFF_CHANGED, b->program, a, b) ? 0 : -ENOMEM;
	buf_release(&scratch);
	diff_tokens_release(&t[0]);
	diff_tokens_release(&t[1]);
	return r;
}

/* Does a variable always differ, and say nothing by that? Those that name a job or a rank, and STEMMA_TRACE, where
 * stemma run --trace collects: a folder of each run. */
static bool always_differs(struct str name)
{
	enum env_role role;
	unsigned rank;
	return (env_role(name, &role, &rank) && role != ENV_ROLE_ranks) || str_is(name, "STEMMA_TRACE");
}

/* Are the values of both sides, k's first, the same when they are masked? */
static bool same_masked(const struct side side[2], int k, struct str value, struct str there)
{
	struct buf mine = {0}, other = {0};
	diff_mask_path(&side[k], value, &mine);
	diff_mask_path(&side[!k], there, &other);
	bool same = str_eq(buf_view(&mine), buf_view(&other));
	buf_release(&mine);
	buf_release(&other);
	return same;
}

/* Appends a variable that differs. there: the other side's value, or NULL. 0, -ENOMEM. */
static int append_variable(struct merged *m, int k, struct str name, struct str value, const struct str *there,
                           const struct dexec *a, const struct dexec *b)
{
	enum diff_kind kind = there ? DIFF_CHANGED : k ? DIFF_ADDED : DIFF_REMOVED;
	buf_reset(&m->before);
	buf_reset(&m->after);
	buf_str(k ? &m->after : &m->before, value);
	if (there)
		buf_str(&m->after, *there);
	return merge_pair_item(m, DIFF_environment, kind, name, a, b) ? 0 : -ENOMEM;
}

/* The variables of side k against the other's. What both have is compared in the first turn. 0, -ENOMEM. */
static int compare_variables(const struct side side[2], int k, const struct dexec *a, const struct dexec *b,
                             struct merged *m)
{
	const struct strlist *from = k ? &b->env : &a->env, *to = k ? &a->env : &b->env;
	struct str entry, name, value, there;
	int r = 0;
	for (size_t pos = 0; r == 0 && strlist_next(from, &pos, &entry);) {
		if (!diff_split_variable(entry, &name, &value) || always_differs(name))
			continue;
		bool found = diff_find_variable(to, name, &there);
		/* A path below one side's directory only is masked on that side only. */
		if (found && (k || str_eq(value, there) || same_masked(side, k, value, there)))
			continue;
		r = append_variable(m, k, name, value, found ? &there : NULL, a, b);
	}
	return r;
}

/* Variables of one side against the other's; paths count masked. 0, -ENOMEM. */
static int pair_environment(const struct side side[2], const struct dexec *a, const struct dexec *b, struct merged *m)
{
	int r = compare_variables(side, 0, a, b, m);
	return r < 0 ? r : compare_variables(side, 1, a, b, m);
}

void diff_format_ending(struct buf *b, uint64_t ending, uint64_t code)
{
	buf_reset(b);
	if (ending == TERM_ending_signaled)
		buf_printf(b, "signal %llu", (unsigned long long)code);
	else if (ending == TERM_ending_exited)
		buf_printf(b, "exit %llu", (unsigned long long)code);
	else
		buf_str(b, str_of(term_name(SET_ending, ending)));
}

/* Appends how two paired executions ended, if that differs. Nothing where either end was not seen. 0, -ENOMEM. */
static int pair_outcome(const struct dexec *a, const struct dexec *b, struct merged *m)
{
	if ((a->ending == b->ending && a->code == b->code) || a->ending == TERM_ending_unknown ||
	    b->ending == TERM_ending_unknown)
		return 0;
	diff_format_ending(&m->before, a->ending, a->code);
	diff_format_ending(&m->after, b->ending, b->code);
	return merge_pair_item(m, DIFF_outcome, DIFF_CHANGED, b->program, a, b) ? 0 : -ENOMEM;
}

/* Time and memory, where they differ by more than what chance does to short programs. 0, -ENOMEM. */
static int pair_resources(const struct dexec *a, const struct dexec *b, struct items *it)
{
	static const struct {
		const char *what;
		unsigned bit;
		size_t at;
		double floor;
	} figures[] = {{"cpu", 1, offsetof(struct dexec, cpu), 1e8},
	               {"memory", 4, offsetof(struct dexec, rss), 16 << 20},
	               {"read", 5, offsetof(struct dexec, rchar), 1 << 20},
	               {"written", 6, offsetof(struct dexec, wchar_), 1 << 20}};
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		if (!(a->known & b->known & 1u << figures[i].bit))
			continue;
		double x = (double)*(const uint64_t *)((const char *)a + figures[i].at);
		double y = (double)*(const uint64_t *)((const char *)b + figures[i].at);
		double most = x > y ? x : y, least = x > y ? y : x;
		if (most - least < figures[i].floor || most < 1.2 * least)
			continue;
		struct diff_item *d = diff_items_append(it, DIFF_resources, DIFF_CHANGED, b->program);
		if (!d)
			return -ENOMEM;
		struct buf text = {0};
		buf_printf(&text, "%s %.0f", figures[i].what, x);
		d->before = diff_keep_text(it->text, buf_view(&text));
		buf_reset(&text);
		buf_printf(&text, "%s %.0f", figures[i].what, y);
		d->after = diff_keep_text(it->text, buf_view(&text));
		buf_release(&text);
		d->exec_a = a->id;
		d->exec_b = b->id;
		d->amount = most / (least > 1 ? least : 1) * (most - least) / figures[i].floor;
	}
	return 0;
}

/* Executions without a partner, as many of a program as there are. A fork that ran nothing of its own is no news. 0,
 * -ENOMEM. */
static int only_one(const struct side side[2], struct merged *m)
{
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < side[k].n_execs; i++) {
			const struct dexec *x = &side[k].execs[i];
			if (x->partner != NONE || !x->argv.count)
				continue;
			buf_reset(&m->before);
			buf_reset(&m->after);
			if (!merge_pair_item(m, DIFF_executions, k ? DIFF_ADDED : DIFF_REMOVED, x->program, k ? NULL : x,
			                     k ? x : NULL))
				return -ENOMEM;
		}
	return 0;
}

int items_pairs(struct store *s, struct side side[2], struct items *it)
{
	struct merged m = {.it = it};
	int r = 0;
	(void)s;
	for (size_t i = 0; r == 0 && i < side[0].n_execs; i++) {
		const struct dexec *a = &side[0].execs[i];
		if (a->partner == NONE)
			continue;
		const struct dexec *b = &side[1].execs[a->partner];
		if (a->key_argv != b->key_argv)
			r = pair_options(side, a, b, &m);
		if (r == 0 && !str_eq(a->env.raw, b->env.raw))
			r = pair_environment(side, a, b, &m);
		if (r == 0)
			r = pair_outcome(a, b, &m);
		if (r == 0)
			r = pair_resources(a, b, it);
	}
	if (r == 0)
		r = only_one(side, &m);
	buf_release(&m.before);
	buf_release(&m.after);
	idmap_release(&m.seen);
	return r;
}
