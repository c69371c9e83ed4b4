/* The figures of a task, their JSON, and that nothing is lost on the way there and back. The JSON expected here was
 * written by hand from the contract. */
#include "summary/decimal.h"
#include "summary/summary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- decimal numbers ---- */

static void test_decimal_add(void **state)
{
	(void)state;
	static const struct {
		int64_t value;
		unsigned decimals;
		const char *text;
	} rows[] = {
	    {0, 0, "0"},
	    {0, 9, "0"},
	    {1, 9, "0.000000001"},
	    {1500000000, 9, "1.5"},
	    {-1500000000, 9, "-1.5"},
	    {-1, 9, "-0.000000001"},
	    {1795294285137360123, 9, "1795294285.137360123"},
	    {INT64_MAX, 0, "9223372036854775807"},
	    {INT64_MAX, 9, "9223372036.854775807"},
	    {INT64_MIN, 9, "-9223372036.854775808"},
	    {INT64_MIN, 0, "-9223372036854775808"},
	    {1200, 3, "1.2"},
	    {1000000000, 9, "1"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf b = {0};
		int64_t back = 7;
		decimal_add(&b, rows[i].value, rows[i].decimals);
		assert_string_equal(buf_cstr(&b), rows[i].text);
		assert_int_equal(decimal_read(buf_view(&b), rows[i].decimals, &back), 0);
		assert_true(back == rows[i].value);
		buf_release(&b);
	}
}

static void test_decimal_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		unsigned decimals;
		int rc;
		int64_t value;
	} rows[] = {
	    {"1e3", 0, 0, 1000},
	    {"1E+3", 0, 0, 1000},
	    {"12.5e-1", 9, 0, 1250000000},
	    {"0.1e1", 0, 0, 1},
	    {"0.0000000014", 9, 0, 1},
	    {"0.0000000015", 9, 0, 2},
	    {"-0.0000000015", 9, 0, -2},
	    {"0.9999999999", 9, 0, 1000000000},
	    {"0.5", 0, 0, 1},
	    {"0.49", 0, 0, 0},
	    {"0.05", 0, 0, 0},
	    {"5e-1", 0, 0, 1},
	    {"5e-2", 0, 0, 0},
	    {"-0", 0, 0, 0},
	    {"0e999999999999999999999", 9, 0, 0},
	    {"0.000e99", 0, 0, 0},
	    {"1e-999999999999999999999", 9, 0, 0},
	    {"0.00000000000000000000000000000000000000001e41", 0, 0, 1},
	    {"10000000000000000000000000000000000000000e-40", 0, 0, 1},
	    {"9223372036854775807", 0, 0, INT64_MAX},
	    {"-9223372036854775808", 0, 0, INT64_MIN},
	    {"9223372036854775808", 0, -ERANGE, 0},
	    {"9223372036854775807.5", 0, -ERANGE, 0},
	    {"-9223372036854775809", 0, -ERANGE, 0},
	    {"9223372037", 9, -ERANGE, 0},
	    {"1e19", 0, -ERANGE, 0},
	    {"1e99999999999999999999999", 0, -ERANGE, 0},
	    {"", 0, -EINVAL, 0},
	    {"-", 0, -EINVAL, 0},
	    {"01", 0, -EINVAL, 0},
	    {"1.", 0, -EINVAL, 0},
	    {".5", 0, -EINVAL, 0},
	    {"1e", 0, -EINVAL, 0},
	    {"1e+", 0, -EINVAL, 0},
	    {"1 ", 0, -EINVAL, 0},
	    {" 1", 0, -EINVAL, 0},
	    {"1.5.5", 0, -EINVAL, 0},
	    {"+1", 0, -EINVAL, 0},
	    {"0x10", 0, -EINVAL, 0},
	    {"nan", 0, -EINVAL, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t v = 0;
		int rc = decimal_read(str_of(rows[i].text), rows[i].decimals, &v);
		if (rc != rows[i].rc || v != rows[i].value)
			fail_msg("'%s' with %u decimals: %d, %lld", rows[i].text, rows[i].decimals, rc, (long long)v);
	}
}

/* ---- the JSON ---- */

static char *copy(const char *s)
{
	char *p = strdup(s);
	assert_non_null(p);
	return p;
}

static char **list(size_t n, const char *a, const char *b, const char *c)
{
	const char *from[] = {a, b, c};
	char **p = calloc(n + 1, sizeof(*p));
	assert_non_null(p);
	for (size_t i = 0; i < n; i++)
		p[i] = copy(from[i]);
	return p;
}

