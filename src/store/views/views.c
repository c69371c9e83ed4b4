/* views.c - the documented tables: virtual ones that unpack rows while they are read.
 *
 * A cursor steps through rows of the store (its units: runs, processes, files, paths, sessions), and makes all lines of
 * one unit at a time. Where a column that leads to few units is compared with = (the table `keys`), only those are
 * looked at. Each cursor has a reader of its own: strings that the caller has from the calls of store.h stay as they
 * are. */
#include "store/views/views_int.h"

#include "base/digest.h"

#include <errno.h>
#include <stdlib.h>

static const struct view {
	const char *name, *sql;
	unsigned columns;
} views[] = {
#define VIEW(view)                                                                                                     \
	{                                                                                                                  \
#view, "CREATE TABLE " #view "("
#define COLUMN(view, name, type) #name " " #type ","
#define END_VIEW(view)                                                                                                 \
	"lines_of HIDDEN)", COLUMNS_##view                                                                                 \
	}                                                                                                                  \
	,
#include "store/views/views.def"
};

struct table_of {
	sqlite3_vtab base;
	struct store *s;
	enum view_id view;
};

/* ---- units ---- */

static const struct kind {
	void (*make)(struct cursor *c);
	enum store_sql last[2]; /* greatest unit of each phase; SQL_COUNT none */
} kinds[] = {
    [VIEW_run] = {views_runs, {SQL_max_run, SQL_COUNT}},
    [VIEW_execution] = {views_executions, {SQL_process_last, SQL_COUNT}},
    [VIEW_file] = {views_files, {SQL_file_last, SQL_COUNT}},
    [VIEW_version] = {views_versions, {SQL_file_last, SQL_COUNT}},
    [VIEW_access] = {views_accesses, {SQL_process_last, SQL_COUNT}},
    [VIEW_io] = {views_accesses, {SQL_process_last, SQL_COUNT}},
    [VIEW_edge] = {views_edges, {SQL_process_last, SQL_file_last}},
    [VIEW_input] = {views_inputs, {SQL_file_last, SQL_COUNT}},
    [VIEW_attribute] = {views_attributes, {SQL_max_run, SQL_process_last}},
    [VIEW_name] = {views_names, {SQL_max_path, SQL_COUNT}},
    [VIEW_gap] = {views_gaps, {SQL_process_last, SQL_max_session}},
    [VIEW_property] = {views_properties, {SQL_max_told, SQL_COUNT}},
    [VIEW_result] = {views_results, {SQL_max_told, SQL_COUNT}},
    [VIEW_annotation] = {views_annotations, {SQL_max_told, SQL_COUNT}},
    [VIEW_mpi_rank] = {views_ranks, {SQL_max_told, SQL_COUNT}},
    [VIEW_mpi_io] = {views_mpiio, {SQL_max_told, SQL_COUNT}},
    [VIEW_hdf5_object] = {views_hdf5_objects, {SQL_max_told, SQL_COUNT}},
    [VIEW_hdf5_part] = {views_hdf5_parts, {SQL_max_told, SQL_COUNT}},
    [VIEW_summary] = {views_summaries, {SQL_max_summary, SQL_COUNT}},
    [VIEW_figure] = {views_figures, {SQL_max_summary, SQL_COUNT}},
    [VIEW_build] = {views_builds, {SQL_max_build, SQL_COUNT}},
    [VIEW_build_input] = {views_build_inputs, {SQL_max_build, SQL_COUNT}},
    [VIEW_build_output] = {views_build_outputs, {SQL_max_build, SQL_COUNT}},
};

/* Each unit_ and units_ function adds the units whose lines are to be read to c->found, for one column of which a
 * question gives the value: id of a number, text of a text; the other of the two is not used. It may add too many,
 * for SQLite compares the column again. Less than 0: -errno. */

