/* adj_make.c - segments are made by who indexes, in batches of one segment, each in a transaction of its own. */
#include "store/adjacency/adjacency.h"

#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* ---- what was written ---- */

/* What is to be written for this place, made if need be. NULL without memory. */
static struct adj_written *adj_written_of(struct adj *a, uint64_t place)
{
	if (a->last < a->written.n && a->written.v[a->last].place == place)
		return &a->written.v[a->last];
	uint32_t at = map_get(&a->written_at, place);
	if (at == VEC_NONE) {
		struct adj_written *w = vec_add(&a->written);
		at = (uint32_t)(a->written.n - 1);
		if (!w || !map_set(&a->written_at, place, at))
			return NULL;
		*w = (struct adj_written){.place = place};
	}
	a->last = at;
	return &a->written.v[at];
}

int adj_note_written(struct store *s, enum block_table table, uint64_t block)
{
	struct adj *a = adj_of(s);
	const uint64_t range = block >> (ADJ_RANGE_BITS - BLOCK_BITS);
	if (!a)
		return -ENOMEM;
	if (s->memory || range >= ADJ_RANGES_MAX)
		return 0;
	struct adj_written *w = adj_written_of(a, adj_place(table, range));
	if (!w)
		return -ENOMEM;
	const unsigned k = block % ADJ_BLOCKS;
	w->changed.bit[k / 8] |= (unsigned char)(1u << (k % 8));
	return 0;
}

/* A place is a table and a range of its rows in one number. */
static enum block_table adj_table_at(uint64_t place)
{
	return (enum block_table)(place >> 32);
}

/* The lower half of a place; the upper one is the table's. */
static uint64_t adj_range_at(uint64_t place)
{
	return place & UINT32_MAX;
}

int adj_keep_written(struct store *s, struct err *err)
{
	struct adj *a = s->adj;
	int64_t generation = 0;
	if (!a || !a->written.n)
		return 0;
	int rc = store_meta_get(s, "generation", &generation, err);
	if (rc >= 0)
		rc = store_meta_set(s, "generation", generation + 1, err);
	for (size_t i = 0; rc >= 0 && i < a->written.n; i++) {
		const struct adj_written *w = &a->written.v[i];
		struct adj_changed changed;
		struct adj_name n;
		rc = adj_named(s, adj_table_at(w->place), adj_range_at(w->place), &n, &changed);
		if (rc != 1)
			continue;
		for (size_t k = 0; k < sizeof(changed.bit); k++)
			changed.bit[k] |= w->changed.bit[k];
		rc = adj_name_put(s, &n, &changed, err);
	}
	return rc < 0 ? rc : 0;
}

/* ---- making ---- */

#define ADJ_MAPPED 4 /* segments, of which each reads some 10 MB of the index, until its pages are given back */

/* Appends the row's edges to out. 0 or -errno. */
static int adj_put_row(struct store *s, enum block_table table, uint64_t id, struct buf *out)
{
	return table == BLOCK_FILE ? adj_put_file(s, id, out) : adj_put_process(s, id, out);
}

/* The rows of a segment, and where each ends. Those behind ADJ_BYTES_MAX are not in it. -errno. */
static int adj_put_rows(struct store *s, const struct adj_name *n, struct buf *data, uint32_t *ends)
{
	int rc = 0;
	bool full = false;
	for (uint32_t k = 0; rc == 0 && k < n->rows; k++) {
		const size_t from = data->n;
		if (!full)
			rc = adj_put_row(s, n->table, (n->range << ADJ_RANGE_BITS) + k, data);
		full = full || data->n > ADJ_BYTES_MAX;
		if (data->n > ADJ_BYTES_MAX)
			data->n = from;
		ends[k] = (uint32_t)data->n;
	}
	return rc < 0 ? rc : data->failed ? -ENOMEM : 0;
}

/* In a transaction: makes the segment of a name, and says in the index that it counts. -errno: the file may lie there
 * without counting. */
static int adj_make_named(struct store *s, struct adj_name *n)
{
	static const struct adj_changed nothing;
	struct buf data = {0};
	uint32_t *ends = malloc(n->rows * sizeof(*ends));
	int64_t generation = 0;
	int rc = ends && store_reader(s) ? 0 : -ENOMEM;
	if (rc == 0 && getrandom(&n->mark, sizeof(n->mark), 0) != sizeof(n->mark))
		rc = -EIO;
	if (rc == 0)
		rc = store_meta_get(s, "generation", &generation, NULL);
	n->generation = (uint64_t)generation;
	if (rc >= 0 && (rc = read_rows_begin(s, VIEW_PASS)) == 0) {
		s->adj->making = true;
		rc = adj_put_rows(s, n, &data, ends);
		s->adj->making = false;
		read_rows_end(s);
	}
	if (rc == 0)
		rc = adj_segment_write(s, n, ends, buf_view(&data));
	if (rc == 0)
		rc = adj_name_put(s, n, &nothing, NULL);
	free(ends);
	buf_release(&data);
	return rc;
}

