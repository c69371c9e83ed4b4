/* sparql_rows.c - solutions: kept, joined, taken away. */
#include "sparql/sparql_eval_int.h"

#include "base/map.h"

#include "base/hash.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { TICKS = 4096 };

void evaluation_fail(struct evaluation *e, int rc, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	if (e->rc)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	e->rc = rc;
	err_set(e->err, 0, "%s", text);
}

bool evaluation_goes_on(struct evaluation *e)
{
	if (e->rc)
		return false;
	return ++e->ticks % TICKS ? true : evaluation_has_time(e);
}

bool evaluation_has_time(struct evaluation *e)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if ((int64_t)t.tv_sec * 1000000000 + t.tv_nsec > e->deadline)
		evaluation_fail(e, -ETIME, "the query takes too long");
	if (e->r->bytes > e->bounds.bytes)
		evaluation_fail(e, -E2BIG, "the query makes too many terms");
	return e->rc == 0;
}

rdf_id *rows_add(struct evaluation *e, struct rows *r, const rdf_id *like)
{
	if (!evaluation_goes_on(e))
		return NULL;
	if (r->n >= e->bounds.rows) {
		evaluation_fail(e, -E2BIG, "the query has too many solutions");
		return NULL;
	}
	const size_t row = e->width * sizeof(rdf_id);
	if (r->n == r->cap) {
		const size_t cap = r->cap ? r->cap * 2 : 4;
		if (e->bytes + (cap - r->cap) * row > e->bounds.bytes) {
			evaluation_fail(e, -E2BIG, "the query needs too much memory");
			return NULL;
		}
		rdf_id *v = realloc(r->v, cap * row);
		if (!v) {
			evaluation_fail(e, -ENOMEM, "out of memory");
			return NULL;
		}
		e->bytes += (cap - r->cap) * row;
		r->v = v;
		r->cap = cap;
	}
	rdf_id *at = r->v + r->n++ * e->width;
	if (like)
		memcpy(at, like, row);
	else
		memset(at, 0, row);
	return at;
}

/* r is empty then; its bytes count as free. */
void rows_release(struct evaluation *e, struct rows *r)
{
	e->bytes -= r->cap * e->width * sizeof(rdf_id);
	free(r->v);
	*r = (struct rows){0};
}

/* ---- joins ---- */

/* May they be joined: no variable is bound to two things? */
static bool fits(const struct evaluation *e, const rdf_id *a, const rdf_id *b)
{
	for (size_t i = 0; i < e->n_vars; i++)
		if (a[i] && b[i] && a[i] != b[i])
			return false;
	return true;
}

/* Joins two rows: both rows in one; false: they contradict each other. to may be either. */
static bool rows_merge(const struct evaluation *e, const rdf_id *a, const rdf_id *b, rdf_id *to)
{
	if (!fits(e, a, b))
		return false;
	for (size_t i = 0; i < e->width; i++)
		to[i] = a[i] ? a[i] : b[i];
	return true;
}

/* Finds which variables are bound everywhere. ret: for each variable whether all rows bind it; false if there are no
 * rows. */
static void bound_in_all(const struct evaluation *e, const struct rows *r, bool *ret)
{
	for (size_t i = 0; i < e->n_vars; i++)
		ret[i] = r->n != 0;
	for (size_t k = 0; k < r->n; k++)
		for (size_t i = 0; i < e->n_vars; i++)
			ret[i] &= rows_at(e, r, k)[i] != 0;
}

/* The variables that are bound in every row of both: by them rows are found. */
static size_t key_of_join(struct evaluation *e, const struct rows *a, const struct rows *b, uint32_t *ret)
{
	bool *both = calloc(2 * e->n_vars + 1, sizeof(bool));
	size_t n = 0;
	if (!both) {
		evaluation_fail(e, -ENOMEM, "out of memory");
		return 0;
	}
	bound_in_all(e, a, both);
	bound_in_all(e, b, both + e->n_vars);
	for (size_t i = 0; i < e->n_vars; i++)
		if (both[i] && both[e->n_vars + i])
			ret[n++] = (uint32_t)i;
	free(both);
	return n;
}

/* Of those columns only. */
static uint32_t hash_row(const rdf_id *row, const uint32_t *columns, size_t n)
{
	uint64_t h = n;
	for (size_t i = 0; i < n; i++)
		h = hash_mix(h, row[columns[i]]);
	return hash_fold(h);
}

/* Rows by the hash of what they share: chains, since all rows may share the same, or nothing. */
struct index {
	uint32_t *columns;
	size_t n;
	uint32_t *head, *next; /* rows; VEC_NONE: the chain ends */
	size_t mask;
};