/* The process of the execution id. 0, -ENOMEM. */
static int unit_of_process(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	return ids_add(&c->found[0], exec_process(id));
}
/* The file of the version id. 0, -ENOMEM. */
static int unit_of_file(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	return ids_add(&c->found[0], version_file(id));
}
/* The unit id itself. 0, -ENOMEM. */
static int unit_itself(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	return ids_add(&c->found[0], id);
}
/* The process and the file that id would be of, for it may be an execution or a version. 0, -ENOMEM. */
static int units_of_edge(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	return ids_add(&c->found[0], exec_process(id)) < 0 || ids_add(&c->found[1], version_file(id)) < 0 ? -ENOMEM : 0;
}
/* The edges that lead to id are all of one unit. 0, -ENOMEM. */
static int units_to_edge(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	c->to = id;
	return id ? ids_add(&c->found[0], 1) : 0; /* one unit, whose lines are all that lead there */
}
/* The unit id itself and the process that it would be of, for it may be either. 0, -ENOMEM. */
static int units_of_attribute(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	return ids_add(&c->found[0], id) < 0 || ids_add(&c->found[1], exec_process(id)) < 0 ? -ENOMEM : 0;
}
/* The processes of the run id. 0, -errno. */
static int units_of_run(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	return lists_get(c->s, list_key(LIST_RUN, id), &c->found[0]);
}
/* The path `text`. 0, also of a path that is not known; -errno. */
static int unit_of_path(struct cursor *c, uint64_t id, struct str text)
{
	(void)id;
	uint64_t row;
	int rc = read_path_id(c->s, text, &row);
	return rc == 1 ? ids_add(&c->found[0], row) : rc;
}
/* A visitor of names. 0, -ENOMEM. */
static int collect_named_file(void *arg, const struct pname *n)
{
	struct cursor *c = arg;
	return ids_add(&c->found[0], n->file);
}
/* The files that have or had the path `text`. 0, -errno. */
static int units_by_path(struct cursor *c, uint64_t id, struct str text)
{
	(void)id;
	uint64_t row;
	int rc = read_path_id(c->s, text, &row);
	store_id absent;
	if (rc == 1)
		rc = read_names(c->s, row, collect_named_file, c, NULL);
	if (rc >= 0 && store_files_by_path(c->s, text, &absent, 1) == 1)
		rc = ids_add(&c->found[0], absent);
	return rc;
}
/* The paths of the file id. 0 or more; -errno. */
static int units_by_name(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	int rc = read_stored_file(c->s, id, &c->reader->file);
	for (size_t i = 0; rc == 1 && i < c->reader->file.paths.n; i++)
		if (ids_add(&c->found[0], c->reader->file.paths.v[i]) < 0)
			rc = -ENOMEM;
	return rc;
}
/* The processes with accesses to the file id. 0 or more; -errno. */
static int units_by_access(struct cursor *c, uint64_t id, struct str text)
{
	(void)text;
	struct ids execs = {0};
	int rc = read_stored_file(c->s, id, &c->reader->file);
	uint64_t last = rc == 1 ? c->reader->file.nversion : 0,
	         to = rc == 1 && c->reader->file.group ? c->reader->file.group : id;
	if (rc == 1 && to != id) { /* an alias: its accesses are filed with its group's file */
		rc = read_stored_file(c->s, to, &c->reader->file);
		last = rc == 1 ? c->reader->file.nversion : 0;
	}
	for (uint64_t n = 0; rc >= 0 && n <= last; n++)
		rc = read_attached(c->s, to, n, &execs);
	for (size_t i = 0; rc >= 0 && i < execs.n; i++)
		rc = ids_add(&c->found[0], exec_process(execs.v[i]));
	free(execs.v);
	return rc;
}

/* The rows of what was told of the run id. 0, -errno. */
static int units_reported_of_run(struct cursor *c, uint64_t id, struct str text)
{
	sqlite3_stmt *st = store_stmt(c->s, SQL_told_ids_of_run, NULL);
	int rc;
	(void)text;
	if (!st)
		return -EIO;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	while ((rc = store_step(c->s, st, NULL)) == 1)
		if ((rc = ids_add(&c->found[0], (uint64_t)sqlite3_column_int64(st, 0))) < 0)
			break;
	sqlite3_reset(st);
	return rc;
}

