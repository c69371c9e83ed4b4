/* load_schema.c - the tables in a PostgreSQL database, their indexes, and who may read which rows.
 *
 * A role of the database reads what stemma_load.reader says: rows with its name (or one of a group that it is in) and a
 * user of the record; with NULL in the place of the user it reads all. Then a role reads the runs of those users, and
 * what these runs touched. Who is not in the table reads nothing. The owner of the tables, who loads, reads all. */
#include "site/load_int.h"

#include "base/hash.h"
#include "site/builder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- tables ---- */

#define VIEW(view)                                                                                                     \
	enum load_columns_of_##view                                                                                        \
	{
#define COLUMN(view, name, type) L_##view##_##name,
#define END_VIEW(view)                                                                                                 \
	L_COLUMNS_##view                                                                                                   \
	}                                                                                                                  \
	;
#include "store/views/views.def"

#define TYPE_INTEGER "bigint"
#define TYPE_TEXT "text"
#define TYPE_REAL "double precision"
#define VIEW(view) static const char columns_##view[] =
#define COLUMN(view, name, type) ", \"" #name "\""
#define END_VIEW(view) ;
#include "store/views/views.def"
#define VIEW(view) static const char define_##view[] =
#define COLUMN(view, name, type) ", \"" #name "\" " TYPE_##type
#define END_VIEW(view) ;
#include "store/views/views.def"

#define TABLE(view, key, by)                                                                                           \
	{                                                                                                                  \
#view, columns_##view + 2, define_##view + 2, L_COLUMNS_##view, L_##view##_##key, by                           \
	}
const struct load_table load_tables[] = {
    TABLE(run, id, LOAD_BY_64),
    TABLE(execution, id, LOAD_BY_EXECUTION),
    TABLE(file, id, LOAD_BY_64),
    TABLE(version, file, LOAD_BY_64),
    TABLE(access, execution, LOAD_BY_EXECUTION),
    TABLE(io, execution, LOAD_BY_EXECUTION),
    TABLE(edge, from_id, LOAD_BY_EXECUTION),
    TABLE(input, version, LOAD_BY_VERSION),
    TABLE(attribute, id, LOAD_BY_MIXED),
    TABLE(name, file, LOAD_BY_64),
    TABLE(gap, execution, LOAD_BY_EXECUTION),
    TABLE(property, run, LOAD_BY_64),
    TABLE(result, run, LOAD_BY_64),
    TABLE(annotation, run, LOAD_BY_64),
    TABLE(mpi_rank, run, LOAD_BY_64),
    TABLE(mpi_io, run, LOAD_BY_64),
    TABLE(hdf5_object, run, LOAD_BY_64),
    TABLE(hdf5_part, run, LOAD_BY_64),
    TABLE(summary, id, LOAD_BY_64),
    TABLE(figure, summary, LOAD_BY_64),
    TABLE(build, id, LOAD_BY_64),
    TABLE(build_input, build, LOAD_BY_64),
    TABLE(build_output, build, LOAD_BY_64),
};
const int load_execution_host = L_execution_host, load_execution_began = L_execution_began,
          load_execution_ended = L_execution_ended;
const unsigned load_n_tables = sizeof(load_tables) / sizeof(load_tables[0]);

/* ---- pieces ---- */

enum { MIXED_FEW = 20 }; /* numbers below 2^20 are of runs, or of executions of process 0, of which there is none */

/* How many rows a piece has, as a power of two. */
static unsigned shift_of(const struct load_table *t, int64_t number)
{
	switch (t->by) {
	case LOAD_BY_EXECUTION:
		return 26;
	case LOAD_BY_VERSION:
		return 30;
	case LOAD_BY_MIXED:
		return number >> MIXED_FEW ? 26 : 6;
	default:
		return 6;
	}
}

/* The piece of a row, by its number. */
int64_t load_piece(const struct load_table *t, int64_t number)
{
	const unsigned shift = shift_of(t, number);
	const int64_t above = t->by == LOAD_BY_MIXED && shift == 26 ? 1 << (MIXED_FEW - 6) : 0;
	return (number >> shift) + above;
}

void load_piece_range(const struct load_table *t, int64_t piece, int64_t *lo, int64_t *hi)
{
	const int64_t few = 1 << (MIXED_FEW - 6);
	if (t->by != LOAD_BY_MIXED) {
		*lo = piece << shift_of(t, 0);
		*hi = (piece + 1) << shift_of(t, 0);
	} else if (piece >= 0 && piece < few) {
		*lo = piece << 6;
		*hi = (piece + 1) << 6;
	} else {
		*lo = (piece - few) << 26;
		*hi = (piece - few + 1) << 26;
		if (*lo == 0)
			*lo = 1 << MIXED_FEW;
	}
}

