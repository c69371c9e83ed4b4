/* damage.c - what is missing in the logs, and which sessions it concerns.
 *
 * The indexer leaves a row for each damaged place of a segment and for each session that lacks frames. What follows of
 * that is found when the index is asked, for it depends on what else is there: a damaged frame costs nothing where the
 * same frame is met elsewhere; it costs its session where the header still names that; else any session of the segment
 * may have lost something. */
#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>

struct damages {
	struct damage_rows rows; /* those that concern anything */
	struct store_damage counts;
};

/* The session's row, 0 for none, or -errno. *ret_ended: its end was read. */
static int find_session_row(struct store *s, uint64_t number, bool *ret_ended)
{
	sqlite3_stmt *st = store_stmt(s, SQL_session_by_number, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)number);
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 1));
		for (int i = 0; i < 7; i++) /* host boot pidns run tool mode last */
			cur_u(&c);
		*ret_ended = cur_u(&c) & 1;
	}
	sqlite3_reset(st);
	return rc;
}

/* All rows, into ret, which is the caller's. 0, or -errno with a sentence. ret: vec_release, in any case. */
int damage_rows(struct store *s, struct damage_rows *ret, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_damage_all, err);
	if (!st)
		return -EIO;
	int rc;
	while ((rc = store_step(s, st, err)) == 1) {
		struct damage_row *d = vec_add(ret);
		if (!d) {
			rc = -ENOMEM;
			break;
		}
		*d = (struct damage_row){.kind = (enum damage_kind)sqlite3_column_int(st, 0),
		                         .segment = (uint64_t)sqlite3_column_int64(st, 1),
		                         .start = (uint64_t)sqlite3_column_int64(st, 2),
		                         .session = (uint64_t)sqlite3_column_int64(st, 3),
		                         .stop = (uint64_t)sqlite3_column_int64(st, 4)};
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* Does a row say so of the session? */
static bool lacks_frames(const struct damage_rows *v, uint64_t session)
{
	for (size_t i = 0; i < v->n; i++)
		if (v->v[i].kind == DAMAGE_SESSION && v->v[i].session == session)
			return true;
	return false;
}

/* Finds out what each damage costs. Leaves out what costs nothing, and the session's number where it is none that is
 * known. 0, -errno. */
static int weigh(struct store *s, struct damage_rows *v)
{
	size_t kept = 0;
	for (size_t i = 0; i < v->n; i++) {
		struct damage_row d = v->v[i];
		bool ended = false;
		int rc = d.kind != DAMAGE_SESSION && d.session ? find_session_row(s, d.session, &ended) : 0;
		if (rc < 0)
			return rc;
		if (rc == 1 && ended && !lacks_frames(v, d.session))
			continue; /* it has all its frames: this one is there twice */
		if (d.kind != DAMAGE_SESSION && rc == 0)
			d.session = 0;
		v->v[kept++] = d;
	}
	v->n = kept;
	return 0;
}

/* Read once, and kept with the store. NULL: they cannot be read. */
static struct damages *damages_of(struct store *s)
{
	if (s->damages)
		return s->damages;
	struct damages *d = calloc(1, sizeof(*d));
	if (!d || damage_rows(s, &d->rows, NULL) < 0 || weigh(s, &d->rows) < 0) {
		if (d)
			vec_release(&d->rows);
		free(d);
		return NULL;
	}
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct damage_row *r = &d->rows.v[i];
		d->counts.sessions += r->kind == DAMAGE_SESSION;
		d->counts.places += r->kind != DAMAGE_SESSION;
		d->counts.bytes += r->kind != DAMAGE_SESSION ? r->stop - r->start : 0;
	}
	return s->damages = d;
}

/* They are read again when they are asked for. */
void damage_forget(struct store *s)
{
	if (s->damages)
		vec_release(&s->damages->rows);
	free(s->damages);
	s->damages = NULL;
}

/* Lies a part of the session in that segment? info: the session's row. True, too, where that cannot be read. */
static bool lies_in(struct str info, uint64_t segment)
{
	struct cur c = cur_of(info);
	for (int i = 0; i < 9; i++) /* host boot pidns run tool mode last flags began */
		cur_u(&c);
	for (uint64_t n = cur_u(&c); n && !c.bad; n--) {
		if (cur_u(&c) == segment)
			return true;
		cur_u(&c);
		cur_u(&c);
	}
	return c.bad;
}

bool damage_concerns(struct store *s, uint64_t number, bool ended, struct str info)
{
	struct damages *d = damages_of(s);
	if (!d) /* nothing can be said for certain */
		return true;
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct damage_row *r = &d->rows.v[i];
		if (r->session ? r->session == number : (r->kind == DAMAGE_HOLE || !ended) && lies_in(info, r->segment))
			return true;
	}
	return false;
}

/* 0; -ENOTRECOVERABLE: it cannot be told. */
int store_damage(struct store *s, struct store_damage *ret)
{
	struct damages *d = damages_of(s);
	*ret = (struct store_damage){0};
	if (!d)
		return -ENOTRECOVERABLE;
	*ret = d->counts;
	return 0;
}
