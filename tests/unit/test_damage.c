/* A log that is damaged, cut or incomplete: what the store says of it (doc/format/store.md, "Damaged logs"). */
#include "history.h"

#include "event/log_frame.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define DAMAGED (1u << TERM_gap_damaged)
#define UNENDED (1u << TERM_gap_unended)

enum { FRAMES = 4 };
static off_t ends[FRAMES]; /* of the frames, in the file */
static char path[PATH_MAX];

static off_t size_of_log(void)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* One run whose log has four frames: the run, an input, an output, the end. */
static void four_frames(void)
{
	struct history h;
	snprintf(path, sizeof(path), "%s/logs/h1/2026-01-01/0.stl", history_home);
	history_begin(&h, RUN_A, "x", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "x", 0, 0);
	assert_int_equal(log_writer_flush(h.w), 0);
	ends[0] = size_of_log();
	history_read(&h, p, history_file(&h, TERM_kind_regular, "/w/in", 1));
	assert_int_equal(log_writer_flush(h.w), 0);
	ends[1] = size_of_log();
	history_write(&h, p, history_file(&h, TERM_kind_regular, "/w/out", 2), 5);
	assert_int_equal(log_writer_flush(h.w), 0);
	ends[2] = size_of_log();
	history_exit(&h, p, TERM_ending_exited, 0);
	history_end(&h, p);
	ends[3] = size_of_log();
}

/* Puts other bytes in the place of [from, to). */
static void overwrite(off_t from, off_t to)
{
	FILE *f = fopen(path, "r+e");
	assert_non_null(f);
	assert_int_equal(fseek(f, from, SEEK_SET), 0);
	for (; from < to; from++)
		putc(0xa5, f);
	assert_int_equal(fclose(f), 0);
}

/* Takes [from, to) out. */
static void take_out(off_t from, off_t to)
{
	static char bytes[1 << 16];
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	f = fopen(path, "we");
	assert_non_null(f);
	fwrite(bytes, 1, (size_t)from, f);
	fwrite(bytes + to, 1, n - (size_t)to, f);
	assert_int_equal(fclose(f), 0);
}

static void count_line(void *arg, const char *line)
{
	(void)line;
	++*(int *)arg;
}

static void is_damaged(uint64_t places, uint64_t sessions, uint64_t gaps)
{
	struct store_damage d;
	struct run_info run;
	struct err err = {0};
	store_id id;
	int lines = 0;
	struct store *s = history_store();
	assert_int_equal(store_damage(s, &d), 0);
	assert_int_equal(d.places, places);
	assert_int_equal(d.bytes > 0, places > 0);
	assert_int_equal(d.sessions, sessions);
	if (store_find_run(s, RUN_A, &id) == 1) {
		assert_int_equal(store_run(s, id, &run), 1);
		assert_int_equal(run.gaps & (DAMAGED | UNENDED), gaps);
	}
	int found = store_fsck(s, count_line, &lines, &err);
	assert_int_equal(found, lines);
	assert_int_equal(found > 0, places > 0);
}

static int knows(const char *name)
{
	store_id id;
	return store_files_by_path(history_store(), str_of(name), &id, 1);
}

static void whole(void **state)
{
	(void)state;
	four_frames();
	is_damaged(0, 0, 0);
	assert_int_equal(knows("/w/in") + knows("/w/out"), 2);
}

static void damaged_in_the_midst(void **state)
{
	(void)state;
	four_frames();
	overwrite(ends[1] - 5, ends[1]); /* of the second frame */
	is_damaged(1, 1, DAMAGED);
	assert_int_equal(knows("/w/in"), 0);
	assert_int_equal(knows("/w/out"), 1);
	struct exec_info x;
	assert_int_equal(store_exec(history_store(), history_exec_id("x"), &x), 1);
	assert_true(x.gaps & DAMAGED);
	/* made anew, it is the same */
	history_rebuild();
	is_damaged(1, 1, DAMAGED);
}

