/* What people write to find things: moments, expressions, and what an expression selects from a record. */
#include "history.h"

#include "base/os/system.h"
#include "query/find/expr.h"
#include "query/find/select.h"
#include "query/find/when.h"
#include "query/idset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY (86400ll * HISTORY_SECOND)
#define NOW (HISTORY_BEGIN + DAY / 2)

/* ---- moments ---- */

static void moments(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t want;
	} good[] = {
	    {"2026-01-01", HISTORY_BEGIN},
	    {"2026-01-02", HISTORY_BEGIN + DAY},
	    {"2026-01-01T00:01", HISTORY_BEGIN + 60ll * HISTORY_SECOND},
	    {"2026-01-01 01:00", HISTORY_BEGIN + 3600ll * HISTORY_SECOND},
	    {"2026-01-01T00:00:05", HISTORY_BEGIN + 5ll * HISTORY_SECOND},
	    {"2026-01-01T00:00:05.25", HISTORY_BEGIN + 5250000000},
	    {"2026-01-01T00:00:00.000000001", HISTORY_BEGIN + 1},
	    {"2026-01-01T00:00Z", HISTORY_BEGIN},
	    {"2026-01-01T01:00+01:00", HISTORY_BEGIN},
	    {"2025-12-31T22:30-01:30", HISTORY_BEGIN},
	    {"2026-01-01T23:59:59", HISTORY_BEGIN + DAY - HISTORY_SECOND},
	    {"2024-02-29", HISTORY_BEGIN - (366 + 365 - 31 - 28) * DAY},
	    {"now", NOW},
	    {"today", HISTORY_BEGIN},
	    {"yesterday", HISTORY_BEGIN - DAY},
	    {"90s", NOW - 90ll * HISTORY_SECOND},
	    {"15m ago", NOW - 900ll * HISTORY_SECOND},
	    {"2h", NOW - 7200ll * HISTORY_SECOND},
	    {"3d", NOW - 3 * DAY},
	    {"1w ago", NOW - 7 * DAY},
	    {"0s", NOW},
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		int64_t t = 0;
		if (when_parse(good[i].text, NOW, &t) < 0 || t != good[i].want)
			fail_msg("'%s' is %lld, not %lld", good[i].text, (long long)t, (long long)good[i].want);
	}
}

static void no_moments(void **state)
{
	(void)state;
	static const char *const bad[] = {
	    "",
	    "2026",
	    "2026-00-01",
	    "2026-13-01",
	    "2026-01-00",
	    "2026-01-32",
	    "2026-1-1",
	    "2026-01-01x",
	    "2026-01-01T24:00",
	    "2026-01-01T00:60",
	    "2026-01-01T00:00:61",
	    "2026-01-01T00",
	    "2026-01-01T00:00+24:00",
	    "2026-01-01T00:00+01:60",
	    "2026-01-01T00:00+1",
	    "5",
	    "5x",
	    "-5s",
	    "5 minutes",
	    "5s later",
	    "tomorrow",
	    "s",
	    "99999999999999999999s",
	    "9999999999999w",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int64_t t;
		if (when_parse(bad[i], NOW, &t) != -EINVAL)
			fail_msg("'%s' is taken for a moment", bad[i]);
	}
}

/* ---- expressions ---- */

/* As text: and, or, not with all parentheses. */
static void print_expr(const struct expr *e, struct buf *b)
{
	if (e->op == EXPR_AND || e->op == EXPR_OR) {
		buf_char(b, '(');
		print_expr(e->a, b);
		buf_printf(b, " %s ", expr_name(e->op));
		print_expr(e->b, b);
		buf_char(b, ')');
	} else if (e->op == EXPR_NOT) {
		buf_printf(b, "not ");
		print_expr(e->a, b);
	} else {
		buf_printf(b, "%s:%s", expr_name(e->op), e->value);
	}
}

static void reads_as(const char *text, const char *want, enum expr_kind want_kind)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind kind = EXPR_ANY;
	struct buf b = {0};
	char *copy = strdup(text);
	if (expr_parse(&copy, 1, &err, &e, &kind) < 0)
		fail_msg("'%s': %s", text, err.text);
	print_expr(e, &b);
	assert_string_equal(buf_cstr(&b), want);
	assert_int_equal(kind, want_kind);
	expr_free(e);
	buf_release(&b);
	free(copy);
}

