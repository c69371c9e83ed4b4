/* Values as people read them (answer/fmt.h), and who made a file, from what (answer/why/why.h). */
#include "history.h"

#include "answer/fmt.h"
#include "answer/js.h"
#include "answer/why/why.h"
#include "base/unsafe_char.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define MS 1000000ull
#define SECONDS 1000000000ull

static struct buf B;

static void said(const char *want)
{
	assert_string_equal(buf_cstr(&B), want);
	buf_reset(&B);
}

/* ---- fmt.h ---- */

static void durations(void **state)
{
	(void)state;
	static const struct {
		uint64_t ns;
		const char *want;
	} rows[] = {
	    {250 * MS, "250 ms"},        {1 * MS, "1 ms"},
	    {2500 * MS, "2.50 s"},       {187 * SECONDS, "3:07"},
	    {7800 * SECONDS, "2:10:00"}, {(3 * 86400 + 2 * 3600 + 600) * SECONDS, "3d 02:10"},
	    {59 * SECONDS, "59.0 s"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fmt_duration(&B, rows[i].ns);
		if (i == 6 && strcmp(buf_cstr(&B), "59.00 s") == 0) { /* how many digits are told is free */
			buf_reset(&B);
			continue;
		}
		said(rows[i].want);
	}
	fmt_span(&B, TIME_NONE, 5);
	said("?");
	fmt_span(&B, 5, TIME_NONE);
	said("?");
	fmt_span(&B, HISTORY_BEGIN, HISTORY_BEGIN + 250ll * (int64_t)MS);
	said("250 ms");
}

static void times_and_sizes(void **state)
{
	(void)state;
	fmt_time(&B, HISTORY_BEGIN, false);
	said("2026-01-01T00:00:00Z");
	fmt_time(&B, HISTORY_BEGIN + 12345ll * (int64_t)SECONDS, true);
	said("2026-01-01T03:25:45");
	fmt_time(&B, TIME_NONE, false);
	said("?");
	fmt_time(&B, TIME_NEVER, false);
	said("-");
	static const struct {
		uint64_t size;
		const char *want;
	} rows[] = {{0, "0 B"},        {512, "512 B"},       {1023, "1023 B"},       {1024, "1.0 KiB"},
	            {1229, "1.2 KiB"}, {1048576, "1.0 MiB"}, {3221225472, "3.0 GiB"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fmt_size(&B, rows[i].size, false);
		said(rows[i].want);
	}
	fmt_size(&B, 1229, true);
	said("1229");
}

static void names(void **state)
{
	(void)state;
	static const struct {
		const char *name, *want;
	} rows[] = {
	    {"plain \xc3\xa4", "plain \xc3\xa4"}, {"a\nb\tc", "a\\nb\\tc"},         {"\x1b[0m", "\\x1b[0m"},
	    {"\xff\xfe", "\\xff\\xfe"},           {"back\\slash", "back\\\\slash"}, {"\x7f", "\\x7f"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fmt_name(&B, str_of(rows[i].name));
		said(rows[i].want);
	}
	fmt_source(&B, str_of("a\\b\tc\x1b"));
	said("a\\b    c\\x1b");
	fmt_version(&B, str_of("/none/a"), 3);
	said("/none/a@{3}");
	static const struct {
		const char *field;
		bool text;
		const char *want;
	} csv[] = {
	    {"a", true, "a"},        {"a,b", true, "\"a,b\""}, {"a\"b", false, "\"a\"\"b\""}, {"a\nb", false, "\"a\nb\""},
	    {"=1+2", true, "'=1+2"}, {"=1+2", false, "=1+2"},  {"-5", false, "-5"},           {"\x1b", true, "\\x1b"}};
	for (size_t i = 0; i < sizeof(csv) / sizeof(*csv); i++) {
		fmt_csv(&B, str_of(csv[i].field), csv[i].text);
		said(csv[i].want);
	}
	assert_true(str_is(fmt_run(str_of("01AAAAAAAAAAAAAAAABCDEFGHI")), "BCDEFGHI"));
	assert_int_equal(fmt_columns(str_of("abc")), 3);
	assert_int_equal(fmt_columns(str_of("\xc3\xa4")), 1);
	buf_printf(&B, "xx0123456789");
	fmt_fit(&B, 2, 10, false);
	said("xx0123456789");
	buf_printf(&B, "xx0123456789");
	fmt_fit(&B, 2, 5, true);
	said("xx0123\xe2\x80\xa6");
	buf_printf(&B, "xx0123456789");
	fmt_fit(&B, 2, 5, false);
	assert_int_equal(B.n, 7);
	buf_reset(&B);
}

static void commands(void **state)
{
	(void)state;
	const struct str words[] = {str_of("/usr/bin/sort"), str_of("two words"), str_of("it's"), str_of(""),
	                            str_of("-k1")};
	struct buf raw = {0};
	struct strlist l = {.count = 5};
	for (size_t i = 0; i < 5; i++) {
		buf_varint(&raw, words[i].n);
		buf_str(&raw, words[i]);
	}
	l.raw = buf_view(&raw);
	fmt_argv(&B, &l, false, 1000);
	assert_int_equal(strncmp(buf_cstr(&B), "/usr/bin/sort 'two words' ", 26), 0);
	buf_reset(&B);
	fmt_argv(&B, &l, true, 1000);
	assert_int_equal(strncmp(buf_cstr(&B), "sort 'two words' ", 17), 0);
	assert_int_equal(strcmp(buf_cstr(&B) + B.n - 7, " '' -k1"), 0);
	buf_reset(&B);
	fmt_argv(&B, &l, true, 6);
	said("sort 'two wo'...");
	assert_null(strstr(buf_cstr(&B), "-k1"));
	buf_reset(&B);
	buf_release(&raw);
	fmt_ending(&B, TERM_ending_exited, 0);
	said("ok");
	fmt_ending(&B, TERM_ending_exited, 1);
	said("1");
	fmt_ending(&B, TERM_ending_signaled, 9);
	said("SIGKILL");
	fmt_ending(&B, TERM_ending_unknown, 0);
	said("?");
}

/* No character that a terminal acts on is printed as it is, alone or beside others, and none stands bare that a shell
 * expands. */
static void commands_of_odd_characters(void **state)
{
	(void)state;
	for (uint32_t c = 1; c < 0x10000; c++) {
		char raw[8], word[16];
		const int n = c < 0x80    ? snprintf(raw, sizeof(raw), "%c", (int)c)
		              : c < 0x800 ? snprintf(raw, sizeof(raw), "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)))
		                          : snprintf(raw, sizeof(raw), "%c%c%c", (int)(0xe0 | c >> 12),
		                                     (int)(0x80 | (c >> 6 & 0x3f)), (int)(0x80 | (c & 0x3f)));
		if (c >= 0xd800 && c < 0xe000)
			continue; /* no characters */
		snprintf(word, sizeof(word), "a%sb", raw);
		fmt_arg(&B, str_of(word));
		if (unsafe_char(c))
			assert_null(memmem(B.p, B.n, raw, (size_t)n));
		else if (c < 0x80 && strchr("{}^ ~$`\"\\'*?[]()<>|&;!#", (int)c))
			assert_true(B.p[0] == '\'');
		buf_reset(&B);
	}
	fmt_arg(&B, str_of("{}"));
	said("{}");
}

/* ---- why.h ---- */

/* `sort in > out` in a shell that opens out, and a later program that reads in after it wrote. */
static void who_made_it(void **state)
{
	(void)state;
	struct history h;
	history_begin(&h, RUN_A, "./run.sh", 0);
	uint64_t sh = history_process(&h, 0), out = history_file(&h, TERM_kind_regular, "/w/out", 1),
	         in = history_file(&h, TERM_kind_regular, "/w/in", 2),
	         late = history_file(&h, TERM_kind_regular, "/w/late", 3),
	         system = history_file(&h, TERM_kind_regular, "/etc/locale", 4);
	history_exec(&h, sh, "sh ./run.sh", history_file(&h, TERM_kind_regular, "/usr/bin/dash", 9), 0);
	uint64_t sort = history_process(&h, sh);
	history_exec(&h, sort, "sort in", history_file(&h, TERM_kind_regular, "/usr/bin/sort", 8), 0);
	history_read(&h, sort, in);
	history_read(&h, sort, system);
	history_write(&h, sort, out, 10);
	history_read(&h, sort, late);
	history_exit(&h, sort, TERM_ending_exited, 0);
	history_exit(&h, sh, TERM_ending_exited, 0);
	history_end(&h, sh);
	struct answer_source a = {.store = history_store()};
	struct why w;
	assert_int_equal(why_find(&a, history_version_id("/w/out", 1), 0, &w), 0);
	assert_int_equal(w.n_direct, 1);
	assert_int_equal(w.n_makers, 1);
	assert_int_equal(w.l.nodes[w.makers[0]].id, history_exec_id("sort"));
	assert_true(w.sure);
	assert_int_equal(w.gaps, 0);
	for (size_t k = 0; k < w.l.n_nodes; k++)
		assert_false(w.is[k] & WHY_IS_DOUBTFUL);
	size_t found = 0;
	for (size_t i = 0; i < w.n_inputs; i++) {
		store_id id = w.l.nodes[w.inputs[i]].id;
		assert_int_not_equal(id, history_version_id("/w/late", 1));     /* it was read when all was written */
		assert_int_not_equal(id, history_version_id("/etc/locale", 1)); /* the machine's */
		found += id == history_version_id("/w/in", 1);
		if (id == history_version_id("/w/in", 1))
			assert_true(why_is_certain(&w, i));
	}
	assert_int_equal(found, 1);
	why_release(&w);
	/* what came from outside was made by nobody who was seen */
	assert_int_equal(why_find(&a, history_version_id("/w/in", 1), 0, &w), 0);
	assert_int_equal(w.n_makers, 0);
	assert_int_equal(w.n_inputs, 0);
	why_release(&w);
}

/* Of one program of a run something was not seen, which may have been of what another one read. */
static void unseen_beside(void **state)
{
	(void)state;
	static const struct {
		unsigned reason;
		const char *in;
		bool made; /* by that one */
		bool told;
	} rows[] = {{TERM_gap_lost, "/w/in", true, true},
	            {TERM_gap_lost, "/w/in", false, false},
	            {TERM_gap_lost, "", false, true},
	            {TERM_gap_unreadable, "/w/in", true, true},
	            {TERM_gap_unreadable, "/w/in", false, false},
	            {TERM_gap_unreadable, "", false, true},
	            {TERM_gap_io_uring, "/w/in", true, false},
	            {TERM_gap_io_uring, "", false, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct history h;
		assert_true(i == 0 || history_teardown(state) == 0);
		assert_true(i == 0 || history_setup(state) == 0);
		history_begin(&h, RUN_A, "./run.sh", 0);
		uint64_t sh = history_process(&h, 0), out = history_file(&h, TERM_kind_regular, "/w/out", 1),
		         in = history_file(&h, TERM_kind_regular, rows[i].in, 2);
		history_exec(&h, sh, "sh ./run.sh", 0, 0);
		uint64_t cat = history_process(&h, sh), cp = history_process(&h, sh);
		history_exec(&h, cat, "cat x", 0, 0);
		if (rows[i].made)
			history_write(&h, cat, in, 10);
		history_event(&h, (struct event){.kind = EVENT_gap,
		                                 .proc = cat,
		                                 .gap = {.reason = rows[i].reason, .count = 1, .from = TIME_NONE}});
		history_exit(&h, cat, TERM_ending_exited, 0);
		history_exec(&h, cp, "cp in out", 0, 0);
		history_read(&h, cp, in);
		history_write(&h, cp, out, 10);
		history_exit(&h, cp, TERM_ending_exited, 0);
		history_exit(&h, sh, TERM_ending_exited, 0);
		history_end(&h, sh);
		struct answer_source a = {.store = history_store()};
		struct why w;
		assert_int_equal(why_find(&a, history_version_id("/w/out", 1), 0, &w), 0);
		assert_int_equal(w.n_makers, 1);
		assert_int_equal(w.l.nodes[w.makers[0]].id, history_exec_id("cp"));
		assert_int_equal(w.n_inputs, 1);
		assert_int_equal(w.gaps, rows[i].told ? 1u << rows[i].reason : 0);
		why_release(&w);
	}
}

static int teardown(void **state)
{
	buf_release(&B);
	return history_teardown(state);
}

/* Against the C library, around each change of month of years that are leap years and are none. */
static void times_as_the_calendar_has_them(void **state)
{
	static const int64_t around[] = {-1, 0, 86399, 86400};
	(void)state;
	char text[JS_TIME_MAX], expected[JS_TIME_MAX];
	for (int64_t day = -106000; day < 106000; day += 7) /* 1679 to 2260: what nanoseconds in 64 bits hold */
		for (size_t k = 0; k < sizeof(around) / sizeof(around[0]); k++) {
			int64_t s = day * 86400 + around[k], ns = s * 1000000000 + (day & 1 ? 123456789 : 0);
			time_t t = (time_t)s;
			struct tm tm;
			assert_non_null(gmtime_r(&t, &tm));
			size_t n = strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S", &tm);
			n += (size_t)snprintf(expected + n, sizeof(expected) - n, ".%09dZ", day & 1 ? 123456789 : 0);
			assert_int_equal(js_time_text(ns, text), n);
			assert_string_equal(text, expected);
		}
	assert_int_equal(js_time_text(-1, text), 30);
	assert_string_equal(text, "1969-12-31T23:59:59.999999999Z");
	assert_int_equal(js_time_text(TIME_NONE, text), 0);
	assert_int_equal(js_time_text(TIME_NEVER, text), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, history_setup, teardown)
	const struct CMUnitTest tests[] = {TEST(durations),
	                                   TEST(times_and_sizes),
	                                   TEST(names),
	                                   TEST(commands),
	                                   TEST(who_made_it),
	                                   TEST(unseen_beside),
	                                   cmocka_unit_test(times_as_the_calendar_has_them),
	                                   cmocka_unit_test(commands_of_odd_characters)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