/* ---- the schemas ---- */

static const char prepare[] =
    "CREATE SCHEMA IF NOT EXISTS stemma_load;"
    "CREATE TABLE IF NOT EXISTS stemma_load.meta (key text PRIMARY KEY, value text);"
    "CREATE TABLE IF NOT EXISTS stemma_load.piece (\"table\" text, piece bigint, sum text NOT NULL,"
    " PRIMARY KEY (\"table\", piece));"
    "CREATE TABLE IF NOT EXISTS stemma_load.reader (role name NOT NULL, sees text);";

/* Texts that programs and other hosts made up may be longer than a sorted index allows. */
static const char indexes[] =
    "CREATE INDEX ON stemma.run USING hash (\"user\"); CREATE INDEX ON stemma.run USING hash (ulid);"
    "CREATE INDEX ON stemma.run (id); CREATE INDEX ON stemma.execution (id); CREATE INDEX ON stemma.execution (run);"
    "CREATE INDEX ON stemma.file (id); CREATE INDEX ON stemma.file USING hash (path);"
    "CREATE INDEX ON stemma.version (id); CREATE INDEX ON stemma.version (file);"
    "CREATE INDEX ON stemma.access (execution); CREATE INDEX ON stemma.access (file);"
    "CREATE INDEX ON stemma.access (generated) WHERE generated IS NOT NULL;"
    "CREATE INDEX ON stemma.io (execution); CREATE INDEX ON stemma.io (file);"
    "CREATE INDEX ON stemma.edge (from_id); CREATE INDEX ON stemma.edge (to_id);"
    "CREATE INDEX ON stemma.input (version); CREATE INDEX ON stemma.attribute (id);"
    "CREATE INDEX ON stemma.name USING hash (path); CREATE INDEX ON stemma.name (file);"
    "CREATE INDEX ON stemma.gap (execution); CREATE INDEX ON stemma.property (run);"
    "CREATE INDEX ON stemma.result (run); CREATE INDEX ON stemma.annotation (run);"
    "CREATE INDEX ON stemma.mpi_rank (run); CREATE INDEX ON stemma.mpi_io (run);"
    "CREATE INDEX ON stemma.hdf5_object (run); CREATE INDEX ON stemma.hdf5_part (run);"
    "CREATE INDEX ON stemma.summary (id); CREATE INDEX ON stemma.figure (summary);"
    "CREATE INDEX ON stemma.build (id); CREATE INDEX ON stemma.build (pub);"
    "CREATE INDEX ON stemma.build_input (build); CREATE INDEX ON stemma.build_output (build);"
    "CREATE INDEX ON stemma.build_output USING hash (digest);";

#define OF_RUN(t) "EXISTS (SELECT FROM stemma.run o WHERE o.id = " t ".run)"
#define OF_EXECUTION(t, column) "EXISTS (SELECT FROM stemma.execution o WHERE o.id = " t "." column ")"
#define OF_FILE(file) "EXISTS (SELECT FROM stemma.access o WHERE o.file = " file ")"
#define OF_BUILD(t) "EXISTS (SELECT FROM stemma.build o WHERE o.id = " t ".build)"
#define OF_USER "\"user\" IN (SELECT sees FROM stemma_load.reader)"
/* Subqueries read under the policies of their tables. That of a derivation asks `access`, and that of `version` asks
 * `edge`: a circle is an error. With EXISTS the planner may look up each row that is asked for, by an index, or all at
 * once: so one file costs what it is, not what the record is. */
