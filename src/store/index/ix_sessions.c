/* ix_sessions.c - rows of sessions: found in the store, or given; and sessions of the store brought into the graph. */
#include "store/index/index.h"

#include <errno.h>

uint64_t ix_session_row(const struct ix *x, uint64_t number)
{
	uint32_t i = map_get(&x->g.session_map, number);
	return i == VEC_NONE || i >= x->sessions.n ? 0 : x->sessions.v[i].id;
}

int ix_gkey(struct ix *x, const struct pkey *k, struct gkey *ret)
{
	uint32_t i;
	int rc = ix_session_of(x, k->session, &i);
	if (rc == 0)
		*ret = (struct gkey){k->time, x->g.sessions.v[i].number, k->seq};
	return rc;
}

struct pkey ix_pkey(const struct ix *x, const struct gkey *k)
{
	return (struct pkey){k->time, ix_session_row(x, k->session), k->seq};
}

static int set_session_row(struct ix *x, uint32_t i, uint64_t row)
{
	x->sessions.v[i].id = row;
	return map_set(&x->session_rows, row, i) ? 0 : ix_oom(x);
}

int ix_session_of(struct ix *x, uint64_t row, uint32_t *ret)
{
	*ret = map_get(&x->session_rows, row);
	if (*ret != VEC_NONE)
		return 0;
	sqlite3_stmt *st = store_stmt(x->s, SQL_session_get, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)row);
	int rc = store_step(x->s, st, x->err);
	if (rc == 1) {
		uint64_t number = (uint64_t)sqlite3_column_int64(st, 0);
		buf_reset(&x->b3);
		buf_str(&x->b3, column_str(st, 1));
		*ret = graph_session(&x->g, number);
		rc = *ret == VEC_NONE || x->b3.failed ? ix_oom(x) : 0;
	} else if (rc == 0) {
		err_set(x->err, 0, "the index is damaged: a session is missing");
		rc = -ENOTRECOVERABLE;
	}
	sqlite3_reset(st);
	if (rc == 0)
		rc = ix_sync(x);
	if (rc == 0) {
		struct gsession g = {0};
		rc = ix_session_info(x, buf_view(&x->b3), &g, NULL);
		x->g.sessions.v[*ret].host = g.host;
	}
	if (rc == 0)
		rc = set_session_row(x, *ret, row);
	if (rc == 0)
		x->sessions.v[*ret].old = true;
	return rc;
}

/* The rows that the session told of, when last read. */
static int read_told_rows(struct ix *x, uint64_t row, struct ix_session *ret)
{
	int rc = lists_get(x->s, list_key(LIST_TOLD_PROCESS, row), &ret->processes);
	if (rc >= 0)
		rc = lists_get(x->s, list_key(LIST_TOLD_PATH, row), &ret->paths);
	return rc == -ENOMEM ? ix_oom(x) : rc;
}

int ix_find_sessions(struct ix *x)
{
	for (uint32_t i = 0; i < x->n_new; i++) {
		int rc = 0;
		uint64_t row = 0;
		if (!x->fresh) {
			sqlite3_stmt *st = store_stmt(x->s, SQL_session_by_number, x->err);
			if (!st)
				return -EIO;
			sqlite3_bind_int64(st, 1, (int64_t)x->g.sessions.v[i].number);
			rc = store_step(x->s, st, x->err);
			if (rc == 1) {
				row = (uint64_t)sqlite3_column_int64(st, 0);
				rc = ix_session_info(x, column_str(st, 1), NULL, &x->sessions.v[i]);
				x->sessions.v[i].reloaded = true;
				x->sessions.v[i].places.n = 0;
			}
			sqlite3_reset(st);
		}
		if (rc >= 0 && row)
			rc = read_told_rows(x, row, &x->sessions.v[i]);
		if (rc >= 0)
			rc = set_session_row(x, i, row ? row : x->next_session++);
		if (rc < 0)
			return rc;
	}
	return 0;
}
