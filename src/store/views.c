/* views.c - the record as tables for SQL: run, execution, file, version, access, edge, attribute, gap (doc/format/store.md).
 *
 * The store's rows are packed, so the views are virtual tables that unpack them through the calls of store.h. Each streams: a
 * cursor holds one row and the edges of one thing. `id = ?` is answered directly; everything else is a scan. */
#include "store/read.h"
#include "store/store_int.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum view_kind { T_RUN, T_EXECUTION, T_FILE, T_VERSION, T_ACCESS, T_EDGE, T_ATTRIBUTE, T_GAP, TABLES };

static const struct {
	const char *name, *columns;
} tables[TABLES] = {
	{"run", "id INTEGER, ulid TEXT, outer_run TEXT, command TEXT, cwd TEXT, user TEXT, \"group\" TEXT, host TEXT, mode TEXT, "
			"start INTEGER, \"end\" INTEGER, ending TEXT, code INTEGER, inputs INTEGER, outputs INTEGER, executions INTEGER"},
	{"execution", "id INTEGER, pub TEXT, run INTEGER, parent INTEGER, pid INTEGER, n INTEGER, exe INTEGER, script INTEGER, argv TEXT, "
				  "cwd TEXT, host TEXT, user TEXT, \"group\" TEXT, job TEXT, step TEXT, rank TEXT, uid INTEGER, gid INTEGER, "
				  "start INTEGER, \"end\" INTEGER, ending TEXT, code INTEGER, cpu INTEGER, user_time INTEGER, "
				  "system_time INTEGER, rss INTEGER, rchar INTEGER, wchar INTEGER, read_bytes INTEGER, write_bytes INTEGER"},
	{"file", "id INTEGER, pub TEXT, kind TEXT, path TEXT, named INTEGER, domain TEXT, ino TEXT, gen TEXT, versions INTEGER"},
	{"version", "id INTEGER, pub TEXT, file INTEGER, n INTEGER, origin TEXT, size INTEGER, mtime INTEGER, start INTEGER, \"end\" INTEGER"},
	{"access", "execution INTEGER, version INTEGER, type TEXT, sure INTEGER, via TEXT, api TEXT, mode INTEGER, lo INTEGER, hi INTEGER, "
			   "count INTEGER, bytes INTEGER"},
	{"edge", "type TEXT, \"from\" INTEGER, \"to\" INTEGER, sure INTEGER, via TEXT, lo INTEGER, hi INTEGER"},
	{"attribute", "execution INTEGER, name TEXT, value TEXT"},
	{"gap", "execution INTEGER, reason TEXT, meaning TEXT"},
};

/* Whose information the calls of store.h returned last: their strings are valid until the next call. */
struct views {
	struct store *s;
	const void *run_of, *exec_of, *file_of;
};

struct view_table {
	sqlite3_vtab base;
	struct views *views;
	enum view_kind table;
};

struct cursor {
	sqlite3_vtab_cursor base;
	enum view_kind table;
	bool by_id, over;
	uint64_t row; /* counts rows */
	store_id *runs; /* T_RUN: all of them */
	size_t n_runs, at_run;
	uint64_t outer, last; /* process or file, and the greatest */
	uint64_t inner, inners; /* execution of the process, version of the file */
	uint32_t *numbers; /* execution numbers of the process */
	store_id id; /* execution, file or version that this row is about */
	struct edges edges;
	size_t at_edge;
	unsigned stage; /* which list of edges */
	size_t pos, at_item; /* attribute */
	struct run_info run;
	struct exec_info exec;
	struct file_info file;
	struct version_info version;
	store_id have_version;
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **err)
{
	(void)argc;
	(void)err;
	struct view_table *t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	*t = (struct view_table){.views = aux};
	while (strcmp(tables[t->table].name, argv[0]))
		t->table++;
	char sql[1500];
	snprintf(sql, sizeof(sql), "CREATE TABLE x(%s)", tables[t->table].columns);
	int rc = sqlite3_declare_vtab(db, sql);
	if (rc != SQLITE_OK) {
		sqlite3_free(t);
		return rc;
	}
	*ret = &t->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct view_table *t = (struct view_table *)base;
	info->estimatedCost = 1e6;
	info->estimatedRows = 1000000;
	for (int i = 0; t->table <= T_VERSION && i < info->nConstraint; i++)
		if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == 0 &&
			info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
			info->aConstraintUsage[i].argvIndex = 1;
			info->aConstraintUsage[i].omit = 1;
			info->idxNum = 1;
			info->estimatedCost = 1;
			info->estimatedRows = 1;
			break;
		}
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	struct cursor *c = calloc(1, sizeof(*c));
	if (!c)
		return SQLITE_NOMEM;
	c->table = ((struct view_table *)t)->table;
	*ret = &c->base;
	return SQLITE_OK;
}