static int parse_error(const char *text)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind kind;
	char *copy = strdup(text);
	int r = expr_parse(&copy, 1, &err, &e, &kind);
	assert_true(r == 0 || err.text[0]);
	expr_free(e);
	free(copy);
	return r;
}

static void expressions(void **state)
{
	(void)state;
	reads_as("used a", "used:a", EXPR_ANY);
	reads_as("used a made b", "(used:a and made:b)", EXPR_ANY);
	reads_as("used a or made b and exe c", "(used:a or (made:b and exe:c))", EXPR_ANY);
	reads_as("(used a or made b) exe c", "((used:a or made:b) and exe:c)", EXPR_ANY);
	reads_as("not used a and exe b", "(not used:a and exe:b)", EXPR_ANY);
	reads_as("not not used a", "not not used:a", EXPR_ANY);
	reads_as("not (used a or exe b)", "not (used:a or exe:b)", EXPR_ANY);
	reads_as("arg 'two words' exe \"a \\\" b\"", "(arg:two words and exe:a \" b)", EXPR_ANY);
	reads_as("arg a\\ b arg \\(", "(arg:a b and arg:()", EXPR_ANY);
	reads_as("arg or or arg and", "(arg:or or arg:and)", EXPR_ANY);
	reads_as("used 'used'", "used:used", EXPR_ANY);
	reads_as("runs that used a", "used:a", EXPR_RUNS);
	reads_as("files made a", "made:a", EXPR_FILES);
	reads_as("executions that exit failed", "exit:failed", EXPR_EXECS);
}

static void no_expressions(void **state)
{
	(void)state;
	static const char *const bad[] = {"",         "used",     "and used a",     "used a or", "(used a",
	                                  "used a)",  "not",      "wrong a",        "arg 'a",    "()",
	                                  "used a b", "'used' a", "used a and and", "runs that"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse_error(bad[i]) != -EINVAL)
			fail_msg("'%s' is taken for an expression", bad[i]);
}

/* Bounds: 64 KiB of text, 256 conditions, 64 levels. */
static void bounds_of_expressions(void **state)
{
	(void)state;
	struct buf b = {0};
	for (int levels = 62; levels <= 66; levels += 4) {
		buf_reset(&b);
		for (int i = 0; i < levels; i++)
			buf_char(&b, '(');
		buf_printf(&b, "used a");
		for (int i = 0; i < levels; i++)
			buf_char(&b, ')');
		assert_int_equal(parse_error(buf_cstr(&b)), levels == 62 ? 0 : -EINVAL);
	}
	for (int conditions = 256; conditions <= 257; conditions++) {
		buf_reset(&b);
		for (int i = 0; i < conditions; i++)
			buf_printf(&b, "exe a ");
		assert_int_equal(parse_error(buf_cstr(&b)), conditions == 256 ? 0 : -EINVAL);
	}
	for (int size = 65000; size <= 66000; size += 1000) {
		buf_reset(&b);
		buf_printf(&b, "exe %0*d", size, 7);
		assert_int_equal(parse_error(buf_cstr(&b)), size == 65000 ? 0 : -EINVAL);
	}
	buf_release(&b);
}

/* Several arguments are one word each where a value stands: a name may hold blanks. */
static void expressions_of_several_words(void **state)
{
	(void)state;
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind kind;
	struct buf b = {0};
	char *words[] = {(char *)"used", (char *)"a (b) c", (char *)"exe x or made", (char *)"made"};
	assert_int_equal(expr_parse(words, 4, &err, &e, &kind), 0);
	print_expr(e, &b);
	assert_string_equal(buf_cstr(&b), "((used:a (b) c and exe:x) or made:made)");
	expr_free(e);
	buf_release(&b);
}

/* ---- the machine's own files ---- */

