/* The tables of SQL (doc/format/store.md): what each column says of a record that has something of everything; and that
 * neither the order of the logs nor a rebuild changes it. */
#include "history_all.h"

#include "store/dump.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* Lists of constant words. */
#define LIST(...)                                                                                                      \
	(struct strlist)                                                                                                   \
	{                                                                                                                  \
		.items = (const struct str[]){__VA_ARGS__},                                                                    \
		.count = sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str)                                        \
	}
#define S(text)                                                                                                        \
	{                                                                                                                  \
		text, sizeof(text) - 1                                                                                         \
	}

/* ---- asking ---- */

/* All rows, a line each, with | between the columns; NULL is -. */
static void ask(const char *sql, struct buf *b)
{
	sqlite3_stmt *st;
	sqlite3 *db = store_sqlite(history_store());
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	buf_reset(b);
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const char *text = (const char *)sqlite3_column_text(st, i);
			buf_printf(b, "%s%s", i ? "|" : "", text ? text : "-");
		}
		buf_char(b, '\n');
	}
	assert_int_equal(rc, SQLITE_DONE);
	sqlite3_finalize(st);
}

static void says(const char *sql, const char *want)
{
	struct buf b = {0};
	ask(sql, &b);
	if (strcmp(buf_cstr(&b), want) != 0)
		fail_msg("%s:\n%s-- and not:\n%s", sql, buf_cstr(&b), want);
	buf_release(&b);
}

/* A time as seconds since the beginning. */
#define T(column) "(" column " - 1767225600000000000) / 1000000000"

/* With names in the place of rows, which are this store's own. */
#define RUN_OF(column) "(SELECT ulid FROM run WHERE id = " column ")"
#define EXEC_OF(column) "(SELECT ifnull(argv, '-') || ' ' || n FROM execution WHERE id = " column ")"
#define PATH_OF(column) "(SELECT ifnull(path, kind) FROM file WHERE id = " column ")"
#define VERSION_OF(column) "(SELECT " PATH_OF("file") " || '@' || n FROM version WHERE id = " column ")"