static struct views *views_of(struct cursor *c)
{
	return ((struct view_table *)c->base.pVtab)->views;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	struct views *v = views_of(c);
	v->run_of = v->run_of == c ? NULL : v->run_of;
	v->exec_of = v->exec_of == c ? NULL : v->exec_of;
	v->file_of = v->file_of == c ? NULL : v->file_of;
	free(c->runs);
	free(c->numbers);
	edges_release(&c->edges);
	free(c);
	return SQLITE_OK;
}

static bool over_files(enum view_kind t)
{
	return t == T_FILE || t == T_VERSION;
}

/* The next execution; its id in c->id. False at the end. */
static bool next_exec(struct cursor *c, struct store *s)
{
	while (c->inner >= c->inners) {
		if (++c->outer > c->last)
			return false;
		struct process_view p = {0};
		c->inner = c->inners = 0;
		if (read_process(s, c->outer, &p) == 1) {
			uint32_t *more = realloc(c->numbers, (p.execs.n + 1) * sizeof(*more));
			if (more) {
				c->numbers = more;
				for (size_t i = 0; i < p.execs.n; i++)
					more[c->inners++] = p.execs.v[i].n;
			}
		}
		process_view_release(&p);
	}
	c->id = exec_id(c->outer, c->numbers[c->inner++]);
	return true;
}

static bool next_version(struct cursor *c, struct store *s)
{
	while (c->inner >= c->inners) {
		struct file_info f;
		if (++c->outer > c->last)
			return false;
		c->inner = 0;
		views_of(c)->file_of = NULL;
		c->inners = store_file(s, c->outer, &f) == 1 ? f.versions : 0;
	}
	c->id = version_id(c->outer, ++c->inner);
	return true;
}

/* The next edge of the lists of c->id's kind; fetches the next thing's lists as they run out. */
static bool next_edge(struct cursor *c, struct store *s)
{
	while (++c->at_edge >= c->edges.n) {
		int rc = 0;
		c->at_edge = SIZE_MAX;
		if (c->table == T_ACCESS) {
			/* 0: what it used; 1: what it generated */
			if (c->stage == 1 && !next_exec(c, s))
				return false;
			c->stage = !c->stage;
			rc = c->stage == 0 ? store_uses(s, c->id, &c->edges) : store_outputs(s, c->id, &c->edges);
		} else if (c->stage == 0) {
			if (next_version(c, s)) {
				rc = store_derived(s, c->id, &c->edges);
			} else {
				/* from versions' derivations to executions' information */
				c->stage = 1;
				c->outer = c->inner = c->inners = 0;
				store_max(s, SQL_max_process, &c->last, NULL);
				continue;
			}
		} else if (next_exec(c, s)) {
			rc = store_informed(s, c->id, &c->edges);
		} else {
			return false;
		}
		if (rc < 0)
			return false;
	}
	return true;
}

static bool load_exec(struct cursor *c)
{
	struct views *v = views_of(c);
	if (v->exec_of == c && c->exec.id == c->id)
		return true;
	v->exec_of = c;
	return store_exec(v->s, c->id, &c->exec) == 1;
}

static bool load_file(struct cursor *c)
{
	struct views *v = views_of(c);
	if (v->file_of == c && c->file.id == c->id)
		return true;
	v->file_of = c;
	return store_file(v->s, c->id, &c->file) == 1;
}

static bool load_run(struct cursor *c)
{
	struct views *v = views_of(c);
	if (v->run_of == c && c->run.id == c->id)
		return true;
	v->run_of = c;
	return store_run(v->s, c->id, &c->run) == 1;
}