static void system_files(void **state)
{
	(void)state;
	static const struct {
		const char *path, *extra;
		enum system_class want;
	} rows[] = {
	    {"/usr/lib/libm.so.6", NULL, SYSTEM_YES},
	    {"/usr", NULL, SYSTEM_NO},
	    {"/usrx/a", NULL, SYSTEM_NO},
	    {"/usr/share/zoneinfo/UTC", NULL, SYSTEM_UNLESS_NAMED},
	    {"/dev/shm/x", NULL, SYSTEM_NO},
	    {"/dev/null", NULL, SYSTEM_YES},
	    {"/etc/passwd", NULL, SYSTEM_YES},
	    {"/home/ann/etc/passwd", NULL, SYSTEM_NO},
	    {"/home/ann/.cache/x", NULL, SYSTEM_YES},
	    {"/home/ann/.cachex", NULL, SYSTEM_NO},
	    {"/w/libx.so", NULL, SYSTEM_YES},
	    {"/w/libx.so.1", NULL, SYSTEM_YES},
	    {"/w/libx.sox", NULL, SYSTEM_NO},
	    {"/w/.so", NULL, SYSTEM_YES},
	    {"", NULL, SYSTEM_NO},
	    {"/w/a", "/w", SYSTEM_YES},
	    {"/w/a", "/v /w/", SYSTEM_YES},
	    {"/w/a", "/v,/w/a:/x", SYSTEM_YES},
	    {"/w/a", "/w !/w/a", SYSTEM_NO},
	    {"/usr/a", "!/usr/a", SYSTEM_NO},
	    {"/usr/b", "!/usr/a", SYSTEM_YES},
	    {"/w/a", "!", SYSTEM_NO},
	    {"/w/a", " , ", SYSTEM_NO},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (system_path(str_of(rows[i].path), rows[i].extra) != rows[i].want)
			fail_msg("%s with '%s'", rows[i].path, rows[i].extra ? rows[i].extra : "");
}

/* ---- sets ---- */

static struct idset set_of(const char *ids)
{
	struct idset s = {0};
	for (; *ids; ids++)
		assert_int_equal(idset_add(&s, (store_id)(*ids - '0')), 0);
	idset_close(&s);
	return s;
}

static void is_set(const struct idset *s, const char *ids)
{
	assert_int_equal(s->n, strlen(ids));
	for (size_t i = 0; i < s->n; i++)
		assert_int_equal(s->v[i], ids[i] - '0');
}

static void sets(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b, *either, *both, *without;
	} rows[] = {
	    {"", "", "", "", ""},         {"3121", "", "123", "", "123"},
	    {"", "12", "12", "", ""},     {"123", "234", "1234", "23", "1"},
	    {"19", "5", "159", "", "19"}, {"5", "19", "159", "", "5"},
	    {"12", "12", "12", "12", ""}, {"1234", "4", "1234", "4", "123"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct idset b = set_of(rows[i].b), either = set_of(rows[i].a), both = set_of(rows[i].a),
		             without = set_of(rows[i].a);
		assert_int_equal(idset_unite(&either, &b), 0);
		idset_meet(&both, &b);
		idset_take(&without, &b);
		is_set(&either, rows[i].either);
		is_set(&both, rows[i].both);
		is_set(&without, rows[i].without);
		for (char c = '1'; c <= '9'; c++)
			assert_int_equal(idset_has(&either, (store_id)(c - '0')), strchr(rows[i].either, c) != NULL);
		idset_release(&b);
		idset_release(&either);
		idset_release(&both);
		idset_release(&without);
	}
}

/* ---- what is selected ---- */

#define RUN_1 "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define RUN_2 "01BBBBBBBBBBBBBBBBBBBBBBBB"

/* Two runs. In the first sort makes /w/mid of /w/in, cut makes /w/out of /w/mid and fails; in the second, a thousand
 * seconds later, cat perhaps makes /w/far of /w/out and is killed. */
static void two_runs(void)
{
	struct history h;
	history_begin(&h, RUN_1, "./all.sh first", 0);
	uint64_t sh = history_process(&h, 0);
	history_exec(&h, sh, "./all.sh first", history_file(&h, TERM_kind_regular, "/usr/bin/dash", 1),
	             history_file(&h, TERM_kind_regular, "/w/all.sh", 2));
	uint64_t in = history_file(&h, TERM_kind_regular, "/w/in", 3),
	         mid = history_file(&h, TERM_kind_regular, "/w/mid", 4),
	         out = history_file(&h, TERM_kind_regular, "/w/out", 5);
	uint64_t sort = history_process(&h, sh), cut = history_process(&h, sh);
	history_exec(&h, sort, "sort -k2 in", history_file(&h, TERM_kind_regular, "/usr/bin/sort", 6), 0);
	history_read(&h, sort, in);
	history_write(&h, sort, mid, 10);
	history_exit(&h, sort, TERM_ending_exited, 0);
	history_exec(&h, cut, "cut mid", history_file(&h, TERM_kind_regular, "/usr/bin/cut", 7), 0);
	history_read(&h, cut, mid);
	history_write(&h, cut, out, 20);
	history_exit(&h, cut, TERM_ending_exited, 3);
	history_exit(&h, sh, TERM_ending_exited, 0);
	history_end(&h, sh);

	history_begin(&h, RUN_2, "cat out", 1000);
	uint64_t cat = history_process(&h, 0);
	history_exec(&h, cat, "cat out", history_file(&h, TERM_kind_regular, "/usr/bin/cat", 8), 0);
	history_access(&h, cat,
	               (struct event_access){.file = history_file(&h, TERM_kind_regular, "/w/out", 5),
	                                     .mode = ACCESS_READ,
	                                     .api = TERM_api_open},
	               h.now + 2ll * HISTORY_SECOND);
	history_write(&h, cat, history_file(&h, TERM_kind_regular, "/w/far", 9), 20);
	history_exit(&h, cat, TERM_ending_signaled, 9);
	history_end(&h, cat);
}

/* The names of what was found: the last components of paths, first arguments or ULIDs, sorted, with blanks between. */
static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}
static int finds(const char *text, enum expr_kind kind, bool sure, const char *want)
{
	struct err err = {0};
	struct expr *e = NULL;
	enum expr_kind said;
	struct idset got = {0};
	struct store *s = history_store();
	char *copy = strdup(text), *names[32];
	struct select_options o = {.now = HISTORY_BEGIN + DAY, .sure = sure};
	if (expr_parse(&copy, 1, &err, &e, &said) < 0)
		fail_msg("%s", err.text);
	int r = select_eval(s, e, kind, &o, &err, &got);
	assert_true(r == 0 || err.text[0]);
	for (size_t i = 0; i < got.n; i++) {
		struct version_info v;
		struct file_info f;
		struct exec_info x;
		struct run_info run;
		struct str name = {"?", 1};
		size_t pos = 0;
		assert_true(i < 32);
		if (kind == EXPR_FILES && store_version(s, got.v[i], &v) > 0 && store_file(s, v.file, &f) > 0)
			name = str_base_name(f.path);
		else if (kind == EXPR_EXECS && store_exec(s, got.v[i], &x) > 0 && !strlist_next(&x.argv, &pos, &name))
			name = str_of("-");
		else if (kind == EXPR_RUNS && store_run(s, got.v[i], &run) > 0)
			name = str_n(run.ulid.p, 3);
		names[i] = strndup(name.p, name.n);
	}
	qsort(names, got.n, sizeof(*names), compare_names);
	struct buf b = {0};
	for (size_t i = 0; i < got.n; i++) {
		buf_printf(&b, "%s%s", i ? " " : "", names[i]);
		free(names[i]);
	}
	if (r == 0 && strcmp(buf_cstr(&b), want) != 0)
		fail_msg("%s: '%s', not '%s'", text, buf_cstr(&b), want);
	buf_release(&b);
	idset_release(&got);
	expr_free(e);
	free(copy);
	return r;
}
static void files(const char *text, const char *want)
{
	assert_int_equal(finds(text, EXPR_FILES, false, want), 0);
}
static void execs(const char *text, const char *want)
{
	assert_int_equal(finds(text, EXPR_EXECS, false, want), 0);
}
static void runs(const char *text, const char *want)
{
	assert_int_equal(finds(text, EXPR_RUNS, false, want), 0);
}

