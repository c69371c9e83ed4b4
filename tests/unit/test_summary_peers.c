/* Summaries of others: what is read from theirs, and that ours as theirs reads as the same. The documents were written
 * by hand, with values that are told here again. */
#include "summary/read_any.h"
#include "summary/units.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *folder;

#define MB 1048576ll

static void load(const char *name, struct summary_list *l)
{
	char path[4096];
	struct buf b = {0};
	char part[4096];
	struct err err = {0};
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s", path);
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
		buf_add(&b, part, n);
	fclose(f);
	if (summary_read_any(b.p, b.n, &err, l) != 0)
		fail_msg("%s: %s", name, err.text);
	buf_release(&b);
}

static void is(const struct summary *s, enum figure_name f, int64_t value, bool complete)
{
	const struct figure *v = &s->figure[f];
	if (!v->known || v->bounded || v->value != value || v->complete != complete)
		fail_msg("%s: known %d bounded %d complete %d value %lld", figure_key(f), v->known, v->bounded, v->complete,
		         (long long)v->value);
}

static void between(const struct summary *s, enum figure_name f, int64_t value, int64_t low, int64_t high)
{
	const struct figure *v = &s->figure[f];
	if (!v->known || !v->bounded || v->value != value || v->low != low || v->high != high)
		fail_msg("%s: %lld in %lld..%lld", figure_key(f), (long long)v->value, (long long)v->low, (long long)v->high);
}

static void is_absent(const struct summary *s, enum figure_name f)
{
	assert_false(s->figure[f].known);
	assert_non_null(s->figure[f].absent);
}

static void says(const struct summary_pair *p, size_t n, const char *key, const char *value)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(p[i].key, key) == 0) {
			assert_string_equal(p[i].value, value);
			return;
		}
	fail_msg("nothing said of %s", key);
}

static void argv_is(const struct summary *s, const char *const *argv)
{
	assert_non_null(s->argv);
	size_t i = 0;
	for (; argv[i]; i++) {
		assert_non_null(s->argv[i]);
		assert_string_equal(s->argv[i], argv[i]);
	}
	assert_null(s->argv[i]);
}
#define ARGV(s, ...) argv_is(s, (const char *const[]){__VA_ARGS__, NULL})