static const struct policy {
	const char *table, *own;
} policies[] = {
    {"run", OF_USER},
    {"execution", OF_RUN("execution") " OR (run IS NULL AND " OF_USER ")"},
    {"file", OF_FILE("file.id")},
    {"version", "EXISTS (SELECT FROM stemma.edge o WHERE o.to_id = version.id AND o.type = 'used')"
                " OR EXISTS (SELECT FROM stemma.edge o WHERE o.from_id = version.id AND o.type = 'wasGeneratedBy')"},
    {"access", OF_EXECUTION("access", "execution")},
    {"io", OF_EXECUTION("io", "execution")},
    {"edge",
     "CASE type WHEN 'used' THEN " OF_EXECUTION("edge", "from_id") " WHEN 'wasGeneratedBy' THEN " OF_EXECUTION(
         "edge",
         "to_id") " WHEN 'wasInformedBy' THEN " OF_EXECUTION("edge",
                                                             "from_id") " AND " OF_EXECUTION("edge",
                                                                                             "to_id") " ELSE EXISTS "
                                                                                                      "(SELECT FROM "
                                                                                                      "stemma.access o "
                                                                                                      "WHERE "
                                                                                                      "o.generated = "
                                                                                                      "edge.from_id) "
                                                                                                      "END"},
    {"input", OF_EXECUTION("input", "execution")},
    {"attribute", "CASE kind WHEN 'run' THEN EXISTS (SELECT FROM stemma.run o WHERE o.id = attribute.id)"
                  " ELSE " OF_EXECUTION("attribute", "id") " END"},
    {"name", OF_FILE("name.file")},
    {"gap", OF_EXECUTION("gap", "execution") " OR (execution IS NULL AND " OF_RUN("gap") ")"},
    {"property", OF_RUN("property")},
    {"result", OF_RUN("result")},
    {"annotation", OF_RUN("annotation")},
    {"mpi_rank", OF_RUN("mpi_rank")},
    {"mpi_io", OF_RUN("mpi_io")},
    {"hdf5_object", OF_RUN("hdf5_object")},
    {"hdf5_part", OF_RUN("hdf5_part")},
    {"summary", OF_RUN("summary")},
    {"figure", "EXISTS (SELECT FROM stemma.summary o WHERE o.id = figure.summary)"},
    {"build", OF_USER},
    {"build_input", OF_BUILD("build_input")},
    {"build_output", OF_BUILD("build_output")},
};

/* What a centre asks. Each reader's answer is of the rows that the reader may see, so of PostgreSQL 15 on: before, a
 * view had its owner's rights. An unknown is never counted as nothing: it has a column of its own. */
#define MONTH(t) "to_char(to_timestamp(" t " / 1000000000) AT TIME ZONE 'UTC', 'YYYY-MM') AS month"
#define USERS "count(DISTINCT e.\"user\") AS users, count(DISTINCT e.run) AS runs, count(*) AS executions"
static const char views[] =
    "CREATE VIEW stemma.program_use WITH (security_invoker) AS SELECT f.path AS program, " MONTH(
        "e.began") ", " USERS ", round(sum(e.cpu) / 3.6e12, 6) AS core_hours, count(*) - count(e.cpu) AS of_unknown_cpu"
                   " FROM stemma.execution e JOIN stemma.file f ON f.id = e.exe GROUP BY 1, 2;"
                   "CREATE VIEW stemma.library_use WITH (security_invoker) AS SELECT l.path AS library, " MONTH(
                       "e.began") ", " USERS " FROM stemma.execution e JOIN stemma.access a ON a.execution = e.id JOIN "
                                  "stemma.file l ON l.id = a.file"
                                  " WHERE l.path ~ '\\.so(\\.[0-9.]+)?$' AND l.kind = 'regular' GROUP BY 1, 2;"
                                  "CREATE VIEW stemma.compiler_use WITH (security_invoker) AS SELECT compiler, "
                                  "version, " MONTH(
                                      "began") ", count(DISTINCT \"user\") AS users, count(*) AS builds FROM "
                                               "stemma.build GROUP BY 1, 2, 3;"
                                               "CREATE VIEW stemma.built_use WITH (security_invoker) AS SELECT o.path "
                                               "AS program, b.pub AS build, b.compiler,"
                                               " b.version, " USERS " FROM stemma.execution e JOIN stemma.version v ON "
                                               "v.file = e.exe AND v.began <= e.began"
                                               " JOIN stemma.build_output o ON o.size = v.size AND o.mtime = v.mtime "
                                               "JOIN stemma.build b ON b.id = o.build"
                                               " WHERE NOT EXISTS (SELECT FROM stemma.version w WHERE w.file = v.file "
                                               "AND w.n > v.n AND w.began <= e.began)"
                                               " GROUP BY 1, 2, 3, 4;"
                                               "CREATE VIEW stemma.file_use WITH (security_invoker) AS SELECT f.id AS "
                                               "file, f.path,"
                                               " max(a.began) FILTER (WHERE a.mode LIKE '%read%') AS last_read_seen,"
                                               " max(a.began) FILTER (WHERE a.mode LIKE '%write%') AS last_write_seen, "
                                               "count(DISTINCT e.\"user\") AS users"
                                               " FROM stemma.file f JOIN stemma.access a ON a.file = f.id JOIN "
                                               "stemma.execution e ON e.id = a.execution"
                                               " WHERE f.kind = 'regular' GROUP BY 1, 2;"
                                               "CREATE VIEW stemma.host_state WITH (security_invoker) AS SELECT host, "
                                               "sessions, open_sessions, lacking_sessions, last_recorded FROM "
                                               "stemma_load.host;";

/* `SELECT ... FROM run` then finds the table. Compiling the policies of a query costs seconds, running them
 * milliseconds. Only the database's owner may set these. */
