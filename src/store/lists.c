/* lists.c - sets of rows that belong to a row: children of a process, readers of a version, ...
 *
 * Chunks of up to LIST_BYTES, as differences: a set that grows at its end, as most do, rewrites only its last chunk. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>

#define LIST_BYTES 1024

/* 0, -ENOMEM. */
int ids_add(struct ids *v, uint64_t id)
{
	uint64_t *p = vec_add(v);
	if (!p)
		return -ENOMEM;
	*p = id;
	return 0;
}

static int compare_ids(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return (a > b) - (a < b);
}

/* Each once then. */
void ids_sort(struct ids *v)
{
	bool sorted = true;
	for (size_t i = 1; i < v->n; i++)
		sorted = sorted && v->v[i - 1] < v->v[i];
	if (sorted)
		return;
	qsort(v->v, v->n, sizeof(*v->v), compare_ids);
	size_t kept = 1;
	for (size_t i = 1; i < v->n; i++)
		if (v->v[i] != v->v[kept - 1])
			v->v[kept++] = v->v[i];
	v->n = kept;
}

/* Executions are process << 20 | n with n nearly always 0 or 1: as two numbers they are 3 bytes, not 5. */
static void append_list_delta(struct buf *b, bool exec, uint64_t from, uint64_t v)
{
	if (exec) {
		buf_varint(b, exec_process(v) - exec_process(from));
		buf_varint(b, exec_n(v));
	} else {
		buf_varint(b, v - from);
	}
}

/* Decodes a list of ids. first: what the row's key says. exec: ids of executions. Appends to out. 0, -ENOMEM,
 * -ENOTRECOVERABLE. */
static int decode_id_list(struct str pack, bool exec, uint64_t first, struct ids *out)
{
	const unsigned char *p = (const unsigned char *)pack.p, *end = p + pack.n;
	uint64_t v = first, d, n = 0;
	while (p < end) {
		if (!varint_get(&p, end, &d) || (exec && !varint_get(&p, end, &n)))
			return -ENOTRECOVERABLE;
		v = exec ? exec_id(exec_process(v) + d, n) : v + d;
		if (ids_add(out, v) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Does the list of that key hold executions? */
static bool is_exec(uint64_t key)
{
	return key >> 56 == LIST_READER;
}

/* Adds what the chunk that begins with `first` holds, if there is one. 0, -errno with a sentence. */
static int take_chunk(struct store *s, uint64_t key, uint64_t first, struct ids *all, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_list_get, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)key);
	sqlite3_bind_int64(st, 2, (int64_t)first);
	int rc = store_step(s, st, err);
	if (rc == 1)
		rc = decode_id_list(column_str(st, 0), is_exec(key), first, all);
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* The chunk at the end, if it has room and all of it lies before v. 0, -errno with a sentence. */
static int take_last(struct store *s, uint64_t key, uint64_t v, struct ids *all, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_list_last, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)key);
	int rc = store_step(s, st, err);
	if (rc == 1) {
		struct str pack = column_str(st, 1);
		rc = pack.n < LIST_BYTES ? decode_id_list(pack, is_exec(key), (uint64_t)sqlite3_column_int64(st, 0), all) : 0;
		if (rc == 0 && all->n && v <= all->v[all->n - 1])
			all->n = 0;
	}
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

int lists_add(struct store *s, uint64_t key, const uint64_t *v, size_t n, struct err *err)
{
	struct ids all = {0};
	int rc = n ? take_last(s, key, v[0], &all, err) : 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = ids_add(&all, v[i]);
	for (size_t at = 0; rc == 0 && at < all.n;) {
		/* A chunk that begins alike would be replaced: it is taken in. */
		size_t had = all.n;
		rc = take_chunk(s, key, all.v[at], &all, err);
		if (rc == 0 && all.n != had) {
			struct ids rest = {all.v + at, all.n - at, 0};
			ids_sort(&rest);
			all.n = at + rest.n;
		}
		struct buf *b = &s->scratch;
		buf_reset(b);
		uint64_t first = all.v[at], before = first;
		for (; at < all.n && b->n < LIST_BYTES; before = all.v[at++])
			append_list_delta(b, is_exec(key), before, all.v[at]);
		sqlite3_stmt *st = store_stmt(s, SQL_list_put, err);
		if (rc == 0 && (!st || b->failed))
			rc = -ENOMEM;
		if (rc == 0) {
			sqlite3_bind_int64(st, 1, (int64_t)key);
			sqlite3_bind_int64(st, 2, (int64_t)first);
			bind_str(st, 3, buf_view(b));
			rc = store_run_stmt(s, st, err);
		}
	}
	free(all.v);
	return rc;
}

int lists_get(struct store *s, uint64_t key, struct ids *out)
{
	sqlite3_stmt *st = store_stmt(s, SQL_list_all, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)key);
	int rc;
	while ((rc = store_step(s, st, NULL)) == 1) {
		rc = decode_id_list(column_str(st, 1), is_exec(key), (uint64_t)sqlite3_column_int64(st, 0), out);
		if (rc < 0)
			break;
	}
	sqlite3_reset(st);
	return rc;
}

/* The lists of keys from `from` to `to`. 0, -errno with a sentence. */
int lists_clear(struct store *s, uint64_t from, uint64_t to, struct err *err)
{
	sqlite3_stmt *st = store_stmt(s, SQL_list_clear, err);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)from);
	sqlite3_bind_int64(st, 2, (int64_t)to);
	return store_run_stmt(s, st, err);
}