static const struct {
	const char *sql, *want;
} rows[] = {
    {"SELECT ulid, outer_run, argv, cwd, user, user_group, host, mode, labels FROM run ORDER BY ulid",
     HISTORY_RUN_A "|" HISTORY_RUN_B "|./a two words|/w/a|ann|lab|h1|complete/test|sample=B7 plain\n" HISTORY_RUN_B
                   "|-|b|/w|ann|lab|h1|complete/test|\n"},
    {"SELECT ulid, " T("began") ", " T("ended") ", ending, code, recorder_cpu, traps FROM run ORDER BY ulid",
     HISTORY_RUN_A "|3|39|exited|3|55|66\n" HISTORY_RUN_B "|1003|1022|exited|0|1000000|10\n"},
    /* Of A: /w/in, /w/none; /w/out, the pipe, /w/d/x. Of B: nothing but /w/in. */
    {"SELECT ulid, executions, inputs, outputs FROM run ORDER BY ulid",
     HISTORY_RUN_A "|2|2|3\n" HISTORY_RUN_B "|2|1|0\n"},
    {"SELECT " RUN_OF("run") ", " EXEC_OF("x.parent") ", pid, n, " PATH_OF("exe") ", " PATH_OF(
         "script") ", argv, cwd, host, user, user_group, job, step, rank FROM execution x ORDER BY began, n",
     "-|-|101|0|-|-|||h1|||-|-|-\n" HISTORY_RUN_A
     "| 0|101|1|/usr/bin/a|-|a -x two words|/w/a|h1|ann|7|77|2|3\n" HISTORY_RUN_A
     "|a -x two words 1|102|0|-|-|||h1|||-|-|-\n" HISTORY_RUN_B "|-|1101|0|-|-|||h1|||-|-|-\n" HISTORY_RUN_B
     "| 0|1101|1|-|-|b|/w|h1|ann|lab|-|-|-\n"},
    {"SELECT pid, n, " T("began") ", " T("ended") ", ending, code, cpu, user_time, system_time, rss, rchar, wchar, "
                                                  "read_bytes, write_bytes FROM execution ORDER BY began, n",
     "101|0|3|6|unknown|-|-|-|-|-|-|-|-|-\n"
     "101|1|6|35|exited|3|30|20|10|-|71|21|512|1024\n"
     "102|0|29|34|signaled|9|5000000|-|-|-|-|-|-|-\n"
     "1101|0|1003|1006|unknown|-|-|-|-|-|-|-|-|-\n"
     "1101|1|1006|1021|exited|0|5000000|-|-|-|-|-|-|-\n"},
    {"SELECT kind, path, named, domain, ino, gen, versions, network FROM file ORDER BY ino",
     "absent|/w/none|0||0|0|1|0\n"
     "regular|/usr/bin/a|1|uuid:test|10|0|0|0\n"
     "regular|/w/in|1|uuid:test|11|0|2|0\n"
     "regular|/w/also|1|uuid:test|12|0|1|0\n"
     "pipe|-|0|uuid:test|13|0|1|0\n"
     "directory|/w/e|1|uuid:test|14|0|0|0\n"
     "regular|/w/e/x|1|uuid:test|15|0|1|0\n"},
    {"SELECT " PATH_OF("file") ", n, origin, size, " T("mtime") ", " T("began") ", " T(
         "ended") " FROM version ORDER BY began",
     "/w/in|1|external|100|-5|10|10\n"
     "/w/also|1|observed|20|13|13|14\n"
     "pipe|1|observed|-|-|17|90\n"
     "/w/none|1|external|-|-|20|20\n"
     "/w/e/x|1|observed|1|24|24|25\n"
     "/w/in|2|unobserved|101|500|1008|1008\n"},
    {"SELECT " EXEC_OF("execution") ", session, seq, " PATH_OF("file") ", mode, api, via, sure, evidence, " T(
         "began") ", " T("ended") " FROM access ORDER BY session, seq",
     "a -x two words 1|000000000000abc0|10|/w/in|read state|open|data|1|-|10|10\n"
     "a -x two words 1|000000000000abc0|13|/w/also|write create|open|data|1|must|13|14\n"
     "a -x two words 1|000000000000abc0|17|pipe|write|inherit|descriptor|1|must|17|90\n"
     "a -x two words 1|000000000000abc0|20|/w/none|read|open|data|1|-|20|21\n"
     "a -x two words 1|000000000000abc0|24|/w/e/x|write create|open|data|1|must|24|25\n"
     "b 1|000000000000afa8|8|/w/in|read state|open|data|1|-|1008|1012\n"},
    {"SELECT " PATH_OF("file") ", count, bytes_read, bytes_written, " VERSION_OF("generated") ", uses, " VERSION_OF(
         "used") " FROM access ORDER BY session, seq",
     "/w/in|3|70|-|-|1|/w/in@1\n"
     "/w/also|1|-|-|/w/also@1|0|-\n"
     "pipe|1|-|-|pipe@1|0|-\n"
     "/w/none|1|-|-|-|1|/w/none@1\n"
     "/w/e/x|1|-|-|/w/e/x@1|0|-\n"
     "/w/in|1|-|-|-|1|/w/in@2\n"},
    {"SELECT " EXEC_OF("execution") ", session, " PATH_OF("file") ", " VERSION_OF("generated") ", " VERSION_OF(
         "used") ", api, direction, calls, failed, bytes, largest, spent, " T("first") ", " T("last") " FROM io",
     "a -x two words 1|000000000000abc0|/w/in|-|/w/in@1|pread|read|4|1|70|40|9000|100|101\n"},
    {"SELECT size0, size1, size2, size3, size4, size5, size6, size7, size8, size9 FROM io", "1|2|0|0|0|0|0|0|0|1\n"},
    {"SELECT " EXEC_OF("from_id") ", " VERSION_OF("to_id") ", certainty, via, " T("lo") ", " T(
         "hi") ", count, bytes, api FROM edge WHERE type = 'used' ORDER BY lo",
     "a -x two words 1|/w/in@1|must|data|10|10|3|70|open\n"
     "a -x two words 1|/w/none@1|must|data|20|21|1|-|open\n"
     "b 1|/w/in@2|must|data|1008|1012|1|-|open\n"},
    {"SELECT " VERSION_OF("from_id") ", " EXEC_OF("to_id") ", certainty, via, " T("lo") ", " T(
         "hi") ", count, bytes, api FROM edge WHERE type = 'wasGeneratedBy' ORDER BY lo",
     "/w/also@1|a -x two words 1|must|data|13|14|1|-|open\n"
     "pipe@1|a -x two words 1|must|descriptor|17|90|1|-|inherit\n"
     "/w/e/x@1|a -x two words 1|must|data|24|25|1|-|open\n"},
    {"SELECT " VERSION_OF("from_id") ", " VERSION_OF(
         "to_id") ", certainty, via, count, bytes, api FROM edge WHERE type = 'wasDerivedFrom'",
     "/w/in@2|/w/in@1|may|data|-|-|-\n"},
    {"SELECT " EXEC_OF("from_id") ", " EXEC_OF("to_id") ", certainty, via, " T("lo") ", " T(
         "hi") " FROM edge WHERE type = 'wasInformedBy' ORDER BY lo, 1",
     "a -x two words 1| 0|may|fork|6|6\n"
     " 0|a -x two words 1|must|fork|29|30\n"
     " 0|a -x two words 1|may|socket|31|34\n"
     "a -x two words 1| 0|may|socket|31|34\n"
     "b 1| 0|may|fork|1006|1006\n"},
    {"SELECT a.kind, source, name, value, pid FROM attribute a LEFT JOIN execution x ON x.id = a.id AND a.kind = "
     "'execution' ORDER BY 1, 2, 3",
     "execution|environment|LANG|C|101\n"
     "execution|environment|SLURM_JOB_ID|77|101\n"
     "execution|environment|SLURM_PROCID|3|101\n"
     "execution|environment|SLURM_STEP_ID|2|101\n"
     "run|host|cpus|8|-\n"
     "run|host|machine|x86_64|-\n"
     "run|label|plain||-\n"
     "run|label|sample|B7|-\n"},
    {"SELECT path, " PATH_OF("file") ", host, " T("began") ", " T("ended") " FROM name ORDER BY 1",
     "/usr/bin/a|/usr/bin/a|h1|5|-\n"
     "/w/also|/w/also|h1|28|-\n"
     "/w/d|/w/e|h1|22|27\n"
     "/w/d/x|/w/e/x|h1|23|27\n"
     "/w/e|/w/e|h1|27|-\n"
     "/w/e/x|/w/e/x|h1|27|-\n"
     "/w/in|/w/in|h1|7|-\n"
     "/w/out|/w/also|h1|8|29\n"},
    {"SELECT " EXEC_OF("execution") ", " RUN_OF("run") ", reason, count, " T("began") ", " T(
         "ended") ", text FROM gap ORDER BY 3",
     "a -x two words 1|" HISTORY_RUN_A "|io_uring|2|30|32|a ring\n-|-|lost|5|-|33|\n"},
    {"SELECT " RUN_OF("run") " = ulid, moment, type, name, value FROM property ORDER BY type, name",
     "1|after|invariant|cpu|fast\n1|after|parameter|n|3\n1|after|variant|free|1=2\n1|after|variant|load|0.5\n"},
    {"SELECT " RUN_OF("run") " = ulid, source, name, value, missing FROM result ORDER BY name, value",
     "1|stdout|rate|-|not there\n1|stdout|time|1.5|-\n1|stdout|time|1.6|-\n"},
    {"SELECT " RUN_OF("run") " = ulid, " EXEC_OF("execution") ", thread, " T(
         "time") ", kind, name, value, number, step, version FROM annotation ORDER BY time",
     "1|b 1|8|1013|config|rate|0.1|-|-|v2\n1|b 1|8|1014|metric|loss|-|0.1|-7|-\n1|b 1|8|1015|activity|epoch|-|-|-|-\n"},
    {"SELECT kind, activity, within, " T("ended") ", whole FROM annotation ORDER BY time",
     "config|-|4|-|900\nmetric|-|-|-|-\nactivity|4|3|1030|-\n"},
    {"SELECT " RUN_OF("run") " = ulid, " EXEC_OF("execution") ", " T(
         "time") ", rank, size, level, library FROM mpi_rank",
     "1|b 1|1016|2|4|3|MPI 4\n"},
    {"SELECT " RUN_OF("run") " = ulid, " EXEC_OF("execution") ", path, op, collective, ranks, calls, failed, bytes, "
                                                              "spent, " T("first") ", " T("last") " FROM mpi_io",
     "1|b 1|/w/shared|open|1|4|6|1|4000|70|1020|1021\n"},
    {"SELECT " RUN_OF("run") ", path, kind, " T("time") ", type, shape, most FROM hdf5_object",
     HISTORY_RUN_B "|/w/f.h5//d|dataset|1018|float:8|4,5|4,unlimited\n"},
    {"SELECT " RUN_OF("run") ", " EXEC_OF(
         "execution") ", path, direction, first, last, calls, elements, members FROM hdf5_part",
     HISTORY_RUN_B "|b 1|/w/f.h5//d|write|0,1|3,4|2|16|x,y\n"},
    {"SELECT " RUN_OF("run") " = ulid, session, source, submitted, user, cwd, argv, host, labels, exit_type, "
                             "exit_status, signal, oom, "
                             "exceeded FROM summary",
     "1|000000000000afa8|-|a set|ann|/w/b|b two words|name=h1 load=3|sample=B7|limit|-|15|1|memory=1200/1000\n"},
    {"SELECT wall_time, cpu_time, swap_peak, bytes_read FROM summary", "1500000000|2000000000|-|-\n"},
    {"SELECT name, value, low, high, unit, complete, method, absent FROM figure ORDER BY name DESC",
     "wall_time|1500000000|1500000000|1500000000|s|1|clock|-\n"
     "swap_peak|-|-|-|B|-|-|no swap\n"
     "cpu_time|2000000000|1000000000|4000000000|s|0|samples|-\n"},
    {"SELECT session, seq, compiler, version, target, argv, args, cwd, environment, user, host, git_commit, git_state "
     "FROM build",
     "000000000000b390|3|/usr/bin/cc|cc 12|x86_64|cc @args a.c|cc -O2 a.c|/w|CPATH=/i|ann|h1|abc123|dirty\n"},
    {"SELECT " T("began") ", " T("ended") ", ending, code, gaps FROM build", "2001|2003|exited|1|plugin x\n"},
    {"SELECT n, role, path, size, " T(
         "mtime") ", substr(digest, 1, 15), length(digest), build_id, detail FROM build_input ORDER BY n",
     "1|source|/w/a.c|9|1|sha256:00010203|71|-|-\n2|header|/w/a.h|-|-|-|-|-|it was gone\n"},
    {"SELECT n, path, size, " T("mtime") ", substr(digest, 1, 15), build_id FROM build_output",
     "1|/w/a.o|7|2|sha256:00010203|01ff\n"},
    {"SELECT b.seq FROM build_input i JOIN build b ON b.id = i.build WHERE i.n = 2", "3\n"},
};