/* Of the rows of b, by the columns that both have. Fails e without memory. */
static void index_make(struct evaluation *e, struct index *x, const struct rows *a, const struct rows *b)
{
	*x = (struct index){.columns = calloc(e->n_vars + 1, sizeof(uint32_t))};
	if (!x->columns) {
		evaluation_fail(e, -ENOMEM, "out of memory");
		return;
	}
	x->n = key_of_join(e, a, b, x->columns);
	while (x->mask + 1 < b->n)
		x->mask = x->mask * 2 + 1;
	x->head = malloc((x->mask + 1) * sizeof(*x->head));
	x->next = malloc((b->n + 1) * sizeof(*x->next));
	if (!x->head || !x->next) {
		evaluation_fail(e, -ENOMEM, "out of memory");
		return;
	}
	memset(x->head, 0xff, (x->mask + 1) * sizeof(*x->head));
	/* In the opposite order, so that rows of one key are met in their own. */
	for (size_t i = b->n; i-- > 0 && evaluation_goes_on(e);) {
		uint32_t *head = &x->head[hash_row(rows_at(e, b, i), x->columns, x->n) & x->mask];
		x->next[i] = *head;
		*head = (uint32_t)i;
	}
}

static void index_release(struct index *x)
{
	free(x->columns);
	free(x->head);
	free(x->next);
}

/* All of b that fit the row; left: the row alone where none does. */
static void join_row(struct evaluation *e, const struct index *x, const rdf_id *row, const struct rows *b, bool left,
                     const struct sparql_expr *expr, rdf_id g, struct rows *out)
{
	const size_t before = out->n;
	uint32_t i = x->head[hash_row(row, x->columns, x->n) & x->mask];
	for (; i != VEC_NONE && evaluation_goes_on(e); i = x->next[i]) {
		const rdf_id *other = rows_at(e, b, i);
		if (!fits(e, row, other))
			continue;
		rdf_id *to = rows_add(e, out, row);
		if (!to)
			return;
		rows_merge(e, row, other, to);
		if (expr && !eval_holds(e, expr, to, g))
			out->n--;
	}
	if (left && out->n == before)
		rows_add(e, out, row);
}

void rows_join(struct evaluation *e, const struct rows *a, const struct rows *b, bool left,
               const struct sparql_expr *expr, rdf_id g, struct rows *out)
{
	struct index x;
	index_make(e, &x, a, b);
	for (size_t i = 0; i < a->n && !e->rc; i++)
		join_row(e, &x, rows_at(e, a, i), b, left, expr, g, out);
	index_release(&x);
}

/* Is the row taken away by MINUS: a row of b shares a variable with it, and fits. */
static bool is_taken_away(struct evaluation *e, const struct index *x, const rdf_id *row, const struct rows *b)
{
	uint32_t i = x->head[hash_row(row, x->columns, x->n) & x->mask];
	for (; i != VEC_NONE && evaluation_goes_on(e); i = x->next[i]) {
		const rdf_id *other = rows_at(e, b, i);
		bool shared = false;
		for (size_t k = 0; k < e->n_vars; k++)
			shared |= row[k] && other[k];
		if (shared && fits(e, row, other))
			return true;
	}
	return false;
}

/* Appends to out the rows of a that no row of b takes away. */
void rows_minus(struct evaluation *e, const struct rows *a, const struct rows *b, struct rows *out)
{
	struct index x;
	index_make(e, &x, a, b);
	for (size_t i = 0; i < a->n && !e->rc; i++)
		if (!is_taken_away(e, &x, rows_at(e, a, i), b))
			rows_add(e, out, rows_at(e, a, i));
	index_release(&x);
}

/* In these columns only. */
static bool same_row(const rdf_id *a, const rdf_id *b, const uint32_t *columns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[columns[i]] != b[columns[i]])
			return false;
	return true;
}

void rows_distinct(struct evaluation *e, struct rows *r, const uint32_t *columns, size_t n)
{
	struct table seen = {0};
	size_t kept = 0;
	for (size_t i = 0; i < r->n && evaluation_goes_on(e); i++) {
		const uint32_t h = hash_row(rows_at(e, r, i), columns, n);
		size_t pos = TABLE_START;
		uint32_t k;
		while ((k = table_next(&seen, h, &pos)) != VEC_NONE &&
		       !same_row(rows_at(e, r, k), rows_at(e, r, i), columns, n))
			;
		if (k != VEC_NONE)
			continue;
		memmove(rows_at(e, r, kept), rows_at(e, r, i), e->width * sizeof(rdf_id));
		if (!table_add(&seen, h, (uint32_t)kept))
			evaluation_fail(e, -ENOMEM, "out of memory");
		kept++;
	}
	r->n = kept;
	table_release(&seen);
}