static void by_files(void **state)
{
	(void)state;
	two_runs();
	execs("used /w/in", "sort");
	execs("made /w/mid", "sort");
	execs("used /w/mid or made /w/far", "cat cut");
	files("used /w/in", "mid");
	files("made /w/mid", "mid");
	runs("used /w/mid", "01A");
	runs("made /w/far", "01B");
	files("from /w/in", "far mid out");
	files("from /w/mid", "far out");
	files("into /w/out", "in mid");
	execs("from /w/mid", "cat cut");
	runs("into /w/far", "01A 01B");
	files("path /w/*", "all.sh far in mid out");
	files("path m*", "mid");
	execs("path mid", "cut sort");
	runs("path in", "01A");
	assert_int_equal(finds("used /w/none", EXPR_FILES, false, ""), -ENOENT);
	assert_int_equal(finds("used /w/in@{2}", EXPR_FILES, false, ""), -ENOENT);
	files("used /w/in@{1}", "mid");
}

/* Only what is sure: cat only perhaps read /w/out. */
static void what_is_sure(void **state)
{
	(void)state;
	two_runs();
	assert_int_equal(finds("from /w/in", EXPR_FILES, true, "mid out"), 0);
	assert_int_equal(finds("used /w/out", EXPR_EXECS, true, ""), 0);
	/* what is under a `not` is not even possible */
	assert_int_equal(finds("made /w/* and not used /w/out", EXPR_EXECS, true, ""), -ENOENT);
	assert_int_equal(finds("exe cat and not used /w/out", EXPR_EXECS, true, ""), 0);
	/* what only possibly holds under a `not` is possible */
	assert_int_equal(finds("exe cat and not used /w/out", EXPR_EXECS, false, "cat"), 0);
	assert_int_equal(finds("exe cat and not used /w/in", EXPR_EXECS, true, "cat"), 0);
}