static void tables(void **state)
{
	(void)state;
	history_all_a();
	history_all_b();
	history_all_build();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		says(rows[i].sql, rows[i].want);
}

/* Equality with these columns is answered without a look at all rows, and gives what that would. */
static void equality(void **state)
{
	(void)state;
	static const struct {
		const char *table, *column;
	} quick[] = {
	    {"run", "id"},
	    {"execution", "id"},
	    {"execution", "run"},
	    {"file", "id"},
	    {"file", "path"},
	    {"version", "id"},
	    {"version", "file"},
	    {"access", "execution"},
	    {"access", "file"},
	    {"io", "execution"},
	    {"io", "file"},
	    {"edge", "from_id"},
	    {"edge", "to_id"},
	    {"attribute", "id"},
	    {"name", "path"},
	    {"name", "file"},
	    {"gap", "execution"},
	    {"annotation", "run"},
	    {"mpi_rank", "run"},
	    {"mpi_io", "run"},
	    {"summary", "id"},
	    {"figure", "summary"},
	    {"build", "id"},
	    {"build", "pub"},
	    {"build_input", "build"},
	    {"build_output", "build"},
	    {"build_output", "digest"},
	};
	static const char *const sides[] = {"", "+"};
	static const char *const values[] = {"0",        "-1",        "NULL", "'x'", "x'00'", "1.5", "9000000000000000000",
	                                     "'/w/out'", "'/w/also'", "1"};
	struct buf sql = {0}, rows_of[2] = {{0}, {0}};
	history_all_a();
	history_all_b();
	history_all_build();
	for (size_t i = 0; i < sizeof(quick) / sizeof(*quick); i++) {
		const char *t = quick[i].table, *c = quick[i].column;
		for (int side = 0; side < 2; side++) {
			buf_reset(&sql);
			buf_printf(&sql,
			           "SELECT a.* FROM (SELECT DISTINCT %s AS v FROM %s) JOIN %s a ON %sa.%s = v ORDER BY 1, 2, 3, 4",
			           c, t, t, sides[side], c);
			ask(buf_cstr(&sql), &rows_of[side]);
		}
		if (!str_eq(buf_view(&rows_of[0]), buf_view(&rows_of[1])) || !rows_of[0].n)
			fail_msg("%s.%s:\n%s-- and not:\n%s", t, c, buf_cstr(&rows_of[0]), buf_cstr(&rows_of[1]));
		for (size_t k = 0; k < sizeof(values) / sizeof(*values); k++) {
			for (int side = 0; side < 2; side++) {
				buf_reset(&sql);
				buf_printf(&sql, "SELECT * FROM %s WHERE %s%s = %s ORDER BY 1, 2, 3, 4", t, sides[side], c, values[k]);
				ask(buf_cstr(&sql), &rows_of[side]);
			}
			if (!str_eq(buf_view(&rows_of[0]), buf_view(&rows_of[1])))
				fail_msg("%s.%s = %s:\n%s-- and not:\n%s", t, c, values[k], buf_cstr(&rows_of[0]),
				         buf_cstr(&rows_of[1]));
		}
	}
	buf_release(&sql);
	buf_release(&rows_of[0]);
	buf_release(&rows_of[1]);
}

