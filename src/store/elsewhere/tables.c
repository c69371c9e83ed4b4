/* tables.c - whether an index has the tables that stemma makes, and nothing else. */
#include "store/pages.h"
#include "store/schema.h"
#include "store/store_int.h"

#include <errno.h>
#include <string.h>

/* Which statement of store_schema that is, counted from 0; -1: none. */
static int schema_place(const char *sql)
{
	const size_t n = strlen(sql);
	int place = 0;
	for (const char *at = store_schema; *at; place++) {
		const size_t have = strcspn(at, ";");
		if (have == n && memcmp(at, sql, n) == 0)
			return place;
		at += have + 1;
	}
	return -1;
}

/* Is the row one that store_schema makes, and for the first time? It is of type, name and sql, which SQLite keeps as it
 * was given. The index of a primary key or a UNIQUE has no sql, and SQLite takes it only where its table has one. */
static bool is_of_schema(sqlite3_stmt *st, uint64_t *seen)
{
	const char *type = (const char *)sqlite3_column_text(st, 0), *name = (const char *)sqlite3_column_text(st, 1);
	const char *sql = (const char *)sqlite3_column_text(st, 2);
	if (!type || !name || (!sql && strcmp(type, "index") != 0))
		return false;
	if (!sql)
		return sqlite3_column_type(st, 2) == SQLITE_NULL && !strncmp(name, "sqlite_autoindex_", 17);
	const int place = schema_place(sql);
	const char *kind = strncmp(sql, "CREATE TABLE ", 13) == 0 ? "table" : "index", *named = sql + 13;
	const size_t n = strcspn(named, "( ");
	if (place < 0 || place > 63 || *seen >> place & 1 || strcmp(type, kind) != 0 || strlen(name) != n ||
	    memcmp(name, named, n) != 0)
		return false;
	*seen |= (uint64_t)1 << place;
	return true;
}

int store_check_tables(struct store *s, struct err *err)
{
	sqlite3_stmt *st;
	uint64_t seen = 0, all = 0;
	int rc;
	for (const char *at = store_schema; *at; at += strcspn(at, ";") + 1)
		all = all << 1 | 1;
	if (sqlite3_prepare_v2(s->db, "SELECT type, name, sql FROM main.sqlite_master", -1, &st, NULL) != SQLITE_OK)
		return store_db_error(s, err, "cannot read the index");
	while ((rc = store_step(s, st, err)) == 1 && is_of_schema(st, &seen))
		;
	sqlite3_finalize(st);
	if (rc < 0 || (rc == 0 && seen == all))
		return rc;
	s->damaged = true;
	pages_damaged();
	err_set(err, 0, "the index '%s' is damaged: its tables are not those that stemma makes", s->index);
	err_hint(err, "%s", store_hint_anew(s));
	return -ENOTRECOVERABLE;
}
