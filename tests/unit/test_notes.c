/* test_notes.c - notes on runs and files: in which order, how often, and of which version of a file. */
#include "history.h"

#include <stdlib.h>

#define RUN_1 "01KDW00000000000000000N0T1"
#define RUN_2 "01KDW00000000000000000N0T2"

static void tell_note(struct history *h, const char *run, uint64_t file, const char *text)
{
	history_event(
	    h, (struct event){.kind = EVENT_note,
	                      .note = {.run = str_of(run), .file = file, .text = str_of(text), .user = str_of("ann")}});
}

/* A session in which somebody notes something on the run, at so many seconds. */
static void tell_session(int64_t at, const char *run, const char *text)
{
	struct history h;
	history_begin(&h, "", "", at);
	tell_note(&h, run, 0, text);
	history_end(&h, 0);
}

static void tell_run(const char *run, int64_t at)
{
	struct history h;
	history_begin(&h, run, "tool", at);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
}

/* The notes' texts, each in brackets, are these. */
static void notes_are(enum notes_of of, store_id id, const char *want)
{
	struct notes n;
	struct buf b = {0};
	assert_int_equal(store_notes(history_store(), of, id, &n), 0);
	for (size_t i = 0; i < n.n; i++)
		buf_printf(&b, "[%.*s]", (int)n.v[i].text.n, n.v[i].text.p);
	assert_string_equal(buf_cstr(&b), want);
	buf_release(&b);
	notes_release(&n);
}

/* By when they were written, whichever log came first into the record. */
static void in_order_of_time(void **state)
{
	(void)state;
	tell_run(RUN_1, 0);
	tell_run(RUN_2, 100);
	tell_session(500, RUN_1, "third");
	history_store();
	tell_session(300, RUN_1, "first");
	history_store();
	tell_session(400, RUN_2, "second");
	store_id one, two;
	assert_int_equal(store_find_run(history_store(), RUN_1, &one), 1);
	assert_int_equal(store_find_run(history_store(), RUN_2, &two), 1);
	notes_are(NOTES_ALL, 0, "[first][second][third]");
	notes_are(NOTES_RUN, one, "[first][third]");
	notes_are(NOTES_RUN, two, "[second]");
}

/* Two notes of one moment and one text on two runs are two; so are two texts on one run. */
static void each_is_one(void **state)
{
	(void)state;
	struct history h;
	tell_run(RUN_1, 0);
	tell_run(RUN_2, 100);
	history_begin(&h, "", "", 300);
	tell_note(&h, RUN_1, 0, "done");
	h.now -= HISTORY_SECOND;
	tell_note(&h, RUN_2, 0, "done");
	h.now -= HISTORY_SECOND;
	tell_note(&h, RUN_1, 0, "checked");
	h.now -= HISTORY_SECOND;
	tell_note(&h, RUN_1, 0, "done"); /* as an import tells of it again */
	history_end(&h, 0);
	store_id one;
	assert_int_equal(store_find_run(history_store(), RUN_1, &one), 1);
	notes_are(NOTES_ALL, 0, "[done][done][checked]");
	notes_are(NOTES_RUN, one, "[done][checked]");
}

/* A note on a file that names no version is on the one that there was when it was written. */
static void on_the_version_of_the_moment(void **state)
{
	(void)state;
	struct history h;
	history_begin(&h, RUN_1, "tool", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	uint64_t out = history_file(&h, TERM_kind_regular, "/w/out", 11);
	tell_note(&h, "", out, "before all");
	history_write(&h, p, out, 5);
	tell_note(&h, "", out, "of the first");
	history_write(&h, p, out, 6);
	tell_note(&h, "", out, "of the second");
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	struct notes n;
	assert_int_equal(store_notes(history_store(), NOTES_FILE, history_file_id("/w/out"), &n), 0);
	assert_int_equal(n.n, 3);
	assert_int_equal(n.v[0].version, 0);
	assert_int_equal(n.v[1].version, 1);
	assert_int_equal(n.v[2].version, 2);
	assert_int_equal(n.v[0].run, 0);
	assert_true(str_eq(n.v[2].user, str_of("ann")));
	assert_true(str_eq(n.v[2].host, str_of("h1")));
	notes_release(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(in_order_of_time, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(each_is_one, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(on_the_version_of_the_moment, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
