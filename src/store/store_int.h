/* store_int.h - what the parts of the store share. */
#ifndef STEMMA_STORE_INT_H
#define STEMMA_STORE_INT_H

#include "base/buf.h"
#include "base/map.h"
#include "store/store.h"

#include <sqlite3.h>

#define STORE_APPLICATION 0x53544d41 /* "STMA" */
#define STORE_VERSION 23
#define STORE_PATIENCE_MS 60000 /* for others who write */

/* Row numbers. A version is its file's row and its number n, an execution its process's row and its exec number: the
 * versions of a file and the executions of a process are ranges, and neither needs a column or an index. */
#define VERSION_BITS 24
#define VERSION_MAX ((1u << VERSION_BITS) - 1)
#define EXEC_BITS 20
/* The id of the n-th version of a file, from 1. */
static inline uint64_t version_id(uint64_t file, uint64_t n)
{
	return file << VERSION_BITS | n;
}
/* The file of a version. */
static inline uint64_t version_file(uint64_t id)
{
	return id >> VERSION_BITS;
}
/* Which version of its file it is, from 1. */
static inline uint32_t version_n(uint64_t id)
{
	return id & VERSION_MAX;
}
/* The id of the n-th execution of a process; 0 is its part before the first exec. */
static inline uint64_t exec_id(uint64_t process, uint64_t n)
{
	return process << EXEC_BITS | n;
}
/* The process of an execution. */
static inline uint64_t exec_process(uint64_t id)
{
	return id >> EXEC_BITS;
}
/* Which execution of its process it is. */
static inline uint32_t exec_n(uint64_t id)
{
	return id & ((1u << EXEC_BITS) - 1);
}

enum store_sql {
#define SQL(name, text) SQL_##name,
#include "store/views/sql.def"
	SQL_COUNT
};

struct sdomain {
	char *name, *type; /* name may hold any byte */
	size_t name_n;
	bool network;
};

/* The host of a session, for naming hosts of what it said. */
struct ssession {
	uint64_t number;
	uint64_t host, boot, pidns, run, tool, mode; /* host, boot, tool, mode: dict; run: row */
	bool damaged;                                /* part of what it said is missing (damage.c) */
	bool gaps;                                   /* it tells of gaps that are no execution's */
	bool unended;                                /* it has no end; not of a node's, which says when it was killed */
};

struct interned_slot {
	uint64_t id;
	char *p;
	size_t n;
};

struct ids {
	uint64_t *v;
	size_t n, cap;
};
/* What was counted in a view, to be kept when that is over (counts.c). */
struct counts_kept {
	struct ids runs;
	struct buf bytes; /* of each: its length, what is kept */
	int64_t data_version;
};

struct store {
	char *home, *index;
	sqlite3 *db;
	unsigned flags;
	bool memory;
	unsigned char *handed; /* the file, where it came as a descriptor; mapped */
	size_t handed_size;
	struct store_source *source; /* where the index lies elsewhere (elsewhere/source.h) */
	struct elsewhere *elsewhere; /* what SQLite reads it by */
	bool was_older;              /* see store_was_older */
	bool damaged;                /* SQLite made no sense of a page */
	uint64_t reads_failed;       /* see store_reads_failed_in */
	uint64_t inode;              /* of the database file */
	int64_t base;                /* times are stored as differences to it: that of the first event ever met */
	bool has_base;
	sqlite3_stmt *stmt[SQL_COUNT];
	VEC(uint64_t) layouts;
	struct map layout_map;
	VEC(struct sdomain) domains;        /* by row - 1 */
	VEC(struct interned_slot) interned; /* cache of dict rows, by id modulo its size */
	struct map session_map;             /* row -> sessions */
	VEC(struct ssession) sessions;
	struct buf scratch, scratch2;
	struct damages *damages; /* damage.c; NULL: not read yet */
	struct reader *reader;   /* read.h */
	struct adj *adj;         /* adjacency/adjacency.h */
	bool viewing;            /* between store_view_begin and _end: rows do not change */
	unsigned views;          /* that began and have not ended, one in the other */
	unsigned view_blocks;    /* of each table, that the view keeps */
	struct counts_kept counted;
};
/* Is the index a file of its own on this machine? */
static inline bool store_has_file(const struct store *s)
{
	return !s->memory && !s->handed && !s->source;
}
void store_reader_free(struct store *s);

