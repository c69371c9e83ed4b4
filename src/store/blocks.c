/* blocks.c - rows of files and processes, BLOCK_ROWS of them in one row of the database.
 *
 * A row of the database costs a search of the B-tree to find, about 0.5 us, and 9 bytes to keep; both are paid once for
 * a block. A block is the number of its rows, the length of each (0: not there), and the rows. */
#include "store/adjacency/adjacency.h"

#include <errno.h>
#include <stdlib.h>

int block_places(struct str block, uint32_t ret[BLOCK_ROWS + 1])
{
	struct cur c = cur_of(block);
	uint64_t n = cur_u(&c), at = 0;
	uint64_t length[BLOCK_ROWS];
	if (c.bad || n > BLOCK_ROWS)
		return -ENOTRECOVERABLE;
	for (unsigned i = 0; i < BLOCK_ROWS; i++)
		length[i] = i < n ? cur_u(&c) : 0;
	uint64_t first = (uint64_t)(c.p - (const unsigned char *)block.p);
	for (unsigned i = 0; i < BLOCK_ROWS; i++) {
		ret[i] = (uint32_t)(first + at);
		if (c.bad || length[i] > UINT32_MAX - first - at)
			return -ENOTRECOVERABLE;
		at += length[i];
	}
	ret[BLOCK_ROWS] = (uint32_t)(first + at);
	return 0;
}

static const enum store_sql get_sql[] = {[BLOCK_FILE] = SQL_file_get, [BLOCK_PROCESS] = SQL_process_get};
static const enum store_sql put_sql[] = {[BLOCK_FILE] = SQL_file_put, [BLOCK_PROCESS] = SQL_process_put};
static const enum store_sql last_sql[] = {[BLOCK_FILE] = SQL_file_last, [BLOCK_PROCESS] = SQL_process_last};

/* A whole block into ret. 1, 0, -errno. */
static int block_get(struct store *s, enum block_table table, uint64_t block, struct buf *ret,
                     uint32_t ret_at[BLOCK_ROWS + 1], struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, get_sql[table], err);
	if (!st)
		return -EIO;
	buf_reset(ret);
	sqlite3_bind_int64(st, 1, (int64_t)block);
	int rc = store_step(s, st, err);
	if (rc == 1)
		buf_str(ret, column_str(st, 0));
	sqlite3_reset(st);
	if (rc != 1)
		return rc;
	if (ret->failed)
		return -ENOMEM;
	rc = block_places(buf_view(ret), ret_at);
	return rc < 0 || ret_at[BLOCK_ROWS] > ret->n ? -ENOTRECOVERABLE : 1;
}

int block_row(struct store *s, struct block_cursor *c, uint64_t id, struct err *err, struct str *ret)
{
	uint64_t block = id >> BLOCK_BITS;
	unsigned k = id % BLOCK_ROWS;
	if (!c->loaded || c->block != block) {
		c->loaded = false;
		int rc = block_get(s, c->table, block, &c->bytes, c->at, err);
		if (rc <= 0)
			return rc;
		c->block = block;
		c->loaded = true;
	}
	*ret = str_n(c->bytes.p + c->at[k], c->at[k + 1] - c->at[k]);
	return ret->n != 0;
}

/* It can be used again. */
void block_cursor_release(struct block_cursor *c)
{
	buf_release(&c->bytes);
	c->loaded = false;
}

int block_last(struct store *s, enum block_table table, uint64_t *ret, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, last_sql[table], err);
	if (!st)
		return -EIO;
	*ret = 0;
	int rc = store_step(s, st, err);
	if (rc == 1) {
		struct cur c = cur_of(column_str(st, 1));
		uint64_t n = cur_u(&c);
		*ret = ((uint64_t)sqlite3_column_int64(st, 0) << BLOCK_BITS) + n - 1;
		if (c.bad || !n || n > BLOCK_ROWS)
			rc = -ENOTRECOVERABLE;
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* ---- writing ---- */

/* The row that is being written is whole; nothing where none is. */
static void end_row(struct block_writer *w)
{
	if (w->row == BLOCK_ROWS)
		return;
	w->n[w->row] = w->now.n - w->from[w->row];
	w->row = BLOCK_ROWS;
}

int block_flush(struct block_writer *w, struct err *err)
{
	if (!w->open)
		return 0;
	end_row(w);
	w->open = false;
	unsigned count = BLOCK_ROWS;
	struct str row[BLOCK_ROWS];
	for (unsigned i = 0; i < BLOCK_ROWS; i++)
		row[i] = w->given >> i & 1 ? str_n(w->now.p + w->from[i], w->n[i])
		         : w->had          ? str_n(w->was.p + w->at[i], w->at[i + 1] - w->at[i])
		                           : str_n("", 0);
	while (count && !row[count - 1].n)
		count--;
	if (!count)
		return 0;
	buf_reset(&w->out);
	buf_varint(&w->out, count);
	for (unsigned i = 0; i < count; i++)
		buf_varint(&w->out, row[i].n);
	for (unsigned i = 0; i < count; i++)
		buf_str(&w->out, row[i]);
	sqlite3_stmt *st = store_stmt(w->s, put_sql[w->table], err);
	if (!st || w->out.failed || w->now.failed)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, (int64_t)w->block);
	bind_str(st, 2, buf_view(&w->out));
	int rc = store_run_stmt(w->s, st, err);
	return rc < 0 ? rc : adj_note_written(w->s, w->table, w->block);
}

int block_put(struct block_writer *w, uint64_t id, struct err *err, struct buf **ret)
{
	uint64_t block = id >> BLOCK_BITS;
	if (w->open && w->block != block) {
		int rc = block_flush(w, err);
		if (rc < 0)
			return rc;
	}
	if (!w->open) {
		buf_reset(&w->now);
		w->given = 0;
		w->row = BLOCK_ROWS;
		w->block = block;
		w->had = false;
		int rc = w->fresh ? 0 : block_get(w->s, w->table, block, &w->was, w->at, err);
		if (rc < 0)
			return rc;
		w->had = rc == 1;
		w->open = true;
	}
	end_row(w);
	w->row = id % BLOCK_ROWS;
	w->given |= 1u << w->row;
	w->from[w->row] = w->now.n;
	*ret = &w->now;
	return 0;
}

/* It may not be used afterwards. */
void block_writer_release(struct block_writer *w)
{
	buf_release(&w->was);
	buf_release(&w->now);
	buf_release(&w->out);
}
