#include "sparql/rdf.h"

#include "base/hash.h"
#include "base/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Terms that are equal have the same. */
static uint64_t hash_term(enum rdf_kind kind, struct str text, rdf_id type, struct str lang)
{
	const uint64_t head[] = {kind, type};
	uint64_t h = hash_bytes(head, sizeof(head));
	h = hash_more(h, text.p ? text.p : "", text.n);
	return lang.n ? hash_more(h, lang.p, lang.n) : h;
}

/* In the arena, with a 0 behind it. p is NULL if there is no memory. */
static struct str copy_term_text(struct rdf *r, struct str s)
{
	char *p = arena_take(&r->arena, s.n + 1);
	if (!p)
		return str_n(NULL, 0);
	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	r->bytes += s.n + sizeof(struct rdf_term);
	return str_n(p, s.n);
}

/* The number of a term, which is made if it is new; its texts are copied. 0, and r->failed: no memory. */
static rdf_id intern(struct rdf *r, enum rdf_kind kind, struct str text, rdf_id type, struct str lang)
{
	const uint32_t h = hash_fold(hash_term(kind, text, type, lang));
	size_t pos = TABLE_START;
	for (uint32_t i; (i = table_next(r->by_hash, h, &pos)) != VEC_NONE;) {
		const struct rdf_term *t = &r->terms.v[i];
		if (t->kind == kind && t->type == type && str_eq(t->text, text) && str_eq(t->lang, lang))
			return i;
	}
	const struct str text_copy = copy_term_text(r, text), lang_copy = lang.n ? copy_term_text(r, lang) : str_n("", 0);
	struct rdf_term *t = text_copy.p && lang_copy.p && r->terms.n < UINT32_MAX - 1 ? vec_add(&r->terms) : NULL;
	if (!t || !table_add(r->by_hash, h, (uint32_t)(r->terms.n - 1))) {
		r->failed = true;
		return 0;
	}
	*t = (struct rdf_term){kind, text_copy, type, lang_copy};
	return (rdf_id)(r->terms.n - 1);
}

/* Its number, the same for the same IRI; 0 without memory. The text is copied. */
rdf_id rdf_iri(struct rdf *r, struct str iri)
{
	return intern(r, RDF_IRI, iri, 0, str_n("", 0));
}

rdf_id rdf_literal(struct rdf *r, struct str text, rdf_id type, struct str lang)
{
	char low[64];
	if (lang.n) {
		size_t n = lang.n < sizeof(low) ? lang.n : sizeof(low);
		for (size_t i = 0; i < n; i++)
			low[i] = (char)(lang.p[i] >= 'A' && lang.p[i] <= 'Z' ? lang.p[i] + 32 : lang.p[i]);
		return intern(r, RDF_LITERAL, text, r->lang_string, str_n(low, n));
	}
	return intern(r, RDF_LITERAL, text, type ? type : r->xsd_string, str_n("", 0));
}

/* The same node for the same label; 0 without memory. */
rdf_id rdf_blank(struct rdf *r, struct str label)
{
	return intern(r, RDF_BLANK, label, 0, str_n("", 0));
}

/* The next of b1, b2, ...: a label of a document may be the same. 0: no memory, and r->failed. */
rdf_id rdf_new_blank(struct rdf *r)
{
	char label[32];
	int n = snprintf(label, sizeof(label), "b%llu", (unsigned long long)++r->blanks);
	return rdf_blank(r, str_n(label, (size_t)n));
}

