/* ix_damage.c - the rows of what is missing in the logs (damage.c). */
#include "store/index/index.h"

#include <errno.h>

int ix_damage_before(struct store *s, bool all, struct damage_rows *ret, struct err *err)
{
	size_t kept = 0;
	int rc = damage_rows(s, ret, err);
	for (size_t i = 0; i < ret->n; i++)
		if (ret->v[i].kind == DAMAGE_SESSION)
			ret->v[kept++] = ret->v[i];
	ret->n = kept;
	if (rc < 0 || !all)
		return rc;
	sqlite3_stmt *st = store_stmt(s, SQL_session_all, err);
	if (!st)
		return -EIO;
	while ((rc = store_step(s, st, err)) == 1) {
		struct cur c = cur_of(column_str(st, 2));
		for (int i = 0; i < 6; i++) /* host boot pidns run tool mode */
			cur_u(&c);
		struct damage_row *d = vec_add(ret);
		if (!d) {
			rc = -ENOMEM;
			break;
		}
		*d = (struct damage_row){DAMAGE_SESSION, 0, 0, (uint64_t)sqlite3_column_int64(st, 1), cur_u(&c)};
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* A hole at the end of a file may only be what is still being written. */
static enum damage_kind damage_kind_of_hole(const struct collect_hole *h)
{
	return h->tail ? DAMAGE_TAIL : DAMAGE_HOLE;
}

/* Whether the row tells of this very hole. */
static bool is_row_of_hole(const struct ix *x, const struct damage_row *d, const struct collect_hole *h)
{
	return d->kind == damage_kind_of_hole(h) && d->segment == x->segments.v[h->segment].id && d->start == h->from &&
	       d->session == h->session && d->stop == h->to;
}

/* Whether the store tells of the hole already. */
static bool is_hole_known(const struct ix *x, const struct damage_rows *known, const struct collect_hole *h)
{
	for (size_t k = 0; k < known->n; k++)
		if (is_row_of_hole(x, &known->v[k], h))
			return true;
	return false;
}

/* Was the row's place looked at now, and is nothing damaged there any more? The end of a segment was taken back. */
static bool is_row_over(const struct ix *x, const struct damage_row *d)
{
	for (size_t i = 0; i < x->w.holes.n; i++)
		if (is_row_of_hole(x, d, &x->w.holes.v[i]))
			return false;
	for (size_t i = 0; i < x->segments.n && d->kind != DAMAGE_SESSION; i++)
		if (x->segments.v[i].id == d->segment)
			return x->segments.v[i].changed && d->start >= x->segments.v[i].from;
	return false;
}

/* Whether the logs have other damage than the index says. True also where that cannot be told. */
bool ix_damage_is_new(struct ix *x)
{
	struct damage_rows known = {0};
	struct err err = {0};
	bool is_new = damage_rows(x->s, &known, &err) < 0;
	for (size_t i = 0; i < x->w.holes.n && !is_new; i++)
		is_new = !is_hole_known(x, &known, &x->w.holes.v[i]);
	for (size_t k = 0; k < known.n && !is_new; k++)
		is_new = is_row_over(x, &known.v[k]);
	vec_release(&known);
	return is_new;
}

/* Writes a row of damage. 0, -errno with a sentence. */
static int put_row(struct ix *x, enum damage_kind kind, uint64_t segment, uint64_t start, uint64_t session,
                   uint64_t stop)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_damage_put, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, kind);
	sqlite3_bind_int64(st, 2, (int64_t)segment);
	sqlite3_bind_int64(st, 3, (int64_t)start);
	sqlite3_bind_int64(st, 4, (int64_t)session);
	sqlite3_bind_int64(st, 5, (int64_t)stop);
	return store_run_stmt(x->s, st, x->err);
}

/* Deletes rows of damage. which: a statement that deletes rows from a to b, or of a from b on. 0, -errno with a
 * sentence. */
static int clear_rows(struct ix *x, enum store_sql which, uint64_t a, uint64_t b)
{
	sqlite3_stmt *st = store_stmt(x->s, which, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)a);
	sqlite3_bind_int64(st, 2, (int64_t)b);
	return store_run_stmt(x->s, st, x->err);
}

/* Is the session known up to that seq, read now or in a part before this one? 0, -errno. */
static int is_known_so_far(struct ix *x, uint64_t session, uint64_t seq, bool *ret)
{
	uint32_t at = map_get(&x->g.session_map, session);
	if (at != VEC_NONE && at < x->n_new) {
		*ret = x->g.sessions.v[at].last >= seq;
		return 0;
	}
	sqlite3_stmt *st = x->fresh ? NULL : store_stmt(x->s, SQL_session_by_number, x->err);
	*ret = false;
	if (!st)
		return x->fresh ? 0 : -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 1));
		for (int i = 0; i < 6; i++) /* host boot pidns run tool mode */
			cur_u(&c);
		*ret = cur_u(&c) >= seq && !c.bad;
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* Of the sessions that were read now, and of those that the index before this one had. 0, -errno with a sentence. */
static int write_sessions(struct ix *x)
{
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < x->n_new; i++) {
		const struct gsession *g = &x->g.sessions.v[i];
		if (!x->fresh)
			rc = clear_rows(x, SQL_damage_mend, g->number, g->last);
		if (rc == 0 && g->missing)
			rc = put_row(x, DAMAGE_SESSION, 0, 0, g->number, g->last);
	}
	for (size_t i = 0; rc == 0 && x->before && !x->parts->more && i < x->before->n; i++) {
		const struct damage_row *b = &x->before->v[i];
		bool there = false;
		if (!tombstones_has(x->tombstones, b->session))
			rc = is_known_so_far(x, b->session, b->stop, &there);
		else
			there = true;
		if (rc == 0 && !there)
			rc = put_row(x, DAMAGE_SESSION, 0, 0, b->session, b->stop);
	}
	return rc;
}

int ix_write_damage(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && !x->fresh && i < x->segments.n; i++)
		if (x->segments.v[i].changed)
			rc = clear_rows(x, SQL_damage_clear, x->segments.v[i].id, x->segments.v[i].from);
	for (size_t i = 0; rc == 0 && i < x->w.holes.n; i++) {
		const struct collect_hole *h = &x->w.holes.v[i];
		if (!h->session || !tombstones_has(x->tombstones, h->session))
			rc = put_row(x, damage_kind_of_hole(h), x->segments.v[h->segment].id, h->from, h->session, h->to);
	}
	if (rc == 0)
		rc = write_sessions(x);
	damage_forget(x->s);
	return rc;
}