static bool load_version(struct cursor *c)
{
	return c->have_version == c->id || (store_version(views_of(c)->s, c->id, &c->version) == 1 && (c->have_version = c->id));
}

static bool step(struct cursor *c)
{
	struct store *s = views_of(c)->s;
	struct str item;
	switch (c->table) {
	case T_RUN:
		while (c->at_run < c->n_runs) {
			c->id = c->runs[c->at_run++];
			if (load_run(c))
				return true;
		}
		return false;
	case T_EXECUTION:
		while (next_exec(c, s))
			if (load_exec(c))
				return true;
		return false;
	case T_FILE:
		while (++c->outer <= c->last) {
			c->id = c->outer;
			if (load_file(c))
				return true;
		}
		return false;
	case T_VERSION:
		while (next_version(c, s))
			if (load_version(c))
				return true;
		return false;
	case T_ACCESS:
	case T_EDGE:
		return next_edge(c, s);
	case T_ATTRIBUTE:
		for (;;) {
			size_t pos = c->pos;
			if (c->id && load_exec(c) && strlist_next(&c->exec.env, &pos, &item)) {
				c->at_item = c->pos;
				c->pos = pos;
				return true;
			}
			c->pos = 0;
			if (!next_exec(c, s))
				return false;
		}
	case T_GAP:
		for (;;) {
			while (c->id && ++c->pos < 64)
				if (load_exec(c) && c->exec.gaps >> c->pos & 1)
					return true;
			c->pos = 0;
			if (!next_exec(c, s))
				return false;
		}
	default:
		return false;
	}
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	c->row++;
	c->over = c->by_id || !step(c);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	struct store *s = views_of(c)->s;
	(void)text;
	c->row = 0;
	c->outer = c->inner = c->inners = c->at_run = c->pos = 0;
	c->id = c->have_version = 0;
	c->at_edge = SIZE_MAX;
	c->edges.n = 0;
	c->stage = c->table == T_ACCESS;
	c->by_id = number == 1 && argc == 1;
	if (c->by_id) {
		c->id = (store_id)sqlite3_value_int64(argv[0]);
		c->over = !(c->table == T_RUN ? load_run(c) : c->table == T_EXECUTION ? load_exec(c) :
					c->table == T_FILE ? load_file(c) : load_version(c));
		return SQLITE_OK;
	}
	int rc = 0;
	if (c->table == T_RUN) {
		free(c->runs);
		c->runs = NULL;
		c->n_runs = 0;
		rc = store_runs(s, UINT64_MAX, &c->runs, &c->n_runs);
	} else {
		bool files = over_files(c->table) || c->table == T_EDGE;
		rc = store_max(s, files ? SQL_max_file : SQL_max_process, &c->last, NULL);
	}
	c->over = rc < 0 || !step(c);
	return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->over;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct cursor *)base)->row;
	return SQLITE_OK;
}

/* ---- columns ------------------------------------------------------------------------------------------------------------ */

static void put_str(sqlite3_context *x, struct str v)
{
	sqlite3_result_text(x, v.n ? v.p : "", (int)v.n, SQLITE_TRANSIENT);
}

static void put_int(sqlite3_context *x, uint64_t v)
{
	sqlite3_result_int64(x, (sqlite3_int64)v);
}

static void put_id(sqlite3_context *x, store_id v)
{
	if (v)
		put_int(x, v);
}

static void put_known(sqlite3_context *x, const struct exec_info *e, unsigned bit, uint64_t v)
{
	if (e->known >> bit & 1)
		put_int(x, v);
}

static void put_time(sqlite3_context *x, int64_t t)
{
	if (t != TIME_NONE && t != TIME_NEVER)
		sqlite3_result_int64(x, t);
}

static void put_hex(sqlite3_context *x, uint64_t v)
{
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	sqlite3_result_text(x, text, -1, SQLITE_TRANSIENT);
}

static void put_words(sqlite3_context *x, const struct strlist *l)
{
	struct buf b = {0};
	struct str v;
	for (size_t pos = 0; strlist_next(l, &pos, &v);) {
		if (b.n)
			buf_char(&b, ' ');
		buf_str(&b, v);
	}
	put_str(x, buf_view(&b));
	buf_release(&b);
}