/* How many rows of the range are in no segment that counts. */
static uint32_t adj_behind(uint32_t rows, bool named, const struct adj_name *n, const struct adj_changed *changed)
{
	uint32_t blocks = 0;
	if (!named)
		return rows;
	for (size_t k = 0; k < sizeof(changed->bit); k++)
		blocks += (uint32_t)__builtin_popcount(changed->bit[k]);
	return blocks * BLOCK_ROWS + (rows > n->rows ? rows - n->rows : 0);
}

/* The file is removed; that it is not there is no error. */
static void adj_unlink(const struct store *s, const struct adj_name *n)
{
	char folder[4096], path[4200], name[96];
	adj_folder(s, folder, sizeof(folder));
	adj_file_name(n, name);
	if (folder[0] && snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path))
		unlink(path);
}

/* Makes the segment of a range anew where enough of it is in none. 1; 0: nothing is to be done; -EBUSY, -errno. */
static int adj_bring_range(struct store *s, enum block_table table, uint64_t range)
{
	struct adj_name old, n = {.table = table, .range = range};
	struct adj_changed changed;
	uint64_t last;
	if (sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
		return -EBUSY;
	int rc = block_last(s, table, &last, NULL);
	const uint64_t first = range << ADJ_RANGE_BITS;
	const int named = rc < 0 ? rc : adj_named(s, table, range, &old, &changed);
	if (rc == 0 && named >= 0 && last >= first) {
		n.rows = last - first >= ADJ_ROWS ? ADJ_ROWS : (uint32_t)(last - first + 1);
		const uint32_t behind = adj_behind(n.rows, named == 1, &old, &changed);
		if (s->adj->all ? behind > 0 : behind >= ADJ_LEAST && behind >= n.rows / 4)
			rc = adj_make_named(s, &n) < 0 ? -EIO : 1;
	}
	if (sqlite3_exec(s->db, rc == 1 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK && rc == 1) {
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
		rc = -EIO;
	}
	if (rc == 1 && named == 1) /* who reads an older state of the index asks that from now on */
		adj_unlink(s, &old);
	else if (rc < 0 && n.mark)
		adj_unlink(s, &n);
	return rc;
}

void adj_bring(struct store *s)
{
	struct adj *a = s->adj;
	unsigned made = 0;
	int rc = 0;
	if (!a)
		return;
	for (size_t i = 0; rc >= 0 && !a->off && i < a->written.n; i++) {
		rc = adj_bring_range(s, adj_table_at(a->written.v[i].place), adj_range_at(a->written.v[i].place));
		if (rc == 1 && ++made % ADJ_MAPPED == 0)
			store_unmap(s);
	}
	vec_release(&a->written);
	map_release(&a->written_at);
	a->last = 0;
}

void adj_purge(const struct store *s)
{
	char folder[4096];
	adj_folder(s, folder, sizeof(folder));
	int fd = folder[0] ? open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !d)
		close(fd);
	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0); /* not what is no file */
	if (d)
		closedir(d);
}

/* ---- checking ---- */

int adj_check(struct store *s, int (*say)(void *arg, enum block_table table, uint64_t id), void *arg)
{
	struct buf out = {0};
	struct adj *a = adj_of(s);
	int rc = a ? 0 : -ENOMEM;
	for (unsigned t = 0; rc >= 0 && t < BLOCK_TABLES && !a->off; t++) {
		uint64_t last = 0;
		rc = block_last(s, (enum block_table)t, &last, NULL);
		for (uint64_t id = 0; rc >= 0 && id <= last; id++) {
			struct str row;
			rc = adj_row(s, (enum block_table)t, id, &row);
			if (rc != 1)
				continue;
			buf_reset(&out);
			a->making = true;
			rc = adj_put_row(s, (enum block_table)t, id, &out);
			a->making = false;
			if (rc == 0 && !str_eq(row, buf_view(&out)))
				rc = say(arg, (enum block_table)t, id);
		}
	}
	buf_release(&out);
	return rc < 0 ? rc : 0;
}