static void a_frame_is_missing(void **state)
{
	(void)state;
	four_frames();
	take_out(ends[1], ends[2]);
	is_damaged(0, 1, DAMAGED);
	assert_int_equal(knows("/w/in"), 1);
	assert_int_equal(knows("/w/out"), 0);
}

static void cut_at_the_end(void **state)
{
	(void)state;
	four_frames();
	assert_int_equal(truncate(path, ends[2]), 0);
	is_damaged(0, 0, UNENDED);
	assert_int_equal(knows("/w/out"), 1);
}

static void cut_within_a_frame(void **state)
{
	(void)state;
	four_frames();
	assert_int_equal(truncate(path, ends[2] - 3), 0);
	struct store_damage d;
	assert_int_equal(store_damage(history_store(), &d), 0);
	assert_int_equal(knows("/w/in"), 1);
	assert_int_equal(knows("/w/out"), 0);
	struct run_info run;
	store_id id;
	assert_int_equal(store_find_run(history_store(), RUN_A, &id), 1);
	assert_int_equal(store_run(history_store(), id, &run), 1);
	assert_true(run.gaps & UNENDED);
	/* the rest comes: what is still written is no damage */
	assert_int_equal(run.end, TIME_NONE);
}

/* A frame that is whole, and whose events are nonsense: its recording lacks a part. */
static void whole_and_unreadable(void **state)
{
	(void)state;
	static const unsigned char nonsense[] = {9, 14, 0, 0, 1}; /* an event that goes on behind the frame */
	static char bytes[1 << 16], made[sizeof(struct log_frame) + sizeof(nonsense)];
	struct log_frame was;
	four_frames();
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	memcpy(&was, bytes + ends[0], sizeof(was));
	was.size = sizeof(nonsense);
	was.plain = 0;
	memcpy(made + sizeof(was), nonsense, sizeof(nonsense));
	size_t length = log_frame_build(made, &was);
	f = fopen(path, "we");
	assert_non_null(f);
	fwrite(bytes, 1, (size_t)ends[0], f);
	fwrite(made, 1, length, f);
	fwrite(bytes + ends[1], 1, n - (size_t)ends[1], f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(knows("/w/in"), 0);
	assert_int_equal(knows("/w/out"), 1);
	struct run_info run;
	store_id id;
	struct err err = {0};
	int lines = 0;
	assert_int_equal(store_find_run(history_store(), RUN_A, &id), 1);
	assert_int_equal(store_run(history_store(), id, &run), 1);
	assert_true(run.gaps & DAMAGED);
	assert_int_equal(store_fsck(history_store(), count_line, &lines, &err), 1);
}

/* A copy of the log that is damaged costs nothing: all of its session is there. */
static void a_damaged_copy(void **state)
{
	(void)state;
	char copy[PATH_MAX];
	static char bytes[1 << 16];
	four_frames();
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	memset(bytes + ends[1] - 5, 0xa5, 5);
	snprintf(copy, sizeof(copy), "%s/logs/h1/2026-01-01/1.stl", history_home);
	f = fopen(copy, "we");
	assert_non_null(f);
	fwrite(bytes, 1, n, f);
	assert_int_equal(fclose(f), 0);
	for (int anew = 0; anew < 2; anew++) {
		struct store_damage d;
		struct run_info run;
		store_id id;
		assert_int_equal(store_damage(history_store(), &d), 0);
		assert_int_equal(d.places + d.sessions + d.bytes, 0);
		assert_int_equal(store_find_run(history_store(), RUN_A, &id), 1);
		assert_int_equal(store_run(history_store(), id, &run), 1);
		assert_int_equal(run.gaps & (DAMAGED | UNENDED), 0);
		assert_int_equal(knows("/w/in") + knows("/w/out"), 2);
		history_rebuild();
	}
}

/* What was indexed and is gone from the logs is told, also by an index that is made anew. */
static void shorter_than_it_was(void **state)
{
	(void)state;
	four_frames();
	is_damaged(0, 0, 0);
	take_out(ends[1], ends[2]);
	history_rebuild();
	is_damaged(0, 1, DAMAGED);
}

/* Events that refer to what was not given before them are dropped, and counted. */
static void what_refers_to_nothing(void **state)
{
	(void)state;
	struct history h;
	struct err err = {0};
	struct store_index_stats stats;
	struct store *s;
	history_begin(&h, RUN_A, "x", 0);
	uint64_t p = history_process(&h, 0);
	history_exec(&h, p, "x", 0, 0);
	history_event(&h, (struct event){.kind = EVENT_state, .state = {.file = 99, .size = 1}});
	history_event(&h, (struct event){.kind = EVENT_access, .proc = p, .access = {.file = 98, .mode = ACCESS_READ}});
	history_event(&h, (struct event){.kind = EVENT_access, .proc = 77, .access = {.file = 98, .mode = ACCESS_READ}});
	history_event(&h, (struct event){.kind = EVENT_image, .proc = p, .image = {.n = 7}});
	history_end(&h, p);
	assert_int_equal(store_open(history_home, STORE_MEMORY, &err, &s), 0);
	assert_int_equal(store_index(s, &(struct store_index_options){0}, &err, &stats), 0);
	assert_int_equal(stats.unknown_refs, 5); /* one of them refers to two */
	assert_int_equal(stats.segments, 1);
	assert_int_equal(stats.new_executions, 2);
	assert_int_equal(stats.new_versions, 0);
	assert_int_equal(stats.bad_frames + stats.skipped_bytes + stats.torn_bytes + stats.newer_frames, 0);
	assert_int_equal(store_index(s, &(struct store_index_options){0}, &err, &stats), 0);
	assert_int_equal(stats.events, 0); /* nothing is new */
	store_close(s);
}

/* Events that were lost concern the executions that lived meanwhile, and the run. */
static void lost_events(void **state)
{
	(void)state;
	struct history h;
	struct exec_info x;
	struct run_info run;
	store_id id;
	history_begin(&h, RUN_A, "x", 0);
	uint64_t before = history_process(&h, 0), during = history_process(&h, 0);
	history_exec(&h, before, "before", 0, 0);
	history_exec(&h, during, "during", 0, 0);
	history_exit(&h, before, TERM_ending_exited, 0);
	h.now += 100ll * HISTORY_SECOND;
	history_event(&h,
	              (struct event){.kind = EVENT_gap,
	                             .gap = {.reason = TERM_gap_lost, .count = 9, .from = h.now - 10ll * HISTORY_SECOND}});
	h.now += 100ll * HISTORY_SECOND;
	uint64_t after = history_process(&h, 0);
	history_exec(&h, after, "after", 0, 0);
	history_event(
	    &h, (struct event){.kind = EVENT_gap, .proc = after, .gap = {.reason = TERM_gap_io_uring, .from = TIME_NONE}});
	history_exit(&h, after, TERM_ending_exited, 0);
	history_exit(&h, during, TERM_ending_exited, 0);
	history_end(&h, during);
	static const struct {
		const char *argv0;
		uint64_t gaps;
	} rows[] = {{"before", 0}, {"during", 1u << TERM_gap_lost}, {"after", 1u << TERM_gap_io_uring}};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(store_exec(history_store(), history_exec_id(rows[i].argv0), &x), 1);
		assert_int_equal(x.gaps, rows[i].gaps);
	}
	assert_int_equal(store_find_run(history_store(), RUN_A, &id), 1);
	assert_int_equal(store_run(history_store(), id, &run), 1);
	assert_int_equal(run.gaps, 1u << TERM_gap_lost | 1u << TERM_gap_io_uring);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, history_setup, history_teardown)
	const struct CMUnitTest tests[] = {TEST(whole),
	                                   TEST(damaged_in_the_midst),
	                                   TEST(a_frame_is_missing),
	                                   TEST(cut_at_the_end),
	                                   TEST(cut_within_a_frame),
	                                   TEST(shorter_than_it_was),
	                                   TEST(whole_and_unreadable),
	                                   TEST(a_damaged_copy),
	                                   TEST(what_refers_to_nothing),
	                                   TEST(lost_events)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