static void one_pair(struct summary_pair **p, size_t *n, const char *key, const char *value)
{
	*p = realloc(*p, (*n + 1) * sizeof(**p));
	assert_non_null(*p);
	(*p)[(*n)++] = (struct summary_pair){copy(key), copy(value)};
}

/* Everything there can be. */
static void fill(struct summary *s)
{
	summary_init(s);
	s->run = copy("01K9ZC3V6T8M2N4P5Q6R7S8T9V");
	s->argv = list(3, "sh", "-c", "echo \"a\\b\"\n\t\x01");
	s->cwd = copy("/home/me");
	s->user = copy("me");
	s->exit_type = EXIT_TYPE_LIMIT;
	s->signal = 9;
	s->oom = true;
	summary_set(s, FIGURE_start, 1795294285137360123, "clock", true);
	summary_set(s, FIGURE_cpu_time, 1500000000, "wait4", true);
	summary_set_bounds(s, FIGURE_memory_resident_peak, 200, 150, 1000, "exit stop", false);
	summary_set(s, FIGURE_cores, 1250, NULL, false);
	summary_absent(s, FIGURE_gpus, "this machine has none");
	s->limit = calloc(2, sizeof(*s->limit));
	s->limit[s->nlimit++] = (struct summary_limit){copy("wall"), 1500000000, 60000000000};
	s->limit[s->nlimit++] = (struct summary_limit){copy("processes"), -1, 40};
	s->exceeded = calloc(1, sizeof(*s->exceeded));
	s->exceeded[s->nexceeded++] = (struct summary_limit){copy("memory"), 210, 200};
	s->escaped = list(1, "pid 7 went away", NULL, NULL);
	s->nescaped = 1;
	one_pair(&s->host, &s->nhost, "kernel", "6.1");
	one_pair(&s->label, &s->nlabel, "sample", "B7");
	one_pair(&s->label, &s->nlabel, "", "");
	s->process = calloc(2, sizeof(*s->process));
	s->process[s->nprocess++] = (struct summary_process){.pid = 7,
	                                                     .ppid = 1,
	                                                     .exe = copy("/bin/sh"),
	                                                     .start = 1,
	                                                     .end = 2000000000,
	                                                     .user_time = 3,
	                                                     .system_time = 0,
	                                                     .resident_peak = 4096,
	                                                     .virtual_peak = 8192,
	                                                     .bytes_read = 5,
	                                                     .bytes_written = 6,
	                                                     .threads_peak = 1,
	                                                     .status = 3 << 8};
	s->file = calloc(3, sizeof(*s->file));
	s->file[s->nfile++] = (struct summary_file){copy("/a"), 12, true, false, copy("open")};
	s->file[s->nfile++] = (struct summary_file){copy("\xff"), -1, false, true, copy("descriptor")};
	s->files_told = true;
	s->process[s->nprocess++] = (struct summary_process){.pid = 8,
	                                                     .ppid = -1,
	                                                     .start = -1,
	                                                     .end = -1,
	                                                     .user_time = -1,
	                                                     .system_time = -1,
	                                                     .resident_peak = -1,
	                                                     .virtual_peak = -1,
	                                                     .bytes_read = -1,
	                                                     .bytes_written = -1,
	                                                     .threads_peak = -1,
	                                                     .status = 11 | 0x80};
}

static bool has(struct buf *b, const char *text)
{
	return strstr(buf_cstr(b), text) != NULL;
}