/* The build whose public id is `text`. 0, also if there is none; -errno. */
static int unit_of_build(struct cursor *c, uint64_t id, struct str text)
{
	char name[26] = "";
	(void)id;
	if (text.n == 25)
		memcpy(name, text.p, 25);
	int rc = store_build_by_pubid(c->s, name, &id);
	return rc == 1 ? ids_add(&c->found[0], id) : rc;
}
/* The builds that made a file of the digest `text`; none where it is no digest. 0, -errno. */
static int units_of_digest(struct cursor *c, uint64_t id, struct str text)
{
	struct digest d;
	store_id *v = NULL;
	size_t n = 0;
	(void)id;
	if (!digest_parse(text, &d))
		return 0;
	int rc = store_builds_of(c->s, str_n((const char *)d.b, DIGEST_BYTES), str_n("", 0), str_n("", 0), &v, &n);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = ids_add(&c->found[0], v[i]);
	free(v);
	return rc;
}

/* Columns that lead to few units, the better first. */
static const struct view_key {
	enum view_id view;
	int column;
	int (*find)(struct cursor *c, uint64_t id, struct str text);
	double cost;
} keys[] = {
    {VIEW_run, C_run_id, unit_itself, 5},
    {VIEW_execution, C_execution_id, unit_of_process, 5},
    {VIEW_execution, C_execution_run, units_of_run, 1e4},
    {VIEW_file, C_file_id, unit_itself, 5},
    {VIEW_file, C_file_path, units_by_path, 10},
    {VIEW_version, C_version_id, unit_of_file, 5},
    {VIEW_version, C_version_file, unit_itself, 10},
    {VIEW_access, C_access_execution, unit_of_process, 10},
    {VIEW_access, C_access_file, units_by_access, 100},
    {VIEW_io, C_io_execution, unit_of_process, 10},
    {VIEW_io, C_io_file, units_by_access, 100},
    {VIEW_edge, C_edge_from_id, units_of_edge, 10},
    {VIEW_edge, C_edge_to_id, units_to_edge, 20},
    {VIEW_input, C_input_version, unit_of_file, 20},
    {VIEW_attribute, C_attribute_id, units_of_attribute, 10},
    {VIEW_name, C_name_path, unit_of_path, 5},
    {VIEW_name, C_name_file, units_by_name, 10},
    {VIEW_gap, C_gap_execution, unit_of_process, 10},
    {VIEW_annotation, C_annotation_run, units_reported_of_run, 1e3},
    {VIEW_mpi_rank, C_mpi_rank_run, units_reported_of_run, 1e3},
    {VIEW_mpi_io, C_mpi_io_run, units_reported_of_run, 1e3},
    {VIEW_summary, C_summary_id, unit_itself, 5},
    {VIEW_figure, C_figure_summary, unit_itself, 10},
    {VIEW_build, C_build_id, unit_itself, 5},
    {VIEW_build, C_build_pub, unit_of_build, 5},
    {VIEW_build_input, C_build_input_build, unit_itself, 10},
    {VIEW_build_output, C_build_output_build, unit_itself, 10},
    {VIEW_build_output, C_build_output_digest, units_of_digest, 20},
};

/* The next unit; false at the end. */
static bool next_unit(struct cursor *c)
{
	for (;;) {
		if (c->looked_up && c->found_at < c->found[c->phase].n) {
			c->unit = c->found[c->phase].v[c->found_at++];
			return true;
		}
		if (!c->looked_up && c->unit < c->last) {
			c->unit++;
			return true;
		}
		if (c->phase == 1 || kinds[c->view].last[1] == SQL_COUNT || c->failed)
			return false;
		c->phase = 1;
		c->unit = c->last = c->found_at = 0;
		if (!c->looked_up)
			c->failed |= store_max(c->s, kinds[c->view].last[1], &c->last, NULL) < 0;
	}
}