int rdf_init(struct rdf *r)
{
	*r = (struct rdf){0};
	struct rdf_term *none = vec_add(&r->terms);
	r->by_hash = calloc(1, sizeof(*r->by_hash));
	if (!none || !r->by_hash)
		return -ENOMEM;
	*none = (struct rdf_term){0};
	const struct {
		rdf_id *id;
		const char *iri;
	} known[] = {
	    {&r->xsd_string, XSD_NS "string"},
	    {&r->xsd_boolean, XSD_NS "boolean"},
	    {&r->xsd_integer, XSD_NS "integer"},
	    {&r->xsd_decimal, XSD_NS "decimal"},
	    {&r->xsd_float, XSD_NS "float"},
	    {&r->xsd_double, XSD_NS "double"},
	    {&r->xsd_datetime, XSD_NS "dateTime"},
	    {&r->xsd_date, XSD_NS "date"},
	    {&r->xsd_time, XSD_NS "time"},
	    {&r->xsd_duration, XSD_NS "duration"},
	    {&r->xsd_daytime_duration, XSD_NS "dayTimeDuration"},
	    {&r->lang_string, RDF_NS "langString"},
	    {&r->rdf_type, RDF_NS "type"},
	    {&r->rdf_first, RDF_NS "first"},
	    {&r->rdf_rest, RDF_NS "rest"},
	    {&r->rdf_nil, RDF_NS "nil"},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		*known[i].id = rdf_iri(r, str_of(known[i].iri));
	return r->failed ? -ENOMEM : 0;
}

/* r is empty then. */
void rdf_release(struct rdf *r)
{
	vec_release(&r->terms);
	if (r->by_hash)
		table_release(r->by_hash);
	free(r->by_hash);
	arena_release(&r->arena);
	vec_release(&r->quads);
	vec_release(&r->graphs);
	for (unsigned i = 0; i < 3; i++)
		free(r->order[i]);
	*r = (struct rdf){0};
}

/* A part that is 0 (no memory before), or no memory: r->failed. */
void rdf_add(struct rdf *r, struct rdf_quad q)
{
	struct rdf_quad *slot = q.s && q.p && q.o ? vec_add(&r->quads) : NULL;
	if (!slot) {
		r->failed = true;
		return;
	}
	*slot = q;
}

/* ---- orders ---- */

/* The key of a quad in an order: graph first. */
static void key_of(const struct rdf_quad *q, unsigned order, rdf_id k[4])
{
	const rdf_id t[3] = {q->s, q->p, q->o};
	k[0] = q->g;
	for (unsigned i = 0; i < 3; i++)
		k[1 + i] = t[(order + i) % 3];
}

/* n: how many of the four count. */
static int compare_rdf_keys(const rdf_id a[4], const rdf_id b[4], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

struct sorting {
	const struct rdf *r;
	unsigned order;
};

/* Order of qsort_r: as s->order puts the terms. */
static int compare_places(const void *pa, const void *pb, void *arg)
{
	const struct sorting *s = arg;
	rdf_id a[4], b[4];
	key_of(&s->r->quads.v[*(const uint32_t *)pa], s->order, a);
	key_of(&s->r->quads.v[*(const uint32_t *)pb], s->order, b);
	return compare_rdf_keys(a, b, 4);
}

/* Order of qsort: graph and terms by their numbers. */
static int compare_quads(const void *pa, const void *pb)
{
	rdf_id a[4], b[4];
	key_of(pa, 0, a);
	key_of(pb, 0, b);
	return compare_rdf_keys(a, b, 4);
}

/* The named graphs, whose quads stand together by now. 0, -ENOMEM. */
static int list_graphs(struct rdf *r)
{
	r->graphs.n = 0;
	for (size_t i = 0; i < r->quads.n; i++) {
		const rdf_id g = r->quads.v[i].g;
		if (!g || (r->graphs.n && r->graphs.v[r->graphs.n - 1] == g))
			continue;
		rdf_id *slot = vec_add(&r->graphs);
		if (!slot)
			return -ENOMEM;
		*slot = g;
	}
	return 0;
}

int rdf_ready(struct rdf *r)
{
	size_t n = 0;
	if (r->failed)
		return -ENOMEM;
	if (r->quads.n)
		qsort(r->quads.v, r->quads.n, sizeof(*r->quads.v), compare_quads);
	for (size_t i = 0; i < r->quads.n; i++)
		if (!n || compare_quads(&r->quads.v[n - 1], &r->quads.v[i]) != 0)
			r->quads.v[n++] = r->quads.v[i];
	r->quads.n = n;
	if (list_graphs(r) < 0)
		return -ENOMEM;
	for (unsigned k = 0; k < 3; k++) {
		struct sorting s = {r, k};
		free(r->order[k]);
		if (!(r->order[k] = malloc((n + 1) * sizeof(uint32_t))))
			return -ENOMEM;
		for (size_t i = 0; i < n; i++)
			r->order[k][i] = (uint32_t)i;
		if (k) /* the first is the quads' own */
			qsort_r(r->order[k], n, sizeof(uint32_t), compare_places, &s);
	}
	return 0;
}

/* The first place whose key is not below (above: is above) the first n parts of `want`. */
static size_t bound(const struct rdf *r, unsigned order, const rdf_id want[4], unsigned n, bool above)
{
	size_t lo = 0, hi = r->quads.n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		rdf_id k[4];
		key_of(&r->quads.v[r->order[order][mid]], order, k);
		const int c = compare_rdf_keys(k, want, n);
		if (c < 0 || (above && c == 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Valid until r changes. */
struct rdf_match rdf_find(const struct rdf *r, rdf_id g, rdf_id s, rdf_id p, rdf_id o)
{
	const rdf_id t[3] = {s, p, o};
	/* s or nothing: 0; p: 1; o, and o with s: 2 */
	const unsigned order = s && !(o && !p) ? 0 : p ? 1 : o ? 2 : 0;
	rdf_id want[4] = {g};
	unsigned n = 1;
	while (n < 4 && t[(order + n - 1) % 3]) {
		want[n] = t[(order + n - 1) % 3];
		n++;
	}
	struct rdf_match m = {.r = r, .order = r->order[order], .s = s, .p = p, .o = o};
	m.at = bound(r, order, want, n, false);
	m.end = bound(r, order, want, n, true);
	return m;
}

const struct rdf_quad *rdf_next(struct rdf_match *m)
{
	while (m->at < m->end) {
		const struct rdf_quad *q = &m->r->quads.v[m->order[m->at++]];
		if ((!m->s || q->s == m->s) && (!m->p || q->p == m->p) && (!m->o || q->o == m->o))
			return q;
	}
	return NULL;
}

size_t rdf_count(const struct rdf *r, rdf_id g, rdf_id s, rdf_id p, rdf_id o)
{
	const struct rdf_match m = rdf_find(r, g, s, p, o);
	return m.end - m.at;
}
