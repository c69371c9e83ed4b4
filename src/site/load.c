#include "site/load.h"

#include "base/hash.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/vec.h"
#include "site/builder.h"
#include "site/load_int.h"
#include "store/store.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SEED = 32, CHUNK = 256 << 10, STATEMENT = 64 << 10, OLDEST_SERVER = 120000, BEAT_ROWS = 4096 };

struct piece {
	int64_t number;
	uint64_t sum, rows;
	char was[40]; /* what the database has of it; "": nothing */
};
struct loading {
	struct database *to;
	struct sqlite3 *db;
	struct err *err;
	struct load_result *ret;
	struct builder *builder;     /* NULL: none */
	struct builder_state *state; /* what the index has of each session and host */
	bool made;                   /* the tables are new and empty */
	char seed[SEED + 1];         /* so that nobody who does not know it can make rows with the sum of others */
	const struct load_table *t;  /* at hand, with its pieces */
	VEC(struct piece) pieces;
	struct map by_number;
	struct buf row, out;
};

/* ---- rows as COPY wants them ---- */

/* In decimal; fast, for all rows go through it. */
static void put_number(struct buf *b, int64_t v)
{
	char text[24], *p = text + sizeof(text);
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*--p = '-';
	buf_add(b, p, (size_t)(text + sizeof(text) - p));
}

/* A NUL, which PostgreSQL cannot hold and no path has, becomes backslash and 0. */
static void put_text(struct buf *b, const char *p, size_t n)
{
	for (size_t i = 0, from = 0; i <= n; i++) {
		const char c = i < n ? p[i] : 'x';
		const char *as = i == n      ? ""
		                 : c == '\\' ? "\\\\"
		                 : c == '\t' ? "\\t"
		                 : c == '\n' ? "\\n"
		                 : c == '\r' ? "\\r"
		                 : !c        ? "\\\\0"
		                             : NULL;
		if (!as)
			continue;
		buf_add(b, p + from, i - from);
		buf_add(b, as, strlen(as));
		from = i + 1;
	}
}

/* Appends a number as PostgreSQL reads it; exact. */
static void put_real(struct buf *b, double v)
{
	if (isinf(v))
		buf_printf(b, "%sInfinity", v < 0 ? "-" : "");
	else
		buf_printf(b, "%.17g", v);
}

/* Sets l->row to the row as COPY has it, with the seed in front for the sum. */
static void put_row(struct loading *l, sqlite3_stmt *st)
{
	struct buf *b = &l->row;
	buf_reset(b);
	buf_add(b, l->seed, SEED);
	for (unsigned i = 0; i < l->t->n_columns; i++) {
		if (i)
			buf_char(b, '\t');
		switch (sqlite3_column_type(st, (int)i)) {
		case SQLITE_NULL:
			buf_add(b, "\\N", 2);
			break;
		case SQLITE_INTEGER:
			put_number(b, sqlite3_column_int64(st, (int)i));
			break;
		case SQLITE_FLOAT:
			put_real(b, sqlite3_column_double(st, (int)i));
			break;
		default: {
			const char *p = sqlite3_column_blob(st, (int)i);
			put_text(b, p ? p : "", (size_t)sqlite3_column_bytes(st, (int)i));
		}
		}
	}
	buf_char(b, '\n');
}

/* ---- pieces ---- */

/* The piece of this number, made if there is none. NULL without memory. */
static struct piece *piece_of(struct loading *l, int64_t number)
{
	const uint32_t at = map_get(&l->by_number, (uint64_t)number);
	if (at != VEC_NONE)
		return &l->pieces.v[at];
	struct piece *p = vec_add(&l->pieces);
	if (!p || !map_set(&l->by_number, (uint64_t)number, (uint32_t)(l->pieces.n - 1)))
		return NULL;
	*p = (struct piece){.number = number};
	return p;
}

/* The piece in which the row is, by its key. NULL without memory. */
static struct piece *piece_of_row(struct loading *l, sqlite3_stmt *st)
{
	const int key = (int)l->t->key;
	return piece_of(l, sqlite3_column_type(st, key) == SQLITE_INTEGER ? load_piece(l->t, sqlite3_column_int64(st, key))
	                                                                  : LOAD_NO_PIECE);
}

/* SUM/ROWS; empty: it has no rows. */
static void piece_sum(const struct piece *p, char ret[40])
{
	ret[0] = '\0';
	if (p->rows)
		snprintf(ret, 40, "%016llx/%llu", (unsigned long long)p->sum, (unsigned long long)p->rows);
}

/* Whether the piece's rows are others than those in the database. */
static bool piece_changed(const struct piece *p)
{
	char now[40];
	piece_sum(p, now);
	return strcmp(now, p->was) != 0;
}

