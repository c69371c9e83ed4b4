/* test_counts.c - how much a run did is kept in its row, and goes where it no longer holds. */
#include "history.h"

#include <stdlib.h>

#define RUN_1 "01KDW00000000000000000RVN1"
#define RUN_2 "01KDW00000000000000000RVN2"
#define RUN_3 "01KDW00000000000000000RVN3"

static store_id run_of(const char *ulid)
{
	store_id run;
	assert_int_equal(store_find_run(history_store(), ulid, &run), 1);
	return run;
}

static void assert_data(const char *ulid, const char *extra, uint64_t used, uint64_t made)
{
	uint64_t u, m;
	assert_int_equal(store_run_data(history_store(), run_of(ulid), extra, &u, &m), 0);
	assert_int_equal(u, used);
	assert_int_equal(m, made);
}

static void assert_counts(const char *ulid, uint64_t executions, uint64_t inputs, uint64_t outputs)
{
	struct run_info info;
	assert_int_equal(store_run(history_store(), run_of(ulid), &info), 1);
	assert_int_equal(info.executions, executions);
	assert_int_equal(info.inputs, inputs);
	assert_int_equal(info.outputs, outputs);
}

static void fail_finding(void *arg, const char *line)
{
	(void)arg;
	fail_msg("%s", line);
}

static void assert_kept_right(void)
{
	assert_int_equal(store_check_counts(history_store(), fail_finding, NULL), 0);
}

/* A program that reads /w/in and its own file, and writes /w/out. */
static void record_first(void)
{
	struct history h;
	history_begin(&h, RUN_1, "tool", 0);
	uint64_t p = history_process(&h, 0), exe = history_file(&h, TERM_kind_regular, "/usr/bin/tool", 10);
	history_exec(&h, p, "tool", exe, 0);
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/in", 11));
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/out", 12), 5);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

static void what_a_run_did(void **state)
{
	(void)state;
	record_first();
	assert_counts(RUN_1, 2, 2, 1); /* the image before the exec is one, too */
	assert_data(RUN_1, NULL, 1, 1);
	assert_kept_right();
}

/* The user's own list counts where it is given, whatever is kept. */
static void own_prefixes(void **state)
{
	(void)state;
	record_first();
	assert_data(RUN_1, NULL, 1, 1);
	assert_data(RUN_1, "/w/in", 0, 1);
	assert_data(RUN_1, "/w/out", 1, 0);
	assert_data(RUN_1, NULL, 1, 1);
	assert_kept_right();
}

/* A later run gives one of the files a name among the machine's own: the first run made no data then. */
static void renamed_into_the_system(void **state)
{
	(void)state;
	struct history h;
	record_first();
	assert_data(RUN_1, NULL, 1, 1);
	history_begin(&h, RUN_2, "install", 1000);
	uint64_t p = history_process(&h, 0);
	history_name(&h, TERM_nameop_rename, history_file(&h, TERM_kind_regular, "/w/out", 12), "/usr/lib/out", "/w/out");
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	assert_data(RUN_1, NULL, 1, 0);
	assert_kept_right();
	history_begin(&h, RUN_3, "uninstall", 2000);
	p = history_process(&h, 0);
	history_name(&h, TERM_nameop_rename, history_file(&h, TERM_kind_regular, "/usr/lib/out", 12), "/w/again",
	             "/usr/lib/out");
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	assert_data(RUN_1, NULL, 1, 1);
	assert_kept_right();
}

/* A log that comes late tells who wrote what the first run had only found: it read two versions then. */
static void late_writer(void **state)
{
	(void)state;
	struct history h;
	history_begin(&h, RUN_1, "reader", 1000);
	uint64_t p = history_process(&h, 0), in = history_file(&h, TERM_kind_regular, "/w/in", 11);
	history_access(&h, p, (struct event_access){.file = in, .mode = ACCESS_READ, .sure = 1, .api = TERM_api_open},
	               HISTORY_BEGIN + 1100 * (int64_t)HISTORY_SECOND);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	assert_counts(RUN_1, 1, 1, 0);
	history_begin(&h, RUN_2, "writer", 1001); /* at the time of that */
	p = history_process(&h, 0);
	in = history_file(&h, TERM_kind_regular, "/w/in", 11);
	history_access(&h, p, (struct event_access){.file = in, .mode = ACCESS_WRITE, .sure = 1, .api = TERM_api_open},
	               HISTORY_BEGIN + 1100 * (int64_t)HISTORY_SECOND);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	assert_counts(RUN_1, 1, 2, 0);
	assert_kept_right();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(what_a_run_did, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(own_prefixes, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(renamed_into_the_system, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(late_writer, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
