#include "spec/align/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_BOUND 400000000

/* What is compared in the end: elements that both sides have, as places in the rows that were given. */
struct match {
	const uint64_t *a, *b;
	uint32_t *pa, *pb;  /* places */
	int32_t *down, *up; /* furthest points by diagonal, from the middle of the arrays on */
	int64_t middle;
	uint32_t *out; /* by place in a */
	int64_t budget;
	bool exact;
};

/* i, k: places among the elements that are left. */
static bool elements_equal(const struct match *m, int64_t i, int64_t k)
{
	return m->a[m->pa[i]] == m->b[m->pb[k]];
}

struct box {
	int64_t a0, a1, b0, b1;
};

#define NOWHERE (-(1 << 30))

/* How far along the first row d insertions and deletions lead on diagonal q, equal elements not counted; NOWHERE where
 * they all leave the box. */
static int64_t furthest_on_diagonal(const int32_t *v, int64_t d, int64_t q, int64_t n, int64_t k)
{
	int64_t i = d ? NOWHERE : 0;
	if (d && q > -d && v[q - 1] >= 0 && v[q - 1] < n)
		i = v[q - 1] + 1;
	if (d && q < d && v[q + 1] > i && v[q + 1] - q <= k)
		i = v[q + 1];
	return i;
}

/* The middle of a shortest way through the box, as a run of equal elements (which may be empty) that lies on it. False
 * where the budget is spent. */
static bool middle_run(struct match *m, struct box x, struct box *ret)
{
	int64_t n = x.a1 - x.a0, k = x.b1 - x.b0, delta = n - k, most = (n + k + 1) / 2;
	int32_t *down = m->down + m->middle, *up = m->up + m->middle;
	for (int64_t d = 0; d <= most; d++) {
		for (int64_t q = -d; q <= d; q += 2) {
			int64_t i = furthest_on_diagonal(down, d, q, n, k);
			if (i < 0) {
				down[q] = NOWHERE;
				continue;
			}
			int64_t j = i - q, i0 = i, j0 = j;
			while (i < n && j < k && elements_equal(m, x.a0 + i, x.b0 + j))
				i++, j++;
			m->budget -= 1 + i - i0;
			down[q] = (int32_t)i;
			if (delta & 1 && q >= delta - (d - 1) && q <= delta + (d - 1) && i + up[delta - q] >= n) {
				*ret = (struct box){x.a0 + i0, x.a0 + i, x.b0 + j0, x.b0 + j};
				return true;
			}
		}
		for (int64_t q = -d; q <= d; q += 2) {
			int64_t i = furthest_on_diagonal(up, d, q, n, k);
			if (i < 0) {
				up[q] = NOWHERE;
				continue;
			}
			int64_t j = i - q, i0 = i, j0 = j;
			while (i < n && j < k && elements_equal(m, x.a1 - 1 - i, x.b1 - 1 - j))
				i++, j++;
			m->budget -= 1 + i - i0;
			up[q] = (int32_t)i;
			if (!(delta & 1) && q >= delta - d && q <= delta + d && i + down[delta - q] >= n) {
				*ret = (struct box){x.a1 - i, x.a1 - i0, x.b1 - j, x.b1 - j0};
				return true;
			}
		}
		if (m->budget < 0)
			return false;
	}
	return false;
}

/* i, k: places among the elements that are left. */
static void match_pair(struct match *m, int64_t i, int64_t k)
{
	m->out[m->pa[i]] = m->pb[k];
}

/* ---- where the bound was met: elements that each side has once ---- */

struct once {
	uint64_t hash;
	uint32_t place;
	bool b;
};

/* Order of qsort: equal elements next to each other, the first side's first. */
static int by_hash(const void *x, const void *y)
{
	const struct once *a = x, *b = y;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->b != b->b ? a->b - b->b : a->place < b->place ? -1 : a->place > b->place;
}

/* Order of qsort: by the first of two numbers. */
static int by_place(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;
	return a[0] < b[0] ? -1 : a[0] > b[0];
}