/* Notes a piece's sum as the database has it. 0, -ENOMEM. */
static int note_piece(void *arg, const char *const *columns)
{
	struct piece *p = piece_of(arg, strtoll(columns[0], NULL, 10));
	if (!p)
		return -ENOMEM;
	snprintf(p->was, sizeof(p->was), "%s", columns[1]);
	return 0;
}

/* ---- a table ---- */

/* Writes what waits if it is more than least bytes. 0, -errno with a sentence. */
static int flush_out(struct loading *l, size_t least)
{
	if (l->out.failed)
		return err_set(l->err, ENOMEM, "cannot load");
	if (l->out.n <= least)
		return 0;
	int rc = database_put(l->to, l->out.p, l->out.n, l->err);
	l->ret->bytes += l->out.n;
	buf_reset(&l->out);
	return rc;
}

/* Of an execution: how far its host's record goes. 0, -errno with a sentence. */
static int note_host(struct loading *l, sqlite3_stmt *st)
{
	const char *host = sqlite3_column_blob(st, load_execution_host);
	const struct str name = str_n(host ? host : "", (size_t)sqlite3_column_bytes(st, load_execution_host));
	const int column =
	    sqlite3_column_type(st, load_execution_ended) != SQLITE_NULL ? load_execution_ended : load_execution_began;
	const bool told = sqlite3_column_type(st, column) != SQLITE_NULL;
	int rc = builder_state_host(l->state, name, told ? sqlite3_column_int64(st, column) : TIME_NONE);
	return rc < 0 ? err_set(l->err, ENOMEM, "cannot load") : 0;
}

enum pass { PASS_SUM, PASS_COPY, PASS_BOTH };

/* All rows of the record's table: their sums, or those of changed pieces to the COPY that goes on, or both. 0, -errno
 * with a sentence. */
static int read_table(struct loading *l, enum pass pass)
{
	char sql[64];
	sqlite3_stmt *st = NULL;
	const bool executions = !strcmp(l->t->name, "execution");
	uint64_t seen = 0;
	snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\"", l->t->name);
	int code = sqlite3_prepare_v2(l->db, sql, -1, &st, NULL), rc = 0;
	while (code == SQLITE_OK && rc == 0 && (code = sqlite3_step(st)) == SQLITE_ROW) {
		struct piece *p = piece_of_row(l, st);
		code = SQLITE_OK;
		if (!p) {
			rc = err_set(l->err, ENOMEM, "cannot load");
			break;
		}
		if (pass == PASS_COPY && !piece_changed(p))
			continue;
		put_row(l, st);
		if (pass != PASS_COPY) {
			p->sum += hash_bytes(l->row.p, l->row.n);
			p->rows++;
			l->ret->rows++;
			rc = executions ? note_host(l, st) : 0;
		}
		if (rc == 0 && l->builder && ++seen % BEAT_ROWS == 0)
			rc = builder_beat(l->builder, l->err);
		if (rc == 0 && pass != PASS_SUM) {
			buf_add(&l->out, l->row.p + SEED, l->row.n - SEED);
			l->ret->written++;
			rc = flush_out(l, CHUNK);
		}
		if (l->row.failed)
			rc = err_set(l->err, ENOMEM, "cannot load");
	}
	if (rc == 0 && code != SQLITE_DONE)
		rc = err_set(l->err, EIO, "cannot read the table %s: %s", l->t->name, sqlite3_errmsg(l->db));
	sqlite3_finalize(st);
	return rc;
}

/* Rows go to database_put from then on. 0, -errno with a sentence. */
static int copy_begin(struct loading *l, const char *table, const char *columns)
{
	struct buf sql = {0};
	buf_printf(&sql, "COPY %s (%s) FROM STDIN", table, columns);
	int rc = sql.failed ? err_set(l->err, ENOMEM, "cannot load") : database_copy(l->to, buf_cstr(&sql), l->err);
	buf_release(&sql);
	return rc;
}

/* Copies the rows that the pass takes. 0, -errno with a sentence. */
static int copy_table(struct loading *l, enum pass pass)
{
	char table[64];
	snprintf(table, sizeof(table), "stemma.%s", l->t->name);
	int rc = copy_begin(l, table, l->t->columns);
	rc = rc < 0 ? rc : read_table(l, pass);
	rc = rc < 0 ? rc : flush_out(l, 0);
	return rc < 0 ? rc : database_copied(l->to, l->err);
}

