/* read.c - rows of files and their versions, through what a view keeps; and public ids. */
#include "store/adjacency/adjacency.h"
#include "store/counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Made at the first call; NULL: no memory. */
struct reader *store_reader(struct store *s)
{
	if (!s->reader)
		s->reader = calloc(1, sizeof(*s->reader));
	return s->reader;
}

/* It may not be used afterwards. */
void process_view_release(struct process_view *v)
{
	buf_release(&v->info);
	vec_release(&v->execs);
	vec_release(&v->forks);
	vec_release(&v->links);
	vec_release(&v->gaps);
	vec_release(&v->sessions);
}

/* What was read is void. r can be used on. */
static void forget_rows(struct row_reader *r)
{
	sqlite3_blob_close(r->blob);
	r->blob = NULL;
	r->alone = 0;
	for (size_t i = 0; i < r->n_slots; i++)
		r->slots[i].block = 0;
}

/* Releases the blocks of rows that are kept in memory. */
static void release_slots(struct row_reader *r)
{
	for (size_t i = 0; i < r->n_slots; i++)
		free(r->slots[i].mem);
	free(r->slots);
	r->slots = NULL;
	r->n_slots = 0;
}

/* r can be used again. */
static void release_rows(struct row_reader *r)
{
	forget_rows(r);
	release_slots(r);
	block_cursor_release(&r->outside);
}

/* NULL is no error. */
void store_reader_free(struct store *s)
{
	struct reader *r = s->reader;
	if (!r)
		return;
	for (size_t i = 0; i < BLOCK_TABLES; i++)
		release_rows(&r->rows[i]);
	map_release(&r->dir_map);
	vec_release(&r->dir_list);
	buf_release(&r->dirs);
	process_view_release(&r->a);
	process_view_release(&r->b);
	process_view_release(&r->told_a);
	process_view_release(&r->told_b);
	pver_release(&r->ver);
	pfile_release(&r->file);
	buf_release(&r->run_text);
	buf_release(&r->run_lists);
	buf_release(&r->exec_text);
	buf_release(&r->brief_text);
	buf_release(&r->exec_lists);
	buf_release(&r->file_text);
	buf_release(&r->sort_text);
	buf_release(&r->identity);
	free(r->ids.v);
	free(r->uses.v);
	vec_release(&r->counts);
	vec_release(&r->opened.v);
	edges_release(&r->used.edges);
	free(r);
	s->reader = NULL;
}

/* ---- rows ---- */

/* Outside a view, where a row may change between two calls. */
static int read_outside(struct store *s, enum block_table table, struct row_reader *r, uint64_t id, struct str *ret)
{
	r->alone = 0;
	r->outside.table = table;
	r->outside.loaded = false;
	return block_row(s, &r->outside, id, NULL, ret);
}

/* A row of a block that is too long to be kept, of n bytes. 1, 0: it is empty; -EIO. */
static int read_alone(struct row_reader *r, uint64_t id, size_t n, struct str *ret)
{
	char head[1 + BLOCK_ROWS * 10];
	struct buf *b = &r->outside.bytes;
	uint32_t *at = r->outside.at;
	unsigned k = id % BLOCK_ROWS;
	size_t take = n < sizeof(head) ? n : sizeof(head);
	r->alone = 0;
	if (sqlite3_blob_read(r->blob, head, (int)take, 0) != SQLITE_OK)
		return -EIO;
	int rc = block_places(str_n(head, take), at);
	if (rc < 0 || at[BLOCK_ROWS] > n)
		return -ENOTRECOVERABLE;
	buf_reset(b);
	size_t length = at[k + 1] - at[k];
	if (length && !buf_room(b, length))
		return -ENOMEM;
	if (length && sqlite3_blob_read(r->blob, b->p, (int)length, (int)at[k]) != SQLITE_OK)
		return -EIO;
	b->n = length;
	r->alone = length ? id : 0;
	*ret = buf_view(b);
	return length != 0;
}

/* By a blob handle that goes from block to block: a third of a statement's cost. 2: the block is in the slot; 1: *ret
 * is the row; 0: there is none; -errno. */