void view_end_all(struct store *s);

/* ---- db.c ---- */

/* The statement, ready to bind; NULL sets err. */
sqlite3_stmt *store_stmt(struct store *s, enum store_sql which, struct err *err);
/* Sets err from SQLite's last error and returns -errno. */
int store_db_error(struct store *s, struct err *err, const char *what);
/* Runs a statement that gives no row (bound already) and resets it. */
int store_run_stmt(struct store *s, sqlite3_stmt *st, struct err *err);
/* One step: 1 row, 0 none, -errno. The caller resets after using the row. */
int store_step(struct store *s, sqlite3_stmt *st, struct err *err);
struct ids;
/* Appends the numbers that a statement gives (bound already), its first column, and resets it. 0 or -errno. */
int store_column(struct store *s, sqlite3_stmt *st, struct ids *out);
/* The bytes in a column, valid until the next step. */
static inline struct str column_str(sqlite3_stmt *st, int i)
{
	const void *p = sqlite3_column_blob(st, i);
	return str_n(p, (size_t)sqlite3_column_bytes(st, i));
}
/* Binds bytes, which must live until the statement is done; empty ones are no NULL. */
static inline void bind_str(sqlite3_stmt *st, int i, struct str v)
{
	if (v.n)
		sqlite3_bind_blob(st, i, v.p, (int)v.n, SQLITE_STATIC);
	else
		sqlite3_bind_zeroblob(st, i, 0);
}
/* A number of the index by its key: 1, 0: there is none; -errno with a sentence. */
int store_meta_get(struct store *s, const char *key, int64_t *ret, struct err *err);

/* Sets a number of the index's own. 0, -errno with a sentence. */
int store_meta_set(struct store *s, const char *key, int64_t value, struct err *err);
/* The highest row that a statement gives. 0, -errno with a sentence; *ret stays as it was where there is none. */
int store_max(struct store *s, enum store_sql which, uint64_t *ret, struct err *err);
/* Opens path with the schema; fresh: for filling in one go, without a journal. */
int store_db_open(struct store *s, const char *path, bool write, bool fresh, struct err *err);
void store_db_close(struct store *s);
/* Gives the pages back that are mapped, between two transactions: they are mapped again when they are asked for. */
void store_unmap(struct store *s);
/* Waits for the lock of the index. A descriptor, whose close releases it; -errno with a sentence. */
int store_lock(struct store *s, struct err *err);
/* Many may open the index at a time, while nobody puts another in its place; replace: this one does, while nobody opens
 * it. A descriptor to close when that is done, or -1: there is no lock to be had. */
int store_turn(struct store *s, bool replace);
/* Puts the file `by` in the index's place, or (NULL) takes the index away. */
int store_replace(struct store *s, const char *by, struct err *err);
int store_views(struct store *s, struct err *err);

/* How an index that cannot be used is made anew. */
const char *store_hint_anew(const struct store *s);
/* Somebody else may have made the index: with a view or a trigger it would run statements of theirs, as long as they
 * like. It may have what store_schema makes, all of it and nothing else. 0, -ENOTRECOVERABLE, -errno with a sentence.
 */
int store_check_tables(struct store *s, struct err *err);

/* ---- elsewhere/elsewhere.c ---- */

/* The VFS of a store with a source; NULL without memory. */
const char *store_source_vfs(struct store *s);
/* Closes the source, once SQLite has closed the index. */
void store_source_release(struct store *s);

/* ---- words and small tables ---- */

/* The text of a dict row, kept by the store until another word takes its place: use it at once. "" for 0 or not found.
 */
struct str store_interned(struct store *s, uint64_t id);
/* The bits of a layout. 1, 0 where the index has none of that number, or -errno. */
int store_layout(struct store *s, uint64_t id, uint64_t *ret);
/* The number of the layout, given to a new one. 0, -errno with a sentence. */
int store_layout_id(struct store *s, uint64_t bits, uint64_t *ret, struct err *err);