static const char settings[] =
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = stemma, public', current_database());"
    " EXECUTE format('ALTER DATABASE %I SET jit = off', current_database());"
    " EXCEPTION WHEN insufficient_privilege THEN NULL; END $$;";

static const char readers[] = "ALTER TABLE stemma_load.reader ENABLE ROW LEVEL SECURITY;"
                              "DROP POLICY IF EXISTS own ON stemma_load.reader;"
                              "CREATE POLICY own ON stemma_load.reader FOR SELECT USING (EXISTS (SELECT FROM pg_roles r"
                              " WHERE r.rolname = role AND pg_has_role(current_user, r.oid, 'USAGE')));"
                              "GRANT USAGE ON SCHEMA stemma, stemma_load TO PUBLIC;"
                              "GRANT SELECT ON ALL TABLES IN SCHEMA stemma TO PUBLIC;"
                              "GRANT SELECT ON stemma_load.reader TO PUBLIC;"
                              /* Which hosts there are: for everyone who may see something. */
                              "ALTER TABLE stemma_load.host ENABLE ROW LEVEL SECURITY;"
                              "DROP POLICY IF EXISTS own ON stemma_load.host;"
                              "CREATE POLICY own ON stemma_load.host FOR SELECT USING"
                              " (EXISTS (SELECT FROM stemma_load.reader));"
                              "GRANT SELECT ON stemma_load.host TO PUBLIC;";

_Static_assert(sizeof(policies) / sizeof(policies[0]) == sizeof(load_tables) / sizeof(load_tables[0]),
               "each table has a policy");

/* A name for the layout of all tables: another one means to begin anew. */
static void layout_name(char ret[32])
{
	struct buf all = {0};
	buf_printf(&all, "%s%s%s%s", indexes, views, settings, readers);
	for (unsigned i = 0; i < load_n_tables; i++)
		buf_printf(&all, "%s %s %s %d;", load_tables[i].name, load_tables[i].define, policies[i].own,
		           (int)load_tables[i].by);
	snprintf(ret, 32, "%016llx", (unsigned long long)hash_str(buf_view(&all)));
	buf_release(&all);
}

/* Notes the name of the layout that the database has. Always 0. */
static int note_layout(void *arg, const char *const *columns)
{
	snprintf(arg, 32, "%s", columns[0] ? columns[0] : "");
	return 0;
}

int load_schema(struct database *to, struct err *err, bool *ret_made)
{
	char layout[32], there[32] = "";
	struct buf sql = {0};
	layout_name(layout);
	int rc = database_exec(to, prepare, err);
	rc = rc < 0 ? rc : builder_tables(to, err);
	if (rc == 0)
		rc = database_query(to, "SELECT value FROM stemma_load.meta WHERE key = 'layout'", NULL, err, note_layout,
		                    there);
	*ret_made = rc == 0 && strcmp(layout, there) != 0;
	if (rc < 0 || !*ret_made)
		return rc;
	buf_printf(&sql, "DROP SCHEMA IF EXISTS stemma CASCADE; CREATE SCHEMA stemma; DELETE FROM stemma_load.piece;"
	                 "DELETE FROM stemma_load.session; DELETE FROM stemma_load.forgotten; DELETE FROM stemma_load.host;"
	                 "DELETE FROM stemma_load.meta WHERE key = 'hosts';");
	for (unsigned i = 0; i < load_n_tables; i++)
		buf_printf(&sql, "CREATE TABLE stemma.%s (%s);", load_tables[i].name, load_tables[i].define);
	buf_printf(&sql,
	           "INSERT INTO stemma_load.meta VALUES ('layout', '%s') ON CONFLICT (key) DO UPDATE SET value = '%s';",
	           layout, layout);
	rc = sql.failed ? err_set(err, ENOMEM, "cannot load") : database_exec(to, buf_cstr(&sql), err);
	buf_release(&sql);
	return rc;
}

int load_schema_finish(struct database *to, struct err *err)
{
	struct buf sql = {0};
	buf_printf(&sql, "%s", indexes);
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		buf_printf(&sql,
		           "ALTER TABLE stemma.%s ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON stemma.%s FOR SELECT USING"
		           " (EXISTS (SELECT FROM stemma_load.reader WHERE sees IS NULL) OR %s);",
		           policies[i].table, policies[i].table, policies[i].own);
	buf_printf(&sql, "%s%s%s", database_version(to) >= 150000 ? views : "", settings, readers);
	int rc = sql.failed ? err_set(err, ENOMEM, "cannot load") : database_exec(to, buf_cstr(&sql), err);
	buf_release(&sql);
	return rc;
}