/* Takes the rows and sums of changed pieces out of the database. 0, -errno with a sentence. */
static int remove_changed(struct loading *l)
{
	char key[64];
	struct buf sql = {0};
	int rc = 0;
	/* The key's name is the n-th of the columns. */
	const char *p = l->t->columns;
	for (unsigned i = 0; i < l->t->key; i++)
		p = strchr(p, ',') + 2;
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(p, ","), p);
	for (size_t i = 0; rc == 0 && i <= l->pieces.n; i++) {
		const struct piece *c = i < l->pieces.n ? &l->pieces.v[i] : NULL;
		if (c && c->was[0] && piece_changed(c)) {
			int64_t lo = 0, hi = 0;
			if (c->number == LOAD_NO_PIECE) {
				buf_printf(&sql, "DELETE FROM stemma.%s WHERE %s IS NULL;", l->t->name, key);
			} else {
				load_piece_range(l->t, c->number, &lo, &hi);
				buf_printf(&sql, "DELETE FROM stemma.%s WHERE %s >= %lld AND %s < %lld;", l->t->name, key,
				           (long long)lo, key, (long long)hi);
			}
			buf_printf(&sql, "DELETE FROM stemma_load.piece WHERE \"table\" = '%s' AND piece = '%lld';", l->t->name,
			           (long long)c->number);
		}
		if (sql.n > STATEMENT || (!c && sql.n)) {
			rc = sql.failed ? err_set(l->err, ENOMEM, "cannot load") : database_exec(l->to, buf_cstr(&sql), l->err);
			buf_reset(&sql);
		}
	}
	buf_release(&sql);
	return rc;
}

/* The sums of changed pieces, as they are now. 0, -errno with a sentence. */
static int write_sums(struct loading *l)
{
	char now[40];
	int rc = copy_begin(l, "stemma_load.piece", "\"table\", piece, sum");
	for (size_t i = 0; rc == 0 && i < l->pieces.n; i++) {
		const struct piece *p = &l->pieces.v[i];
		piece_sum(p, now);
		if (!now[0] || !strcmp(now, p->was))
			continue;
		buf_printf(&l->out, "%s\t%lld\t%s\n", l->t->name, (long long)p->number, now);
		rc = flush_out(l, CHUNK);
	}
	rc = rc < 0 ? rc : flush_out(l, 0);
	return rc < 0 ? rc : database_copied(l->to, l->err);
}

/* How many parts of the record have changed since they were loaded. */
static size_t count_changed(const struct loading *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->pieces.n; i++)
		n += piece_changed(&l->pieces.v[i]);
	return n;
}

/* Loads a table: all of it if the database is new, else the pieces that changed. 0, -errno with a sentence. */
static int load_table(struct loading *l, const struct load_table *t)
{
	const char *params[] = {t->name, NULL};
	l->t = t;
	l->pieces.n = 0;
	map_release(&l->by_number);
	int rc = l->made ? 0
	                 : database_query(l->to, "SELECT piece, sum FROM stemma_load.piece WHERE \"table\" = $1", params,
	                                  l->err, note_piece, l);
	if (rc == -ENOMEM)
		return err_set(l->err, ENOMEM, "cannot load");
	rc = rc < 0 ? rc : l->made ? copy_table(l, PASS_BOTH) : read_table(l, PASS_SUM);
	const size_t changed = rc < 0 ? 0 : count_changed(l);
	l->ret->pieces += l->pieces.n;
	l->ret->changed += changed;
	if (rc < 0 || !changed)
		return rc;
	if (!l->made) {
		rc = remove_changed(l);
		rc = rc < 0 ? rc : copy_table(l, PASS_COPY);
	}
	return rc < 0 ? rc : write_sums(l);
}

/* ---- the record ---- */

struct had {
	char encoding[32], collation[64], source[1024], seed[SEED + 8];
};
/* Notes encoding and collation of the database, "" where not told. Always 0. */
static int note_had(void *arg, const char *const *columns)
{
	struct had *h = arg;
	snprintf(h->encoding, sizeof(h->encoding), "%s", columns[0] ? columns[0] : "");
	snprintf(h->collation, sizeof(h->collation), "%s", columns[1] ? columns[1] : "");
	return 0;
}
/* Notes which record was loaded before, and the seed of its sums. Always 0. */
static int note_source(void *arg, const char *const *columns)
{
	struct had *h = arg;
	snprintf(h->source, sizeof(h->source), "%s", columns[0] ? columns[0] : "");
	snprintf(h->seed, sizeof(h->seed), "%s", columns[1] ? columns[1] : "");
	return 0;
}

/* Paths are bytes, in whatever encoding, and the record sorts them as bytes: so the database has to. 0; -EPROTO, -errno
 * with a sentence. */
