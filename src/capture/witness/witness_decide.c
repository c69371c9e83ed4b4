/* What is decided of a pipe that nobody uses any more: which executions surely moved bytes, and which none
 * (doc/witness.md). */
#include "capture/witness/witness_int.h"

/* The figures of an access that is over, again. */
static void emit_again(struct sup *s, const struct holder *h, unsigned evidence, unsigned known)
{
	struct event ev = {.access_end = {.access = h->seq, .until = TIME_NONE, .evidence = evidence, .known = known}};
	sup_event(s, EVENT_access_end, sup_now(s), NULL, &ev);
}

/* The one execution that can have ended the round; NULL: none, or several. */
static struct holder *find_mover(const struct witness *w, const struct round *r, bool *ret_several)
{
	struct holder *one = NULL;
	*ret_several = false;
	for (size_t i = 0; i < w->holders.n; i++) {
		struct holder *h = &w->holders.v[i];
		bool still = h->idle || (i < 64 && (r->still >> i & 1));
		if (h->way != r->way || still || h->start >= r->seen || h->end <= r->began)
			continue;
		*ret_several |= one && (one->proc != h->proc || one->n != h->n);
		one = one ? one : h;
	}
	return *ret_several ? NULL : one;
}

/* May another process than h's have moved bytes that way before the pipe was watched? */
static bool moved_before(const struct witness *w, const struct holder *of, enum way way)
{
	if (w->past || (w->met_moved[way] && w->met != of->proc))
		return true;
	for (size_t i = 0; i < w->holders.n; i++) {
		const struct holder *h = &w->holders.v[i];
		if (h->way == way && h->proc != of->proc && h->start < w->armed &&
		    (h->early ? !h->untouched : h->proc != w->met && !h->idle))
			return true;
	}
	return false;
}

/* Did it move nothing at all that way? Of an early holder only what it moved since then is known: but what it wrote
 * before must be in the pipe still, or somebody has read it; what it read somebody had written. */
static bool has_no_part(const struct witness *w, const struct holder *h)
{
	if (!h->idle || h->settled)
		return false;
	if (!h->early || h->untouched)
		return true;
	return h->way == WAY_WRITE ? !w->filled && !moved_before(w, h, WAY_READ) : !moved_before(w, h, WAY_WRITE);
}

/* At the end. Of each round that only one holder can have made it is emitted that it moved bytes; of who had no part in
 * any, that it moved none; where none can have, a writer is possible again. */
static void emit_movers_of_way(struct sup *s, struct witness *w, enum way way)
{
	bool any = false, unknown = false, several;
	for (size_t i = 0; i < w->rounds.n; i++) {
		const struct round *r = &w->rounds.v[i];
		if (r->way != way || !r->seen)
			continue;
		any = true;
		struct holder *h = find_mover(w, r, &several);
		unknown |= !h && !several;
		if (h && !h->settled && !h->told)
			emit_again(s, h, way == WAY_WRITE ? TERM_evidence_must : TERM_evidence_none, way == WAY_READ ? 4 : 0);
		if (h)
			h->told = true;
	}
	for (size_t i = 0; i < w->holders.n; i++) {
		struct holder *h = &w->holders.v[i];
		if (h->way != way || h->live)
			continue;
		/* Nobody has moved anything since it is watched: neither have those who came later, or stood still then. */
		if (!any && w->watch[way] && !h->early && !h->uncounted &&
		    (h->start >= w->armed || (h->proc == w->met && !w->met_moved[way])))
			h->idle = true;
		/* Somebody wrote, and all known holders were still. The writer was a child that was killed before it was seen:
		 * its parent stays possible. */
		if (unknown && way == WAY_WRITE && h->idle && !h->settled)
			emit_again(s, h, TERM_evidence_may, 0);
		else if (!unknown && has_no_part(w, h))
			emit_again(s, h, TERM_evidence_none, way == WAY_READ ? 1 : 0);
	}
}

/* Nobody can have written anything: neither is anything read, whoever had the other end. */
static void drop_readers(struct sup *s, struct witness *w)
{
	bool writers = false;
	for (size_t i = 0; i < w->holders.n; i++) {
		const struct holder *h = &w->holders.v[i];
		if (h->way != WAY_WRITE)
			continue;
		if (!has_no_part(w, h))
			return;
		writers = true;
	}
	for (size_t i = 0; i < w->holders.n && writers; i++) {
		const struct holder *h = &w->holders.v[i];
		if (h->way == WAY_READ && !h->settled && !h->idle)
			emit_again(s, h, TERM_evidence_none, 1);
	}
}

void witness_decide(struct sup *s, struct witness *w)
{
	if (w->blind)
		return;
	emit_movers_of_way(s, w, WAY_READ);
	emit_movers_of_way(s, w, WAY_WRITE);
	for (size_t i = 0; i < w->rounds.n; i++)
		if (w->rounds.v[i].seen)
			return;
	if (!w->filled && !w->past)
		drop_readers(s, w);
}
