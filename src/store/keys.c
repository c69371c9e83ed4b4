/* keys.c - from a hash to the rows filed under it.
 *
 * A B-tree row per key would cost 13 to 17 bytes and a separate insert each; here a row holds a few hundred entries in
 * order of (hash, row), as differences, so that many keys are added by one merge. Key of a chunk: kind << 32 | its
 * first hash; all entries of one hash are in one chunk.
 *
 * New keys lie anywhere among the old ones: a few of them would rewrite as many chunks, each on a page of its own in a
 * large record. So few are put beside them, in RECENT buckets of each kind by the first bits of the hash, a row each,
 * of key (kind + RECENT_KIND) << 32 | its first hash; and each time one of these goes to the chunks.
 *
 * Where much is indexed in parts, the many keys of a part would rewrite all chunks, for each part again. They are put
 * into the buckets, too, of which one goes to the chunks when it has a quarter of what its chunks have, and all with
 * the last part. */
#include "store/store_int.h"

#include <errno.h>
#include <stdlib.h>

/* Entries; a chunk of more is split in two. Smaller chunks make a record of a million accesses slower to index (200
 * instead of 800: 4 %), and cheaper to add to. */
#define CHUNK_MAX 200

#define RECENT_KIND 8
#define RECENT_BITS 6     /* buckets of a kind, as bits: what lies in one is 1/64 of the chunks */
#define RECENT_FEW 2048   /* keys of a kind; more go to the chunks at once: they would touch most pages anyway */
#define RECENT_LEAST 64   /* entries of a bucket that are worth it */
#define RECENT_MOST 65536 /* of a bucket between parts: who asks meanwhile decodes one, 5 ns an entry */

/* Key of the row that begins with this hash. */
static int64_t chunk_key(unsigned kind, uint32_t hash)
{
	return (int64_t)kind << 32 | hash;
}

/* Key of the bucket of a hash. */
static int64_t recent_key(enum key_kind kind, uint32_t hash)
{
	return chunk_key(kind + RECENT_KIND, hash >> (32 - RECENT_BITS) << (32 - RECENT_BITS));
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
	vec_release(&c->chunk.v);
	vec_release(&c->recent.v);
	*c = (struct key_cursor){0};
}

/* Appends them. 0, -ENOMEM, -ENOTRECOVERABLE. */
static int decode_entries(int64_t key, struct str pack, struct key_entries *ret)
{
	const unsigned char *p = (const unsigned char *)pack.p, *end = p + pack.n;
	uint64_t hash = (uint32_t)key, dh, id;
	while (p < end) {
		struct key_entry *e = vec_add(ret);
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

/* The chunk that a hash belongs to (the last that begins at or before it) into c; c->from = -1 where there is none. 0,
 * -errno with a sentence. */
static int load_key_chunk(struct store *s, struct key_chunk *c, enum key_kind kind, uint32_t hash, struct err *err)
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
		rc = decode_entries(key, column_str(st, 1), &c->v);
		if (rc == 0)
			c->from = key;
	}
	sqlite3_reset(st);
	if (rc < 0 || c->from < 0)
		return rc < 0 ? rc : 0;
	return next_chunk(s, kind, c->from + 1, err, &c->to);
}

/* The bucket that a hash belongs to into c, empty where there is none. 0, -errno with a sentence. */
static int load_recent(struct store *s, struct key_recent *c, enum key_kind kind, uint32_t hash, struct err *err)
{
	const int64_t key = recent_key(kind, hash);
	if (c->next == key + 1)
		return 0;
	sqlite3_stmt *st = store_stmt(s, SQL_key_get, err);
	if (!st)
		return -EIO;
	c->next = 0;
	c->v.n = 0;
	sqlite3_bind_int64(st, 1, key);
	int rc = store_step(s, st, err);
	if (rc == 1)
		rc = decode_entries(key, column_str(st, 0), &c->v);
	sqlite3_reset(st);
	if (rc == 0)
		c->next = key + 1;
	return rc;
}