static void tell_folder(void)
{
	struct history h;
	history_begin(&h, HISTORY_RUN_A, "a", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "a", 0, 0);
	history_file(&h, TERM_kind_directory, "/d", 1);
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/d/x", 2), 1);
	history_end(&h, p);
}

static void tell_renamed(void)
{
	struct history h;
	history_begin(&h, HISTORY_RUN_B, "b", 1000);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "b", 0, 0);
	history_name(&h, TERM_nameop_rename, history_file(&h, TERM_kind_directory, "/d", 1), "/e", "/d");
	history_end(&h, p);
}

/* A log that comes later ends names that an earlier one has, and the other way round. */
static void names_of_two_logs(void **state)
{
	(void)state;
	for (int later = 0; later < 2; later++) {
		(later ? tell_renamed : tell_folder)();
		history_store();
		(later ? tell_folder : tell_renamed)();
		for (int anew = 0; anew < 2; anew++) {
			says("SELECT path, " PATH_OF("file") ", host, " T("began") ", " T("ended") " FROM name ORDER BY 1",
			     "/d|/e|h1|6|1007\n/d/x|/e/x|h1|7|1007\n/e|/e|h1|1007|-\n/e/x|/e/x|h1|1007|-\n");
			says("SELECT path, named, versions FROM file ORDER BY ino", "/e|1|0\n/e/x|1|1\n");
			says("SELECT ino FROM file WHERE path = '/d/x'", ""); /* it is not called so any more */
			says("SELECT ino FROM name n JOIN file f ON f.id = n.file WHERE n.path = '/d/x'", "2\n");
			history_rebuild();
		}
		assert_int_equal(history_teardown(state), 0);
		assert_int_equal(history_setup(state), 0);
	}
}

