/* load_index.c - the pages of the index in a PostgreSQL database, so that stemma itself can ask it (index_source.h).
 *
 * A row for each page of 16 KiB, with a keyed sum: only pages whose sum differs are written. Pages have the rows of all
 * users in them, so a role sees all of them or none: all if stemma_load.reader says that it sees all. */
#include "site/load_int.h"

#include "base/hash.h"
#include "base/vec.h"
#include "store/elsewhere/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char index_schema[] =
    "DROP SCHEMA IF EXISTS stemma_index CASCADE; CREATE SCHEMA stemma_index;"
    "CREATE TABLE stemma_index.file (name text PRIMARY KEY, size bigint NOT NULL, stamp text NOT NULL,"
    " seen boolean NOT NULL);"
    "CREATE TABLE stemma_index.page (file text, n bigint, sum text NOT NULL, bytes bytea NOT NULL,"
    " PRIMARY KEY (file, n));"
    "ALTER TABLE stemma_index.file ENABLE ROW LEVEL SECURITY; ALTER TABLE stemma_index.page ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY whole ON stemma_index.file FOR SELECT USING (EXISTS (SELECT FROM stemma_load.reader WHERE sees IS "
    "NULL));"
    "CREATE POLICY whole ON stemma_index.page FOR SELECT USING (EXISTS (SELECT FROM stemma_load.reader WHERE sees IS "
    "NULL));"
    "GRANT USAGE ON SCHEMA stemma_index, stemma_load TO PUBLIC;"
    "GRANT SELECT (name, size, stamp) ON stemma_index.file TO PUBLIC;"
    "GRANT SELECT (file, n, bytes) ON stemma_index.page TO PUBLIC;";

enum { PAGES_MAX = 1 << 26 }; /* of a file: a TiB */

struct page_had {
	char sum[17]; /* "": the database has no such page */
};
struct index_loading {
	struct database *to;
	struct err *err;
	struct load_result *ret;
	const char *seed;
	bool all;                 /* also pages that the database seems to have */
	char file[SOURCE_NAME];   /* at hand, "" none yet */
	VEC(struct page_had) had; /* what the database has of it */
	uint64_t size, n, stamp;  /* bytes and pages of it, and a sum of all its sums */
	struct buf room;          /* the seed, and a page */
};

/* Notes a page of the file at hand. 0, -ENOMEM; -EPROTO: there are too many. */
static int note_page(void *arg, const char *const *columns)
{
	struct index_loading *l = arg;
	const unsigned long long n = columns[0] ? strtoull(columns[0], NULL, 10) : PAGES_MAX;
	if (n >= PAGES_MAX)
		return -EPROTO;
	while (l->had.n <= n) {
		struct page_had *p = vec_add(&l->had);
		if (!p)
			return -ENOMEM;
		*p = (struct page_had){""};
	}
	snprintf(l->had.v[n].sum, sizeof(l->had.v[n].sum), "%s", columns[1] ? columns[1] : "");
	return 0;
}

/* Reads what the database has of the file. 0, or -errno with a sentence. */
static int begin_file(struct index_loading *l, const char *file)
{
	const char *params[] = {file, NULL};
	snprintf(l->file, sizeof(l->file), "%s", file);
	l->had.n = 0;
	l->size = l->n = l->stamp = 0;
	int rc = database_query(l->to, "SELECT n, sum FROM stemma_index.page WHERE file = $1 ORDER BY n", params, l->err,
	                        note_page, l);
	if (rc == -ENOMEM || rc == -EPROTO)
		return err_set(l->err, -rc, "cannot load the index");
	return rc;
}

/* Removes pages behind its end, and says that it is whole. 0, or -errno with a sentence. */
static int end_file(struct index_loading *l)
{
	char n[24], size[24], stamp[24];
	snprintf(n, sizeof(n), "%llu", (unsigned long long)l->n);
	snprintf(size, sizeof(size), "%llu", (unsigned long long)l->size);
	snprintf(stamp, sizeof(stamp), "%016llx", (unsigned long long)l->stamp);
	const char *behind[] = {l->file, n, NULL}, *whole[] = {l->file, size, stamp, NULL};
	if (!l->file[0])
		return 0;
	int rc = l->had.n <= l->n
	             ? 0
	             : database_query(l->to, "DELETE FROM stemma_index.page WHERE file = $1 AND n >= $2::bigint", behind,
	                              l->err, NULL, NULL);
	return rc < 0 ? rc
	              : database_query(l->to,
	                               "INSERT INTO stemma_index.file VALUES ($1, $2::bigint, $3, true) ON CONFLICT (name)"
	                               " DO UPDATE SET size = excluded.size, stamp = excluded.stamp, seen = true",
	                               whole, l->err, NULL, NULL);
}

