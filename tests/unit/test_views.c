/* test_views.c - what is asked in a view is of one state of the index, whoever writes meanwhile. */
#include "history.h"

#include <stdlib.h>

static void record_run(const char *ulid, int64_t at)
{
	struct history h;
	history_begin(&h, ulid, "tool", at);
	uint64_t p = history_process(&h, 0);
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/out", 12 + (uint64_t)at), 5);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

static size_t runs_of(struct store *s)
{
	store_id *runs;
	size_t n;
	assert_int_equal(store_runs(s, 0, &runs, &n), 0);
	free(runs);
	return n;
}

static struct store *open_another(void)
{
	struct err err = {0};
	struct store *s;
	if (store_open(history_home, STORE_WRITE, &err, &s) < 0 || store_index(s, NULL, &err, NULL) < 0)
		fail_msg("%s", err.text);
	return s;
}

static void one_state(void **state)
{
	(void)state;
	struct store *other;
	struct err err = {0};
	record_run("01KDW00000000000000000RVN1", 0);
	history_store();
	other = open_another();
	assert_int_equal(store_view_begin(other, VIEW_WALK), 0);
	assert_int_equal(runs_of(other), 1);
	record_run("01KDW00000000000000000RVN2", 1000);
	assert_int_equal(runs_of(history_store()), 2);
	assert_int_equal(runs_of(other), 1);
	/* One in the other: the outermost counts. */
	assert_int_equal(store_view_begin(other, VIEW_PASS), 0);
	assert_int_equal(runs_of(other), 1);
	store_view_end(other);
	assert_int_equal(runs_of(other), 1);
	store_view_end(other);
	assert_int_equal(runs_of(other), 2);
	store_view_end(other); /* quiet */
	/* Bringing the index up to date ends all of them. */
	assert_int_equal(store_view_begin(other, VIEW_WALK), 0);
	record_run("01KDW00000000000000000RVN3", 2000);
	assert_int_equal(runs_of(history_store()), 3);
	assert_int_equal(runs_of(other), 2);
	assert_int_equal(store_index(other, NULL, &err, NULL), 0);
	assert_int_equal(runs_of(other), 3);
	store_close(other);
}

/* Another process indexed what a handle then finds done: it does not answer from what it remembers. */
static void indexed_by_another(void **state)
{
	(void)state;
	struct store *other;
	struct err err = {0};
	struct run_info info;
	store_id run;
	struct history h;
	uint64_t p;
	history_begin(&h, "01KDW00000000000000000RVN1", "tool", 0);
	p = history_process(&h, 0);
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/out", 12), 5);
	assert_int_equal(log_writer_flush(h.w), 0);
	other = open_another();
	assert_int_equal(store_find_run(other, "@", &run), 1);
	assert_int_equal(store_run(other, run, &info), 1);
	assert_true(info.end == TIME_NONE);
	assert_true(info.gaps >> TERM_gap_unended & 1);
	assert_int_equal(info.outputs, 1);
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/more", 13), 5);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	history_store();
	assert_int_equal(store_index(other, NULL, &err, NULL), 0);
	assert_int_equal(store_run(other, run, &info), 1);
	assert_true(info.end != TIME_NONE);
	assert_false(info.gaps >> TERM_gap_unended & 1);
	assert_int_equal(info.outputs, 2);
	store_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(one_state, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(indexed_by_another, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