/* By what it made, by its id, and by the size and time of what it made. */
static void builds_are_found(void **state)
{
	(void)state;
	char digest[32];
	for (int i = 0; i < 32; i++)
		digest[i] = (char)i;
	const struct str none = {NULL, 0}, made = str_n(digest, 32), id = str_of("\x01\xff");
	struct buf b = {0};
	store_id build, *v;
	size_t n;
	history_all_build();
	struct store *s = history_store();
	ask("SELECT pub FROM build", &b);
	b.p[25] = '\0';
	assert_int_equal(store_build_by_pubid(s, b.p, &build), 1);
	b.p[9] = '\0';
	assert_int_equal(store_build_by_pubid(s, b.p, &build), 1);
	b.p[4] = '\0';
	assert_int_equal(store_build_by_pubid(s, b.p, &build), 0); /* too short */
	assert_int_equal(store_build_by_pubid(s, "b000000000000000000000000", &build), 0);
	buf_release(&b);
	static const struct {
		bool by_digest, by_id;
		size_t n;
	} made_of[] = {{true, false, 1}, {false, true, 1}, {true, true, 1}, {false, false, 0}};
	for (size_t i = 0; i < sizeof(made_of) / sizeof(*made_of); i++) {
		assert_int_equal(
		    store_builds_of(s, made_of[i].by_digest ? made : none, made_of[i].by_id ? id : none, none, &v, &n), 0);
		assert_int_equal(n, made_of[i].n);
		assert_true(n == 0 || v[0] == build);
		free(v);
	}
	digest[0] = 9;
	assert_int_equal(store_builds_of(s, str_n(digest, 32), none, none, &v, &n), 0);
	assert_int_equal(n, 0);
	free(v);
	static const struct {
		uint64_t size;
		int64_t seconds;
		size_t n;
	} stamps[] = {{7, 2, 1}, {7, 3, 0}, {8, 2, 0}, {9, 1, 0}}; /* the last one is an input */
	for (size_t i = 0; i < sizeof(stamps) / sizeof(*stamps); i++) {
		assert_int_equal(
		    store_builds_stamped(s, stamps[i].size, HISTORY_BEGIN + stamps[i].seconds * HISTORY_SECOND, &v, &n), 0);
		if (n != stamps[i].n)
			fail_msg("%zu builds of stamp %zu", n, i);
		free(v);
	}
	assert_int_equal(store_builds_stamped(s, 8, TIME_NONE, &v, &n), 0);
	assert_int_equal(n, 0);
	free(v);
}

