/* The tables of SQL (doc/format/store.md): what each column says of a record that has something of everything; and that
 * neither the order of the logs nor a rebuild changes it. */
#include "history.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#define RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define RUN_B "01BBBBBBBBBBBBBBBBBBBBBBBB"
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

/* ---- the record ---- */

/* Time is seconds since the beginning; each comment says when. */
static int64_t at(int64_t seconds)
{
	return HISTORY_BEGIN + seconds * HISTORY_SECOND;
}

static void tell_files(struct history *h, uint64_t p)
{
	uint64_t in = history_file(h, TERM_kind_regular, "/w/in", 11),
	         out = history_file(h, TERM_kind_regular, "/w/out", 12);
	history_event(h, (struct event){.kind = EVENT_state, .state = {.file = in, .size = 100, .mtime = at(-5)}});
	uint64_t seq = history_event(
	    h, (struct event){.kind = EVENT_access,
	                      .proc = p,
	                      .access = {.file = in, .mode = ACCESS_READ | ACCESS_STATE, .sure = 1, .api = TERM_api_open}});
	history_event(h, (struct event){.kind = EVENT_access_end,
	                                .proc = p,
	                                .access_end = {.access = seq,
	                                               .until = h->now,
	                                               .count = 3,
	                                               .known = 1,
	                                               .bytes_read = 70,
	                                               .first = TIME_NONE,
	                                               .last = TIME_NONE}});
	history_event(h, (struct event){.kind = EVENT_io,
	                                .proc = p,
	                                .io = {.access = seq,
	                                       .api = TERM_ioapi_pread,
	                                       .calls = 4,
	                                       .failed = 1,
	                                       .bytes = 70,
	                                       .largest = 40,
	                                       .spent = 9000,
	                                       .first = at(100),
	                                       .last = at(101),
	                                       .size0 = 1,
	                                       .size1 = 2,
	                                       .size9 = 1}});
	history_write(h, p, out, 20);
	uint64_t pipe = history_file(h, TERM_kind_pipe, "", 13);
	history_access(
	    h, p,
	    (struct event_access){.file = pipe, .mode = ACCESS_WRITE, .via = TERM_via_descriptor, .api = TERM_api_inherit},
	    at(90));
	history_read(h, p, history_file(h, TERM_kind_absent, "/w/none", 0));
	uint64_t dir = history_file(h, TERM_kind_directory, "/w/d", 14),
	         inside = history_file(h, TERM_kind_regular, "/w/d/x", 15);
	history_write(h, p, inside, 1);
	history_name(h, TERM_nameop_rename, dir, "/w/e", "/w/d");
	history_name(h, TERM_nameop_link, out, "/w/also", "");
	history_name(h, TERM_nameop_unlink, out, "/w/out", "");
}

static void tell_a(void)
{
	struct history h;
	history_begin(&h, "", "", 0);
	history_event(&h, (struct event){.kind = EVENT_run,
	                                 .run = {.id = str_of(RUN_A),
	                                         .outer = str_of(RUN_B),
	                                         .argv = LIST(S("./a"), S("two words")),
	                                         .cwd = str_of("/w/a"),
	                                         .user = str_of("ann"),
	                                         .group = str_of("lab"),
	                                         .uid = 1000,
	                                         .gid = 1001,
	                                         .host = LIST(S("machine=x86_64"), S("cpus=8")),
	                                         .label = LIST(S("sample=B7"), S("plain"))}});
	uint64_t p = history_process(&h, 0), q;
	history_event(&h, (struct event){.kind = EVENT_exec,
	                                 .proc = p,
	                                 .exec = {.n = 1,
	                                          .exe = history_file(&h, TERM_kind_regular, "/usr/bin/a", 10),
	                                          .argv = LIST(S("a"), S("-x"), S("two words")),
	                                          .cwd = str_of("/w/a"),
	                                          .env = LIST(S("LANG=C"), S("SLURM_JOB_ID=77"), S("SLURM_PROCID=3"),
	                                                      S("SLURM_STEP_ID=2")),
	                                          .uid = 1000,
	                                          .gid = 7,
	                                          .run = str_of(RUN_A)}});
	tell_files(&h, p);
	q = history_process(&h, p);
	history_event(&h, (struct event){.kind = EVENT_link, .proc = q, .link = {.other = p, .via = TERM_via_socket}});
	history_event(
	    &h, (struct event){.kind = EVENT_gap,
	                       .proc = p,
	                       .gap = {.reason = TERM_gap_io_uring, .count = 2, .from = at(30), .text = str_of("a ring")}});
	history_event(&h,
	              (struct event){.kind = EVENT_gap, .gap = {.reason = TERM_gap_lost, .count = 5, .from = TIME_NONE}});
	history_exit(&h, q, TERM_ending_signaled, 9);
	history_event(&h, (struct event){.kind = EVENT_exit,
	                                 .proc = p,
	                                 .exit = {.ending = TERM_ending_exited,
	                                          .code = 3,
	                                          .cpu = 30,
	                                          .user = 20,
	                                          .system = 10,
	                                          .rss = 4096,
	                                          .rchar = 71,
	                                          .wchar = 21,
	                                          .read_bytes = 512,
	                                          .write_bytes = 1024,
	                                          .known = 0x1fe & ~(1 << 4)}}); /* rss was not read */
	history_event(
	    &h, (struct event){
	            .kind = EVENT_run_end,
	            .proc = p,
	            .run_end = {.id = str_of(RUN_A), .ending = TERM_ending_exited, .code = 3, .cpu = 55, .traps = 66}});
	history_end(&h, p);
}

