/* ix_calls.c - the rows of calls: how an access moved its bytes. They belong to a session, and go when it is read
 * again. */
#include "store/index/index.h"

#include <errno.h>

/* Deletes the counted calls of a session that is read anew. 0, -errno with a sentence. */
static int clear_session_calls(struct ix *x, uint64_t session)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_calls_clear, x->err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)session);
	return store_run_stmt(x->s, st, x->err);
}

/* Of several events of one access, api and direction the last takes the others' place. 0, -errno with a sentence. */
static int write_io_calls(struct ix *x, const struct gio *io)
{
	sqlite3_stmt *st = store_stmt(x->s, SQL_calls_put, x->err);
	if (!st)
		return -EIO;
	int at = 1;
	sqlite3_bind_int64(st, at++, (int64_t)x->sessions.v[io->session].id);
	sqlite3_bind_int64(st, at++, (int64_t)io->access);
	sqlite3_bind_int64(st, at++, io->api << 1 | io->write);
	const int64_t times[] = {io->first, io->last};
	for (unsigned i = 0; i < 2; i++, at++)
		if (times[i] == TIME_NONE)
			sqlite3_bind_null(st, at);
		else
			sqlite3_bind_int64(st, at, times[i]);
	for (unsigned i = 0; i < GIO_FIGURES; i++)
		sqlite3_bind_int64(st, at++, (int64_t)io->figure[i]);
	return store_run_stmt(x->s, st, x->err);
}

int ix_write_calls(struct ix *x)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < x->n_new; i++)
		if (x->sessions.v[i].reloaded)
			rc = clear_session_calls(x, x->sessions.v[i].id);
	for (size_t i = 0; rc == 0 && i < x->g.ios.n; i++)
		rc = write_io_calls(x, &x->g.ios.v[i]);
	return rc;
}
