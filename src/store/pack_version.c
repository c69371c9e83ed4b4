/* pack_version.c - versions of a file, and who read them, packed and unpacked. */
#include "store/pack.h"

/* v itself may be filled again. */
void pver_release(struct pver *v)
{
	vec_release(&v->gens);
	vec_release(&v->ders);
}

enum {
	GEN_MUST = 0,
	GEN_VIA = 1,
	GEN_API = 4,
	GEN_MODE = 8,
	GEN_COUNT = 16,
	GEN_BYTES = 17,
	GEN_SPAN = 18,
	GEN_OVER = 19,
	GEN_PART = 20
};

/* n executions that made v, whose span is known. 0, -ENOMEM; c->bad: it is cut off. */
static int next_gens(struct cur *c, uint64_t n, struct pver *v)
{
	for (uint64_t process = 0; n && !c->bad; n--) {
		struct pgen *g = vec_add(&v->gens);
		if (!g)
			return -ENOMEM;
		uint64_t b = cur_u(c);
		process = (uint64_t)time_add((int64_t)process, cur_z(c));
		*g = (struct pgen){.exec = exec_id(process, cur_u(c)),
		                   .must = b >> GEN_MUST & 1,
		                   .via = b >> GEN_VIA & 7,
		                   .api = b >> GEN_API & 15,
		                   .mode = b >> GEN_MODE & 0xff,
		                   .lo = v->start,
		                   .hi = v->end,
		                   .count = 1};
		if (b >> GEN_PART & 1)
			g->part = (uint32_t)cur_u(c);
		if (b >> GEN_COUNT & 1)
			g->count = cur_u(c);
		if (b >> GEN_BYTES & 1) {
			g->bytes = cur_u(c);
			g->has_bytes = true;
		}
		if (b >> GEN_SPAN & 1) {
			g->lo = time_add(v->start, cur_z(c));
			uint64_t d = cur_u(c);
			g->hi = d ? time_add(g->lo, (int64_t)(d - 1)) : TIME_NEVER;
		}
		g->over = b >> GEN_OVER & 1 ? time_add(g->lo, cur_z(c)) : g->hi;
	}
	return 0;
}

/* n versions that v, of `file`, came from. 0, -ENOMEM; c->bad: it is cut off. */
static int next_ders(struct cur *c, uint64_t n, uint64_t file, struct pver *v)
{
	for (; n && !c->bad; n--) {
		struct pder *d = vec_add(&v->ders);
		if (!d)
			return -ENOMEM;
		uint64_t b = cur_u(c);
		uint64_t from = b >> 4 & 1 ? cur_u(c) : file;
		*d = (struct pder){version_id(from, cur_u(c)), b >> 3 & 1, b & 7};
	}
	return 0;
}

int pver_next(struct cur *c, uint64_t file, int64_t *t, struct pver *v)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	v->flags = cur_u(c);
	v->k = v->session = v->seq = 0;
	if (v->flags >> PVER_UNOBSERVED & 1) {
		v->k = cur_u(c);
	} else {
		v->session = cur_u(c);
		v->seq = cur_u(c);
	}
	v->fp = v->flags >> PVER_FP & 1 ? (uint32_t)cur_u(c) : 0;
	v->now = v->flags >> PVER_NOW & 1 ? (uint32_t)cur_u(c) : 0;
	v->start = *t = time_add(*t, cur_z(c));
	v->end = v->flags >> PVER_NEVER & 1 ? TIME_NEVER : time_add(v->start, (int64_t)cur_u(c));
	v->gens.n = v->ders.n = 0;
	uint64_t n = v->flags >> PVER_GENS & 3;
	if (next_gens(c, n == 2 ? cur_u(c) : n, v) < 0)
		return -ENOMEM;
	n = v->flags >> PVER_DERS & 3;
	if (next_ders(c, n == 2 ? cur_u(c) : n, file, v) < 0)
		return -ENOMEM;
	return c->bad ? PACK_DAMAGED : 1;
}