static void test_written(void **state)
{
	(void)state;
	static const char *const parts[] = {
	    "{\"format\":1,\"run\":\"01K9ZC3V6T8M2N4P5Q6R7S8T9V\",",
	    "\"command\":[\"sh\",\"-c\",\"echo \\\"a\\\\b\\\"\\n\\t\\u0001\"],\"cwd\":\"/home/me\",\"user\":\"me\",",
	    "\"exit_type\":\"limit\",\"exit_status\":null,\"signal\":9,\"oom\":true,",
	    "\"start\":{\"value\":1795294285.137360123,\"unit\":\"s\",\"method\":\"clock\",\"complete\":true},",
	    "\"cpu_time\":{\"value\":1.5,\"unit\":\"s\",\"method\":\"wait4\",\"complete\":true},",
	    "\"memory_resident_peak\":{\"value\":200,\"unit\":\"B\",\"method\":\"exit stop\",\"low\":150,\"high\":1000,"
	    "\"complete\":false},",
	    "\"cores\":{\"value\":1.25,\"unit\":\"cores\",\"complete\":false},",
	    "\"gpus\":{\"absent\":\"this machine has none\",\"complete\":false},",
	    "\"cycles\":{\"absent\":\"not measured\",\"complete\":false},",
	    "\"limits\":{\"wall\":{\"limit\":60,\"peak\":1.5,\"unit\":\"s\"},"
	    "\"processes\":{\"limit\":40,\"peak\":null,\"unit\":\"\"}},",
	    "\"limits_exceeded\":[{\"name\":\"memory\",\"limit\":200,\"peak\":210,\"unit\":\"B\"}],",
	    "\"escaped\":[\"pid 7 went away\"],\"host\":{\"kernel\":\"6.1\"},\"label\":{\"sample\":\"B7\",\"\":\"\"}",
	    "\"processes\":[{\"pid\":7,\"ppid\":1,\"exe\":\"/bin/sh\",\"start\":0.000000001,\"end\":2,"
	    "\"user_time\":0.000000003,\"system_time\":0,\"memory_resident_peak\":4096,\"memory_virtual_peak\":8192,"
	    "\"bytes_read\":5,\"bytes_written\":6,\"threads_peak\":1,\"exit\":{\"status\":3}},",
	    "{\"pid\":8,\"ppid\":null,\"exe\":null,",
	    "\"exit\":{\"signal\":11,\"core\":true}}],\"files\":[{\"path\":\"/"
	    "a\",\"size\":12,\"read\":true,\"written\":false,"
	    "\"how\":\"open\"},{\"path\":\"�\",\"path_base64\":\"/w==\",\"size\":null,\"read\":false,\"written\":true,"
	    "\"how\":\"descriptor\"}],\"files_complete\":false}",
	};
	struct summary s;
	struct buf b = {0};
	fill(&s);
	assert_int_equal(summary_json(&s, true, false, &b), 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!has(&b, parts[i]))
			fail_msg("no %s in %s", parts[i], buf_cstr(&b));
	assert_null(strchr(buf_cstr(&b), '\n'));
	buf_reset(&b);
	assert_int_equal(summary_json(&s, false, true, &b), 0);
	assert_false(has(&b, "\"processes\": ["));
	assert_true(has(&b, "\n  \"cpu_time\": {\"value\": 1.5, \"unit\": \"s\", "));
	assert_true(b.n > 2 && strcmp(buf_cstr(&b) + b.n - 2, "\n}") == 0);
	buf_release(&b);
	summary_release(&s);
}

static void must_read(const char *text, struct summary *s)
{
	struct err err = {0};
	if (summary_read(text, strlen(text), &err, s) != 0)
		fail_msg("%s: %s", text, err.text);
}

static void test_back(void **state)
{
	(void)state;
	struct summary s, t;
	struct buf a = {0}, b = {0};
	for (int indent = 0; indent < 2; indent++) {
		fill(&s);
		buf_reset(&a);
		assert_int_equal(summary_json(&s, true, indent, &a), 0);
		must_read(buf_cstr(&a), &t);
		assert_string_equal(t.run, s.run);
		assert_string_equal(t.argv[2], s.argv[2]);
		assert_null(t.argv[3]);
		assert_string_equal(t.cwd, s.cwd);
		assert_string_equal(t.user, s.user);
		assert_int_equal(t.exit_type, EXIT_TYPE_LIMIT);
		assert_int_equal(t.exit_status, -1);
		assert_int_equal(t.signal, 9);
		assert_true(t.oom);
		assert_true(t.figure[FIGURE_start].value == 1795294285137360123 && t.figure[FIGURE_start].complete);
		assert_string_equal(t.figure[FIGURE_start].method, "clock");
		assert_false(t.figure[FIGURE_start].bounded);
		const struct figure *m = &t.figure[FIGURE_memory_resident_peak];
		assert_true(m->known && m->bounded && !m->complete && m->value == 200 && m->low == 150 && m->high == 1000);
		assert_null(t.figure[FIGURE_cores].method);
		assert_true(t.figure[FIGURE_cores].value == 1250);
		assert_false(t.figure[FIGURE_gpus].known);
		assert_string_equal(t.figure[FIGURE_gpus].absent, "this machine has none");
		assert_int_equal(t.nlimit, 2);
		assert_string_equal(t.limit[0].name, "wall");
		assert_true(t.limit[0].limit == 60000000000 && t.limit[0].peak == 1500000000);
		assert_true(t.limit[1].limit == 40 && t.limit[1].peak == -1);
		assert_true(t.nexceeded == 1 && t.exceeded[0].peak == 210 && t.exceeded[0].limit == 200);
		assert_true(t.nescaped == 1 && t.nhost == 1 && t.nlabel == 2);
		assert_string_equal(t.label[0].key, "sample");
		assert_string_equal(t.label[1].value, "");
		assert_int_equal(t.nprocess, 2);
		assert_true(t.process[0].pid == 7 && t.process[0].start == 1 && t.process[0].status == 3 << 8);
		assert_true(t.nfile == 2 && t.files_told && !t.files_complete && t.file[0].size == 12 && t.file[0].read);
		assert_string_equal(t.file[1].path, "\xff");
		assert_true(t.process[1].ppid == -1 && !t.process[1].exe && t.process[1].status == (11 | 0x80));
		buf_reset(&b);
		assert_int_equal(summary_json(&t, true, indent, &b), 0);
		assert_string_equal(buf_cstr(&a), buf_cstr(&b));
		summary_release(&s);
		summary_release(&t);
	}
	buf_release(&a);
	buf_release(&b);
}