/* Longest increasing subsequence of what is unique in both (the patience diff). 0, -ENOMEM. */
static int match_unique(struct match *m, struct box x)
{
	size_t n = (size_t)(x.a1 - x.a0 + x.b1 - x.b0), k = 0, n_pairs = 0, length = 0;
	struct once *all = malloc((n + 1) * sizeof(*all));
	uint32_t(*pair)[2] = malloc((n + 1) * sizeof(*pair)), *last = malloc(2 * (n + 1) * sizeof(*last)), *before = NULL;
	if (!all || !pair || !last) {
		free(all);
		free(pair);
		free(last);
		return -ENOMEM;
	}
	before = last + n + 1;
	for (int64_t i = x.a0; i < x.a1; i++)
		all[k++] = (struct once){m->a[m->pa[i]], (uint32_t)i, false};
	for (int64_t i = x.b0; i < x.b1; i++)
		all[k++] = (struct once){m->b[m->pb[i]], (uint32_t)i, true};
	qsort(all, n, sizeof(*all), by_hash);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && all[end].hash == all[i].hash; end++)
			;
		if (end - i == 2 && !all[i].b && all[i + 1].b) {
			pair[n_pairs][0] = all[i].place;
			pair[n_pairs++][1] = all[i + 1].place;
		}
	}
	qsort(pair, n_pairs, sizeof(*pair), by_place);
	for (uint32_t i = 0; i < n_pairs; i++) {
		size_t lo = 0, hi = length;
		while (lo < hi) {
			size_t mid = (lo + hi) / 2;
			if (pair[last[mid]][1] < pair[i][1])
				lo = mid + 1;
			else
				hi = mid;
		}
		before[i] = lo ? last[lo - 1] : UINT32_MAX;
		last[lo] = i;
		if (lo == length)
			length++;
	}
	for (uint32_t i = length ? last[length - 1] : UINT32_MAX; i != UINT32_MAX; i = before[i])
		match_pair(m, pair[i][0], pair[i][1]);
	free(all);
	free(pair);
	free(last);
	return 0;
}

/* Pairs equal elements of two stretches. 0, -ENOMEM. */
static int match_box(struct match *m, struct box x)
{
	/* The larger half goes onto the stack, so that it stays below 64 entries. */
	struct box stack[130], run;
	size_t depth = 0;
	stack[depth++] = x;
	while (depth) {
		x = stack[--depth];
		for (; x.a0 < x.a1 && x.b0 < x.b1 && elements_equal(m, x.a0, x.b0); x.a0++, x.b0++)
			match_pair(m, x.a0, x.b0);
		for (; x.a0 < x.a1 && x.b0 < x.b1 && elements_equal(m, x.a1 - 1, x.b1 - 1); x.a1--, x.b1--)
			match_pair(m, x.a1 - 1, x.b1 - 1);
		if (x.a0 == x.a1 || x.b0 == x.b1)
			continue;
		if (m->budget < 0 || !middle_run(m, x, &run)) {
			m->exact = false;
			int r = match_unique(m, x);
			if (r < 0)
				return r;
			continue;
		}
		for (int64_t i = 0; i < run.a1 - run.a0; i++)
			match_pair(m, run.a0 + i, run.b0 + i);
		struct box left = {x.a0, run.a0, x.b0, run.b0}, right = {run.a1, x.a1, run.b1, x.b1};
		int64_t l = left.a1 - left.a0 + left.b1 - left.b0, r = right.a1 - right.a0 + right.b1 - right.b0;
		stack[depth++] = l > r ? left : right;
		stack[depth++] = l > r ? right : left;
	}
	return 0;
}

/* ---- what only one side has ---- */

/* A set of hashes; zero is kept aside. */
struct hashes {
	uint64_t *v;
	size_t mask;
	bool zero;
};

/* Is the hash in the set? 0 is a hash, too. */
static bool hashes_contain(const struct hashes *s, uint64_t h)
{
	if (!h)
		return s->zero;
	size_t at = h & s->mask;
	while (s->v[at] && s->v[at] != h)
		at = (at + 1) & s->mask;
	return s->v[at] == h;
}

/* Makes a set of hashes. 0, -ENOMEM. */
static int hashes_make(const uint64_t *v, size_t n, struct hashes *ret)
{
	size_t size = 16;
	while (size < 2 * n)
		size *= 2;
	*ret = (struct hashes){.v = calloc(size, sizeof(*ret->v)), .mask = size - 1};
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!v[i]) {
			ret->zero = true;
			continue;
		}
		size_t at = v[i] & ret->mask;
		while (ret->v[at] && ret->v[at] != v[i])
			at = (at + 1) & ret->mask;
		ret->v[at] = v[i];
	}
	return 0;
}

/* Places of [from, to) of v whose element is among n others. *ret is the caller's. 0, -ENOMEM. */
static int find_common_elements(const uint64_t *v, size_t from, size_t to, const uint64_t *others, size_t n,
                                uint32_t **ret, size_t *ret_n)
{
	struct hashes set;
	uint32_t *p = malloc((to - from + 1) * sizeof(*p));
	size_t k = 0;
	int r = p ? hashes_make(others, n, &set) : -ENOMEM;
	if (r < 0) {
		free(p);
		return r;
	}
	for (size_t i = from; i < to; i++)
		if (hashes_contain(&set, v[i]))
			p[k++] = (uint32_t)i;
	free(set.v);
	*ret = p;
	*ret_n = k;
	return 0;
}

/* Is (a, b) in the order in which rows are compared, whichever way they were given? */
static bool rows_in_order(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
	if (na != nb)
		return na < nb;
	for (size_t i = 0; i < na; i++)
		if (a[i] != b[i])
			return a[i] < b[i];
	return true;
}