/* The file system with that number. NULL: there is none, or it cannot be read. Valid until another is asked for. */
const struct sdomain *store_domain(struct store *s, uint64_t id);

/* The session with that number. NULL: there is none, or it cannot be read. Valid until another is asked for. */
const struct ssession *store_session(struct store *s, uint64_t id);
/* Appends the path with that row to out; "" when not known. */
void store_path(struct store *s, uint64_t id, struct buf *out);

/* ---- keys.c: hashes to rows, in chunks ---- */

enum key_kind { KEY_WORD, KEY_PATH, KEY_FILE, KEY_EXEC, KEY_VERSION };
struct key_entry {
	uint32_t hash;
	uint64_t id;
};
struct key_entries { /* by hash, then by row */
	struct key_entry *v;
	size_t n, cap;
};
/* Remembers what was looked at last: ask in ascending order. Zero it. */
struct key_cursor {
	struct key_entries v; /* what was found */
	struct key_chunk {
		struct key_entries v;
		enum key_kind kind;
		int64_t from; /* key of the chunk in v, -1 none */
		uint64_t to;  /* first hash that is not in it */
	} chunk;
	struct key_recent {
		struct key_entries v;
		int64_t next; /* key of the bucket in v, + 1; 0 none */
	} recent;
};
/* Rows filed under hash, in v[*ret_at .. +*ret_n]. 0, -errno with a sentence. */
int keys_find(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t hash, struct err *err, size_t *ret_at,
              size_t *ret_n);
/* Entries between two hashes, into c->v, in order. 0, -errno with a sentence. */
int keys_range(struct store *s, struct key_cursor *c, enum key_kind kind, uint32_t lo, uint32_t hi, struct err *err);
/* Whether what is added is all there was to index, or a part of it. */
enum keys_when { KEYS_ALL, KEYS_PART, KEYS_LAST_PART };
/* Adds entries (sorts them); what is there already stays once. 0, -errno with a sentence. */
int keys_add(struct store *s, enum key_kind kind, struct key_entry *v, size_t n, enum keys_when when, struct err *err);
void key_cursor_release(struct key_cursor *c);

/* ---- blocks.c: rows of files and processes, several in one row of the database ---- */

#define BLOCK_BITS 4
#define BLOCK_ROWS (1u << BLOCK_BITS) /* row id is number id % BLOCK_ROWS of block id >> BLOCK_BITS */
enum block_table { BLOCK_FILE, BLOCK_PROCESS, BLOCK_TABLES };
/* Where its rows begin, and the last one ends; a row that is not there has no length. The end may lie beyond what is
 * given, which may be the block's beginning only. 0, -ENOTRECOVERABLE. */
int block_places(struct str block, uint32_t ret[BLOCK_ROWS + 1]);
/* The highest row, 0 none. */
int block_last(struct store *s, enum block_table table, uint64_t *ret, struct err *err);

/* Remembers the block that was looked at last: ask in ascending order. */
struct block_cursor {
	enum block_table table;
	bool loaded;
	uint64_t block;
	struct buf bytes;
	uint32_t at[BLOCK_ROWS + 1];
};
/* A row, valid until the next call. 1, 0, -errno. */
int block_row(struct store *s, struct block_cursor *c, uint64_t id, struct err *err, struct str *ret);
void block_cursor_release(struct block_cursor *c);

/* Writes rows, best in ascending order; what was written shows after block_flush only. */
struct block_writer {
	struct store *s;
	enum block_table table;
	bool fresh; /* no block is there before it is written */
	bool open, had;
	uint64_t block;
	unsigned row, given; /* being added to, BLOCK_ROWS none; bits of those that are new */
	struct buf was, now, out;
	uint32_t at[BLOCK_ROWS + 1];            /* in was */
	size_t from[BLOCK_ROWS], n[BLOCK_ROWS]; /* in now */
};
/* The caller appends the row's bytes to *ret, before the next call. 0, -errno. */
int block_put(struct block_writer *w, uint64_t id, struct err *err, struct buf **ret);
/* Writes the block that is open, if one is. 0, -errno. */
int block_flush(struct block_writer *w, struct err *err);

