/* site_tables.c - what a computing centre asks of a database: `stemma site programs URL` and its like. The views are
 * those of site/load_schema.c; each role sees what its users ran. */
#include "cmd/site/site_tables.h"

#include "answer/fmt.h"
#include "cmd/ui/columns.h"
#include "cmd/ui/js_print.h"
#include "query/find/when.h"
#include "site/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum column_kind { NAME, NUMBER, REAL, TIME };
enum { COLUMNS_MOST = 7, VIEWS_SINCE = 150000 };

static const struct site_table {
	const char *name, *view, *path; /* path: the column that --path is about; NULL none */
	const char *order;
	struct {
		const char *name, *head;
		enum column_kind kind;
	} column[COLUMNS_MOST];
} tables[] = {
    {"programs",
     "program_use",
     "program",
     "core_hours DESC NULLS LAST, executions DESC, program, month",
     {{"program", "PROGRAM", NAME},
      {"month", "MONTH", NAME},
      {"users", "USERS", NUMBER},
      {"runs", "RUNS", NUMBER},
      {"executions", "EXECUTIONS", NUMBER},
      {"core_hours", "CORE HOURS", REAL},
      {"of_unknown_cpu", "CPU UNKNOWN", NUMBER}}},
    {"libraries",
     "library_use",
     "library",
     "users DESC, executions DESC, library, month",
     {{"library", "LIBRARY", NAME},
      {"month", "MONTH", NAME},
      {"users", "USERS", NUMBER},
      {"runs", "RUNS", NUMBER},
      {"executions", "EXECUTIONS", NUMBER}}},
    {"compilers",
     "compiler_use",
     NULL,
     "builds DESC, compiler, version, month",
     {{"compiler", "COMPILER", NAME},
      {"version", "VERSION", NAME},
      {"month", "MONTH", NAME},
      {"users", "USERS", NUMBER},
      {"builds", "BUILDS", NUMBER}}},
    {"built",
     "built_use",
     "program",
     "executions DESC, program, build",
     {{"program", "PROGRAM", NAME},
      {"build", "BUILD", NAME},
      {"compiler", "COMPILER", NAME},
      {"version", "VERSION", NAME},
      {"users", "USERS", NUMBER},
      {"runs", "RUNS", NUMBER},
      {"executions", "EXECUTIONS", NUMBER}}},
    {"hosts",
     "host_state",
     NULL,
     "host",
     {{"host", "HOST", NAME},
      {"sessions", "SESSIONS", NUMBER},
      {"open_sessions", "WITHOUT END", NUMBER},
      {"lacking_sessions", "LACK EVENTS", NUMBER},
      {"last_recorded", "LAST RECORDED", TIME}}},
    {"files",
     "file_use",
     "path",
     "last_read_seen NULLS FIRST, path",
     {{"path", "FILE", NAME},
      {"last_read_seen", "LAST READ SEEN", TIME},
      {"last_write_seen", "LAST WRITE SEEN", TIME},
      {"users", "USERS", NUMBER}}},
};

/* The table of that name. NULL: there is none of that name. */
static const struct site_table *table_of(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(tables[i].name, name))
			return &tables[i];
	return NULL;
}

bool site_is_table(const char *name)
{
	return table_of(name) != NULL;
}

struct printing {
	const struct site_table *t;
	json_t *rows; /* NULL: cells of the table below */
	struct table cells;
	uint64_t n;
};

/* A value of JSON; what is not known is null. */
static json_t *value_json(enum column_kind kind, const char *v)
{
	char text[JS_TIME_MAX];
	if (!v)
		return json_null();
	if (kind == NAME)
		return js_string(str_of(v));
	if (kind == REAL)
		return json_real(strtod(v, NULL));
	if (kind == NUMBER)
		return json_integer(strtoll(v, NULL, 10));
	const size_t n = js_time_text(strtoll(v, NULL, 10), text);
	return n ? js_string(str_n(text, n)) : json_null();
}

/* A cell; what is not known is "-". */
static void add_value(struct table *t, enum column_kind kind, const char *v)
{
	struct buf b = {0};
	if (!v)
		buf_char(&b, '-');
	else if (kind == NAME)
		fmt_name(&b, str_of(v));
	else if (kind == REAL)
		buf_printf(&b, "%.2f", strtod(v, NULL));
	else if (kind == TIME)
		fmt_time(&b, strtoll(v, NULL, 10), false);
	else
		buf_printf(&b, "%s", v);
	table_cellf(t, "%s", buf_cstr(&b));
	buf_release(&b);
}

/* A row that the database gives. Always 0. */
static int print_row(void *arg, const char *const *columns)
{
	struct printing *p = arg;
	json_t *o = p->rows ? json_object() : NULL;
	for (size_t i = 0; i < COLUMNS_MOST && p->t->column[i].name; i++)
		if (o)
			js_put(o, p->t->column[i].name, value_json(p->t->column[i].kind, columns[i]));
		else
			add_value(&p->cells, p->t->column[i].kind, columns[i]);
	if (o)
		js_add(p->rows, o);
	p->n++;
	return 0;
}