/* Index of the first entry that is not below. */
static size_t lower_bound_by_hash(const struct key_entries *c, uint32_t hash)
{
	size_t lo = 0, hi = c->n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->v[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Appends the entries of c between two hashes to *out. Both hashes are included. 0, -ENOMEM. */
static int add_between(const struct key_entries *c, uint32_t lo, uint32_t hi, struct key_entries *out)
{
	for (size_t i = lower_bound_by_hash(c, lo); i < c->n && c->v[i].hash <= hi; i++) {
		struct key_entry *e = vec_add(out);
		if (!e)
			return -ENOMEM;
		*e = c->v[i];
	}
	return 0;
}

/* In order, each once: one may be in a chunk and a bucket. */
static void sort_found(struct key_entries *v)
{
	size_t kept = 1;
	if (v->n < 2)
		return;
	qsort(v->v, v->n, sizeof(*v->v), compare_key_entries);
	for (size_t i = 1; i < v->n; i++)
		if (compare_key_entries(&v->v[kept - 1], &v->v[i]))
			v->v[kept++] = v->v[i];
	v->n = kept;
}

int keys_find(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t hash, struct err *err, size_t *ret_at,
              size_t *ret_n)
{
	*ret_at = *ret_n = c->v.n = 0;
	int rc = load_key_chunk(s, &c->chunk, kind, hash, err);
	if (rc == 0)
		rc = load_recent(s, &c->recent, kind, hash, err);
	if (rc == 0)
		rc = add_between(&c->chunk.v, hash, hash, &c->v);
	if (rc == 0)
		rc = add_between(&c->recent.v, hash, hash, &c->v);
	if (rc < 0)
		return rc;
	sort_found(&c->v);
	*ret_n = c->v.n;
	return 0;
}

/* Appends those of the chunks. 0, -errno with a sentence. */
static int find_in_chunks(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t lo, uint32_t hi,
                          struct err *err)
{
	int rc = load_key_chunk(s, &c->chunk, kind, lo, err);
	uint64_t next = lo;
	while (rc == 0 && next <= hi) {
		if (c->chunk.from < 0) { /* nothing begins at or before it: the first that begins after */
			rc = next_chunk(s, kind, chunk_key(kind, (uint32_t)next), err, &next);
		} else {
			rc = add_between(&c->chunk.v, lo, hi, &c->v);
			next = c->chunk.to;
		}
		if (rc == 0 && next <= hi)
			rc = load_key_chunk(s, &c->chunk, kind, (uint32_t)next, err);
	}
	return rc;
}

int keys_range(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t lo, uint32_t hi, struct err *err)
{
	const uint64_t step = (uint64_t)1 << (32 - RECENT_BITS);
	c->v.n = 0;
	int rc = find_in_chunks(s, c, kind, lo, hi, err);
	for (uint64_t from = lo & ~(step - 1); rc == 0 && from <= hi; from += step) {
		rc = load_recent(s, &c->recent, kind, (uint32_t)from, err);
		if (rc == 0)
			rc = add_between(&c->recent.v, lo, hi, &c->v);
	}
	sort_found(&c->v);
	return rc;
}

/* ---- writing ---- */

/* The row of that key, which its low 32 bits are the least hash of; n > 0 entries, sorted. 0, -errno with a sentence.
 */
static int put_entries(struct store *s, int64_t key, const struct key_entry *v, size_t n, struct err *err)
{
	struct buf *b = &s->scratch;
	buf_reset(b);
	uint32_t hash = (uint32_t)key;
	for (size_t i = 0; i < n; i++) {
		buf_varint(b, v[i].hash - hash);
		buf_varint(b, v[i].id);
		hash = v[i].hash;
	}
	sqlite3_stmt *st = store_stmt(s, SQL_key_put, err);
	if (!st || b->failed)
		return -ENOMEM;
	sqlite3_bind_int64(st, 1, key);
	bind_str(st, 2, buf_view(b));
	return store_run_stmt(s, st, err);
}

/* Deletes a row of keys. 0, or -errno with a sentence. */
static int drop_row(struct store *s, int64_t key, struct err *err)
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
		rc = put_entries(s, chunk_key(kind, v[at].hash), v + at, take, err);
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

/* Merges two lists of keys. Both in order, each entry once. Appends to *merged, which has room. */
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
static int add_to_chunk(struct store *s, struct key_chunk *c, enum key_kind kind, const struct key_entry *v, size_t n,
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
		rc = drop_row(s, c->from, err);
	return rc < 0 ? rc : put_all(s, kind, merged->v, merged->n, CHUNK_MAX * 3 / 4, err);
}

/* Sorted entries to the chunks. 0, -errno with a sentence. */
static int add_to_chunks(struct store *s, enum key_kind kind, const struct key_entry *v, size_t n, struct err *err)
{
	struct key_chunk c = {.from = -1};
	struct key_entries merged = {0};
	int rc = 0;
	for (size_t at = 0, took = 0; rc == 0 && at < n; at += took) {
		rc = add_to_chunk(s, &c, kind, v + at, n - at, &merged, err, &took);
		c.from = -1;
	}
	vec_release(&merged);
	vec_release(&c.v);
	return rc;
}

/* Sorted entries of one bucket to it. *ret: how many it holds then. 0, -errno with a sentence. */
static int add_to_bucket(struct store *s, enum key_kind kind, const struct key_entry *v, size_t n, struct key_recent *c,
                         struct key_entries *merged, struct err *err, size_t *ret)
{
	int rc = load_recent(s, c, kind, v[0].hash, err);
	c->next = 0; /* it is written anew */
	merged->n = 0;
	if (rc == 0 && !vec_room(merged, c->v.n + n))
		rc = -ENOMEM;
	if (rc < 0)
		return rc;
	merge_entries(c->v.v, c->v.n, v, n, merged);
	*ret = merged->n;
	return put_entries(s, recent_key(kind, v[0].hash), merged->v, merged->n, err);
}

/* What is in the bucket to the chunks. 0, -errno with a sentence. */
static int empty_bucket(struct store *s, enum key_kind kind, uint32_t hash, struct key_recent *c, struct err *err)
{
	int rc = load_recent(s, c, kind, hash, err);
	c->next = 0;
	if (rc == 0)
		rc = add_to_chunks(s, kind, c->v.v, c->v.n, err);
	return rc < 0 ? rc : drop_row(s, recent_key(kind, hash), err);
}

/* Sorted entries to the buckets, of which the fullest that got some is emptied then. 0, -errno with a sentence. */
static int add_to_recent(struct store *s, enum key_kind kind, const struct key_entry *v, size_t n, struct err *err)
{
	struct key_recent c = {0};
	struct key_entries merged = {0};
	size_t most = 0;
	uint32_t fullest = 0;
	int rc = 0;
	for (size_t at = 0, k, holds = 0; rc == 0 && at < n; at = k) {
		const int64_t key = recent_key(kind, v[at].hash);
		for (k = at + 1; k < n && recent_key(kind, v[k].hash) == key; k++)
			;
		rc = add_to_bucket(s, kind, v + at, k - at, &c, &merged, err, &holds);
		if (holds > most) {
			most = holds;
			fullest = v[at].hash;
		}
	}
	if (rc == 0 && most >= RECENT_LEAST)
		rc = empty_bucket(s, kind, fullest, &c, err);
	vec_release(&merged);
	vec_release(&c.v);
	return rc;
}

/* About how many rows have keys of the kind: ids count them. */
static uint64_t rows_with_keys(enum key_kind kind, const struct key_entry *v, size_t n)
{
	uint64_t last = 0;
	for (size_t i = 0; i < n; i++)
		last = v[i].id > last ? v[i].id : last;
	return kind == KEY_EXEC ? exec_process(last) : kind == KEY_VERSION ? version_file(last) : last;
}

/* Adds the sorted entries, of one bucket, to it; where it then has more than `most`, all of it goes to the chunks. 0,
 * -errno with a sentence. */
static int add_part_of_bucket(struct store *s, enum key_kind kind, uint32_t from, const struct key_entry *v, size_t n,
                              size_t most, struct key_recent *c, struct key_entries *merged, struct err *err)
{
	int rc = load_recent(s, c, kind, from, err);
	c->next = 0; /* it is written anew */
	merged->n = 0;
	if (rc == 0 && !vec_room(merged, c->v.n + n))
		rc = -ENOMEM;
	if (rc < 0)
		return rc;
	merge_entries(c->v.v, c->v.n, v, n, merged);
	if (!merged->n)
		return 0;
	if (merged->n <= most)
		return put_entries(s, recent_key(kind, from), merged->v, merged->n, err);
	rc = add_to_chunks(s, kind, merged->v, merged->n, err);
	return rc == 0 && c->v.n ? drop_row(s, recent_key(kind, from), err) : rc;
}

/* Sorted entries of a part to the buckets; last: with what these have to the chunks. 0, -errno with a sentence. */
static int add_part(struct store *s, enum key_kind kind, const struct key_entry *v, size_t n, bool last,
                    struct err *err)
{
	const uint64_t step = (uint64_t)1 << (32 - RECENT_BITS), quarter = rows_with_keys(kind, v, n) >> (RECENT_BITS + 2);
	const size_t most = last ? 0 : quarter < RECENT_FEW ? RECENT_FEW : quarter < RECENT_MOST ? quarter : RECENT_MOST;
	struct key_recent c = {0};
	struct key_entries merged = {0};
	size_t at = 0, k = 0;
	int rc = 0;
	for (uint64_t from = 0; rc == 0 && from <= UINT32_MAX; from += step, at = k) {
		while (k < n && v[k].hash - from < step)
			k++;
		if (last || k > at)
			rc = add_part_of_bucket(s, kind, (uint32_t)from, v + at, k - at, most, &c, &merged, err);
	}
	vec_release(&merged);
	vec_release(&c.v);
	return rc;
}

int keys_add(struct store *s, enum key_kind kind, struct key_entry *v, size_t n, enum keys_when when, struct err *err)
{
	int rc = sort_entries(v, n);
	if (rc < 0)
		return rc;
	if (when != KEYS_ALL)
		return add_part(s, kind, v, n, when == KEYS_LAST_PART, err);
	return n <= RECENT_FEW ? add_to_recent(s, kind, v, n, err) : add_to_chunks(s, kind, v, n, err);
}
