/* resolve_regular_int.h - what resolve_regular.c and resolve_unseen.c share: accesses in their orders. */
#ifndef STEMMA_GRAPH_RESOLVE_REGULAR_INT_H
#define STEMMA_GRAPH_RESOLVE_REGULAR_INT_H

#include "graph/resolve_int.h"

#include <stdlib.h>

/* The i-th access of the graph. */
static inline const struct gaccess *acc_of(const struct resolver *r, uint32_t i)
{
	return &r->g->accesses.v[i];
}

/* The session that recorded the access. */
static inline uint64_t session_of(const struct resolver *r, const struct gaccess *a)
{
	return gaccess_session(r->g, a);
}

/* The seq of the event that tells of the access. */
static inline uint64_t seq_of(const struct resolver *r, const struct gaccess *a)
{
	return gaccess_seq(r->g, a);
}

/* When the access was. */
static inline struct gspan span_of(const struct resolver *r, const struct gaccess *a)
{
	return gaccess_span(r->g, a);
}

/* When the access was, as it was recorded: when its fingerprints were taken. */
static inline struct gspan recorded_span(const struct resolver *r, const struct gaccess *a)
{
	(void)r;
	return (struct gspan){a->start, a->end};
}
typedef struct gspan (*span_fn)(const struct resolver *r, const struct gaccess *a);

/* (end, start, session, seq): with their spans, version order; with their recorded times, that of rule 1. */
static inline int by_end(const struct resolver *r, uint32_t i, uint32_t k, span_fn span)
{
	const struct gaccess *a = acc_of(r, i), *b = acc_of(r, k);
	struct gspan at = span(r, a), bt = span(r, b);
	if (at.to != bt.to)
		return at.to < bt.to ? -1 : 1;
	if (at.from != bt.from)
		return at.from < bt.from ? -1 : 1;
	uint64_t sa = session_of(r, a), sb = session_of(r, b);
	if (sa != sb)
		return sa < sb ? -1 : 1;
	uint64_t qa = seq_of(r, a), qb = seq_of(r, b);
	return (qa > qb) - (qa < qb);
}

/* The order of accesses by when their last fingerprint was taken, for sort_r. a, b: numbers of accesses; r: the
 * resolver. */
static inline int recorded_cmp(const void *a, const void *b, void *r)
{
	return by_end(r, *(const uint32_t *)a, *(const uint32_t *)b, recorded_span);
}

/* The order of accesses that write, by their end. a, b: numbers of accesses; r: the resolver. */
static inline int write_cmp(const void *a, const void *b, void *r)
{
	return by_end(r, *(const uint32_t *)a, *(const uint32_t *)b, span_of);
}

/* The order of accesses that read, by their begin. a, b: numbers of accesses; r: the resolver. */
static inline int read_cmp(const void *a, const void *b, void *r)
{
	int64_t x = span_of(r, acc_of(r, *(const uint32_t *)a)).from, y = span_of(r, acc_of(r, *(const uint32_t *)b)).from;
	return (x > y) - (x < y);
}

/* Mostly they are sorted. */
static inline void sort_accesses(struct resolver *r, uint32_t *v, size_t n,
                                 int (*cmp)(const void *, const void *, void *))
{
	for (size_t k = 1; k < n; k++)
		if (cmp(&v[k - 1], &v[k], r) > 0) {
			qsort_r(v, n, sizeof *v, cmp, r);
			break;
		}
}

/* The order of an unobserved change and a write; the change takes the place just before its A. */
static inline bool unobserved_first(const struct resolver *r, const struct runobserved *u, const struct gaccess *w,
                                    span_fn span)
{
	const struct gaccess *a = acc_of(r, u->access);
	struct gspan wt = span(r, w);
	if (wt.to != u->t)
		return u->t < wt.to;
	if (wt.from != u->t)
		return u->t < wt.from;
	uint64_t sa = session_of(r, a), sw = session_of(r, w);
	if (sa != sw)
		return sa < sw;
	return seq_of(r, a) <= seq_of(r, w);
}

/* Whether a comes before b in (start, session, seq) order. */
static inline bool starts_before(const struct resolver *r, const struct gaccess *a, const struct gaccess *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	uint64_t sa = session_of(r, a), sb = session_of(r, b);
	return sa != sb ? sa < sb : seq_of(r, a) < seq_of(r, b);
}

/* Are size and modification time the same? */
static inline bool fp_same(const struct gfp *a, const struct gfp *b)
{
	return a->size == b->size && a->mtime == b->mtime;
}

/* Are both surely different? A time that is not known is like any other. */
static inline bool fp_differ(const struct gfp *a, const struct gfp *b)
{
	return a->size != b->size || (a->mtime != b->mtime && a->mtime != TIME_NONE && b->mtime != TIME_NONE);
}

/* Can access t, which sets times, go on from what was left at the moment m of a host? */
static inline bool sets_later(const struct resolver *r, const struct gaccess *t, int64_t m, uint32_t host)
{
	return resolved_before(r, m, host, t->start, access_host(r->g, t));
}

/* Rule 1: the changes that nobody was seen to make, into r->unobserved. 0 or -errno. */
int resolve_unseen(struct resolver *r);

#endif