static void test_kickstart(void **state)
{
	(void)state;
	struct summary_list l;
	load("kickstart.yml", &l);
	assert_int_equal(l.n, 3);
	const struct summary *s = &l.v[0].summary;
	assert_int_equal(l.v[0].form, SUMMARY_KICKSTART);
	/* 2026-03-04T09:03:33.840Z, by `date -d` */
	is(s, FIGURE_start, 1772615013840000000, true);
	is(s, FIGURE_end, 1772615024090000000, true);
	is(s, FIGURE_wall_time, 10250000000, true);
	is(s, FIGURE_user_time, 7500000000, false);
	is(s, FIGURE_system_time, 250000000, false);
	is(s, FIGURE_cpu_time, 7750000000, false);
	is(s, FIGURE_cores, 756, false);
	is(s, FIGURE_page_faults_minor, 166, false);
	is(s, FIGURE_page_faults_major, 2, false);
	is(s, FIGURE_storage_read, 8 * 512, false);
	is(s, FIGURE_storage_written, 16 * 512, false);
	is(s, FIGURE_context_switches_voluntary, 20, false);
	is(s, FIGURE_context_switches_involuntary, 3, false);
	/* 4001 and 4002 were there together; 4003 came when 4002 had gone */
	between(s, FIGURE_memory_resident_peak, 6512 * 1024, 3512 * 1024, 6512 * 1024);
	between(s, FIGURE_memory_virtual_peak, 15000 * 1024, 9000 * 1024, 15000 * 1024);
	/* the first has what it waited for, too */
	between(s, FIGURE_bytes_read, 5000, 5000, 9000);
	between(s, FIGURE_bytes_written, 600, 600, 1150);
	is_absent(s, FIGURE_gpus);
	assert_int_equal(s->exit_type, EXIT_TYPE_NORMAL);
	assert_int_equal(s->exit_status, 3);
	assert_int_equal(s->signal, -1);
	ARGV(s, "/usr/bin/findrange", "-a", "say \"hi\" \\ there", "two\nlines", "tab\there");
	assert_string_equal(s->user, "me");
	assert_string_equal(s->cwd, "/scratch/dir 7");
	says(s->label, s->nlabel, "transformation", "findrange");
	says(s->label, s->nlabel, "derivation", "ID0000003");
	says(s->label, s->nlabel, "wf-stamp", "2026-03-04T01:00:54-08:00");
	says(s->host, s->nhost, "name", "node7.example.org");
	says(s->host, s->nhost, "memory", "67229417472");
	says(s->host, s->nhost, "cores", "24");
	says(s->host, s->nhost, "cpu", "Some(R) CPU: model @ 2.00GHz");
	says(s->host, s->nhost, "load", "0.61");
	assert_int_equal(s->nprocess, 3);
	assert_int_equal(s->process[1].ppid, 4001);
	assert_string_equal(s->process[1].exe, "/usr/bin/part: one");
	assert_true(s->process[2].start == 1772615016000001000);
	assert_true(s->process[2].threads_peak == -1);

	s = &l.v[1].summary;
	is(s, FIGURE_start, 1772615040500000000, true);
	is(s, FIGURE_wall_time, 3000000, true);
	is_absent(s, FIGURE_user_time);
	assert_int_equal(s->exit_type, EXIT_TYPE_SIGNAL);
	assert_int_equal(s->signal, 11);
	assert_int_equal(s->exit_status, -1);
	ARGV(s, "/bin/crash");
	assert_int_equal(s->nprocess, 0);

	s = &l.v[2].summary;
	assert_int_equal(s->exit_type, EXIT_TYPE_UNKNOWN);
	is_absent(s, FIGURE_wall_time);
	assert_non_null(strstr(s->figure[FIGURE_wall_time].absent, "did not start"));
	assert_null(s->argv);
	summary_list_release(&l);
}

static void test_kickstart_broken(void **state)
{
	(void)state;
	struct summary_list l;
	load("kickstart-z.yml", &l);
	assert_int_equal(l.n, 1);
	const struct summary *s = &l.v[0].summary;
	is(s, FIGURE_start, 1772615013840000000, true);
	is(s, FIGURE_wall_time, 250000000, true);
	is(s, FIGURE_cpu_time, 150000000, false);
	ARGV(s, "/bin/sh", "-c", "cat x y");
	assert_int_equal(s->nprocess, 2);
	assert_int_equal(s->process[1].pid, 4001);
	assert_true(s->process[0].start == 1772615013850000000);
	assert_true(s->process[1].start == 1772615013840000000);
	between(s, FIGURE_memory_resident_peak, 3500 * 1024, 2000 * 1024, 3500 * 1024);
	/* the command stands second here */
	between(s, FIGURE_bytes_read, 5000, 5000, 9096);
	between(s, FIGURE_bytes_written, 4100, 4100, 8196);
	assert_string_equal(s->cwd, "/scratch");
	says(s->host, s->nhost, "machine", "x86_64");
	summary_list_release(&l);
}

