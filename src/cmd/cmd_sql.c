/* stemma sql: ask the record in SQL. Only reading is allowed, by SQLite's authorizer and not by looking at the text. */
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 200 /* bytes of a value in a table */
#define COLUMNS_MAX 64

enum style_of { AS_TABLE, AS_JSON, AS_JSONL, AS_CSV };

/* SQLite's authorizer: SQLITE_DENY for all but reading, describing tables, and functions that load nothing. */
static int only_reading(void *arg, int action, const char *a, const char *b, const char *db, const char *trigger)
{
	(void)arg, (void)b, (void)db, (void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA:
		/* Those that describe tables and views, for finding one's way. */
		return a && (sqlite3_stricmp(a, "table_info") == 0 || sqlite3_stricmp(a, "table_list") == 0 ||
		             sqlite3_stricmp(a, "table_xinfo") == 0)
		           ? SQLITE_OK
		           : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

/* Column i of the row. Blobs go as texts. */
static void put_sql_value(json_t *row, const char *key, sqlite3_stmt *st, int i)
{
	const void *p;
	switch (sqlite3_column_type(st, i)) {
	case SQLITE_INTEGER:
		js_put(row, key, json_integer(sqlite3_column_int64(st, i)));
		break;
	case SQLITE_FLOAT:
		js_put(row, key, json_real(sqlite3_column_double(st, i)));
		break;
	case SQLITE_NULL:
		js_put(row, key, json_null());
		break;
	default:
		p = sqlite3_column_blob(st, i);
		js_str(row, key, str_n(p ? p : "", (size_t)sqlite3_column_bytes(st, i)));
	}
}

/* Text and blobs as they are, numbers as SQLite writes them; but those whose value its 15 digits do not hold with as
 * many as do. Valid until the next call. */
static struct str value_text(sqlite3_stmt *st, int i)
{
	static char text[40];
	int type = sqlite3_column_type(st, i);
	double v = type == SQLITE_FLOAT ? sqlite3_column_double(st, i) : 0;
	if (type == SQLITE_FLOAT && strtod((const char *)sqlite3_column_text(st, i), NULL) != v) {
		snprintf(text, sizeof(text), "%.16g", v);
		if (strtod(text, NULL) != v)
			snprintf(text, sizeof(text), "%.17g", v);
		return str_of(text);
	}
	const void *p = type == SQLITE_BLOB ? sqlite3_column_blob(st, i) : (const void *)sqlite3_column_text(st, i);
	return str_n(p ? p : "", (size_t)sqlite3_column_bytes(st, i));
}

/* A row as RFC 4180 has it; texts in quotes. */
static void csv_row(sqlite3_stmt *st, int n)
{
	for (int i = 0; i < n; i++) {
		if (i)
			putchar(',');
		int type = sqlite3_column_type(st, i);
		print_csv_field(value_text(st, i), type == SQLITE_TEXT || type == SQLITE_BLOB);
	}
	fputs("\r\n", stdout);
}

/* Adds a row; long texts are cut, and "-" is NULL. */
static void add_cells(struct table *t, sqlite3_stmt *st, int n)
{
	struct buf b = {0};
	for (int i = 0; i < n; i++) {
		struct str s = value_text(st, i);
		buf_reset(&b);
		fmt_name(&b, str_n(s.p, s.n < CELL_MAX ? s.n : CELL_MAX));
		if (s.n > CELL_MAX)
			buf_printf(&b, "...");
		if (sqlite3_column_type(st, i) == SQLITE_NULL)
			buf_char(&b, '-');
		table_cell(t, buf_view(&b));
	}
	buf_release(&b);
}

/* The caller owns it. */
static json_t *row_json(sqlite3_stmt *st, int n)
{
	json_t *row = json_object();
	for (int i = 0; i < n; i++) {
		const char *name = sqlite3_column_name(st, i);
		put_sql_value(row, name ? name : "", st, i);
	}
	return row;
}

/* Runs the statement to its end. The status. STATUS_SELF: it failed, which was reported. At most COLUMNS_MAX columns.
 * */
static int print_sql_rows(struct cmd *c, sqlite3_stmt *st, enum style_of style)
{
	int n = sqlite3_column_count(st), r, status = STATUS_OK;
	const char *heads[COLUMNS_MAX];
	char align[COLUMNS_MAX];
	struct table t = {.heads = heads, .align = align, .n_columns = (size_t)n};
	json_t *rows = style == AS_JSON ? json_array() : NULL;

	for (int i = 0; i < n; i++) {
		heads[i] = sqlite3_column_name(st, i);
		align[i] = 'l';
		if (style == AS_CSV) {
			if (i)
				putchar(',');
			print_csv_field(str_of(heads[i]), true);
		}
	}
	if (style == AS_CSV)
		fputs("\r\n", stdout);
	bool first = true;
	while (status == STATUS_OK && (r = sqlite3_step(st)) == SQLITE_ROW) {
		for (int i = 0; first && i < n; i++)
			align[i] =
			    sqlite3_column_type(st, i) == SQLITE_INTEGER || sqlite3_column_type(st, i) == SQLITE_FLOAT ? 'r' : 'l';
		first = false;
		switch (style) {
		case AS_TABLE:
			add_cells(&t, st, n);
			break;
		case AS_JSON:
			js_add(rows, row_json(st, n));
			break;
		case AS_JSONL:
			status = js_print(row_json(st, n), true);
			break;
		case AS_CSV:
			csv_row(st, n);
			break;
		}
	}
	if (status == STATUS_OK && r != SQLITE_DONE) {
		report("%s", sqlite3_errmsg(store_sqlite(c->store)));
		status = STATUS_SELF;
	}
	if (style == AS_TABLE && !first)
		table_print(&t, &c->out, c->out.tty ? c->out.width : 0);
	else
		buf_release(&t.cells);
	if (style == AS_JSON && status == STATUS_OK) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_put(all, "rows", rows);
		return js_print(all, false);
	}
	json_decref(rows);
	return status;
}

/* The tables are made known to SQLite when a query first names one, by a statement that writes; so all are named before
 * only reading is allowed. Modules that are no tables refuse to be, and nothing comes of it. */
static void name_tables(sqlite3 *db)
{
	sqlite3_stmt *all = NULL, *one = NULL;
	if (sqlite3_prepare_v2(db, "SELECT name FROM pragma_module_list", -1, &all, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(all) == SQLITE_ROW) {
		char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", (const char *)sqlite3_column_text(all, 0));
		if (sql)
			sqlite3_prepare_v2(db, sql, -1, &one, NULL);
		sqlite3_finalize(one);
		sqlite3_free(sql);
		one = NULL;
	}
	sqlite3_finalize(all);
}

/* Gives the exit status. Only queries that read are run. */
int cmd_sql(struct cmd *c, const struct opts_sql *o)
{
	if (c->n_operands != 1)
		return report_usage(c, "sql needs one query, in quotes");
	if (o->json + o->jsonl + o->csv > 1)
		return report_usage(c, "one of --json, --jsonl and --csv");
	size_t len = strlen(c->operands[0]);
	int status = cmd_store(c, o->no_index);
	if (status != STATUS_OK)
		return status;

	sqlite3 *db = store_sqlite(c->store);
	sqlite3_stmt *st = NULL;
	const char *rest = NULL;
	name_tables(db);
	sqlite3_set_authorizer(db, only_reading, NULL);
	int r = len > INT32_MAX ? SQLITE_TOOBIG : sqlite3_prepare_v2(db, c->operands[0], (int)len, &st, &rest);
	if (r == SQLITE_AUTH) {
		report("only queries that read are allowed: %s", sqlite3_errmsg(db));
		status = STATUS_USAGE;
	} else if (r != SQLITE_OK) {
		report("%s", r == SQLITE_TOOBIG ? "the query is too long" : sqlite3_errmsg(db));
		report_hint(
		    "the tables: run, execution, file, version, access, io, edge, input, attribute, name, gap, property, "
		    "result, "
		    "annotation, mpi_rank, mpi_io, hdf5_object, hdf5_part, summary, figure, build, build_input, build_output; "
		    "'PRAGMA table_info(run)' lists the columns of one");
		status = STATUS_USAGE;
	} else if (!st || rest[strspn(rest, " \t\r\n;")]) {
		report(st ? "one query at a time" : "the query is empty");
		status = STATUS_USAGE;
	} else if (!sqlite3_stmt_readonly(st)) {
		report("only queries that read are allowed");
		status = STATUS_USAGE;
	} else if (sqlite3_column_count(st) > COLUMNS_MAX) {
		report("at most %d columns", COLUMNS_MAX);
		status = STATUS_USAGE;
	} else {
		status = print_sql_rows(c, st, o->json ? AS_JSON : o->jsonl ? AS_JSONL : o->csv ? AS_CSV : AS_TABLE);
	}
	sqlite3_finalize(st);
	sqlite3_set_authorizer(db, NULL, NULL);
	return status;
}