/* A page of the copy: written if it is another one than the database has. 0, or -errno with a sentence. */
static int load_page(void *arg, const char *file, uint64_t n, const void *page, size_t size)
{
	struct index_loading *l = arg;
	char sum[17], number[24];
	int rc = strcmp(file, l->file) != 0 ? end_file(l) : 0;
	if (rc == 0 && strcmp(file, l->file) != 0)
		rc = begin_file(l, file);
	if (rc < 0)
		return rc;
	buf_reset(&l->room);
	buf_add(&l->room, l->seed, strlen(l->seed));
	buf_add(&l->room, page, size);
	if (l->room.failed || n >= PAGES_MAX)
		return err_set(l->err, l->room.failed ? ENOMEM : EFBIG, "cannot load the index");
	const uint64_t h = hash_bytes(l->room.p, l->room.n);
	l->stamp += hash_more(n, &h, sizeof(h));
	l->n = n + 1 > l->n ? n + 1 : l->n;
	l->size = n * SOURCE_PAGE + size > l->size ? n * SOURCE_PAGE + size : l->size;
	l->ret->index_pages++;
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)h);
	if (!l->all && n < l->had.n && strcmp(l->had.v[n].sum, sum) == 0)
		return 0;
	snprintf(number, sizeof(number), "%llu", (unsigned long long)n);
	const char *params[] = {file, number, sum, NULL};
	l->ret->index_changed++;
	l->ret->bytes += size;
	return database_write(l->to,
	                      "INSERT INTO stemma_index.page VALUES ($1, $2::bigint, $3, $4::bytea) ON CONFLICT (file, n)"
	                      " DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes",
	                      params, page, size, l->err);
}

/* Notes the first column, "" for none. Always 0. */
static int note_text(void *arg, const char *const *columns)
{
	snprintf(arg, 32, "%s", columns[0] ? columns[0] : "");
	return 0;
}

/* The tables, if they are there or wanted; of another layout they are made anew. 1; 0: there are none; -errno with a
 * sentence. */
static int index_tables(struct database *to, bool make, struct err *err)
{
	char layout[32], there[32] = "", has[32] = "";
	snprintf(layout, sizeof(layout), "%016llx", (unsigned long long)hash_str(str_of(index_schema)));
	const char *params[] = {layout, NULL};
	int rc = database_query(to, "SELECT to_regclass('stemma_index.page')", NULL, err, note_text, has);
	rc = rc < 0 ? rc
	            : database_query(to, "SELECT value FROM stemma_load.meta WHERE key = 'index_layout'", NULL, err,
	                             note_text, there);
	if (rc < 0 || (!has[0] && !make))
		return rc;
	if (has[0] && !strcmp(there, layout))
		return 1;
	rc = database_exec(to, index_schema, err);
	rc = rc < 0 ? rc
	            : database_query(to,
	                             "INSERT INTO stemma_load.meta VALUES ('index_layout', $1) ON CONFLICT (key)"
	                             " DO UPDATE SET value = excluded.value",
	                             params, err, NULL, NULL);
	return rc < 0 ? rc : 1;
}

int load_index(struct database *to, struct store *s, const char *seed, bool all, struct err *err,
               struct load_result *ret)
{
	struct index_loading l = {.to = to, .err = err, .ret = ret, .seed = seed, .all = all};
	int rc = index_tables(to, all, err);
	if (rc <= 0)
		return rc;
	ret->has_index = true;
	rc = database_exec(to, "UPDATE stemma_index.file SET seen = false", err);
	rc = rc < 0 ? rc : store_copy(s, &(struct store_copy){load_page, &l}, err);
	rc = rc < 0 ? rc : end_file(&l);
	rc = rc < 0
	         ? rc
	         : database_exec(to,
	                         "DELETE FROM stemma_index.page WHERE file IN (SELECT name FROM stemma_index.file WHERE NOT"
	                         " seen); DELETE FROM stemma_index.file WHERE NOT seen",
	                         err);
	vec_release(&l.had);
	buf_release(&l.room);
	return rc;
}
