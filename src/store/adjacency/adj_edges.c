/* adj_edges.c - the edges of a row of a segment. */
#include "store/adjacency/adjacency.h"

#include <errno.h>

enum {
	EDGE_SURE = 0,
	EDGE_HAS_BYTES = 1,
	EDGE_MANY = 2,
	EDGE_OVER = 3,
	EDGE_VIA = 4,
	EDGE_READING = 7,
	EDGE_API = 9,
	EDGE_MODE = 13
};
#define EDGE_LEAST 5 /* bytes */

/* What an edge leads to is a row and a number in it. */
static unsigned adj_edge_bits(enum adj_edges kind)
{
	return kind == ADJ_GENS ? EXEC_BITS : VERSION_BITS;
}

/* Can it be told: is it of the execution's own process, and nothing that a walk makes? */
static bool adj_edge_fits(const struct edge *e, enum adj_edges kind)
{
	return !e->part && !e->folded && !e->bears && e->via < 8 && e->api < 16 && e->mode < 256 && e->reading < 4 &&
	       (kind != ADJ_USES || e->over == 0);
}

int adj_put_edges(struct buf *out, enum adj_edges kind, int64_t base, const struct edges *v)
{
	const unsigned bits = adj_edge_bits(kind);
	uint64_t row = 0;
	buf_varint(out, v->n);
	for (size_t i = 0; i < v->n; i++) {
		const struct edge *e = &v->v[i];
		const bool over = kind != ADJ_USES && e->over != e->hi;
		if (!adj_edge_fits(e, kind))
			return 0;
		buf_varint(out, (uint64_t)e->sure << EDGE_SURE | (uint64_t)e->has_bytes << EDGE_HAS_BYTES |
		                    (uint64_t)(e->count != 1) << EDGE_MANY | (uint64_t)over << EDGE_OVER |
		                    (uint64_t)e->via << EDGE_VIA | (uint64_t)e->reading << EDGE_READING |
		                    (uint64_t)e->api << EDGE_API | (uint64_t)e->mode << EDGE_MODE);
		buf_zigzag(out, time_sub((int64_t)(e->to >> bits), (int64_t)row));
		buf_varint(out, e->to & ((1u << bits) - 1));
		buf_zigzag(out, time_sub(e->lo, base));
		buf_varint(out, (uint64_t)time_sub(e->hi, e->lo));
		if (over)
			buf_zigzag(out, time_sub(e->hi, e->over));
		if (e->count != 1)
			buf_varint(out, e->count);
		if (e->has_bytes)
			buf_varint(out, e->bytes);
		row = e->to >> bits;
		base = e->lo;
	}
	return 1;
}

int adj_get_edges(struct str packed, enum adj_edges kind, int64_t base, struct edges *ret)
{
	const unsigned bits = adj_edge_bits(kind);
	ret->n = 0;
	if (!packed.n)
		return 1;
	struct cur c = cur_of(packed);
	uint64_t n = cur_u_here(&c), row = 0;
	if (c.bad || n > packed.n / EDGE_LEAST)
		return 0;
	if (!vec_room(ret, n))
		return -ENOMEM;
	for (struct edge *e = ret->v; n--; e++) {
		const uint64_t f = cur_u_here(&c);
		row = (uint64_t)time_add((int64_t)row, unzigzag(cur_u_here(&c)));
		*e = (struct edge){.to = row << bits | (cur_u_here(&c) & ((1u << bits) - 1)),
		                   .sure = f >> EDGE_SURE & 1,
		                   .has_bytes = f >> EDGE_HAS_BYTES & 1,
		                   .via = f >> EDGE_VIA & 7,
		                   .reading = f >> EDGE_READING & 3,
		                   .api = f >> EDGE_API & 15,
		                   .mode = f >> EDGE_MODE & 255,
		                   .count = 1};
		base = e->lo = time_add(base, unzigzag(cur_u_here(&c)));
		e->hi = time_add(base, (int64_t)cur_u_here(&c));
		if (kind != ADJ_USES)
			e->over = f >> EDGE_OVER & 1 ? time_sub(e->hi, unzigzag(cur_u_here(&c))) : e->hi;
		if (f >> EDGE_MANY & 1)
			e->count = cur_u_here(&c);
		if (e->has_bytes)
			e->bytes = cur_u_here(&c);
		ret->n++;
	}
	if (!c.bad && c.p == c.end)
		return 1;
	ret->n = 0;
	return 0;
}

void adj_put_part(struct buf *out, const struct buf *part)
{
	buf_varint(out, part->n);
	buf_str(out, buf_view(part));
}
