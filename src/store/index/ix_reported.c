/* ix_reported.c - the rows of what was told of runs: events kept as they are. They belong to a session, and go when it
 * is read again. */
#include "store/index/index.h"
#include "store/read.h"

#include <errno.h>

/* Deletes what programs said in a session that is read anew. 0, -errno with a sentence. */
static int clear_session_reported(struct ix *x, uint64_t session)
{
	static const int clearing[] = {SQL_content_key_clear, SQL_told_clear};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof(clearing) / sizeof(*clearing); i++) {
		sqlite3_stmt *st = store_stmt(x->s, clearing[i], x->err);
		if (!st)
			return -EIO;
		sqlite3_bind_int64(st, 1, (int64_t)session);
		rc = store_run_stmt(x->s, st, x->err);
	}
	return rc;
}

/* A digest is looked for by the bytes it is of, too. row: of the event. 0, also where it is none; -errno with a
 * sentence. */
static int put_content_key(struct ix *x, struct str bytes, uint64_t row)
{
	struct event ev;
	const unsigned char *p = (const unsigned char *)bytes.p;
	if (event_decode(&p, p + bytes.n, 0, &ev) < 0 || !ev.digest.digest.n)
		return 0;
	sqlite3_stmt *st = store_stmt(x->s, SQL_content_key_put, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)content_key(ev.digest.digest));
	sqlite3_bind_int64(st, 2, (int64_t)row);
	return store_run_stmt(x->s, st, x->err);
}

/* Of a digest the key of its content, too. 0, -errno. */
static int write_reported_row(struct ix *x, const struct greported *t)
{
	uint64_t run = 0;
	int rc = ix_run_row(x, t->run, &run);
	sqlite3_stmt *st = rc == 0 ? store_stmt(x->s, SQL_told_put, x->err) : NULL;
	if (rc < 0 || !st)
		return rc < 0 ? rc : -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)x->sessions.v[t->session].id);
	sqlite3_bind_int64(st, 2, (int64_t)t->key.seq);
	sqlite3_bind_int64(st, 3, (int64_t)t->kind);
	sqlite3_bind_int64(st, 4, (int64_t)run);
	sqlite3_bind_int64(st, 5, (int64_t)(t->file == VEC_NONE ? t->by : x->files.v[t->file].id));
	bind_str(st, 6, intern_get(&x->g.words, t->bytes));
	rc = store_run_stmt(x->s, st, x->err);
	if (rc == 0 && t->kind == EVENT_digest)
		rc = put_content_key(x, intern_get(&x->g.words, t->bytes), (uint64_t)sqlite3_last_insert_rowid(x->s->db));
	return rc;
}

int ix_write_reported(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		if (x->sessions.v[i].reloaded)
			rc = clear_session_reported(x, x->sessions.v[i].id);
	for (size_t i = 0; rc == 0 && i < x->g.reported.n; i++)
		rc = write_reported_row(x, &x->g.reported.v[i]);
	return rc;
}