void block_writer_release(struct block_writer *w);

/* ---- lists.c: sets of rows under a row, in chunks ---- */

enum list_kind {
	LIST_CHILD = 1,
	LIST_RUN,
	LIST_DIR,
	LIST_READER,
	LIST_DERIVED,
	LIST_NOTE,
	LIST_TOMBSTONE,
	LIST_TOLD_PROCESS,
	LIST_TOLD_PATH
};
/* The key of a list: LIST_NOTE: sessions with notes, by what they are on: run << 2 | NOTES_RUN, file << 2 |
 * NOTES_FILE, and NOTES_ALL. LIST_TOMBSTONE: of row 0, sessions that were forgotten (tombstones.c).
 * LIST_TOLD_PROCESS, LIST_TOLD_PATH: rows that a session told of; not in its own row, which is read by every
 * question. */
static inline uint64_t list_key(enum list_kind kind, uint64_t row)
{
	return (uint64_t)kind << 56 | row;
}
/* Adds ascending values; an upper bound is kept: values may be there twice, or no longer hold. 0, -errno with a
 * sentence. */
int lists_add(struct store *s, uint64_t key, const uint64_t *v, size_t n, struct err *err);
/* Appends all values of key to out. 0, -errno. */
int lists_get(struct store *s, uint64_t key, struct ids *out);
int lists_clear(struct store *s, uint64_t from, uint64_t to, struct err *err);
int ids_add(struct ids *v, uint64_t id);
void ids_sort(struct ids *v); /* ascending, each once */

/* ---- tombstones.c: sessions that were forgotten ---- */

struct collect;
/* Sorted. 0, -errno. */
int tombstones_get(struct store *s, struct ids *ret);

/* Keeps which sessions were forgotten. */
int tombstones_put(struct store *s, const struct ids *tombstones, struct err *err);
int tombstones_add(struct ids *tombstones, uint64_t session); /* sort with ids_sort when all are in */
/* Was the session forgotten? tombstones: sorted. */
bool tombstones_has(const struct ids *tombstones, uint64_t session);
/* Takes the frames of forgotten sessions out; how many there were. */
size_t tombstones_filter(const struct ids *tombstones, struct collect *w);

/* ---- damage.c: what is missing in the logs ---- */

enum damage_kind {
	DAMAGE_HOLE,    /* bytes of a segment, from start to stop, and the session that they name, or 0 */
	DAMAGE_TAIL,    /* the same, at its end */
	DAMAGE_SESSION, /* frames of the session are missing, of which seqs up to stop are known to have been there */
};
struct damage_row {
	enum damage_kind kind;
	uint64_t segment, start, session, stop;
};
/* Appends the rows to *ret (release it). 0, -errno. */
struct damage_rows {
	struct damage_row *v;
	size_t n, cap;
};
int damage_rows(struct store *s, struct damage_rows *ret, struct err *err);
/* Is part of what a session said missing? Its number, whether it has an end, and its row's column info. */
bool damage_concerns(struct store *s, uint64_t number, bool ended, struct str info);
void damage_forget(struct store *s); /* what was read of it */

/* ---- public ids ---- */

struct id_hash {
	uint64_t hi, lo;
};
/* Of an identity's bytes, which these append. */
void identity_file(struct buf *b, struct str domain, uint64_t ino, uint64_t gen);
void identity_absent(struct buf *b, struct str path);
void identity_version(struct buf *b, uint64_t session, uint64_t seq); /* after its file's */
void identity_unobserved(struct buf *b, bool has_fp, uint64_t size, int64_t mtime, uint64_t k);
/* An execution: process, and which of its images. */
void identity_exec(struct buf *b, struct str boot, uint64_t pidns, uint64_t pid, int64_t started, uint64_t n);

void identity_build(struct buf *b, uint64_t session, uint64_t seq);
struct id_hash identity_hash(const struct buf *b);
/* The public id of a hash: kind and 24 digits. */
void identity_text(char kind, struct id_hash h, struct pubid *ret);

#endif
