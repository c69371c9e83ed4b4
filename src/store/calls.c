/* calls.c - how executions moved bytes: the figures of io events, with what the graph knows of their accesses. */
#include "store/read.h"

#include "graph/graph.h"

#include <errno.h>
#include <stdlib.h>

/* l is empty then. */
void ios_release(struct ios *l)
{
	free(l->v);
	*l = (struct ios){0};
}

/* The time in a column, ns. NULL is TIME_NONE. */
static int64_t column_time(sqlite3_stmt *st, int column)
{
	return sqlite3_column_type(st, column) == SQLITE_NULL ? TIME_NONE : sqlite3_column_int64(st, column);
}

int read_calls(struct store *s, uint64_t process, const struct pacc_section *sec, const struct pacc *a, struct ios *ret)
{
	if (!layout_get(a->bits, LAYOUT_IO, 1) || layout_get(a->bits, LAYOUT_DUPLICATE, 1))
		return 0;
	const struct ssession *session = store_session(s, sec->session);
	sqlite3_stmt *st = store_stmt(s, SQL_calls_get, NULL);
	int rc;
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)sec->session);
	sqlite3_bind_int64(st, 2, (int64_t)a->seq);
	while ((rc = store_step(s, st, NULL)) == 1) {
		struct io_info *io = vec_add(ret);
		if (!io) {
			rc = -ENOMEM;
			break;
		}
		uint64_t kind = (uint64_t)sqlite3_column_int64(st, 0), figure[GIO_FIGURES];
		for (int i = 0; i < GIO_FIGURES; i++)
			figure[i] = (uint64_t)sqlite3_column_int64(st, 3 + i);
		*io = (struct io_info){.exec = exec_id(process, sec->n),
		                       .file = a->self,
		                       .target = a->file,
		                       .generated = a->gen ? version_id(a->file, a->gen) : 0,
		                       .used = a->nuse == 1 ? version_id(a->file, a->use) : 0,
		                       .session = session ? session->number : 0,
		                       .seq = a->seq,
		                       .api = (unsigned)(kind >> 1),
		                       .write = kind & 1,
		                       .calls = figure[0],
		                       .failed = figure[1],
		                       .bytes = figure[2],
		                       .largest = figure[3],
		                       .spent = figure[4],
		                       .first = column_time(st, 1),
		                       .last = column_time(st, 2)};
		memcpy(io->size, figure + 5, sizeof(io->size));
	}
	sqlite3_reset(st);
	return rc;
}

int store_has_io(struct store *s)
{
	sqlite3_stmt *st = store_stmt(s, SQL_calls_any, NULL);
	int rc = st ? store_step(s, st, NULL) : -EIO;
	if (st)
		sqlite3_reset(st);
	return rc;
}

int store_io(struct store *s, store_id exec, struct ios *ret)
{
	struct access_reader r;
	struct pacc a;
	ret->n = 0;
	int rc = access_reader_begin(&r, s, exec);
	while (rc == 1 && (rc = access_reader_next(&r, &a)) == 1) {
		int failed = read_calls(s, exec_process(exec), &r.section, &a, ret);
		if (failed < 0)
			return failed;
	}
	return rc;
}
