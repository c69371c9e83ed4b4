/* ix_sessions.c - rows of sessions: found in the store, or given; and sessions of the store brought into the graph. */
#include "store/index/index.h"
#include "store/read.h"

#include <errno.h>

/* host, boot: numbers of the index. 0, -ENOMEM. */
static int find_session_host(struct ix *x, uint64_t host, uint64_t boot, struct gsession *g)
{
	uint32_t hw = intern_add(&x->g.words, store_interned(x->s, host));
	uint32_t bw = intern_add(&x->g.words, store_interned(x->s, boot));
	if (hw == VEC_NONE || bw == VEC_NONE)
		return ix_oom(x);
	g->host = graph_host(&x->g, hw, bw);
	return g->host == VEC_NONE ? ix_oom(x) : 0;
}

/* The places of its frames. */
static int read_session_places(struct ix *x, struct cur *c, struct ix_session *ret)
{
	uint64_t n = cur_u(c);
	for (; n && !c->bad; n--) {
		struct ix_place *p = vec_add(&ret->places);
		if (!p)
			return ix_oom(x);
		p->segment = cur_u(c);
		p->from = cur_u(c);
		p->to = p->from + cur_u(c);
	}
	return 0;
}

/* Gaps of the whole session, and notes, as they are packed (ix_runs.c). */
static int read_session_lists(struct ix *x, struct cur *c, struct ix_session *ret)
{
	ret->gaps.n = cur_u(c);
	const unsigned char *from = c->p;
	for (uint64_t n = ret->gaps.n; n && !c->bad; n--)
		read_session_gap(x->s, c);
	ret->gaps.pack = ix_keep(x, str_n((const char *)from, (size_t)(c->p - from)));
	ret->notes.n = cur_u(c);
	from = c->p;
	for (uint64_t n = ret->notes.n; n && !c->bad; n--) {
		cur_z(c);                   /* time */
		for (int i = 0; i < 6; i++) /* seq run file text version user */
			cur_u(c);
	}
	ret->notes.pack = ix_keep(x, str_n((const char *)from, (size_t)(c->p - from)));
	return ret->gaps.pack.failed || ret->notes.pack.failed ? ix_oom(x) : 0;
}

int ix_session_info(struct ix *x, struct str info, struct gsession *g, struct ix_session *ret)
{
	struct cur c = cur_of(info);
	uint64_t host = cur_u(&c), boot = cur_u(&c);
	int rc = g ? find_session_host(x, host, boot, g) : 0;
	if (rc < 0)
		return rc;
	for (int i = 0; i < 5; i++) /* pidns, run, tool, mode, last */
		cur_u(&c);
	bool holes = cur_u(&c) & 2;
	cur_z(&c); /* began */
	if (ret) {
		ret->holes = holes;
		rc = read_session_places(x, &c, ret);
	}
	if (rc == 0 && ret)
		rc = read_session_lists(x, &c, ret);
	return rc < 0 ? rc : c.bad ? -ENOTRECOVERABLE : 0;
}

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

/* The session by its row in the store. */
struct pkey ix_pkey(const struct ix *x, const struct gkey *k)
{
	return (struct pkey){k->time, ix_session_row(x, k->session), k->seq};
}

/* Gives a session its row. 0, -ENOMEM. */
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
				struct ix_session *to = &x->sessions.v[i];
				rc = ix_session_info(x, column_str(st, 1), NULL, to);
				to->goes_on = ix_goes_on(x, x->g.sessions.v[i].number);
				to->reloaded = !to->goes_on;
				if (to->reloaded) {
					to->places.n = 0;
					to->gaps = to->notes = (struct ix_listed){0};
				}
			}
			sqlite3_reset(st);
		}
		if (rc >= 0 && row && x->sessions.v[i].reloaded)
			rc = read_told_rows(x, row, &x->sessions.v[i]);
		if (rc >= 0)
			rc = set_session_row(x, i, row ? row : x->next_session++);
		if (rc < 0)
			return rc;
	}
	return 0;
}