static const char summary[] =
    "{\"format\": 1, \"run\": \"" RUN_B
    "\", \"command\": [\"b\", \"two words\"], \"cwd\": \"/w/b\", \"user\": \"ann\", "
    "\"exit_type\": \"limit\", \"exit_status\": null, \"signal\": 15, \"oom\": true, "
    "\"wall_time\": {\"value\": 1.5, \"unit\": \"s\", \"method\": \"clock\", \"complete\": true}, "
    "\"cpu_time\": {\"value\": 2, \"low\": 1, \"high\": 4, \"unit\": \"s\", \"method\": \"samples\", \"complete\": "
    "false}, "
    "\"swap_peak\": {\"value\": null, \"unit\": \"B\", \"absent\": \"no swap\"}, "
    "\"limits\": {\"memory\": {\"limit\": 1000, \"peak\": 1200, \"unit\": \"B\"}}, "
    "\"limits_exceeded\": [{\"name\": \"memory\", \"limit\": 1000, \"peak\": 1200, \"unit\": \"B\"}], "
    "\"host\": {\"name\": \"h1\", \"load\": \"3\"}, \"label\": {\"sample\": \"B7\"}}";

/* Later: finds /w/in changed unseen, tells what was measured and said. */
static void tell_b(void)
{
	struct history h;
	history_begin(&h, RUN_B, "b", 1000);
	uint64_t p = history_process(&h, 0), in = history_file(&h, TERM_kind_regular, "/w/in", 11);
	history_exec(&h, p, "b", 0, 0);
	history_event(&h, (struct event){.kind = EVENT_state, .state = {.file = in, .size = 101, .mtime = at(500)}});
	history_access(
	    &h, p, (struct event_access){.file = in, .mode = ACCESS_READ | ACCESS_STATE, .sure = 1, .api = TERM_api_open},
	    at(1012));
	history_event(&h, (struct event){.kind = EVENT_machine,
	                                 .machine = {.run = str_of(RUN_B),
	                                             .moment = TERM_moment_after,
	                                             .invariant = LIST(S("cpu=fast")),
	                                             .variant = LIST(S("load=0.5"), S("free=1=2")),
	                                             .parameter = LIST(S("n=3"))}});
	history_event(&h, (struct event){.kind = EVENT_result,
	                                 .result = {.run = str_of(RUN_B),
	                                            .source = str_of("stdout"),
	                                            .value = LIST(S("time=1.5"), S("time=1.6")),
	                                            .missing = LIST(S("rate=not there"))}});
	uint64_t app = history_event(
	    &h, (struct event){
	            .kind = EVENT_app,
	            .proc = p,
	            .app = {.run = str_of(RUN_B), .pid = 1101, .started = at(1003), .image = 5, .tool = str_of("C")}});
	history_event(&h, (struct event){.kind = EVENT_app_word,
	                                 .app_word = {.app = app,
	                                              .thread = 8,
	                                              .activity = 4,
	                                              .said = TERM_said_config,
	                                              .name = str_of("rate"),
	                                              .value = str_of("0.1"),
	                                              .version = str_of("v2"),
	                                              .whole = 900}});
	double figure = 2.5;
	uint64_t bits;
	memcpy(&bits, &figure, sizeof(bits));
	history_event(
	    &h,
	    (struct event){
	        .kind = EVENT_app_metric,
	        .app_metric = {.app = app, .thread = 8, .name = str_of("loss"), .number = bits, .stepped = 1, .step = -7}});
	history_event(&h,
	              (struct event){
	                  .kind = EVENT_app_activity,
	                  .app_activity = {
	                      .app = app, .thread = 8, .activity = 3, .n = 4, .name = str_of("epoch"), .until = at(1030)}});
	history_event(
	    &h, (struct event){.kind = EVENT_mpi_rank,
	                       .mpi_rank = {.app = app, .rank = 2, .size = 4, .level = 3, .library = str_of("MPI 4")}});
	history_event(&h, (struct event){.kind = EVENT_mpi_io,
	                                 .mpi_io = {.app = app,
	                                            .path = str_of("/w/shared"),
	                                            .op = TERM_mpiop_open,
	                                            .collective = 1,
	                                            .ranks = 4,
	                                            .calls = 6,
	                                            .failed = 1,
	                                            .bytes = 4000,
	                                            .spent = 70,
	                                            .first = at(1020),
	                                            .last = at(1021)}});
	history_event(&h, (struct event){.kind = EVENT_h5_object,
	                                 .h5_object = {.run = str_of(RUN_B),
	                                               .path = str_of("/w/f.h5//d"),
	                                               .kind = TERM_kind_dataset,
	                                               .type = str_of("float:8"),
	                                               .shape = LIST(S("4"), S("5")),
	                                               .most = LIST(S("4"), S("unlimited"))}});
	history_event(&h, (struct event){.kind = EVENT_h5_part,
	                                 .h5_part = {.run = str_of(RUN_B),
	                                             .path = str_of("/w/f.h5//d"),
	                                             .pid = 1101,
	                                             .started = (uint64_t)at(1003),
	                                             .n = 1,
	                                             .write = 1,
	                                             .from = LIST(S("0"), S("1")),
	                                             .to = LIST(S("3"), S("4")),
	                                             .calls = 2,
	                                             .elements = 16,
	                                             .field = LIST(S("x"), S("y"))}});
	history_event(&h,
	              (struct event){.kind = EVENT_summary,
	                             .summary = {.run = str_of(RUN_B), .text = str_of(summary), .set = str_of("a set")}});
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* A build, in a session of no run. */
static void tell_build(void)
{
	struct history h;
	char digest[32];
	for (int i = 0; i < 32; i++)
		digest[i] = (char)i;
	history_begin(&h, "", "", 2000);
	history_event(&h, (struct event){.kind = EVENT_build,
	                                 .build = {.pid = 50,
	                                           .started = 60,
	                                           .argv = LIST(S("cc"), S("@args"), S("a.c")),
	                                           .args = LIST(S("cc"), S("-O2"), S("a.c")),
	                                           .cwd = str_of("/w"),
	                                           .compiler = str_of("/usr/bin/cc"),
	                                           .version = str_of("cc 12"),
	                                           .target = str_of("x86_64"),
	                                           .env = LIST(S("CPATH=/i")),
	                                           .user = str_of("ann"),
	                                           .uid = 1000,
	                                           .began = at(2001),
	                                           .ending = TERM_ending_exited,
	                                           .code = 1,
	                                           .commit = str_of("abc123"),
	                                           .tree = TERM_tree_dirty,
	                                           .gaps = LIST(S("plugin x")),
	                                           .files = 3}});
	history_event(&h, (struct event){.kind = EVENT_build_file,
	                                 .build_file = {.role = TERM_role_source,
	                                                .path = str_of("/w/a.c"),
	                                                .size = 9,
	                                                .mtime = at(1),
	                                                .digest = str_n(digest, 32)}});
	history_event(&h, (struct event){.kind = EVENT_build_file,
	                                 .build_file = {.role = TERM_role_header,
	                                                .path = str_of("/w/a.h"),
	                                                .size = 8,
	                                                .mtime = TIME_NONE,
	                                                .detail = str_of("it was gone")}});
	history_event(&h, (struct event){.kind = EVENT_build_file,
	                                 .build_file = {.role = TERM_role_output,
	                                                .path = str_of("/w/a.o"),
	                                                .size = 7,
	                                                .mtime = at(2),
	                                                .digest = str_n(digest, 32),
	                                                .id = str_of("\x01\xff")}});
	history_end(&h, 0);
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
     RUN_A "|" RUN_B "|./a two words|/w/a|ann|lab|h1|complete/test|sample=B7 plain\n" RUN_B
           "|-|b|/w|ann|lab|h1|complete/test|\n"},
    {"SELECT ulid, " T("began") ", " T("ended") ", ending, code, recorder_cpu, traps FROM run ORDER BY ulid",
     RUN_A "|3|36|exited|3|55|66\n" RUN_B "|1003|1022|exited|0|1000000|10\n"},
    /* Of A: /w/in, /w/none; /w/out, the pipe, /w/d/x. Of B: nothing but /w/in. */
    {"SELECT ulid, executions, inputs, outputs FROM run ORDER BY ulid", RUN_A "|2|2|3\n" RUN_B "|2|1|0\n"},
    {"SELECT " RUN_OF("run") ", " EXEC_OF("x.parent") ", pid, n, " PATH_OF("exe") ", " PATH_OF(
         "script") ", argv, cwd, host, user, user_group, job, step, rank FROM execution x ORDER BY began, n",
     "-|-|101|0|-|-|||h1|||-|-|-\n" RUN_A "| 0|101|1|/usr/bin/a|-|a -x two words|/w/a|h1|ann|7|77|2|3\n" RUN_A
     "|a -x two words 1|102|0|-|-|||h1|||-|-|-\n" RUN_B "|-|1101|0|-|-|||h1|||-|-|-\n" RUN_B
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
     "a -x two words 1|" RUN_A "|io_uring|2|30|32|a ring\n-|-|lost|5|-|33|\n"},
    {"SELECT " RUN_OF("run") " = ulid, moment, type, name, value FROM property ORDER BY type, name",
     "1|after|invariant|cpu|fast\n1|after|parameter|n|3\n1|after|variant|free|1=2\n1|after|variant|load|0.5\n"},
    {"SELECT " RUN_OF("run") " = ulid, source, name, value, missing FROM result ORDER BY name, value",
     "1|stdout|rate|-|not there\n1|stdout|time|1.5|-\n1|stdout|time|1.6|-\n"},
    {"SELECT " RUN_OF("run") " = ulid, " EXEC_OF("execution") ", thread, " T(
         "time") ", kind, name, value, number, step, version FROM annotation ORDER BY time",
     "1|b 1|8|1013|config|rate|0.1|-|-|v2\n1|b 1|8|1014|metric|loss|-|2.5|-7|-\n1|b 1|8|1015|activity|epoch|-|-|-|-\n"},
    {"SELECT kind, activity, within, " T("ended") ", whole FROM annotation ORDER BY time",
     "config|-|4|-|900\nmetric|-|-|-|-\nactivity|4|3|1030|-\n"},
    {"SELECT " RUN_OF("run") " = ulid, " EXEC_OF("execution") ", " T(
         "time") ", rank, size, level, library FROM mpi_rank",
     "1|b 1|1016|2|4|3|MPI 4\n"},
    {"SELECT " RUN_OF("run") " = ulid, " EXEC_OF("execution") ", path, op, collective, ranks, calls, failed, bytes, "
                                                              "spent, " T("first") ", " T("last") " FROM mpi_io",
     "1|b 1|/w/shared|open|1|4|6|1|4000|70|1020|1021\n"},
    {"SELECT " RUN_OF("run") ", path, kind, " T("time") ", type, shape, most FROM hdf5_object",
     RUN_B "|/w/f.h5//d|dataset|1018|float:8|4,5|4,unlimited\n"},
    {"SELECT " RUN_OF("run") ", " EXEC_OF(
         "execution") ", path, direction, first, last, calls, elements, members FROM hdf5_part",
     RUN_B "|b 1|/w/f.h5//d|write|0,1|3,4|2|16|x,y\n"},
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
	tell_a();
	tell_b();
	tell_build();
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
	tell_a();
	tell_b();
	tell_build();
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

static void order_and_rebuild_change_nothing(void **state)
{
	(void)state;
	static void (*const tells[])(void) = {tell_a, tell_b, tell_build};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(tables, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(equality, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(order_and_rebuild_change_nothing, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
