/* test_stat.c - what was read and written, counted (answer/stat/stat.h): what comes first in the lists, and what is not
 * known. */
#include "history.h"

#include "answer/stat/stat.h"

#include <stdlib.h>

#define RUN_1 "01KDW00000000000000000STA1"
#define RUN_2 "01KDW00000000000000000STA2"

/* p reads a file, `bytes` of it; UINT64_MAX: that is not known. */
static void reads(struct history *h, uint64_t p, const char *path, uint64_t ino, uint64_t bytes)
{
	uint64_t file = history_file(h, TERM_kind_regular, path, ino);
	uint64_t seq = history_event(
	    h, (struct event){
	           .kind = EVENT_access,
	           .proc = p,
	           .access = {.file = file, .mode = ACCESS_READ, .sure = 1, .api = TERM_api_open, .via = TERM_via_data}});
	history_event(h, (struct event){.kind = EVENT_access_end,
	                                .proc = p,
	                                .access_end = {.access = seq,
	                                               .until = h->now,
	                                               .known = bytes != UINT64_MAX,
	                                               .bytes_read = bytes != UINT64_MAX ? bytes : 0,
	                                               .first = TIME_NONE,
	                                               .last = TIME_NONE}});
}

static struct stat_sums count(const char *ulid)
{
	static struct answer_source source;
	source = (struct answer_source){.store = history_store()};
	struct stat_sums w = {.source = &source, .all = true};
	struct target t = {.kind = TARGET_RUN};
	assert_int_equal(store_find_run(source.store, ulid, &t.id), 1);
	assert_int_equal(stat_count_target(&w, &t), 0);
	return w;
}

/* The names of the list, each in brackets, are these. */
static void names_are(const struct stat_list *l, bool exec, const char *want)
{
	struct buf all = {0}, name = {0};
	for (size_t i = 0; i < l->n; i++) {
		assert_true(stat_name(history_store(), l->v[i].id, exec, &name) >= 0);
		buf_printf(&all, "[%s]", buf_cstr(&name));
	}
	assert_string_equal(buf_cstr(&all), want);
	buf_release(&all);
	buf_release(&name);
}

/* The most bytes first, then the most accesses, then by name; not as they came. */
static void most_used_first(void **state)
{
	(void)state;
	struct history h;
	history_begin(&h, RUN_1, "tool", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	reads(&h, p, "/w/few", 11, 10);
	reads(&h, p, "/w/z", 12, 20);
	reads(&h, p, "/w/many", 13, 500);
	reads(&h, p, "/w/twice", 14, 10);
	reads(&h, p, "/w/twice", 14, 10);
	reads(&h, p, "/w/a", 15, 20);
	uint64_t q = history_process(&h, p);
	history_exec(&h, q, "larger", 0, 0);
	reads(&h, q, "/w/many", 13, 600);
	history_exit(&h, q, TERM_ending_exited, 0);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	struct stat_sums w = count(RUN_1);
	names_are(&w.files, false, "[/w/many][/w/twice][/w/a][/w/z][/w/few]");
	names_are(&w.execs, true, "[larger][tool]");
	assert_int_equal(w.total.way[STAT_READ].bytes, 10 + 20 + 500 + 10 + 10 + 20 + 600);
	assert_int_equal(w.total.way[STAT_READ].accesses, 7);
	assert_int_equal(w.total.way[STAT_WRITE].accesses, 0);
	stat_release(&w);
}

/* Bytes that are not known are no 0: the sum says that it is not whole. */
static void not_known_is_no_zero(void **state)
{
	(void)state;
	struct history h;
	history_begin(&h, RUN_1, "tool", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	reads(&h, p, "/w/in", 11, 0);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	history_begin(&h, RUN_2, "tool", 100);
	p = history_process(&h, 0);
	history_exec(&h, p, "tool", 0, 0);
	reads(&h, p, "/w/in", 11, 70);
	reads(&h, p, "/w/other", 12, UINT64_MAX);
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	struct stat_sums w = count(RUN_2);
	struct stat_bytes b = stat_bytes(&w.total.way[STAT_READ]);
	assert_true(b.any && b.known);
	assert_false(b.whole);
	assert_int_equal(b.n, 70);
	stat_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(most_used_first, history_setup, history_teardown),
	    cmocka_unit_test_setup_teardown(not_known_is_no_zero, history_setup, history_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