/* Two that begin at one moment come in the order of their sessions' numbers, not of their events'. */
static void at_one_moment(void **state)
{
	(void)state;
	static const char *const runs[] = {HISTORY_RUN_A, HISTORY_RUN_B};
	for (int later = 0; later < 2; later++) { /* whichever log is found first */
		for (int i = 0; i < 2; i++) {
			struct history h;
			int which = i ^ later;
			history_begin(&h, runs[which], runs[which], which);
			uint64_t p = history_process(&h, 0);
			history_exec(&h, p, runs[which], 0, 0);
			uint64_t file = 0;
			for (int k = 0; k < (which ? 1 : 5); k++) /* the first session's number is higher */
				file = history_file(&h, TERM_kind_regular, k ? "/w/out" : "/w/other", k ? 7 : 8);
			file = history_file(&h, TERM_kind_regular, "/w/out", 7);
			h.now = HISTORY_BEGIN + 100 * (int64_t)HISTORY_SECOND;
			history_access(&h, p,
			               (struct event_access){
			                   .file = file, .mode = ACCESS_WRITE | ACCESS_TRUNC, .sure = 1, .api = TERM_api_open},
			               h.now + 1);
			history_end(&h, p);
			history_store();
		}
		says("SELECT v.n, a.session FROM version v JOIN file f ON f.id = v.file JOIN access a ON a.generated = v.id "
		     "WHERE f.path = '/w/out' ORDER BY v.n",
		     "1|000000000000abc0\n2|000000000000abc1\n");
		history_teardown(state);
		history_setup(state);
	}
}

/* A file of so many versions that its row does not hold them. */
static void many_versions(void **state)
{
	(void)state;
	enum { MANY = 150 };
	for (int parts = 1; parts < 4; parts += 2) { /* all at once, and the file grows between */
		for (int part = 0; part < parts; part++) {
			struct history h;
			history_begin(&h, part ? part > 1 ? "01CCCCCCCCCCCCCCCCCCCCCCCC" : HISTORY_RUN_B : HISTORY_RUN_A, "a",
			              10000 * part);
			uint64_t p = history_process(&h, 0);
			history_exec(&h, p, "a", 0, 0);
			uint64_t file = history_file(&h, TERM_kind_regular, "/w/out", 7);
			for (int i = 0; i < MANY / parts; i++) {
				history_read(&h, p, file); /* or they would be one */
				h.now += 5 * (int64_t)HISTORY_SECOND;
				history_write(&h, p, file, (uint64_t)i + 1);
				h.now += 5 * (int64_t)HISTORY_SECOND;
			}
			history_end(&h, p);
			history_store();
		}
		for (int anew = 0; anew < 2; anew++) {
			struct buf b = {0};
			ask("SELECT count(*), min(n), max(n), count(DISTINCT n), count(DISTINCT began) FROM version", &b);
			struct version_info v;
			store_id id;
			assert_int_equal(store_version_of(history_store(), history_file_id("/w/out"), 0, &id), 1);
			assert_int_equal(store_version(history_store(), id, &v), 1);
			assert_true(v.n >= MANY / parts * parts);
			struct buf want = {0};
			buf_printf(&want, "%llu|1|%llu|%llu|%llu\n", (unsigned long long)v.n, (unsigned long long)v.n,
			           (unsigned long long)v.n, (unsigned long long)v.n);
			assert_string_equal(buf_cstr(&b), buf_cstr(&want));
			assert_int_equal(v.size, MANY / parts);
			/* Each of them, in the order of time. */
			int64_t last = INT64_MIN;
			for (uint64_t n = 1; n <= v.n; n++) {
				struct version_info one;
				assert_int_equal(store_version_of(history_store(), v.file, n, &id), 1);
				assert_int_equal(store_version(history_store(), id, &one), 1);
				assert_true(one.n == n && one.start >= last);
				last = one.start;
			}
			buf_release(&b);
			buf_release(&want);
			history_rebuild();
		}
		history_teardown(state);
		history_setup(state);
	}
}

