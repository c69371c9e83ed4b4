/* Runs and files are taken out of the logs for good, and what is left is as it was (keep/cut.h, keep/gc.h). */
#include "history.h"

#include "keep/cut.h"
#include "keep/gc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define RUN_B "01BBBBBBBBBBBBBBBBBBBBBBBB"

/* Run A: first makes /w/mid of /w/secret.csv. Run B: second makes /w/out of /w/mid, and knows /w/secret.csv by name. */
static void two_runs(void)
{
	struct history h;
	history_begin(&h, RUN_A, "first secret.csv", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "first secret.csv", 0, 0);
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/secret.csv", 1));
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/mid", 2), 10);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	history_begin(&h, RUN_B, "second mid --but=/w/secret.csv", 1000);
	p = history_process(&h, 0);
	history_exec(&h, p, "second mid --but=/w/secret.csv", 0, 0);
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/mid", 2));
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/secret.csv", 1));
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/out", 3), 20);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* How many times the bytes of all segments hold the word. */
static int occurrences(const char *word)
{
	char folder[PATH_MAX], path[PATH_MAX + 256];
	int found = 0;
	snprintf(folder, sizeof(folder), "%s/logs/h1/2026-01-01", history_home);
	DIR *d = opendir(folder);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		static char bytes[1 << 16];
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
		size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
		for (const char *p = bytes; (p = memmem(p, n - (size_t)(p - bytes), word, strlen(word))); p++)
			found++;
		if (f)
			fclose(f);
	}
	closedir(d);
	return found;
}

static struct keep_cut_stats cut(const struct keep_cut_options *o)
{
	struct keep_logs *l;
	struct err err = {0};
	struct keep_cut_stats stats = {0};
	if (keep_logs_open(history_home, &err, &l) < 0 || keep_cut(l, o, &err, &stats) < 0)
		fail_msg("%s", err.text);
	keep_logs_close(l);
	return stats;
}

static const struct str run_a = {RUN_A, 26};

static void a_run_goes(void **state)
{
	(void)state;
	two_runs();
	struct exec_info x;
	struct pubid before;
	assert_int_equal(store_exec(history_store(), history_exec_id("second"), &x), 1);
	before = x.pub;
	assert_true(occurrences("first") > 0);

	struct keep_cut_options o = {.runs = &run_a, .n_runs = 1, .dry_run = true};
	struct keep_cut_stats tried = cut(&o);
	assert_true(tried.events > 5);
	assert_int_equal(tried.already, 0);
	assert_true(occurrences("first") > 0); /* it was only asked what would go */

	o.dry_run = false;
	struct keep_cut_stats done = cut(&o);
	assert_int_equal(done.events, tried.events);
	assert_int_equal(done.sessions, 1);
	assert_int_equal(done.damaged, 0);
	assert_true(done.after < done.before);
	assert_int_equal(occurrences("first"), 0);
	assert_true(occurrences("second") > 0);
	assert_int_equal(occurrences(RUN_A), 1); /* in the tombstone */

	history_rebuild();
	store_id run, *runs;
	size_t n;
	assert_int_equal(store_find_run(history_store(), RUN_A, &run), 0);
	assert_int_equal(store_runs(history_store(), 0, &runs, &n), 0);
	assert_int_equal(n, 1);
	free(runs);
	assert_int_equal(store_exec(history_store(), history_exec_id("second"), &x), 1);
	assert_string_equal(x.pub.text, before.text); /* ids stay */
	struct version_info v;
	assert_int_equal(store_version(history_store(), history_version_id("/w/mid", 1), &v), 1);
	assert_int_equal(v.origin, ORIGIN_EXTERNAL); /* nobody is known who made it */

	assert_int_equal(cut(&o).already, 1);
	assert_int_equal(cut(&o).events, 0);
}

static void it_is_known_what_was_forgotten(void **state)
{
	(void)state;
	struct keep_logs *l;
	struct err err = {0};
	char ulid[27];
	int64_t when;
	two_runs();
	cut(&(struct keep_cut_options){.runs = &run_a, .n_runs = 1});
	assert_int_equal(keep_logs_open(history_home, &err, &l), 0);
	assert_int_equal(keep_forgotten(l, str_of("01AAAA"), ulid, &when, &err), 1);
	assert_string_equal(ulid, RUN_A);
	assert_true(when > HISTORY_BEGIN);
	assert_int_equal(keep_forgotten(l, str_of("AAAAA"), ulid, &when, &err), 1);
	assert_int_equal(keep_forgotten(l, str_of("01BBBB"), ulid, &when, &err), 0);
	keep_logs_close(l);
}