/* What the cursor does to the store, it does with its own reader. */
struct own {
	struct reader *reader;
	bool viewing;
};
/* The store reads with the cursor's own reader until own_end, so that the caller's rows stay as they are. */
static struct own own_begin(struct cursor *c)
{
	struct own o = {c->s->reader, c->s->viewing};
	c->s->reader = c->reader;
	c->s->viewing = false; /* rows that the caller's view keeps are not ours */
	return o;
}
/* Gives the store back the reader that own_begin took. */
static void own_end(struct cursor *c, struct own o)
{
	c->reader = c->s->reader;
	c->s->reader = o.reader;
	c->s->viewing = o.viewing;
}

/* Makes lines of units until there are some, or no more units. */
static void make_lines(struct cursor *c)
{
	struct own o = own_begin(c);
	c->at = c->n_lines = c->cells.n = 0;
	buf_reset(&c->text);
	while (!c->n_lines && !c->failed && next_unit(c))
		kinds[c->view].make(c);
	c->failed |= c->text.failed;
	own_end(c, o);
}

/* ---- SQLite's side ---- */

struct module {
	struct store *s;
	enum view_id view;
};

/* For SQLite: a table of one view. */
static int x_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **ret, char **err)
{
	(void)argc, (void)argv, (void)err;
	const struct module *m = aux;
	int code = sqlite3_declare_vtab(db, views[m->view].sql);
	if (code != SQLITE_OK)
		return code;
	struct table_of *t = calloc(1, sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	t->s = m->s;
	t->view = m->view;
	*ret = &t->base;
	return SQLITE_OK;
}

/* SQLite's callback: frees v. */
static int x_disconnect(sqlite3_vtab *v)
{
	free(v);
	return SQLITE_OK;
}

/* Called by SQLite to choose how rows are found. idxStr: the columns asked for, in hex; idxNum: 1 + which of keys is
 * compared with =, 0 none. */
static int x_best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	const struct table_of *t = (const struct table_of *)v;
	info->estimatedCost = 1e7;
	info->estimatedRows = 1000000;
	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys) && !info->idxNum; k++)
		for (int i = 0; keys[k].view == t->view && i < info->nConstraint; i++) {
			const struct sqlite3_index_constraint *c = &info->aConstraint[i];
			if (!c->usable || c->iColumn != keys[k].column || c->op != SQLITE_INDEX_CONSTRAINT_EQ)
				continue;
			info->aConstraintUsage[i].argvIndex = 1;
			info->idxNum = (int)k + 1;
			info->estimatedCost = keys[k].cost;
			info->estimatedRows = (sqlite3_int64)keys[k].cost;
			break;
		}
	info->idxStr = sqlite3_mprintf("%llx", (unsigned long long)info->colUsed);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* For SQLite: a reading of a view, with memory of its own. */
static int x_open(sqlite3_vtab *v, sqlite3_vtab_cursor **ret)
{
	const struct table_of *t = (const struct table_of *)v;
	struct cursor *c = calloc(1, sizeof(*c));
	if (c)
		c->reader = calloc(1, sizeof(*c->reader));
	if (!c || !c->reader) {
		free(c);
		return SQLITE_NOMEM;
	}
	c->s = t->s;
	c->view = t->view;
	c->columns = views[t->view].columns;
	*ret = &c->base;
	return SQLITE_OK;
}

/* Frees the cursor. Rows that the store's other reader holds stay. */
static int x_close(sqlite3_vtab_cursor *v)
{
	struct cursor *c = (struct cursor *)v;
	struct reader *callers = c->s->reader;
	c->s->reader = c->reader;
	store_reader_free(c->s);
	c->s->reader = callers;
	vec_release(&c->cells);
	buf_release(&c->text);
	edges_release(&c->edges);
	ios_release(&c->ios);
	free(c->found[0].v);
	free(c->found[1].v);
	free(c);
	return SQLITE_OK;
}