static int fetch_block(struct store *s, enum block_table table, struct row_reader *r, uint64_t id,
                       struct block_slot *slot, struct str *ret)
{
	static const char *const name[] = {[BLOCK_FILE] = "files", [BLOCK_PROCESS] = "process"};
	sqlite3_int64 block = (sqlite3_int64)(id >> BLOCK_BITS);
	int code = r->blob ? sqlite3_blob_reopen(r->blob, block)
	                   : sqlite3_blob_open(s->db, "main", name[table], "pack", block, 0, &r->blob);
	slot->block = 0;
	if (code != SQLITE_OK) {
		sqlite3_blob_close(r->blob); /* one that failed is of no more use */
		r->blob = NULL;
		return (code & 0xff) == SQLITE_ERROR ? 0 : -EIO; /* SQLITE_ERROR: there is no such row */
	}
	size_t n = (size_t)sqlite3_blob_bytes(r->blob);
	if (n > BLOCK_WHOLE)
		return read_alone(r, id, n, ret);
	if (n > slot->cap) {
		uint32_t cap = (uint32_t)(n + n / 4);
		free(slot->mem);
		slot->mem = malloc(cap);
		slot->cap = slot->mem ? cap : 0;
		if (!slot->mem)
			return -ENOMEM;
	}
	uint32_t at[BLOCK_ROWS + 1];
	if (sqlite3_blob_read(r->blob, slot->mem, (int)n, 0) != SQLITE_OK)
		return -EIO;
	if (block_places(str_n(slot->mem, n), at) < 0 || at[BLOCK_ROWS] > n)
		return -ENOTRECOVERABLE;
	for (unsigned i = 0; i <= BLOCK_ROWS; i++)
		slot->at[i] = (uint16_t)at[i];
	slot->block = (id >> BLOCK_BITS) + 1;
	return 2;
}

/* Reads a row of a table. 1, 0: there is none; -errno. *ret is valid until rows are read outside of a view, or the
 * view ends. */
static int read_row(struct store *s, enum block_table table, uint64_t id, struct str *ret)
{
	struct reader *reader = store_reader(s);
	if (!reader)
		return -ENOMEM;
	struct row_reader *r = &reader->rows[table];
	if (!s->viewing)
		return read_outside(s, table, r, id, ret);
	if (!r->slots) {
		if (!(r->slots = calloc(s->view_blocks, sizeof(*r->slots))))
			return -ENOMEM;
		r->n_slots = s->view_blocks;
	}
	uint64_t block = id >> BLOCK_BITS;
	struct block_slot *slot = &r->slots[block % r->n_slots];
	if (slot->block != block + 1) {
		if (r->alone && r->alone == id) {
			*ret = buf_view(&r->outside.bytes);
			return 1;
		}
		int rc = fetch_block(s, table, r, id, slot, ret);
		if (rc != 2)
			return rc;
	}
	unsigned k = id % BLOCK_ROWS;
	*ret = str_n(slot->mem + slot->at[k], slot->at[k + 1] - slot->at[k]);
	return ret->n != 0;
}

int read_file_row(struct store *s, uint64_t id, struct str ret[FILE_PARTS])
{
	struct str row;
	int rc = read_row(s, BLOCK_FILE, id, &row);
	return rc <= 0 || pack_split(row, FILE_PARTS, ret) ? rc : -ENOTRECOVERABLE;
}

/* 1, 0, -errno. Valid until another row of the table is read. */
int read_process_row(struct store *s, uint64_t id, struct str ret[PROCESS_PARTS])
{
	struct str row;
	int rc = read_row(s, BLOCK_PROCESS, id, &row);
	return rc <= 0 || pack_split(row, PROCESS_PARTS, ret) ? rc : -ENOTRECOVERABLE;
}