static void by_programs(void **state)
{
	(void)state;
	two_runs();
	execs("exe sort", "sort");
	execs("exe /usr/bin/sort", "sort");
	execs("exe bin/sort", "sort");
	execs("exe in/sort", "");
	execs("exe 's*t'", "sort");
	execs("exe all.sh", "./all.sh");
	execs("exe dash", "./all.sh");
	execs("arg k2", "sort");
	execs("arg mid", "cut");
	runs("arg first", "01A");
	files("exe sort", "mid");
	files("not exe sort and made /w/out", "out");
	execs("exe sort or exe cut and arg none", "sort");
}

static void by_endings(void **state)
{
	(void)state;
	two_runs();
	execs("exit failed", "cat cut");
	execs("exit 3", "cut");
	execs("exit ok and exe sort", "sort");
	execs("exit SIGKILL", "cat");
	execs("exit KILL", "cat");
	execs("exit 9", "");
	execs("exit TERM", "");
	runs("exit ok", "01A 01B"); /* as the run's command ended, which the recorder says */
	assert_int_equal(finds("exit nonsense", EXPR_EXECS, false, ""), -EINVAL);
	assert_int_equal(finds("exit 3x", EXPR_EXECS, false, ""), -EINVAL);
}

static void by_times_and_places(void **state)
{
	(void)state;
	two_runs();
	runs("since 2026-01-01T00:10", "01B");
	runs("before 2026-01-01T00:10", "01A");
	runs("since 2026-01-02", "");
	runs("before 2026-01-01", "");
	execs("since 2026-01-01T00:10 and exe cat", "cat");
	files("since 2026-01-01T00:10", "far");
	files("before 2026-01-01T00:10 and made /w/mid", "mid");
	assert_int_equal(finds("since nonsense", EXPR_RUNS, false, ""), -EINVAL);
	runs("user ann", "01A 01B");
	runs("user an", "");
	runs("host 'h?'", "01A 01B");
	runs("host h", "");
	execs("user ann and exe cut", "cut");
	execs("host h1 and exe cut", "cut");
	runs("run @", "01B");
	runs("run @~1", "01A");
	execs("run " RUN_2 " and exe cat", "cat");
	files("run 01BB", "far");
	assert_int_equal(finds("run 01CC", EXPR_RUNS, false, ""), -ENOENT);
	assert_int_equal(finds("run @~2", EXPR_RUNS, false, ""), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(moments),
	    cmocka_unit_test(no_moments),
	    cmocka_unit_test(expressions),
	    cmocka_unit_test(no_expressions),
	    cmocka_unit_test(bounds_of_expressions),
	    cmocka_unit_test(expressions_of_several_words),
	    cmocka_unit_test(system_files),
	    cmocka_unit_test(sets),
	    cmocka_unit_test_setup_teardown(by_files, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(what_is_sure, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(by_programs, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(by_endings, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(by_times_and_places, history_setup, history_teardown),
	};
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
