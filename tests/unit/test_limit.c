/* Limits as people write them: what each text means, and what is refused. */
#include "summary/limit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define S 1000000000LL

static int64_t value(enum limit_name l, const char *text)
{
	struct limits limits = {0};
	struct err err = {0};
	if (limits_parse(&limits, text, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	for (int i = 0; i < LIMITS; i++)
		assert_int_equal(limits.given[i], i == (int)l);
	return limits.value[l];
}

static void times(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {{"wall=90", 90 * S},
	            {"wall=90s", 90 * S},
	            {"wall=2h30m", 9000 * S},
	            {"wall=2h 30m", 9000 * S},
	            {"wall=1.5h", 5400 * S},
	            {"wall=1d", 86400 * S},
	            {"wall=1w2d", 777600 * S},
	            {"wall=0.25", S / 4},
	            {"wall=.5s", S / 2},
	            {"wall=500ms", S / 2},
	            {"wall=1.000000001s", S + 1},
	            {"wall=1.0000000019s", S + 1},
	            {"wall=20us", 20000},
	            {"wall=7ns", 7},
	            {"wall=01:30", 90 * S},
	            {"wall=90:00", 5400 * S},
	            {"wall=01:30:00", 5400 * S},
	            {"wall=100:00:00", 360000 * S},
	            {"wall=2-00:00:01", 172801 * S},
	            {"wall=1-12:00", (86400 + 12 * 3600) * S},
	            {"wall=2-12", (2 * 86400 + 12 * 3600) * S},
	            {"wall=9223372036.854775807", INT64_MAX}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (value(LIMIT_wall, rows[i].text) != rows[i].ns)
			fail_msg("%s is %lld", rows[i].text, (long long)value(LIMIT_wall, rows[i].text));
	int64_t t = 5;
	struct err err = {0};
	assert_int_equal(limits_parse_time("1m30s", &err, &t), 0);
	assert_int_equal(t, 90 * S);
	assert_int_equal(limits_parse_time("0", &err, &t), 0);
	assert_int_equal(t, 0);
	t = 5;
	assert_int_equal(limits_parse_time("soon", &err, &t), -EINVAL);
	assert_int_equal(t, 5);
}

static void sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t bytes;
	} rows[] = {{"memory=1", 1},
	            {"memory=1B", 1},
	            {"memory=1K", 1024},
	            {"memory=1k", 1024},
	            {"memory=1KiB", 1024},
	            {"memory=1kB", 1000},
	            {"memory=200M", 200 << 20},
	            {"memory=200 MiB", 200 << 20},
	            {"memory=200MB", 200000000},
	            {"memory=1.5G", 3LL << 29},
	            {"memory=1.5gib", 3LL << 29},
	            {"memory=2T", 2LL << 40},
	            {"memory=3P", 3LL << 50},
	            {"memory=7E", 7LL << 60},
	            {"memory=0.1K", 102},
	            {"memory=9223372036854775807", INT64_MAX}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (value(LIMIT_memory, rows[i].text) != rows[i].bytes)
			fail_msg("%s is %lld", rows[i].text, (long long)value(LIMIT_memory, rows[i].text));
}

static void counts(void **state)
{
	(void)state;
	assert_int_equal(value(LIMIT_processes, "processes=12"), 12);
	assert_int_equal(value(LIMIT_files, "files=10k"), 10000);
	assert_int_equal(value(LIMIT_files, "files=2M"), 2000000);
	assert_int_equal(value(LIMIT_files, "files=0"), 0);
	assert_int_equal(value(LIMIT_open_files, "open-files=64"), 64);
	assert_int_equal(value(LIMIT_cores, "cores=2.5"), 2500);
	assert_int_equal(value(LIMIT_cores, "cores=4"), 4000);
	assert_int_equal(value(LIMIT_gpus, "gpus=0"), 0);
}

static void several(void **state)
{
	(void)state;
	struct limits limits = {0};
	struct err err = {0};
	assert_int_equal(limits_parse(&limits, "memory=1G, wall=2h ,cpu=90", &err), 0);
	assert_int_equal(limits_parse(&limits, "threads=8,memory=1024M", &err), 0); /* the same again */
	assert_int_equal(limits.value[LIMIT_memory], 1 << 30);
	assert_int_equal(limits.value[LIMIT_wall], 7200 * S);
	assert_int_equal(limits.value[LIMIT_cpu], 90 * S);
	assert_int_equal(limits.value[LIMIT_threads], 8);
	assert_true(limits_any(&limits));
	/* A contradiction changes nothing, the sound part of it neither. */
	assert_int_equal(limits_parse(&limits, "swap=1G,memory=2G", &err), -EINVAL);
	assert_non_null(strstr(err.text, "'memory' is given twice: 1 GiB and 2G"));
	assert_false(limits.given[LIMIT_swap]);
	struct limits over = {0};
	assert_false(limits_any(&over));
	assert_int_equal(limits_parse(&over, "memory=3G,read=1", &err), 0);
	limits_override(&limits, &over);
	assert_int_equal(limits.value[LIMIT_memory], 3LL << 30);
	assert_int_equal(limits.value[LIMIT_read], 1);
	assert_int_equal(limits.value[LIMIT_cpu], 90 * S);
}

static void refused(void **state)
{
	(void)state;
	/* The text, words of the sentence, words of the hint. */
	static const char *const rows[][3] = {
	    {"", "'' is not NAME=VALUE", ""},
	    {"memory", "'memory' is not NAME=VALUE", ""},
	    {"memory=1G,", "'' is not NAME=VALUE", ""},
	    {",memory=1G", "'' is not NAME=VALUE", ""},
	    {"=1G", "no limit is called ''", "limits are cpu, wall, memory"},
	    {"memroy=1G", "no limit is called 'memroy'", "did you mean 'memory'?"},
	    {"Memory=1G", "no limit is called 'Memory'", "did you mean 'memory'?"},
	    {"open_files=1", "no limit is called 'open_files'", "did you mean 'open-files'?"},
	    {"thread=1", "no limit is called 'thread'", "did you mean 'threads'?"},
	    {"walltime=1", "no limit is called 'walltime'", "did you mean 'wall'?"},
	    {"resident_memory=1", "no limit is called", "did you mean 'memory'?"},
	    {"xyzzy=1", "no limit is called 'xyzzy'", "limits are cpu, wall, memory"},
	    {"memory=", "'memory' has no value", ""},
	    {"memory=lots", "'lots' is not a size", "units of 'memory' are K, M, G"},
	    {"memory=1X", "'1X' is not a size", "units of"},
	    {"memory=1Gi", "'1Gi' is not a size", "units of"},
	    {"memory=2h", "'2h' is not a size", "units of"},
	    {"memory=-1", "'-1' is not a size", ""},
	    {"memory=+1", "'+1' is not a size", ""},
	    {"memory=1e9", "'1e9' is not a size", ""},
	    {"memory=0x10", "'0x10' is not a size", ""},
	    {"memory=nan", "'nan' is not a size", ""},
	    {"memory=1..5G", "is not a size", ""},
	    {"memory=.", "is not a size", ""},
	    {"memory=1G1M", "is not a size", ""},
	    {"memory=1G=2G", "is not a size", ""},
	    {"memory=0", "no command could keep the limit memory=0", ""},
	    {"memory=0.1", "no command could keep the limit memory=0.1", ""},
	    {"memory=8E", "is too large", ""},
	    {"memory=9223372036854775808", "is too large", ""},
	    {"memory=99999999999999999999999999999999999999999999", "is too large", ""},
	    {"wall=0", "no command could keep", ""},
	    {"wall=5x", "'5x' is not a time", "units of 'wall' are"},
	    {"wall=5M", "'5M' is not a time", "units of 'wall' are"},
	    {"wall=30m2h", "is not a time", ""},
	    {"wall=2h30", "is not a time", ""},
	    {"wall=1h1h", "is not a time", ""},
	    {"wall=999999-00:00", "is too large", ""},
	    {"wall=-5", "is not a time", ""},
	    {"wall=1-", "is not a time", ""},
	    {"wall=1:60", "is not a time", ""},
	    {"wall=1:2:3:4", "is not a time", ""},
	    {"wall=1:", "is not a time", ""},
	    {"wall=:1", "is not a time", ""},
	    {"wall=-1:00:00", "is not a time", ""},
	    {"wall=1:60:00", "is not a time", ""},
	    {"wall=9999999999", "is too large", ""},
	    {"processes=1.5.2", "is not a number", "units of 'processes' are k and M"},
	    {"processes=12G", "is not a number", ""},
	    {"cores=2.5x", "is not a number of processors", "write cores=4"},
	    {"cores=0", "no command could keep", ""},
	    {"memory=1G,memory=2G", "'memory' is given twice", ""},
	    {"memory=1111111111111111111111111111111111111111111111111111111111111111111", "too long", ""},
	    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1", "too long", ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct limits limits = {0}, none = {0};
		struct err err = {0};
		int rc = limits_parse(&limits, rows[i][0], &err);
		if (rc != -EINVAL || !strstr(err.text, rows[i][1]) || !strstr(err.hint, rows[i][2]))
			fail_msg("'%s': %d, '%s', hint '%s'", rows[i][0], rc, err.text, err.hint);
		assert_memory_equal(&limits, &none, sizeof(none));
	}
}

static int of_file(struct limits *limits, const char *text, struct err *err)
{
	*err = (struct err){0};
	return limits_parse_file(limits, text, strlen(text), "my.limits", err);
}

static void files(void **state)
{
	(void)state;
	struct limits limits = {0};
	struct err err;
	assert_int_equal(of_file(&limits,
	                         "# what it may use\n\n  memory = 2G   # not more\nwall=1h\r\n\tcpu = 30m\n"
	                         "open-files = 100",
	                         &err),
	                 0);
	assert_int_equal(limits.value[LIMIT_memory], 2LL << 30);
	assert_int_equal(limits.value[LIMIT_wall], 3600 * S);
	assert_int_equal(limits.value[LIMIT_cpu], 1800 * S);
	assert_int_equal(limits.value[LIMIT_open_files], 100);
	/* resource_monitor's names, and units: MB and s. */
	limits = (struct limits){0};
	assert_int_equal(of_file(&limits,
	                         "wall_time: 60\ncpu_time: 30 s\nmemory: 1024\nvirtual_memory: 2 GB\nswap_memory: 0\n"
	                         "bytes_written: 5\ndisk: 3\nmax_concurrent_processes: 7\ntotal_files: 9\ncores: 2\n",
	                         &err),
	                 0);
	assert_int_equal(limits.value[LIMIT_wall], 60 * S);
	assert_int_equal(limits.value[LIMIT_cpu], 30 * S);
	assert_int_equal(limits.value[LIMIT_memory], 1LL << 30);
	assert_int_equal(limits.value[LIMIT_virtual], 2000000000);
	assert_int_equal(limits.value[LIMIT_swap], 0);
	assert_int_equal(limits.value[LIMIT_written], 5 << 20);
	assert_int_equal(limits.value[LIMIT_footprint], 3 << 20);
	assert_int_equal(limits.value[LIMIT_processes], 7);
	assert_int_equal(limits.value[LIMIT_files], 9);
	assert_int_equal(limits.value[LIMIT_cores], 2000);
	/* The same name, ours. */
	limits = (struct limits){0};
	assert_int_equal(of_file(&limits, "memory = 1024", &err), 0);
	assert_int_equal(limits.value[LIMIT_memory], 1024);
	assert_int_equal(of_file(&limits, "", &err), 0);
	assert_int_equal(of_file(&limits, "\n\n#\n", &err), 0);
	/* A file may change what was there, but not itself. */
	assert_int_equal(of_file(&limits, "memory = 1M\n", &err), 0);
	assert_int_equal(limits.value[LIMIT_memory], 1 << 20);
	assert_int_equal(of_file(&limits, "memory = 1M\nmemory = 2M\n", &err), -EINVAL);
	assert_non_null(strstr(err.text, "my.limits, line 2: the limit 'memory' is given twice"));
	assert_int_equal(of_file(&limits, "wall = 1\nmemroy = 1M\n", &err), -EINVAL);
	assert_non_null(strstr(err.text, "my.limits, line 2: no limit is called 'memroy'"));
	assert_non_null(strstr(err.hint, "'memory'"));
	assert_false(limits.given[LIMIT_wall]);
	assert_int_equal(of_file(&limits, "memory 1M\n", &err), -EINVAL);
	assert_non_null(strstr(err.text, "'memory 1M' is not NAME = VALUE"));
	err = (struct err){0};
	assert_int_equal(limits_parse_file(&limits, "memory=1\0G\n", 11, "my.limits", &err), -EINVAL);
	assert_non_null(strstr(err.text, "line 1: not text"));
}

static void read_files(void **state)
{
	(void)state;
	char name[] = "/tmp/test_limit.XXXXXX";
	struct limits limits = {0};
	struct err err = {0};
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "memory = 5\n", 11), 11);
	assert_int_equal(limits_read_file(&limits, name, &err), 0);
	assert_int_equal(limits.value[LIMIT_memory], 5);
	assert_int_equal(ftruncate(fd, 65537), 0);
	assert_int_equal(limits_read_file(&limits, name, &err), -EFBIG);
	unlink(name);
	err = (struct err){0};
	assert_int_equal(limits_read_file(&limits, name, &err), -ENOENT);
	assert_non_null(strstr(err.text, name));
	err = (struct err){0};
	assert_int_equal(limits_read_file(&limits, "/", &err), -EISDIR);
	close(fd);
}