/* What is as usual is left out, as the bits of the head say; executions go as differences. */
static void put_gens(struct buf *out, const struct pver *v)
{
	uint64_t process = 0;
	for (size_t i = 0; i < v->gens.n; i++) {
		const struct pgen *g = &v->gens.v[i];
		bool span = g->lo != v->start || g->hi != v->end;
		buf_varint(out, (uint64_t)g->must << GEN_MUST | (uint64_t)(g->via & 7) << GEN_VIA |
		                    (uint64_t)(g->api & 15) << GEN_API | (uint64_t)(g->mode & 0xff) << GEN_MODE |
		                    (uint64_t)(g->count != 1) << GEN_COUNT | (uint64_t)g->has_bytes << GEN_BYTES |
		                    (uint64_t)span << GEN_SPAN | (uint64_t)(g->over != g->hi) << GEN_OVER |
		                    (uint64_t)(g->part != 0) << GEN_PART);
		buf_zigzag(out, (int64_t)(exec_process(g->exec) - process));
		process = exec_process(g->exec);
		buf_varint(out, exec_n(g->exec));
		if (g->part)
			buf_varint(out, g->part);
		if (g->count != 1)
			buf_varint(out, g->count);
		if (g->has_bytes)
			buf_varint(out, g->bytes);
		if (span) {
			buf_zigzag(out, time_sub(g->lo, v->start));
			buf_varint(out, g->hi == TIME_NEVER ? 0 : (uint64_t)time_sub(g->hi, g->lo) + 1);
		}
		if (g->over != g->hi)
			buf_zigzag(out, time_sub(g->over, g->lo));
	}
}

void pver_put(struct buf *out, uint64_t file, int64_t *t, const struct pver *v)
{
	const uint64_t derived = ~((uint64_t)1 << PVER_FP | (uint64_t)1 << PVER_NOW | (uint64_t)1 << PVER_NEVER |
	                           (uint64_t)3 << PVER_GENS | (uint64_t)3 << PVER_DERS);
	uint64_t gens = v->gens.n > 1 ? 2 : v->gens.n, ders = v->ders.n > 1 ? 2 : v->ders.n;
	bool never = v->end == TIME_NEVER;
	buf_varint(out, (v->flags & derived) | (uint64_t)(v->fp != 0) << PVER_FP | (uint64_t)(v->now != 0) << PVER_NOW |
	                    (uint64_t)never << PVER_NEVER | gens << PVER_GENS | ders << PVER_DERS);
	if (v->flags >> PVER_UNOBSERVED & 1) {
		buf_varint(out, v->k);
	} else {
		buf_varint(out, v->session);
		buf_varint(out, v->seq);
	}
	if (v->fp)
		buf_varint(out, v->fp);
	if (v->now)
		buf_varint(out, v->now);
	buf_zigzag(out, time_sub(v->start, *t));
	*t = v->start;
	if (!never)
		buf_varint(out, (uint64_t)time_sub(v->end, v->start));
	if (gens == 2)
		buf_varint(out, v->gens.n);
	put_gens(out, v);
	if (ders == 2)
		buf_varint(out, v->ders.n);
	for (size_t i = 0; i < v->ders.n; i++) {
		const struct pder *d = &v->ders.v[i];
		bool other = version_file(d->version) != file;
		buf_varint(out, (uint64_t)other << 4 | (uint64_t)d->must << 3 | (d->via & 7));
		if (other)
			buf_varint(out, version_file(d->version));
		buf_varint(out, version_n(d->version));
	}
}

/* 1; 0 at the end; PACK_DAMAGED. last: the one before; empty at first. */
int prd_next(struct cur *c, struct prd *last, struct prd *ret)
{
	if (!cur_more(c))
		return c->bad ? PACK_DAMAGED : 0;
	uint64_t d = cur_u(c), n = d & 3;
	uint64_t process = (uint64_t)time_add((int64_t)exec_process(last->exec), unzigzag(d >> 2));
	if (n == 3)
		n += cur_u(c);
	ret->exec = exec_id(process, n);
	ret->n = (uint32_t)cur_u(c);
	*last = *ret;
	return c->bad ? PACK_DAMAGED : 1;
}

/* The difference to the last one, which becomes v. Begin with an empty one. */
void prd_put(struct buf *out, struct prd *last, const struct prd *v)
{
	uint32_t n = exec_n(v->exec);
	buf_varint(out, zigzag((int64_t)(exec_process(v->exec) - exec_process(last->exec))) << 2 | (n < 3 ? n : 3));
	if (n >= 3)
		buf_varint(out, n - 3);
	buf_varint(out, v->n);
	*last = *v;
}
