/* keys.c - from a hash to the rows filed under it.
 *
 * A B-tree row per key would cost 13 to 17 bytes and a separate insert each; here a row holds a few hundred entries in
 * order of (hash, row), as differences, so that many keys are added by one merge. Key of a chunk: kind << 32 | its
 * first hash; all entries of one hash are in one chunk. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>

/* Entries; a chunk of more is split in two. New keys lie anywhere: each rewrites its chunk. With 200 instead of 800 a
 * question beside a run of 8.5 million events took 57 ms instead of 74, and indexing one of a million accesses 4 %
 * more. */
#define CHUNK_MAX 200

/* Key of the row that begins with this hash. */
static int64_t chunk_key(enum key_kind kind, uint32_t hash)
{
	return (int64_t)kind << 32 | hash;
}

/* Order of qsort: by hash, then by id. */
static int compare_key_entries(const void *pa, const void *pb)
{
	const struct key_entry *a = pa, *b = pb;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* c is empty then. */
void key_cursor_release(struct key_cursor *c)
{
	vec_release(&c->v);
	*c = (struct key_cursor){0};
}

/* Into c->v, from its beginning. 0, -ENOMEM, -ENOTRECOVERABLE. */
static int decode_key_chunk(struct key_cursor *c, int64_t key, struct str pack)
{
	const unsigned char *p = (const unsigned char *)pack.p, *end = p + pack.n;
	uint64_t hash = (uint32_t)key, dh, id;
	c->v.n = 0;
	while (p < end) {
		struct key_entry *e = vec_add(&c->v);
		if (!e)
			return -ENOMEM;
		if (!varint_get(&p, end, &dh) || !varint_get(&p, end, &id))
			return -ENOTRECOVERABLE;
		hash += dh;
		*e = (struct key_entry){(uint32_t)hash, id};
	}
	return 0;
}

/* Where the first chunk begins that begins at `from` or behind it, as a hash; UINT32_MAX + 1: there is none of the
 * kind. 0, -errno with a sentence. */
static int next_chunk(struct store *s, enum key_kind kind, int64_t from, struct err *err, uint64_t *ret)
{
	sqlite3_stmt *st = store_stmt(s, SQL_key_from, err);
	*ret = (uint64_t)UINT32_MAX + 1;
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, from);
	int rc = store_step(s, st, err);
	if (rc == 1 && sqlite3_column_int64(st, 0) >> 32 == kind)
		*ret = (uint32_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return rc < 0 ? rc : 0;
}

/* The chunk that a hash belongs to (the last that begins at or before it) into c; c->from = -1 where there is none. */
static int load_key_chunk(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t hash, struct err *err)
{
	if (c->from >= 0 && c->kind == kind && chunk_key(kind, hash) >= c->from && hash < c->to)
		return 0;
	sqlite3_stmt *st = store_stmt(s, SQL_key_at, err);
	if (!st)
		return -EIO;
	c->kind = kind;
	c->from = -1;
	c->v.n = 0;
	c->to = 0;
	sqlite3_bind_int64(st, 1, chunk_key(kind, hash));
	int rc = store_step(s, st, err);
	if (rc == 1 && sqlite3_column_int64(st, 0) >> 32 == kind) {
		int64_t key = sqlite3_column_int64(st, 0);
		rc = decode_key_chunk(c, key, column_str(st, 1));
		if (rc == 0)
			c->from = key;
	}
	sqlite3_reset(st);
	if (rc < 0 || c->from < 0)
		return rc < 0 ? rc : 0;
	return next_chunk(s, kind, c->from + 1, err, &c->to);
}

/* Index of the first entry that is not below. */
static size_t lower_bound_by_hash(const struct key_cursor *c, uint32_t hash)
{
	size_t lo = 0, hi = c->v.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->v.v[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int keys_find(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t hash, struct err *err, size_t *ret_at,
              size_t *ret_n)
{
	*ret_at = *ret_n = 0;
	int rc = load_key_chunk(s, c, kind, hash, err);
	if (rc < 0 || c->from < 0)
		return rc;
	*ret_at = lower_bound_by_hash(c, hash);
	while (*ret_at + *ret_n < c->v.n && c->v.v[*ret_at + *ret_n].hash == hash)
		++*ret_n;
	return 0;
}

/* Appends the entries of c between two hashes to *out. Both hashes are included. 0, -ENOMEM. */
static int add_between(const struct key_cursor *c, uint32_t lo, uint32_t hi, struct key_cursor *out)
{
	for (size_t i = 0; i < c->v.n; i++)
		if (c->v.v[i].hash >= lo && c->v.v[i].hash <= hi) {
			struct key_entry *e = vec_add(&out->v);
			if (!e)
				return -ENOMEM;
			*e = c->v.v[i];
		}
	return 0;
}

int keys_range(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t lo, uint32_t hi, struct err *err)
{
	struct key_cursor all = {0};
	int rc = load_key_chunk(s, c, kind, lo, err);
	uint64_t next = lo;
	while (rc == 0 && next <= hi) {
		if (c->from < 0) { /* nothing begins at or before it: the first that begins after */
			rc = next_chunk(s, kind, chunk_key(kind, (uint32_t)next), err, &next);
		} else {
			rc = add_between(c, lo, hi, &all);
			next = c->to;
		}
		if (rc == 0 && next <= hi)
			rc = load_key_chunk(s, c, kind, (uint32_t)next, err);
	}
	vec_release(&c->v);
	c->v.v = all.v.v;
	c->v.n = all.v.n;
	c->v.cap = all.v.cap;
	c->from = -1;
	return rc < 0 ? rc : 0;
}

/* n > 0 entries, sorted. 0, -errno with a sentence. */
static int put_chunk(struct store *s, enum key_kind kind, const struct key_entry *v, size_t n, struct err *err)
{
	struct buf *b = &s->scratch;
	buf_reset(b);
	uint32_t hash = v[0].hash;
	for (size_t i = 0; i < n; i++) {
		buf_varint(b, v[i].hash - hash);
		buf_varint(b, v[i].id);
		hash = v[i].hash;
	}
	sqlite3_stmt *st = store_stmt(s, SQL_key_put, err);
	if (!st || b->failed)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, chunk_key(kind, v[0].hash));
	bind_str(st, 2, buf_view(b));
	return store_run_stmt(s, st, err);
}

/* 0, or -errno with a sentence. */
static int drop_chunk(struct store *s, int64_t key, struct err *err)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(s->db, "DELETE FROM key WHERE k = ?", -1, &st, NULL) != SQLITE_OK)
		return store_db_error(s, err, "cannot write the index");
	sqlite3_bind_int64(st, 1, key);
	int rc = store_run_stmt(s, st, err);
	sqlite3_finalize(st);
	return rc;
}