static void run_column(sqlite3_context *x, const struct run_info *r, int i)
{
	const struct str texts[] = {r->ulid, r->outer, {0}, r->cwd, r->user, r->group, r->host, r->mode};
	if (i == 0)
		put_int(x, r->id);
	else if (i == 3)
		put_words(x, &r->argv);
	else if (i <= 8)
		put_str(x, texts[i - 1]);
	else if (i <= 10)
		put_time(x, i == 9 ? r->start : r->end);
	else if (i == 11)
		sqlite3_result_text(x, term_name(SET_ending, r->ending), -1, SQLITE_STATIC);
	else
		put_int(x, i == 12 ? r->code : i == 13 ? r->inputs : i == 14 ? r->outputs : r->executions);
}

static void exec_column(sqlite3_context *x, const struct exec_info *e, int i)
{
	const struct str texts[] = {e->cwd, e->host, e->user, e->group, e->job, e->step, e->rank};
	const uint64_t figures[] = {e->cpu, e->user_time, e->system_time, e->rss, e->rchar, e->wchar_, e->read_bytes, e->write_bytes};
	const store_id ids[] = {e->run, e->parent};
	if (i == 0)
		put_int(x, e->id);
	else if (i == 1)
		sqlite3_result_text(x, e->pub.text, -1, SQLITE_TRANSIENT);
	else if (i <= 3)
		put_id(x, ids[i - 2]);
	else if (i <= 5)
		put_int(x, i == 4 ? e->pid : e->n);
	else if (i <= 7)
		put_id(x, i == 6 ? e->exe : e->script);
	else if (i == 8)
		put_words(x, &e->argv);
	else if (i <= 15)
		put_str(x, texts[i - 9]);
	else if (i <= 17)
		put_int(x, i == 16 ? e->uid : e->gid);
	else if (i <= 19)
		put_time(x, i == 18 ? e->start : e->end);
	else if (i == 20)
		sqlite3_result_text(x, term_name(SET_ending, e->ending), -1, SQLITE_STATIC);
	else if (i == 21)
		put_int(x, e->code);
	else
		put_known(x, e, (unsigned)i - 21, figures[i - 22]);
}

static void file_column(sqlite3_context *x, const struct file_info *f, int i)
{
	switch (i) {
	case 0:
		put_int(x, f->id);
		break;
	case 1:
		sqlite3_result_text(x, f->pub.text, -1, SQLITE_TRANSIENT);
		break;
	case 2:
		sqlite3_result_text(x, term_name(SET_kind, f->kind), -1, SQLITE_STATIC);
		break;
	case 3:
		put_str(x, f->path);
		break;
	case 4:
		sqlite3_result_int(x, f->named);
		break;
	case 5:
		put_str(x, f->domain);
		break;
	case 8:
		put_int(x, f->versions);
		break;
	default:
		put_hex(x, i == 6 ? f->ino : f->gen);
	}
}

static void version_column(sqlite3_context *x, const struct version_info *v, int i)
{
	static const char *const origins[] = {"observed", "unobserved", "external"};
	if (i == 1)
		sqlite3_result_text(x, v->pub.text, -1, SQLITE_TRANSIENT);
	else if (i < 4)
		put_int(x, i == 0 ? v->id : i == 2 ? v->file : v->n);
	else if (i == 4)
		sqlite3_result_text(x, origins[v->origin], -1, SQLITE_STATIC);
	else if (i == 5 && v->has_size)
		put_int(x, v->size);
	else if (i > 5)
		put_time(x, i == 6 ? v->mtime : i == 7 ? v->start : v->end);
}

static void access_column(sqlite3_context *x, const struct cursor *c, int i)
{
	const struct edge *e = &c->edges.v[c->at_edge];
	switch (i) {
	case 0:
		put_int(x, c->id);
		break;
	case 1:
		put_int(x, e->to);
		break;
	case 2:
		sqlite3_result_text(x, c->stage == 0 ? "used" : "generated", -1, SQLITE_STATIC);
		break;
	case 3:
		sqlite3_result_int(x, e->sure);
		break;
	case 4:
		sqlite3_result_text(x, term_name(SET_via, e->via), -1, SQLITE_STATIC);
		break;
	case 5:
		sqlite3_result_text(x, term_name(SET_api, e->api), -1, SQLITE_STATIC);
		break;
	case 6:
		sqlite3_result_int(x, e->mode);
		break;
	case 9:
		put_int(x, e->count);
		break;
	case 10:
		if (e->has_bytes)
			put_int(x, e->bytes);
		break;
	default:
		put_time(x, i == 7 ? e->lo : e->hi);
	}
}