static void test_resource_monitor(void **state)
{
	(void)state;
	struct summary_list l;
	load("resource_monitor.json", &l);
	assert_int_equal(l.n, 2);
	const struct summary *s = &l.v[0].summary;
	assert_int_equal(l.v[0].form, SUMMARY_RESOURCE_MONITOR);
	is(s, FIGURE_start, 1795295144716753000, true);
	is(s, FIGURE_end, 1795295146741755000, true);
	is(s, FIGURE_wall_time, 2025002000, true);
	is(s, FIGURE_cpu_time, 284130000, false);
	is(s, FIGURE_memory_resident_peak, 113 * MB, false);
	is(s, FIGURE_memory_virtual_peak, 115 * MB + MB / 2, false);
	is_absent(s, FIGURE_swap_peak);
	is(s, FIGURE_disk_footprint_peak, 5 * MB, false);
	is(s, FIGURE_bytes_read, MB, false);
	is(s, FIGURE_bytes_written, 0, false);
	is(s, FIGURE_gpus, 0, false);
	is(s, FIGURE_cores_peak, 277, false);
	is(s, FIGURE_cores, 140, false);
	is(s, FIGURE_processes_concurrent_peak, 41, false);
	is(s, FIGURE_processes_total, 42, false);
	is(s, FIGURE_files_peak, 7, false);
	is_absent(s, FIGURE_user_time);
	assert_int_equal(s->exit_type, EXIT_TYPE_LIMIT);
	assert_int_equal(s->exit_status, 143);
	assert_int_equal(s->nexceeded, 2);
	assert_string_equal(s->exceeded[0].name, "memory");
	assert_true(s->exceeded[0].limit == 20 * MB && s->exceeded[0].peak == 113 * MB);
	assert_string_equal(s->exceeded[1].name, "wall");
	assert_true(s->exceeded[1].limit == 1500000000 && s->exceeded[1].peak == 2025002000);
	ARGV(s, "sh", "-c", "work", "x");
	says(s->label, s->nlabel, "category", "big");
	says(s->label, s->nlabel, "taskid", "17");
	says(s->host, s->nhost, "name", "node7");

	s = &l.v[1].summary;
	is(s, FIGURE_start, 1424716800000000000, true);
	is(s, FIGURE_end, 1424716801500000000, true);
	is(s, FIGURE_cpu_time, 1250000000, false);
	is(s, FIGURE_bytes_read, MB + MB / 4, false);
	assert_int_equal(s->exit_type, EXIT_TYPE_SIGNAL);
	assert_int_equal(s->signal, 9);
	assert_int_equal(s->exit_status, -1);
	summary_list_release(&l);
}

static void test_resource_monitor_lines(void **state)
{
	(void)state;
	struct summary_list l;
	load("resource_monitor.txt", &l);
	assert_int_equal(l.n, 2);
	const struct summary *s = &l.v[0].summary;
	assert_int_equal(l.v[0].form, SUMMARY_RESOURCE_MONITOR);
	ARGV(s, "sim", "-n", "5");
	is(s, FIGURE_start, 1424716800500000000, true);
	is(s, FIGURE_wall_time, 1500000000, true);
	is(s, FIGURE_cpu_time, 2250000000, false);
	is(s, FIGURE_cores_peak, 2000, false);
	is(s, FIGURE_memory_resident_peak, 12 * MB, false);
	is(s, FIGURE_bytes_read, 1000001, false);
	is(s, FIGURE_bytes_written, 77, false);
	is(s, FIGURE_files_peak, 9, false);
	is(s, FIGURE_disk_footprint_peak, 4 * MB, false);
	assert_int_equal(s->exit_type, EXIT_TYPE_LIMIT);
	assert_int_equal(s->nexceeded, 2);
	assert_true(s->exceeded[0].limit == 10 * MB && s->exceeded[0].peak == 12 * MB);
	assert_true(s->exceeded[1].limit == 1000000000 && s->exceeded[1].peak == 2250000000);
	says(s->label, s->nlabel, "category", "old");
	s = &l.v[1].summary;
	ARGV(s, "second");
	assert_int_equal(s->signal, 15);
	is(s, FIGURE_wall_time, 250000000, true);
	is_absent(s, FIGURE_memory_resident_peak);
	summary_list_release(&l);
}

static void read_text(const char *text, struct summary_list *l)
{
	struct err err = {0};
	if (summary_read_any(text, strlen(text), &err, l) != 0)
		fail_msg("%s: %s", text, err.text);
}

static void test_many(void **state)
{
	(void)state;
	struct summary_list l;
	read_text("{\"format\":1,\"user\":\"a\"}\n{\"wall_time\":[2,\"s\"]}\n\n{\"format\":1,\"user\":\"b\"}\n", &l);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.v[0].form, SUMMARY_STEMMA);
	assert_int_equal(l.v[1].form, SUMMARY_RESOURCE_MONITOR);
	assert_string_equal(l.v[2].summary.user, "b");
	summary_list_release(&l);
	read_text(" [{\"format\":1,\"user\":\"a\"}, {\"format\":1}]", &l);
	assert_int_equal(l.n, 2);
	summary_list_release(&l);
}