static void tell_object(unsigned times)
{
	struct history h;
	history_begin(&h, HISTORY_RUN_A, "a", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "a", 0, 0);
	uint64_t file = history_file(&h, TERM_kind_regular, "/w/a.h5", 1);
	history_write(&h, p, file, 9);
	history_event(
	    &h,
	    (struct event){
	        .kind = EVENT_file,
	        .file = {.num = ++h.files, .kind = TERM_kind_dataset, .domain = 1, .ino = 1, .gen = 5, .within = file}});
	uint64_t object = h.files;
	history_name(&h, TERM_nameop_create, object, "/w/a.h5//d", "");
	for (unsigned i = 0; i < times; i++) {
		history_event(&h, (struct event){.kind = EVENT_h5_object,
		                                 .h5_object = {.kind = TERM_kind_dataset,
		                                               .path = str_of("/w/old//d"), /* it is called as its file is */
		                                               .type = str_of("float:8"),
		                                               .shape = LIST(S("4")),
		                                               .file = object}});
		history_event(&h, (struct event){.kind = EVENT_h5_part,
		                                 .h5_part = {.path = str_of("/w/old//d"),
		                                             .pid = 101,
		                                             .n = 1,
		                                             .from = LIST(S("0")),
		                                             .to = LIST(S("3")),
		                                             .calls = 1,
		                                             .elements = 4,
		                                             .file = object}});
	}
	history_name(&h, TERM_nameop_rename, file, "/w/b.h5", "/w/a.h5");
	/* What refers to nothing, and has no path, is told of nothing. */
	history_event(&h, (struct event){.kind = EVENT_h5_object, .h5_object = {.kind = TERM_kind_dataset, .file = 77}});
	history_event(&h, (struct event){.kind = EVENT_h5_part, .h5_part = {.pid = 101, .n = 1, .file = 77}});
	history_end(&h, p);
}

/* What was told of an object by its number belongs to the run of its session, and is called as its file is now. */
static void objects_by_number(void **state)
{
	(void)state;
	tell_object(1);
	for (int anew = 0; anew < 2; anew++) {
		says("SELECT " RUN_OF("run") ", path, kind, type, shape FROM hdf5_object",
		     HISTORY_RUN_A "|/w/b.h5//d|dataset|float:8|4\n");
		says("SELECT " RUN_OF("run") ", path, direction, first, last, elements FROM hdf5_part",
		     HISTORY_RUN_A "|/w/b.h5//d|read|0|3|4\n");
		history_rebuild();
	}
}

static void print_finding(void *arg, const char *line)
{
	++*(int *)arg;
	print_message("%s\n", line);
}

/* Rows of all tables that do not hold rows of this store, sorted. */
static void everything(struct buf *all)
{
	struct buf b = {0};
	buf_reset(all);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ask(rows[i].sql, &b);
		buf_str(all, buf_view(&b));
	}
	ask("SELECT pub FROM file ORDER BY 1", &b);
	buf_str(all, buf_view(&b));
	ask("SELECT pub FROM version ORDER BY 1", &b);
	buf_str(all, buf_view(&b));
	ask("SELECT pub FROM execution ORDER BY 1", &b);
	buf_str(all, buf_view(&b));
	buf_release(&b);
}

/* Adds the graph as the store has it, and what its check finds: nothing. */
static void everything_of_graph(struct buf *all)
{
	struct canon c = {0};
	struct buf b = {0};
	struct err err = {0};
	int found = 0;
	assert_int_equal(store_canon(history_store(), &c), 0);
	assert_int_equal(canon_finish(&c, &b), 0);
	buf_str(all, buf_view(&b));
	buf_release(&b);
	canon_release(&c);
	assert_int_equal(store_fsck(history_store(), print_finding, &found, &err), 0);
	assert_int_equal(found, 0);
}

/* A later run that finds again what the others knew: the renamed folder, a compiled module beside its source, an object
 * in a file, a FIFO, a server that nobody saw; and a file whose name is another one's now. */