int store_view_begin(struct store *s, unsigned blocks)
{
	if (s->views) {
		s->views++;
		return 0;
	}
	if (!sqlite3_get_autocommit(s->db))
		return -EBUSY;
	if (sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		return -EBUSY;
	int64_t base; /* the first that is read says which state it is */
	if (store_meta_get(s, "base", &base, NULL) < 0) {
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
		return -EBUSY;
	}
	s->views = 1;
	return read_rows_begin(s, blocks);
}

int read_rows_begin(struct store *s, unsigned blocks)
{
	for (size_t i = 0; s->reader && i < BLOCK_TABLES; i++) {
		forget_rows(&s->reader->rows[i]);
		if (s->reader->rows[i].n_slots != blocks)
			release_slots(&s->reader->rows[i]);
	}
	s->view_blocks = blocks;
	if (s->reader) {
		s->reader->a.id = s->reader->b.id = s->reader->ver_id = s->reader->user.run = s->reader->used.exec =
		    s->reader->opened.exec = 0;
		s->reader->told_a.id = s->reader->told_b.id = 0;
	}
	adj_view_begin(s);
	s->viewing = true;
	return 0;
}

/* What was read in it is void. */
void read_rows_end(struct store *s)
{
	for (size_t i = 0; s->reader && i < BLOCK_TABLES; i++)
		forget_rows(&s->reader->rows[i]);
	s->viewing = false;
}

/* Ends what store_view_begin began; only the last of several ends the transaction. */
void store_view_end(struct store *s)
{
	if (!s->views || --s->views)
		return;
	read_rows_end(s);
	sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	counts_keep(s);
}

/* Ends the view however often it was begun. */
void view_end_all(struct store *s)
{
	if (s->views > 1)
		s->views = 1;
	store_view_end(s);
}

/* ---- files and versions ---- */

int read_stored_file(struct store *s, uint64_t id, struct pfile *ret)
{
	struct str row[FILE_PARTS];
	int rc = read_file_row(s, id, row);
	if (rc == 1 && (rc = pfile_get(s, row[FILE_INFO], ret, NULL)) == 0)
		rc = 1;
	return rc;
}

/* Steps to the n-th (from 1) version of a run of them. */
static int nth(struct store *s, struct str pack, uint64_t file, uint32_t n, struct pver *ret)
{
	struct cur c = cur_of(pack);
	int64_t t = s->base;
	int rc = 1;
	while (n-- && rc == 1)
		rc = pver_next(&c, file, &t, ret);
	return rc;
}

/* A version beyond those in the file's row. 1, 0: there is none; -errno. */
static int read_more_version(struct store *s, uint64_t id, struct pver *ret)
{
	uint64_t file = version_file(id);
	sqlite3_stmt *st = store_stmt(s, SQL_more_get, NULL);
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	int rc = store_step(s, st, NULL);
	if (rc == 1) {
		uint64_t first = (uint64_t)sqlite3_column_int64(st, 0);
		rc = version_file(first) == file ? nth(s, column_str(st, 1), file, version_n(id) - version_n(first) + 1, ret)
		                                 : 0;
	}
	sqlite3_reset(st);
	return rc;
}

/* Reads the row of a version's file into *ret_file, which may be NULL, and the version where it is in that row. 1, 0:
 * there is none, -errno. */
static int read_version_in_row(struct store *s, uint64_t id, struct pver *ret, struct pfile *ret_file)
{
	struct str row[FILE_PARTS];
	int rc = read_file_row(s, version_file(id), row);
	if (rc == 1 && ret_file) {
		rc = pfile_get(s, row[FILE_INFO], ret_file, NULL);
		rc = rc < 0 ? rc : 1;
	}
	if (rc == 1 && version_n(id) <= VERSIONS_INLINE)
		rc = nth(s, row[FILE_VER], version_file(id), version_n(id), ret);
	return rc;
}

int read_version(struct store *s, uint64_t id, struct pver *ret, struct pfile *ret_file)
{
	uint32_t n = version_n(id);
	if (!n)
		return 0;
	struct reader *r = store_reader(s);
	if (!r)
		return -ENOMEM;
	/* Asked again of the same: what made it, what it came from. */
	if (s->viewing && ret == &r->ver && r->ver_id == id && !ret_file)
		return 1;
	if (ret == &r->ver)
		r->ver_id = 0;
	int rc = n <= VERSIONS_INLINE || ret_file ? read_version_in_row(s, id, ret, ret_file) : 1;
	if (rc == 1 && n > VERSIONS_INLINE)
		rc = read_more_version(s, id, ret);
	if (rc == 1 && ret == &r->ver)
		r->ver_id = id;
	return rc;
}

/* Tells `say` of each version of a packed run of them. 1: say stopped it; 0, -errno. *n: the number of the first,
 * which goes on. */
static int each_packed_version(struct store *s, struct str pack, uint64_t file, uint32_t *n, struct pver *v,
                               int (*say)(void *arg, uint32_t n, const struct pver *v), void *arg)
{
	struct buf copy = {0}; /* say may ask the store */
	buf_str(&copy, pack);
	struct cur c = cur_of(buf_view(&copy));
	int64_t t = s->base;
	int rc = copy.failed ? -ENOMEM : 1;
	while (rc == 1 && (rc = pver_next(&c, file, &t, v)) == 1) {
		int stop = say(arg, (*n)++, v);
		if (stop)
			rc = stop < 0 ? stop : -ECANCELED;
	}
	buf_release(&copy);
	return rc == -ECANCELED ? 1 : rc;
}

int read_versions(struct store *s, uint64_t file, struct pver *v,
                  int (*say)(void *arg, uint32_t n, const struct pver *v), void *arg)
{
	struct str row[FILE_PARTS];
	struct buf pack = {0};
	sqlite3_stmt *st;
	uint32_t n = 1;
	int rc = read_file_row(s, file, row);
	if (s->reader && v == &s->reader->ver)
		s->reader->ver_id = 0;
	if (rc == 1)
		rc = each_packed_version(s, row[FILE_VER], file, &n, v, say, arg);
	for (uint64_t from = version_id(file, VERSIONS_INLINE + 1); rc == 0 && n == version_n(from);) {
		st = store_stmt(s, SQL_more_range, NULL);
		if (!st) {
			rc = -EIO;
			break;
		}
		buf_reset(&pack);
		sqlite3_bind_int64(st, 1, (int64_t)from);
		sqlite3_bind_int64(st, 2, (int64_t)version_id(file + 1, 0));
		rc = store_step(s, st, NULL);
		if (rc == 1)
			buf_str(&pack, column_str(st, 1));
		sqlite3_reset(st);
		if (rc != 1)
			break;
		rc = each_packed_version(s, buf_view(&pack), file, &n, v, say, arg);
		from = version_id(file, n);
	}
	buf_release(&pack);
	return rc;
}

int read_attached(struct store *s, uint64_t file, uint64_t n, struct ids *out)
{
	struct str row[FILE_PARTS];
	struct pfile f;
	int rc = read_file_row(s, file, row);
	bool spilled = false;
	if (rc == 1) {
		struct cur c = cur_of(row[FILE_RD]);
		struct prd last = {0}, r;
		rc = pfile_identity(row[FILE_INFO], &f);
		spilled = rc == 0 && f.flags & PFILE_SPILLED;
		while (rc == 0 && (rc = prd_next(&c, &last, &r)) == 1)
			rc = r.n == n ? ids_add(out, r.exec) : 0;
	}
	if (rc == 0 && spilled)
		rc = lists_get(s, list_key(LIST_READER, version_id(file, n)), out);
	ids_sort(out);
	return rc;
}

/* ---- public ids ---- */

/* Appends a file's identity for a hash. */
static void identity_of_stored_file(struct store *s, const struct pfile *f, struct buf *out)
{
	if (f->domain) {
		const struct sdomain *d = store_domain(s, f->domain);
		identity_file(out, d ? str_n(d->name, d->name_n) : str_of(""), f->ino, f->gen);
	} else {
		struct buf path = {0};
		store_path(s, f->path, &path);
		identity_absent(out, buf_view(&path));
		buf_release(&path);
	}
}

void identity_of_version(struct store *s, const struct pfile *f, const struct pver *v, struct buf *out)
{
	identity_of_stored_file(s, f, out);
	if (v->flags >> PVER_UNOBSERVED & 1) {
		const struct pfp *fp = v->fp && v->fp <= f->fps.n ? &f->fps.v[v->fp - 1] : NULL;
		identity_unobserved(out, fp != NULL, fp ? fp->size : 0, fp ? fp->mtime : 0, v->k);
	} else {
		identity_version(out, pver_session(s, v), v->seq);
	}
}

int hash_of_file(struct store *s, uint64_t id, const struct pfile *f, struct id_hash *ret)
{
	struct reader *r = store_reader(s);
	if (!r)
		return -ENOMEM;
	if (!f) {
		int rc = read_stored_file(s, id, &r->file);
		if (rc <= 0)
			return rc;
		f = &r->file;
	}
	buf_reset(&r->identity);
	identity_of_stored_file(s, f, &r->identity);
	*ret = identity_hash(&r->identity);
	return 1;
}

int hash_of_version(struct store *s, uint64_t id, struct id_hash *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_version(s, id, &r->ver, &r->file) : -ENOMEM;
	if (rc <= 0)
		return rc;
	buf_reset(&r->identity);
	identity_of_version(s, &r->file, &r->ver, &r->identity);
	*ret = identity_hash(&r->identity);
	return 1;
}

uint64_t read_pidns(struct store *s, const struct pproc *p)
{
	char ns[24];
	struct str w = store_interned(s, p->pidns);
	snprintf(ns, sizeof(ns), "%.*s", (int)(w.n < 20 ? w.n : 20), w.p);
	return strtoull(ns, NULL, 10);
}

int hash_of_exec(struct store *s, uint64_t id, struct id_hash *ret)
{
	struct reader *r = store_reader(s);
	int rc = r ? read_process(s, exec_process(id), &r->b) : -ENOMEM;
	if (rc <= 0 || !view_exec(&r->b, exec_n(id)))
		return rc < 0 ? rc : 0;
	uint64_t pidns = read_pidns(s, &r->b.p); /* before boot: words may take each other's place */
	buf_reset(&r->identity);
	identity_exec(&r->identity, store_interned(s, r->b.p.boot), pidns, r->b.p.pid, r->b.p.started, exec_n(id));
	*ret = identity_hash(&r->identity);
	return 1;
}