static void test_bad(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} rows[] = {
	    {"", "not a summary"},
	    {"hello", "not a summary"},
	    {"[]", "no summary"},
	    {"{\"a\": 1}", "no 'format'"},
	    {"{\"format\":1}{\"format\":9}", "summary 2: the summary is from a newer"},
	    {"{\"format\":1}\n{\"format\":", "summary 2: the text is not JSON: line 2"},
	    {"[{\"format\":1}, 5]", "summary 2: "},
	    {"{\"wall_time\":[2,\"parsec\"]}", "'wall_time' is in a unit"},
	    {"{\"wall_time\":[\"x\",\"s\"]}", "'wall_time' is not a number"},
	    {"{\"memory\":[1e18,\"MB\"]}", "'memory' is too large"},
	    {"{\"memory\":[5,\"s\"]}", "'memory' is in a unit"},
	    {"wall_time: 5 parsec\n", "'wall_time' is in a unit"},
	    {"<?xml version=\"1.0\"?>\n<invocation x=\"y\">\n", "XML"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		struct summary_list l;
		int rc = summary_read_any(rows[i].text, strlen(rows[i].text), &err, &l);
		if (rc >= 0 || !strstr(err.text, rows[i].says))
			fail_msg("%s: %d '%s', should say '%s'", rows[i].text, rc, err.text, rows[i].says);
	}
}

static void test_date(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ns; /* -1: none */
	} rows[] = {
	    {"1970-01-01T00:00:00Z", 0},
	    {"2026-03-04T01:03:33.740-08:00", 1772615013740000000},
	    {"20260304T090333.740Z", 1772615013740000000},
	    {"20260304T143333.740+0530", 1772615013740000000},
	    {"2026-03-04 09:03:33", 1772615013000000000},
	    {"2026-03-04T09:03:33.1234567891Z", 1772615013123456789},
	    {"2026-03-04", -1},
	    {"2026-13-04T09:03:33Z", -1},
	    {"2026-03-04T24:03:33Z", -1},
	    {"2026-03-04T09:03:33Z and more", -1},
	    {"9999-03-04T09:03:33Z", -1},
	    {"2026-03-04T09:03:33+99:00", -1},
	    {"", -1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ns = -1;
		if (units_date(str_of(rows[i].text), &ns) != (rows[i].ns >= 0) || (rows[i].ns >= 0 && ns != rows[i].ns))
			fail_msg("%s: %lld", rows[i].text, (long long)ns);
	}
}

/* ---- there and back ---- */

static void one_of_ours(struct summary *s)
{
	static const char text[] =
	    "{\"format\":1,\"command\":[\"/bin/sh\",\"-c\",\"a \\\"b\\\" \\\\ \\n\\tc: d - \\u0001\\u2028\\u00e9\"],"
	    "\"cwd\":\"/home/me: x\",\"user\":\"me\",\"exit_type\":\"signal\",\"signal\":9,"
	    "\"start\":{\"value\":1795294285.137360123,\"unit\":\"s\",\"complete\":true},"
	    "\"wall_time\":{\"value\":12.345678901,\"unit\":\"s\",\"complete\":true},"
	    "\"cpu_time\":{\"value\":3.25,\"unit\":\"s\",\"complete\":true},"
	    "\"user_time\":{\"value\":2.5,\"unit\":\"s\",\"complete\":true},"
	    "\"system_time\":{\"value\":0.75,\"unit\":\"s\",\"complete\":true},"
	    "\"memory_resident_peak\":{\"value\":1234567,\"unit\":\"B\",\"complete\":true},"
	    "\"bytes_read\":{\"value\":123456789012345,\"unit\":\"B\",\"complete\":true},"
	    "\"bytes_written\":{\"value\":1,\"unit\":\"B\",\"complete\":true},"
	    "\"cores\":{\"value\":0.263,\"unit\":\"cores\",\"complete\":true},"
	    "\"page_faults_minor\":{\"value\":55,\"unit\":\"faults\",\"complete\":true},"
	    "\"host\":{\"name\":\"n1\",\"memory\":\"1073741824\",\"cores\":\"8\"},"
	    "\"label\":{\"transformation\":\"sort\",\"memory\":\"not a figure\"},"
	    "\"processes\":[{\"pid\":7,\"ppid\":1,\"exe\":\"/bin/da sh\",\"start\":1795294285.137360123,"
	    "\"end\":1795294297.5,\"user_time\":1.5,\"system_time\":0.5,\"memory_resident_peak\":1234944,"
	    "\"memory_virtual_peak\":4096,\"bytes_read\":9,\"bytes_written\":8,\"threads_peak\":2,"
	    "\"exit\":{\"signal\":9}}]}";
	struct err err = {0};
	if (summary_read(text, sizeof(text) - 1, &err, s) != 0)
		fail_msg("%s", err.text);
}