static void edge_column(sqlite3_context *x, const struct cursor *c, int i)
{
	const struct edge *e = &c->edges.v[c->at_edge];
	if (i == 0)
		sqlite3_result_text(x, c->stage ? "wasInformedBy" : "wasDerivedFrom", -1, SQLITE_STATIC);
	else if (i < 3)
		put_int(x, i == 1 ? c->id : e->to);
	else if (i == 3)
		sqlite3_result_int(x, e->sure);
	else if (i == 4)
		sqlite3_result_text(x, term_name(SET_via, e->via), -1, SQLITE_STATIC);
	else if (c->stage) /* derivations have no time of their own */
		put_time(x, i == 5 ? e->lo : e->hi);
}

static void attribute_column(sqlite3_context *x, const struct cursor *c, int i)
{
	struct str item;
	size_t pos = c->at_item;
	if (i == 0) {
		put_int(x, c->id);
	} else if (strlist_next(&c->exec.env, &pos, &item)) {
		const char *eq = item.n ? memchr(item.p, '=', item.n) : NULL;
		size_t n = eq ? (size_t)(eq - item.p) : item.n;
		put_str(x, i == 1 ? str_n(item.p, n) : eq ? str_n(eq + 1, item.n - n - 1) : (struct str){0});
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *x, int i)
{
	struct cursor *c = (struct cursor *)base;
	switch (c->table) {
	case T_RUN:
		if (load_run(c))
			run_column(x, &c->run, i);
		break;
	case T_EXECUTION:
		if (load_exec(c))
			exec_column(x, &c->exec, i);
		break;
	case T_FILE:
		if (load_file(c))
			file_column(x, &c->file, i);
		break;
	case T_VERSION:
		version_column(x, &c->version, i);
		break;
	case T_ACCESS:
		access_column(x, c, i);
		break;
	case T_EDGE:
		edge_column(x, c, i);
		break;
	case T_ATTRIBUTE:
		if (load_exec(c))
			attribute_column(x, c, i);
		break;
	default:
		if (i == 0)
			put_int(x, c->id);
		else
			sqlite3_result_text(x, i == 1 ? term_name(SET_gap, c->pos) : term_meaning(SET_gap, c->pos), -1, SQLITE_STATIC);
	}
	return SQLITE_OK;
}

int store_views(struct store *s, struct err *err)
{
	static const sqlite3_module module = {
		.xConnect = connect,
		.xBestIndex = best_index,
		.xDisconnect = disconnect,
		.xOpen = open_cursor,
		.xClose = close_cursor,
		.xFilter = filter,
		.xNext = next,
		.xEof = eof,
		.xColumn = column,
		.xRowid = rowid,
	};
	struct views *v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(err, 12, "cannot open the index");
	v->s = s;
	for (int i = 0; i < TABLES; i++) {
		/* The last one owns v: it is let go with the connection. */
		int rc = sqlite3_create_module_v2(s->db, tables[i].name, &module, v, i == TABLES - 1 ? free : NULL);
		if (rc != SQLITE_OK)
			return err_set(err, 0, "cannot open the index: %s", sqlite3_errmsg(s->db));
	}
	/* Made known now: `stemma sql` lets nothing be made later, not even these. */
	for (int i = 0; i < TABLES; i++) {
		char sql[64];
		sqlite3_stmt *st = NULL;
		snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" LIMIT 0", tables[i].name);
		int rc = sqlite3_prepare_v2(s->db, sql, -1, &st, NULL);
		sqlite3_finalize(st);
		if (rc != SQLITE_OK)
			return err_set(err, 0, "cannot open the index: %s", sqlite3_errmsg(s->db));
	}
	return 0;
}