static void tell_others(void)
{
	struct history h;
	history_begin(&h, "01CCCCCCCCCCCCCCCCCCCCCCCC", "c", 3000);
	uint64_t p = history_process(&h, 0), q = history_process(&h, p);
	history_exec(&h, p, "c", history_file(&h, TERM_kind_regular, "/usr/bin/c", 20),
	             history_file(&h, TERM_kind_regular, "/w/c.py", 21));
	uint64_t source = history_file(&h, TERM_kind_regular, "/w/e/m.py", 22);
	history_write(&h, p, source, 3);
	uint64_t cache = history_file(&h, TERM_kind_regular, "/w/e/__pycache__/m.cpython-311.pyc", 23);
	history_read(&h, p, source);
	history_write(&h, p, cache, 9);
	history_read(&h, q, cache);
	uint64_t h5 = history_file(&h, TERM_kind_regular, "/w/f.h5", 24);
	history_write(&h, q, h5, 100);
	history_event(&h, (struct event){.kind = EVENT_file,
	                                 .file = {.num = ++h.files,
	                                          .kind = TERM_kind_dataset,
	                                          .domain = 1,
	                                          .ino = 24,
	                                          .path = str_of("/w/f.h5//d"),
	                                          .within = h5}});
	history_write(&h, q, h.files, 0);
	uint64_t fifo = history_file(&h, TERM_kind_fifo, "/w/fifo", 25);
	history_write(&h, q, fifo, 0);
	history_read(&h, p, fifo);
	uint64_t server = history_file(&h, TERM_kind_socket, "inet:10.0.0.1:80", 26);
	history_access(&h, p,
	               (struct event_access){.file = server,
	                                     .mode = ACCESS_READ | ACCESS_WRITE,
	                                     .sure = 1,
	                                     .via = TERM_via_socket,
	                                     .api = TERM_api_connect},
	               h.now + HISTORY_SECOND);
	uint64_t other = history_file(&h, TERM_kind_regular, "/w/new", 27);
	history_write(&h, p, other, 1);
	history_name(&h, TERM_nameop_rename, other, "/w/in", "/w/new");
	uint64_t x = history_file(&h, TERM_kind_regular, "/w/e/x", 15);
	history_read(&h, p, x);
	history_exec(&h, q, "d", 0, 0);
	history_write(&h, q, x, 2);
	history_exit(&h, q, TERM_ending_exited, 0);
	history_exit(&h, p, TERM_ending_exited, 1);
	history_end(&h, p);
}

static void order_and_rebuild_change_nothing(void **state)
{
	(void)state;
	static void (*const tells[])(void) = {history_all_a, history_all_b, history_all_build};
	static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};
	struct buf first = {0}, b = {0};
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		for (int k = 0; k < 3; k++) {
			tells[orders[i][k]]();
			history_store();
		}
		everything(i ? &b : &first);
		assert_true(i == 0 || str_eq(buf_view(&b), buf_view(&first)));
		history_rebuild();
		everything(&b);
		assert_true(str_eq(buf_view(&b), buf_view(&first)));
		assert_int_equal(history_teardown(state), 0);
		assert_int_equal(history_setup(state), 0);
	}
	buf_release(&first);
	buf_release(&b);
}

/* A session that tells of process 500 and of its execution, which had `argv`. */
static void tell_same_execution(int64_t at, const char *argv)
{
	struct history h;
	struct str word = str_of(argv);
	history_begin(&h, "", "", at);
	h.now = HISTORY_BEGIN + (2000 - at) * HISTORY_SECOND; /* in the opposite order */
	history_event(&h, (struct event){.kind = EVENT_process,
	                                 .proc = 1,
	                                 .process = {.pid = 500, .started = 77, .forked = HISTORY_BEGIN}});
	history_event(&h, (struct event){.kind = EVENT_exec,
	                                 .proc = 1,
	                                 .exec = {.n = 1, .argv = {.items = &word, .count = 1}, .cwd = str_of("/w")}});
	history_end(&h, 0);
}

/* Two logs tell of one execution: what the earlier event says holds, whichever log is read first. */
static void told_by_two_logs(void **state)
{
	static const int64_t orders[][2] = {{900, 1000}, {1000, 900}};
	for (size_t i = 0; i < 2; i++)
		for (int together = 0; together < 2; together++) {
			for (int k = 0; k < 2; k++) {
				tell_same_execution(orders[i][k], orders[i][k] == 1000 ? "earlier" : "later");
				if (!together)
					history_store();
			}
			says("SELECT argv, n FROM execution WHERE pid = 500 AND n = 1", "earlier|1\n");
			assert_int_equal(history_teardown(state), 0);
			assert_int_equal(history_setup(state), 0);
		}
}

/* A recording that is asked again and again while it is made: in the end it is as if nobody had asked. */
static void asked_at_each_event(void **state)
{
	(void)state;
	static void (*const tells[])(void) = {history_all_a, history_all_b, history_all_build, tell_others};
	struct buf first = {0}, b = {0};
	for (int side = 0; side < 2; side++) {
		history_stepwise = side;
		for (size_t i = 0; i < sizeof(tells) / sizeof(*tells); i++)
			tells[i]();
		everything(side ? &b : &first);
		everything_of_graph(side ? &b : &first);
		if (side && !str_eq(buf_view(&b), buf_view(&first)))
			fail_msg("%s-- and not:\n%s", buf_cstr(&b), buf_cstr(&first));
		assert_int_equal(history_teardown(state), 0);
		assert_int_equal(history_setup(state), 0);
	}
	buf_release(&first);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(tables, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(equality, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(names_of_two_logs, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(builds_are_found, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(order_and_rebuild_change_nothing, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(told_by_two_logs, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(asked_at_each_event, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(at_one_moment, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(objects_by_number, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(many_versions, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