/* For SQLite: begins to read: all rows, or (num) those that a key asks for. */
static int x_filter(sqlite3_vtab_cursor *v, int num, const char *str, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)v;
	c->wanted = strtoull(str, NULL, 16);
	c->phase = 0;
	c->unit = c->last = c->rowid = c->to = 0;
	c->found[0].n = c->found[1].n = c->found_at = 0;
	c->failed = false;
	c->looked_up = num > 0 && argc == 1;
	struct own o = own_begin(c);
	if (c->looked_up && sqlite3_value_type(argv[0]) != SQLITE_NULL) {
		const void *p = sqlite3_value_type(argv[0]) == SQLITE_INTEGER ? NULL : sqlite3_value_blob(argv[0]);
		struct str text = str_n(p ? p : "", p ? (size_t)sqlite3_value_bytes(argv[0]) : 0);
		c->failed =
		    store_reader(c->s) == NULL || keys[num - 1].find(c, (uint64_t)sqlite3_value_int64(argv[0]), text) < 0;
		ids_sort(&c->found[0]);
		ids_sort(&c->found[1]);
	} else if (!c->looked_up) {
		c->failed = store_max(c->s, kinds[c->view].last[0], &c->last, NULL) < 0;
	}
	own_end(c, o);
	if (!c->failed)
		make_lines(c);
	return c->failed ? SQLITE_ERROR : SQLITE_OK;
}

/* To the next line; rows without one are passed over. SQLITE_ERROR if the store could not be read. */
static int x_next(sqlite3_vtab_cursor *v)
{
	struct cursor *c = (struct cursor *)v;
	c->rowid++;
	if (++c->at >= c->n_lines)
		make_lines(c);
	return c->failed ? SQLITE_ERROR : SQLITE_OK;
}

/* SQLite's callback: has the cursor passed its last line? */
static int x_eof(sqlite3_vtab_cursor *v)
{
	const struct cursor *c = (const struct cursor *)v;
	return c->at >= c->n_lines;
}

/* SQLite has no not-a-number: it would be NULL, as what was not told is. */
static void result_real(sqlite3_context *out, int64_t bits)
{
	double v;
	memcpy(&v, &bits, sizeof(v));
	if (v == v)
		sqlite3_result_double(out, v);
	else
		sqlite3_result_text(out, "nan", 3, SQLITE_STATIC);
}

/* A column of the current line. Texts are copied. */
static int x_column(sqlite3_vtab_cursor *v, sqlite3_context *out, int column)
{
	const struct cursor *c = (const struct cursor *)v;
	const struct cell *cell = column < (int)c->columns ? &line_at(c, c->at)->v[column] : NULL;
	if (!cell || cell->type == CELL_NULL)
		sqlite3_result_null(out);
	else if (cell->type == CELL_INT)
		sqlite3_result_int64(out, cell->i);
	else if (cell->type == CELL_REAL)
		result_real(out, cell->i);
	else
		sqlite3_result_text(out, cell->n ? c->text.p + cell->i : "", (int)cell->n, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

/* SQLite's callback: *ret becomes the number of the cursor's line. */
static int x_rowid(sqlite3_vtab_cursor *v, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((const struct cursor *)v)->rowid;
	return SQLITE_OK;
}

static const sqlite3_module module = {
    .xConnect = x_connect,
    .xDisconnect = x_disconnect,
    .xBestIndex = x_best_index,
    .xOpen = x_open,
    .xClose = x_close,
    .xFilter = x_filter,
    .xNext = x_next,
    .xEof = x_eof,
    .xColumn = x_column,
    .xRowid = x_rowid,
};

/* Makes the documented views. 0, -errno with a sentence. */
int store_views(struct store *s, struct err *err)
{
	for (unsigned i = 0; i < VIEW_COUNT; i++) {
		struct module *m = malloc(sizeof(*m));
		if (!m)
			return err_set(err, ENOMEM, "cannot open the index");
		*m = (struct module){s, (enum view_id)i};
		/* Without xCreate it is there under its own name, as if it were a table. */
		if (sqlite3_create_module_v2(s->db, views[i].name, &module, m, free) != SQLITE_OK)
			return store_db_error(s, err, "cannot open the index");
	}
	return 0;
}