static void shown(void **state)
{
	(void)state;
	static const struct {
		enum limit_name l;
		int64_t v;
		const char *text;
	} rows[] = {{LIMIT_memory, 1, "1 B"},
	            {LIMIT_memory, 200 << 20, "200 MiB"},
	            {LIMIT_memory, (200 << 20) + (300 << 10), "200.3 MiB"},
	            {LIMIT_memory, INT64_MAX, "8 EiB"},
	            {LIMIT_wall, 90 * S, "1 min 30 s"},
	            {LIMIT_wall, 5400 * S, "1 h 30 min"},
	            {LIMIT_wall, S / 2, "0.500 s"},
	            {LIMIT_wall, 5 * S, "5 s"},
	            {LIMIT_wall, 90061 * S, "1 d 1 h 1 min 1 s"},
	            {LIMIT_cores, 2500, "2.5"},
	            {LIMIT_threads, 12, "12"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf b = {0};
		limit_show(&b, rows[i].l, rows[i].v);
		assert_string_equal(buf_cstr(&b), rows[i].text);
		buf_release(&b);
	}
	for (int i = 0; i < LIMITS; i++)
		assert_true(*limit_key(i) && *limit_meaning(i) && limit_figure(i) < FIGURES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(times),   cmocka_unit_test(sizes), cmocka_unit_test(counts),     cmocka_unit_test(several),
	    cmocka_unit_test(refused), cmocka_unit_test(files), cmocka_unit_test(read_files), cmocka_unit_test(shown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