static int check_database(struct database *to, struct err *err)
{
	struct had h = {.encoding = ""};
	if (database_version(to) < OLDEST_SERVER)
		return (err_set(err, 0, "the database server is older than PostgreSQL 12"), -EPROTO);
	int rc = database_query(to,
	                        "SELECT current_setting('server_encoding'), datcollate FROM pg_database"
	                        " WHERE datname = current_database()",
	                        NULL, err, note_had, &h);
	if (rc < 0)
		return rc;
	if (strcmp(h.encoding, "SQL_ASCII") != 0 || (strcmp(h.collation, "C") != 0 && strcmp(h.collation, "POSIX") != 0)) {
		err_set(err, 0,
		        "the database has the encoding %s and the collation %s; stemma needs SQL_ASCII and C, because paths "
		        "are bytes",
		        h.encoding, h.collation);
		err_hint(err, "createdb -T template0 -E SQL_ASCII --locale=C NAME makes such a database");
		return -EPROTO;
	}
	return 0;
}

/* Which record is there; the seed of its sums, or a new one. 0, -errno with a sentence. */
static int check_source(struct loading *l, const char *source, bool replace)
{
	struct had h = {.encoding = ""};
	unsigned char bytes[SEED / 2];
	const char *params[] = {source, l->seed, NULL};
	int rc = database_query(l->to,
	                        "SELECT (SELECT value FROM stemma_load.meta WHERE key = 'source'),"
	                        " (SELECT value FROM stemma_load.meta WHERE key = 'seed')",
	                        NULL, l->err, note_source, &h);
	if (rc < 0)
		return rc;
	if (h.source[0] && strcmp(h.source, source) != 0 && !replace && !l->builder) {
		err_set(l->err, 0, "the database has the record '%s', not '%s'", h.source, source);
		err_hint(l->err, "use another database, or replace that record with --replace");
		return -EEXIST;
	}
	if (!l->made && strlen(h.seed) == SEED) {
		memcpy(l->seed, h.seed, SEED + 1);
	} else if (getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes)) {
		hex_text(bytes, sizeof(bytes), l->seed);
	} else {
		return err_set(l->err, EIO, "the kernel gives no random bytes");
	}
	return database_query(l->to,
	                      "INSERT INTO stemma_load.meta VALUES ('source', $1), ('seed', $2),"
	                      " ('loaded', now()::text) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
	                      params, l->err, NULL, NULL);
}

int load_begin(struct database *to, struct err *err)
{
	int rc = check_database(to, err);
	return rc < 0 ? rc
	              : database_exec(to,
	                              "SET client_encoding = 'SQL_ASCII'; SET client_min_messages = warning;"
	                              /* Else functions that somebody made in another schema would be called as us. */
	                              " SET search_path = pg_catalog, pg_temp; BEGIN;"
	                              " SELECT pg_advisory_xact_lock(7306085913424)",
	                              err);
}

/* Loads all tables, and the index, in one transaction, from one state of the record. 0, -errno with a sentence. */
static int load_all(struct loading *l, struct store *s, const struct load_options *o)
{
	const bool begin = sqlite3_get_autocommit(l->db); /* else the caller's transaction holds the record still */
	int rc = load_schema(l->to, l->err, &l->made);
	rc = rc < 0 ? rc : check_source(l, o->source, o->replace);
	if (rc == 0 && begin && sqlite3_exec(l->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		rc = err_set(l->err, EIO, "cannot read the record: %s", sqlite3_errmsg(l->db));
	for (unsigned i = 0; rc == 0 && i < load_n_tables; i++)
		rc = load_table(l, &load_tables[i]);
	rc = rc < 0 ? rc : load_index(l->to, s, l->seed, o->index, l->err, l->ret);
	rc = rc < 0 ? rc : builder_state_write(l->state, l->to, s, l->err);
	if (begin && !sqlite3_get_autocommit(l->db))
		sqlite3_exec(l->db, "ROLLBACK", NULL, NULL, NULL);
	if (rc == 0 && l->made)
		rc = load_schema_finish(l->to, l->err);
	rc = rc < 0 || !l->builder ? rc : builder_fence(l->builder, l->to, l->err);
	rc = rc < 0 ? rc : database_exec(l->to, "COMMIT", l->err);
	return rc < 0 || !l->made ? rc : database_exec(l->to, "ANALYZE", l->err);
}

int load_record(struct database *to, struct store *s, const struct load_options *o, struct err *err,
                struct load_result *ret)
{
	struct loading l = {.to = to, .db = store_sqlite(s), .err = err, .ret = ret, .builder = o->builder};
	*ret = (struct load_result){0};
	l.state = builder_state_new();
	int rc = l.state ? load_all(&l, s, o) : err_set(err, ENOMEM, "cannot load");
	builder_state_free(l.state);
	vec_release(&l.pieces);
	map_release(&l.by_number);
	buf_release(&l.row);
	buf_release(&l.out);
	return rc;
}