static void as(enum summary_form form, struct summary_list *l, struct buf *b)
{
	struct summary s;
	struct err err = {0};
	one_of_ours(&s);
	buf_reset(b);
	assert_int_equal(summary_write_as(form, &s, true, b), 0);
	if (summary_read_any(b->p, b->n, &err, l) != 0)
		fail_msg("%s\n%s", err.text, buf_cstr(b));
	assert_int_equal(l->n, 1);
	assert_int_equal(l->v[0].form, form);
	summary_release(&s);
}

static void test_as_resource_monitor(void **state)
{
	(void)state;
	struct summary_list l;
	struct buf b = {0};
	as(SUMMARY_RESOURCE_MONITOR, &l, &b);
	const struct summary *s = &l.v[0].summary;
	is(s, FIGURE_start, 1795294285137360000, true);
	is(s, FIGURE_wall_time, 12345679000, true);
	is(s, FIGURE_cpu_time, 3250000000, false);
	is(s, FIGURE_memory_resident_peak, 1234567, false);
	is(s, FIGURE_bytes_read, 123456789012345, false);
	is(s, FIGURE_bytes_written, 1, false);
	is(s, FIGURE_cores, 263, false);
	is_absent(s, FIGURE_swap_peak);
	assert_int_equal(s->signal, 9);
	says(s->label, s->nlabel, "transformation", "sort");
	says(s->host, s->nhost, "name", "n1");
	summary_list_release(&l);
	buf_release(&b);
}

static void test_as_kickstart(void **state)
{
	(void)state;
	struct summary_list l;
	struct buf b = {0};
	as(SUMMARY_KICKSTART, &l, &b);
	const struct summary *s = &l.v[0].summary;
	is(s, FIGURE_start, 1795294285137000000, true); /* its dates have milliseconds */
	is(s, FIGURE_wall_time, 12345678000, true);
	is(s, FIGURE_user_time, 2500000000, false);
	is(s, FIGURE_system_time, 750000000, false);
	is(s, FIGURE_page_faults_minor, 55, false);
	is(s, FIGURE_bytes_read, 9, true);
	assert_int_equal(s->signal, 9);
	/* the program is that which ran; U+2028 is an escape there that is only kept for what is read by YAML */
	assert_string_equal(s->argv[0], "/bin/da sh");
	assert_string_equal(s->argv[1], "-c");
	assert_string_equal(s->cwd, "/home/me: x");
	assert_string_equal(s->process[0].exe, "/bin/da sh");
	assert_true(s->process[0].threads_peak == 2);
	assert_true(s->process[0].end == 1795294297500000000);
	says(s->label, s->nlabel, "transformation", "sort");
	says(s->host, s->nhost, "memory", "1073741824");
	summary_list_release(&l);
	buf_release(&b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_kickstart),
	    cmocka_unit_test(test_kickstart_broken),
	    cmocka_unit_test(test_resource_monitor),
	    cmocka_unit_test(test_resource_monitor_lines),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_bad),
	    cmocka_unit_test(test_date),
	    cmocka_unit_test(test_as_resource_monitor),
	    cmocka_unit_test(test_as_kickstart),
	};
	folder = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