/* Pairs equal elements of two rows, in order. out: for each of a its partner in b; others stay as they are. *exact:
 * set to false where it was cut short. 0, -ENOMEM. */
static int match_ordered(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint32_t *out, bool *exact)
{
	size_t start = 0, end = 0, n, k;
	struct match m = {.a = a, .b = b, .out = out, .budget = STEPS_BOUND, .exact = true};
	while (start < na && start < nb && a[start] == b[start])
		out[start] = (uint32_t)start, start++;
	while (end < na - start && end < nb - start && a[na - 1 - end] == b[nb - 1 - end]) {
		out[na - 1 - end] = (uint32_t)(nb - 1 - end);
		end++;
	}
	if (start + end == na || start + end == nb)
		return 0;
	int r = find_common_elements(a, start, na - end, b + start, nb - end - start, &m.pa, &n);
	if (r == 0)
		r = find_common_elements(b, start, nb - end, a + start, na - end - start, &m.pb, &k);
	if (r == 0 && n && k) {
		m.middle = (int64_t)(n + k) / 2 + 2;
		m.down = malloc(2 * (size_t)(m.middle + 1) * sizeof(*m.down));
		m.up = malloc(2 * (size_t)(m.middle + 1) * sizeof(*m.up));
		r = m.down && m.up ? match_box(&m, (struct box){0, (int64_t)n, 0, (int64_t)k}) : -ENOMEM;
	}
	if (!m.exact)
		*exact = false;
	free(m.pa);
	free(m.pb);
	free(m.down);
	free(m.up);
	return r;
}

int match_rows(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint32_t *ret_match, bool *exact)
{
	if (na >= 1u << 31 || nb >= 1u << 31)
		return -E2BIG;
	memset(ret_match, 0xff, na * sizeof(*ret_match));
	if (rows_in_order(a, na, b, nb))
		return match_ordered(a, na, b, nb, ret_match, exact);
	uint32_t *turned = malloc((nb + 1) * sizeof(*turned));
	if (!turned)
		return -ENOMEM;
	memset(turned, 0xff, nb * sizeof(*turned));
	int r = match_ordered(b, nb, a, na, turned, exact);
	for (size_t i = 0; r == 0 && i < nb; i++)
		if (turned[i] != MATCH_NONE)
			ret_match[turned[i]] = (uint32_t)i;
	free(turned);
	return r;
}

/* ---- the heaviest one ---- */

enum heavy_step { HEAVY_BOTH = 1, HEAVY_A, HEAVY_B };

/* Chooses whether the heaviest match passes over the first element of row A (HEAVY_A) or of row B. a, b: the two
 * elements, which differ. without_a, without_b: the greatest weight that can be had without the one or the other.
 * Where the weights are equal, the smaller element is passed over: the rows can be exchanged, and the match stays the
 * same. */
static enum heavy_step heavier(uint64_t without_a, uint64_t without_b, uint64_t a, uint64_t b)
{
	if (without_a != without_b)
		return without_a > without_b ? HEAVY_A : HEAVY_B;
	return a < b ? HEAVY_A : HEAVY_B;
}

/* 0; -ENOMEM; -E2BIG: the rows are too long for it. */
int match_heaviest(const uint64_t *a, const uint32_t *weight, size_t na, const uint64_t *b, size_t nb,
                   uint32_t *ret_match)
{
	const size_t width = nb + 1;
	if (na && nb > MATCH_HEAVY / na)
		return -E2BIG;
	uint64_t *row = calloc(2 * width, sizeof(*row));
	uint8_t *step = malloc((na + 1) * width);
	if (!row || !step) {
		free(row);
		free(step);
		return -ENOMEM;
	}
	/* From the ends, so that the way is read from the beginnings. */
	for (size_t i = na; i-- > 0;) {
		uint64_t *now = row + (i % 2) * width, *behind = row + (1 - i % 2) * width;
		now[nb] = 0;
		for (size_t k = nb; k-- > 0;) {
			enum heavy_step s = a[i] == b[k] ? HEAVY_BOTH : heavier(behind[k], now[k + 1], a[i], b[k]);
			now[k] = s == HEAVY_BOTH ? behind[k + 1] + weight[i] : s == HEAVY_A ? behind[k] : now[k + 1];
			step[i * width + k] = (uint8_t)s;
		}
	}
	for (size_t i = 0; i < na; i++)
		ret_match[i] = MATCH_NONE;
	for (size_t i = 0, k = 0; i < na && k < nb;) {
		enum heavy_step s = step[i * width + k];
		if (s == HEAVY_BOTH)
			ret_match[i] = (uint32_t)k;
		i += s != HEAVY_B;
		k += s != HEAVY_A;
	}
	free(row);
	free(step);
	return 0;
}