static void no_such_run(void **state)
{
	(void)state;
	static const struct str other = {"01CCCCCCCCCCCCCCCCCCCCCCCC", 26};
	two_runs();
	struct keep_cut_stats stats = cut(&(struct keep_cut_options){.runs = &other, .n_runs = 1, .dry_run = true});
	assert_int_equal(stats.events, 0);
	assert_int_equal(stats.sessions, 0);
	assert_int_equal(stats.changed, 0);
}

/* A file goes by its identity; what tells of its name in arguments stays unless it is asked for. */
static void a_file_goes(void **state)
{
	(void)state;
	struct keep_file file = {.domain = str_of("uuid:test"), .path = str_of("/w/secret.csv"), .ino = 1};
	two_runs();
	struct keep_cut_stats stats = cut(&(struct keep_cut_options){.files = &file, .n_files = 1});
	assert_true(stats.events >= 4); /* of two runs: the file and the access of each */
	assert_int_equal(stats.sessions, 0);
	history_rebuild();
	store_id found[2];
	assert_int_equal(store_files_by_path(history_store(), str_of("/w/secret.csv"), found, 2), 0);
	history_file_id("/w/mid");
	history_file_id("/w/out");
	assert_true(occurrences("secret.csv") > 0);
	struct str word = str_of("secret.csv");
	stats = cut(&(struct keep_cut_options){.files = &file, .n_files = 1, .words = &word, .n_words = 1});
	assert_true(stats.changed > 0);
	assert_int_equal(occurrences("secret.csv"), 0);
	assert_true(occurrences("***") > 0);
	history_rebuild();
	history_exec_id("first");
	history_exec_id("second");
}

static void another_file_stays(void **state)
{
	(void)state;
	struct keep_file other[] = {{.domain = str_of("uuid:test"), .path = str_of("/w/secret.csv"), .ino = 1, .gen = 5},
	                            {.domain = str_of("uuid:other"), .path = str_of("/w/secret.csv"), .ino = 1},
	                            {.domain = str_of("uuid:test"), .path = str_of("/w/secret.csv"), .ino = 9}};
	two_runs();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(cut(&(struct keep_cut_options){.files = &other[i], .n_files = 1, .dry_run = true}).events, 0);
}

static void what_gc_takes(void **state)
{
	(void)state;
	struct keep_logs *l;
	struct err err = {0};
	struct gc_choice c;
	store_id a, b;
	two_runs();
	struct store *s = history_store();
	assert_int_equal(store_find_run(s, RUN_A, &a), 1);
	assert_int_equal(store_find_run(s, RUN_B, &b), 1);
	assert_int_equal(keep_logs_open(history_home, &err, &l), 0);
	static const struct {
		int64_t seconds; /* runs that ended before; -1 age does not matter */
		uint64_t max_bytes;
		size_t n;
	} rows[] = {{500, UINT64_MAX, 1}, {0, UINT64_MAX, 0}, {5000, UINT64_MAX, 2}, {-1, UINT64_MAX, 0}, {-1, 0, 2}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gc_options o = {.before =
		                           rows[i].seconds < 0 ? TIME_NONE : HISTORY_BEGIN + rows[i].seconds * HISTORY_SECOND,
		                       .max_bytes = rows[i].max_bytes};
		assert_int_equal(gc_choose(s, l, &o, &err, &c), 0);
		assert_int_equal(c.n, rows[i].n);
		assert_true(c.bytes > 100);
		if (c.n > 0) {
			assert_int_equal(c.runs[0].id, a); /* the oldest first */
			assert_true(c.runs[0].bytes > 0 && c.runs[0].bytes < c.bytes);
			assert_true(c.runs[0].end > HISTORY_BEGIN && c.runs[0].end < HISTORY_BEGIN + 500ll * HISTORY_SECOND);
		}
		if (c.n > 1)
			assert_int_equal(c.runs[1].id, b);
		uint64_t all = c.bytes;
		gc_release(&c);
		/* of the size that is asked for no more goes than must */
		o = (struct gc_options){.before = TIME_NONE, .max_bytes = all - 1};
		assert_int_equal(gc_choose(s, l, &o, &err, &c), 0);
		assert_int_equal(c.n, 1);
		gc_release(&c);
		o.max_bytes = all;
		assert_int_equal(gc_choose(s, l, &o, &err, &c), 0);
		assert_int_equal(c.n, 0);
		gc_release(&c);
	}
	keep_logs_close(l);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, history_setup, history_teardown)
	const struct CMUnitTest tests[] = {TEST(a_run_goes),         TEST(it_is_known_what_was_forgotten),
	                                   TEST(no_such_run),        TEST(a_file_goes),
	                                   TEST(another_file_stays), TEST(what_gc_takes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