/* Writes entries as chunks of at most CHUNK_MAX where hashes allow; `fill`: how full when there are many. 0, -errno
 * with a sentence. */
static int put_all(struct store *s, enum key_kind kind, const struct key_entry *v, size_t n, size_t fill,
                   struct err *err)
{
	int rc = 0;
	for (size_t at = 0; rc == 0 && at < n;) {
		size_t take = n - at;
		if (take > CHUNK_MAX) {
			take = take < 2 * fill ? take / 2 : fill;
			while (at + take < n && v[at + take].hash == v[at + take - 1].hash)
				take++;
		}
		rc = put_chunk(s, kind, v + at, take, err);
		at += take;
	}
	return rc;
}

/* By hash in three passes of 11 bits, then what has one hash by row: hashes are random, and a sort by comparisons would
 * cost more than all the rest. 0, -ENOMEM. */
static int sort_entries(struct key_entry *v, size_t n)
{
	if (n < 2048) {
		if (n)
			qsort(v, n, sizeof(*v), compare_key_entries);
		return 0;
	}
	struct key_entry *tmp = malloc(n * sizeof(*tmp)), *from = v, *to = tmp;
	if (!tmp)
		return -ENOMEM;
	for (unsigned shift = 0; shift < 33; shift += 11) {
		size_t count[2049] = {0};
		for (size_t i = 0; i < n; i++)
			count[((uint64_t)from[i].hash >> shift & 2047) + 1]++;
		for (size_t i = 1; i < 2048; i++)
			count[i] += count[i - 1];
		for (size_t i = 0; i < n; i++)
			to[count[(uint64_t)from[i].hash >> shift & 2047]++] = from[i];
		struct key_entry *swap = from;
		from = to;
		to = swap;
	}
	memcpy(v, from, n * sizeof(*v)); /* three passes: it lies in tmp */
	free(tmp);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && v[k].hash == v[i].hash; k++)
			;
		if (k - i > 1)
			qsort(v + i, k - i, sizeof(*v), compare_key_entries);
	}
	return 0;
}

struct key_entries {
	struct key_entry *v;
	size_t n, cap;
};

/* Both in order, each entry once. Appends to *merged, which has room. */
static void merge_entries(const struct key_entry *a, size_t na, const struct key_entry *b, size_t nb,
                          struct key_entries *merged)
{
	for (size_t i = 0, k = 0; i < na || k < nb;) {
		int side = i == na ? 1 : k == nb ? -1 : compare_key_entries(&a[i], &b[k]);
		const struct key_entry *e = side <= 0 ? &a[i] : &b[k];
		if (!merged->n || compare_key_entries(&merged->v[merged->n - 1], e))
			merged->v[merged->n++] = *e;
		i += side <= 0;
		k += side >= 0;
	}
}

/* Adds the first entries of v[0..n), sorted, that belong in one chunk of the store. *ret: how many that were. */
static int add_to_chunk(struct store *s, struct key_cursor *c, enum key_kind kind, const struct key_entry *v, size_t n,
                        struct key_entries *merged, struct err *err, size_t *ret)
{
	int rc = load_key_chunk(s, c, kind, v[0].hash, err);
	uint64_t bound = c->to;
	size_t take = 0;
	if (rc == 0 && c->from < 0) /* before the first chunk of the kind, if there is one */
		rc = next_chunk(s, kind, chunk_key(kind, v[0].hash), err, &bound);
	if (rc < 0)
		return rc;
	while (take < n && v[take].hash < bound)
		take++;
	*ret = take;
	merged->n = 0;
	if (!vec_room(merged, c->v.n + take))
		return -ENOMEM;
	merge_entries(c->v.v, c->v.n, v, take, merged);
	if (merged->n == c->v.n && c->from >= 0)
		return 0;
	if (c->from >= 0 && (uint32_t)c->from != merged->v[0].hash)
		rc = drop_chunk(s, c->from, err);
	return rc < 0 ? rc : put_all(s, kind, merged->v, merged->n, CHUNK_MAX * 3 / 4, err);
}

int keys_add(struct store *s, enum key_kind kind, struct key_entry *v, size_t n, struct err *err)
{
	struct key_cursor c = {.from = -1};
	struct key_entries merged = {0};
	int rc = sort_entries(v, n);
	for (size_t at = 0, took = 0; rc == 0 && at < n; at += took) {
		rc = add_to_chunk(s, &c, kind, v + at, n - at, &merged, err, &took);
		c.from = -1;
	}
	vec_release(&merged);
	key_cursor_release(&c);
	return rc;
}