/* The statement: $1 a path, or "", $2 a time or "". Columns and conditions are ours. */
static void write_query(const struct site_table *t, const struct opts_site *o, struct buf *sql)
{
	buf_printf(sql, "SELECT ");
	for (size_t i = 0; i < COLUMNS_MOST && t->column[i].name; i++)
		buf_printf(sql, "%s%s", i ? ", " : "", t->column[i].name);
	buf_printf(sql, " FROM stemma.%s WHERE ", t->view);
	if (t->path)
		buf_printf(sql, "($1 = '' OR %s = $1 OR starts_with(%s, $1 || '/'))", t->path, t->path);
	else
		buf_printf(sql, "$1 = ''");
	if (o->unread_since)
		buf_printf(sql, " AND (last_read_seen IS NULL OR last_read_seen < $2::bigint)");
	else
		buf_printf(sql, " AND $2 = ''");
	buf_printf(sql, " ORDER BY %s", t->order);
	if (o->count)
		buf_printf(sql, " LIMIT %llu", (unsigned long long)o->count);
}

/* Gives the exit status. */
static int print_answer(struct cmd *c, struct printing *p)
{
	const char *heads[COLUMNS_MOST];
	char align[COLUMNS_MOST + 1] = "";
	size_t n = 0;
	if (p->rows) {
		json_t *all = json_object();
		js_num(all, "format", 1);
		js_text(all, "table", p->t->name);
		js_put(all, "rows", p->rows);
		return js_print(all, false);
	}
	if (!p->n) {
		report("'%s' has no matching row that this role may see", p->t->name);
		return STATUS_NOTHING;
	}
	for (; n < COLUMNS_MOST && p->t->column[n].name; n++) {
		heads[n] = p->t->column[n].head;
		align[n] = p->t->column[n].kind == NUMBER || p->t->column[n].kind == REAL ? 'r' : 'l';
	}
	p->cells.heads = heads;
	p->cells.align = align;
	p->cells.n_columns = n;
	table_print(&p->cells, &c->out, 0);
	if (!strcmp(p->t->name, "files"))
		report_hint("only recorded reads count: an old time does not prove that a file is unused");
	return STATUS_OK;
}

/* Asks the database for the rows of a table. 0, or -errno with a sentence. */
static int ask_rows(struct database *d, const struct opts_site *o, struct printing *p, int64_t before, struct err *err)
{
	char time[24] = "";
	size_t n = o->path ? strlen(o->path) : 0;
	while (n > 1 && o->path[n - 1] == '/')
		n--;
	char *path = strndup(o->path ? o->path : "", n == 1 && o->path[0] == '/' ? 0 : n); /* the root: everything */
	struct buf sql = {0};
	if (o->unread_since)
		snprintf(time, sizeof(time), "%lld", (long long)before);
	const char *params[] = {path, time, NULL};
	write_query(p->t, o, &sql);
	int rc = !path || sql.failed ? err_set(err, ENOMEM, "cannot query the database")
	                             /* Else functions that somebody made in another schema would be called as us. */
	                             : database_exec(d,
	                                             "SET client_encoding = 'SQL_ASCII'; SET jit = off;"
	                                             " SET search_path = pg_catalog, pg_temp;"
	                                             " SET default_transaction_read_only = on",
	                                             err);
	if (rc == 0)
		rc = database_query(d, buf_cstr(&sql), params, err, print_row, p);
	buf_release(&sql);
	free(path);
	return rc;
}

int site_print_table(struct cmd *c, const struct opts_site *o, const char *name, const char *url)
{
	struct printing p = {.t = table_of(name), .rows = o->json ? json_array() : NULL};
	struct err err = {0};
	struct database *d = NULL;
	struct timespec now;
	int64_t before = 0;
	int status;
	clock_gettime(CLOCK_REALTIME, &now);
	if (o->unread_since && strcmp(name, "files") != 0)
		status = report_usage(c, "--unread-since can be used with 'files' only");
	else if (o->unread_since &&
	         when_parse(o->unread_since, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, &before) < 0)
		status = report_usage(c, "'%s' is not a time such as 365d or 2026-01-31", o->unread_since);
	else if (o->path && !p.t->path)
		status = report_usage(c, "--path cannot be used with '%s'", name);
	else if (database_open(url, &err, &d) < 0)
		status = report_err(&err, STATUS_SELF);
	else if (database_version(d) < VIEWS_SINCE)
		status = (report("cannot show '%s': the database server is older than PostgreSQL 15", name), STATUS_SELF);
	else if (ask_rows(d, o, &p, before, &err) < 0)
		status = report_err(&err, STATUS_SELF);
	else
		status = print_answer(c, &p), p.rows = NULL;
	json_decref(p.rows);
	buf_release(&p.cells.cells);
	database_close(d);
	return status;
}