static void test_any_bytes(void **state)
{
	(void)state;
	struct summary s, t;
	struct buf a = {0};
	summary_init(&s);
	s.argv = list(2, "cat", "a\xff\xc0", NULL);
	s.cwd = copy("/\xed\xa0\x80x");
	s.escaped = list(2, "\xf5", "fine", NULL);
	s.nescaped = 2;
	one_pair(&s.label, &s.nlabel, "k\xfe", "v");
	one_pair(&s.label, &s.nlabel, "k\xfd", "w\xff");
	one_pair(&s.label, &s.nlabel, "cwd_base64", "L2Jpbg==");
	s.process = calloc(1, sizeof(*s.process));
	s.nprocess = 1;
	s.process[0].exe = copy("\xc3(");
	assert_int_equal(summary_json(&s, true, false, &a), 0);
	assert_true(has(&a, "\"command\":[\"cat\",\"a\xef\xbf\xbd\xef\xbf\xbd\"],\"command_base64\":[\"Y2F0\",\"Yf/A\"]"));
	assert_true(has(&a, "\"cwd_base64\":\"L+2ggHg=\""));
	must_read(buf_cstr(&a), &t);
	assert_string_equal(t.argv[1], s.argv[1]);
	assert_string_equal(t.cwd, s.cwd);
	assert_string_equal(t.escaped[0], s.escaped[0]);
	assert_int_equal(t.nlabel, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(t.label[i].key, s.label[i].key);
		assert_string_equal(t.label[i].value, s.label[i].value);
	}
	assert_string_equal(t.process[0].exe, s.process[0].exe);
	summary_release(&t);
	summary_release(&s);
	buf_release(&a);
}

static void test_read(void **state)
{
	(void)state;
	struct summary s;
	must_read("{\"format\": 1}", &s);
	assert_false(s.figure[FIGURE_cpu_time].known);
	assert_null(s.argv);
	assert_int_equal(s.exit_type, EXIT_TYPE_UNKNOWN);
	assert_int_equal(s.exit_status, -1);
	summary_release(&s);
	must_read(" {\"format\": 1, \"tomorrow\": [1.5, {\"x\": -2e5}], \"cpu_time\": {\"value\": 0.1, \"unit\": \"s\", "
	          "\"why\": 3}, \"exit_status\": 3, \"exit_type\": \"normal\", \"host\": {\"cores\": 4}}\n ",
	          &s);
	assert_true(s.figure[FIGURE_cpu_time].value == 100000000);
	assert_false(s.figure[FIGURE_cpu_time].complete);
	assert_int_equal(s.exit_status, 3);
	assert_string_equal(s.host[0].value, "4");
	summary_release(&s);
}

static void test_bad(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} rows[] = {
	    {"", "empty"},
	    {"  \n", "empty"},
	    {"[]", "not a JSON object"},
	    {"{}", "no 'format'"},
	    {"{\"format\": 2}", "newer"},
	    {"{\"format\": 0}", "out of range"},
	    {"{\"format\": \"one\"}", "'format' is not a number"},
	    {"{\"format\": 1} {}", "data after the end"},
	    {"{\"format\": 1", "line 1"},
	    {"{\"format\": 1,\n\"a\": 01}", "line 2"},
	    {"{\"format\": 1, \"a\": 1.2.3}", "not JSON"},
	    {"{\"format\": 1, \"cpu_time\": 5}", "'cpu_time' is not an object"},
	    {"{\"format\": 1, \"cpu_time\": {}}", "'cpu_time' has neither"},
	    {"{\"format\": 1, \"cpu_time\": {\"value\": \"x\"}}", "'cpu_time'"},
	    {"{\"format\": 1, \"cpu_time\": {\"value\": 5, \"unit\": \"ms\"}}", "unit"},
	    {"{\"format\": 1, \"cpu_time\": {\"value\": 1e30}}", "'cpu_time'"},
	    {"{\"format\": 1, \"cpu_time\": {\"absent\": 3.5, \"x\": 1}, \"command\": 5}", "'command' is not a list"},
	    {"{\"format\": 1, \"command\": [null]}", "'command' is not a string"},
	    {"{\"format\": 1, \"command\": [\"a\"], \"command_base64\": [\"?\"]}", "base64"},
	    {"{\"format\": 1, \"cwd\": \"a\", \"cwd_base64\": \"AA==\"}", "base64"},
	    {"{\"format\": 1, \"exit_type\": \"dead\"}", "exit_type"},
	    {"{\"format\": 1, \"exit_status\": 256}", "out of range"},
	    {"{\"format\": 1, \"signal\": 0}", "out of range"},
	    {"{\"format\": 1, \"oom\": 1}", "oom"},
	    {"{\"format\": 1, \"limits\": {\"cpu\": {}}}", "'cpu' has no limit"},
	    {"{\"format\": 1, \"limits\": [1]}", "'limits' is not an object"},
	    {"{\"format\": 1, \"limits_exceeded\": [{}]}", "without a name"},
	    {"{\"format\": 1, \"host\": {\"a\": {}}}", "'host' is not a string"},
	    {"{\"format\": 1, \"label\": {}, \"label_base64\": [[\"YQ==\",\"YQ==\"],[\"YQ==\",\"\"]]}", "twice"},
	    {"{\"format\": 1, \"processes\": [3]}", "not an object"},
	    {"{\"format\": 1, \"files\": [3]}", "not an object"},
	    {"{\"format\": 1, \"files\": 3}", "not a list"},
	    {"{\"format\": 1, \"files\": [{\"size\": 3}]}", "without a path"},
	    {"{\"format\": 1, \"processes\": [{\"start\": -1}]}", "below 0"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		struct summary s;
		int rc = summary_read(rows[i].text, strlen(rows[i].text), &err, &s);
		if (rc >= 0 || !strstr(err.text, rows[i].says))
			fail_msg("%s: %d '%s', should say '%s'", rows[i].text, rc, err.text, rows[i].says);
	}
}

static void test_set(void **state)
{
	(void)state;
	struct summary s;
	summary_init(&s);
	assert_int_equal(summary_absent(&s, FIGURE_gpus, "no"), 0);
	assert_int_equal(summary_set_bounds(&s, FIGURE_gpus, 2, 1, 3, "sample", true), 0);
	assert_int_equal(summary_set(&s, FIGURE_gpus, 5, "count", true), 0);
	assert_true(s.figure[FIGURE_gpus].known && !s.figure[FIGURE_gpus].bounded && s.figure[FIGURE_gpus].value == 5);
	assert_string_equal(s.figure[FIGURE_gpus].method, "count");
	assert_int_equal(summary_absent(&s, FIGURE_gpus, "gone"), 0);
	assert_true(!s.figure[FIGURE_gpus].known && !s.figure[FIGURE_gpus].method);
	assert_string_equal(s.figure[FIGURE_gpus].absent, "gone");
	summary_release(&s);
	assert_string_equal(figure_key(FIGURE_cpu_time), "cpu_time");
	assert_string_equal(figure_unit(FIGURE_cpu_time), "s");
	assert_int_equal(figure_decimals(FIGURE_cpu_time), 9);
	assert_int_equal(figure_by_name("instructions"), FIGURE_instructions);
	assert_int_equal(figure_by_name("cpu"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_decimal_add), cmocka_unit_test(test_decimal_read), cmocka_unit_test(test_written),
	    cmocka_unit_test(test_back),        cmocka_unit_test(test_any_bytes),    cmocka_unit_test(test_read),
	    cmocka_unit_test(test_bad),         cmocka_unit_test(test_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
