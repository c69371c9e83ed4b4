/* What the code in a program has counted and logged, and which access gets it (count/counted.h). The program is this
 * one: its table lies here, and what the code would have written into it is written by hand. */
#include "base/buf.h"
#include "capture/count/counted_int.h"
#include "capture/supervisor/worker.h"
#include "event/log_reader.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

enum { READ_ONLY, BOTH, A_FIFO, PROGRAM, FILES };

static struct counted_table table;
static struct sup s;
static struct sites sites;
static struct proc p;
static struct counted *c;
static struct file files[FILES];
static struct access held[FILES];
static int log_fd;

static int setup(void **state)
{
	static struct known known;
	static const unsigned modes[FILES] = {ACCESS_READ, ACCESS_READ | ACCESS_WRITE, ACCESS_READ | ACCESS_WRITE,
	                                      ACCESS_READ | ACCESS_PROGRAM};
	struct err err = {0};
	(void)state;
	if (!s.hz) {
		sup_init(&s);
		s.known = &known;
		feature_add(&s, &counted_feature);
	}
	memset(&table, 0, sizeof(table));
	memset(&sites, 0, sizeof(sites));
	s.exact = true; /* what was counted is told whatever the kernel's totals say of this program */
	p = (struct proc){.pid = getpid(), .num = 1, .pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0)};
	table.owner = (uint32_t)p.pid;
	log_fd = memfd_create("log", MFD_CLOEXEC);
	if (log_fd < 0 || log_writer_fdopen(dup(log_fd), 1, &err, &s.log) < 0)
		return 1;
	c = p.counted = counted_new(&s, (uintptr_t)&sites, (uintptr_t)&table, (uintptr_t)&sites, &sites);
	c->shared = &table;
	for (unsigned i = 0; i < FILES; i++) {
		files[i] =
		    (struct file){.num = i + 1, .kind = i == A_FIFO ? TERM_kind_pipe : TERM_kind_regular, .live = &held[i]};
		held[i] = (struct access){
		    .file = &files[i], .proc = &p, .mode = modes[i], .proc_next = p.live, .seq = i + 1, .start = 1, .count = 1};
		p.live = &held[i];
	}
	return 0;
}

/* Which descriptors have a row in the table. */
static void rows_of_the_table(void **state)
{
	(void)state;
	assert_true(in_range(0) && in_range(COUNTED_FDS - 1));
	assert_false(in_range(-1) || in_range(COUNTED_FDS) || in_range(INT64_MAX) || in_range(INT64_MIN));
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FILES; i++)
		io_free(&held[i]);
	c->shared = NULL; /* it is not mapped here */
	counted_free(&s, &p);
	close(log_fd);
	close(p.pidfd);
	return log_writer_close(s.log);
}

/* ---- what the code does ---- */

static struct counted_entry *entry(uint32_t kind, int fd, int64_t value)
{
	struct counted_entry *e = &table.entry[table.pos % COUNTED_LOG];
	*e = (struct counted_entry){.kind = kind, .fd = fd, .value = value, .seq = ++table.pos};
	return e;
}

/* An open is stopped; it is of that file, NULL: of none that is counted. */
static void stopped(const struct file *f, pid_t tid)
{
	c->opened[c->opens++ % OPENED] = (struct stopped){.file = f ? f->num : NOT_A_FILE, .pos = table.pos, .tid = tid};
}

static struct counted_entry *opened(const struct file *f, int fd)
{
	stopped(f, 0);
	struct counted_entry *e = entry(SITE_OPEN, 0, fd);
	e->row = table.row[fd];
	return e;
}

static struct counted_entry *closed(int fd)
{
	struct counted_entry *e = entry(SITE_CLOSE, fd, 0);
	e->row = table.row[fd];
	return e;
}

static void moved_in(int fd, uint64_t bytes)
{
	table.row[fd].read_calls++;
	table.row[fd].read_bytes += bytes;
}

static void moved_out(int fd, uint64_t bytes)
{
	table.row[fd].write_calls++;
	table.row[fd].write_bytes += bytes;
}

static bool drain(bool standing)
{
	s.epoch++;
	return counted_drain(&s, &p, standing);
}

static void lost(void)
{
	assert_false(drain(false));
	assert_true(c->lost);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What the accesses have got: file, api, way, calls, bytes; a line each, sorted. */
static void got(const char *want)
{
	struct buf b = {0};
	struct log_reader *r;
	struct log_frame_info f;
	struct event ev;
	static char bytes[1 << 16], line[16][64];
	size_t lines = 0;
	for (unsigned i = 0; i < FILES; i++)
		io_emit(&s, &held[i]);
	assert_int_equal(log_writer_flush(s.log), 0);
	ssize_t n = pread(log_fd, bytes, sizeof(bytes), 0);
	assert_true(n >= 0);
	if (n > 0) {
		assert_int_equal(log_reader_memopen(bytes, (size_t)n, &r), 0);
		while (log_reader_frame(r, &f) == 1)
			while (log_reader_event(r, &ev))
				if (ev.kind == EVENT_io && lines < 16)
					snprintf(line[lines++], sizeof(line[0]), "%llu %s %s %llu %llu\n", (unsigned long long)ev.io.access,
					         term_name(SET_ioapi, ev.io.api), ev.io.write ? "out" : "in",
					         (unsigned long long)ev.io.calls, (unsigned long long)ev.io.bytes);
		log_reader_close(r);
	}
	qsort(line, lines, sizeof(line[0]), by_text);
	for (size_t i = 0; i < lines; i++)
		buf_str(&b, str_of(line[i]));
	assert_string_equal(buf_cstr(&b), want);
	buf_release(&b);
}

/* ---- files and descriptors ---- */

static void an_open_file(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	moved_in(3, 60);
	moved_in(3, 40);
	assert_true(drain(false));
	moved_in(3, 1);
	assert_true(drain(false));
	assert_int_equal(c->sum_read, 101);
	assert_int_equal(c->sum_written, 0);
	got("1 read in 3 101\n");
}

static void positional_calls_are_apart(void **state)
{
	(void)state;
	opened(&files[BOTH], 3);
	moved_out(3, 5);
	table.row[3].other_read_calls = 1;
	table.row[3].other_read_bytes = 7;
	table.row[3].other_write_calls = 2;
	table.row[3].other_write_bytes = 9;
	assert_true(drain(false));
	assert_int_equal(c->sum_read, 7);
	assert_int_equal(c->sum_written, 14);
	got("2 other in 1 7\n2 other out 2 9\n2 read out 1 5\n");
}

static void a_number_is_used_again(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	moved_in(3, 10);
	closed(3);
	opened(&files[BOTH], 3);
	moved_in(3, 5);
	moved_out(3, 7);
	assert_true(drain(false));
	got("1 read in 1 10\n2 read in 1 5\n2 read out 1 7\n");
}

static void duplicates(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	opened(&files[BOTH], 4);
	entry(SITE_DUP, 3, 5);
	moved_in(5, 10);
	moved_in(3, 1);
	struct counted_entry *e = entry(SITE_DUP2, 4, 3);
	e->row = table.row[3];
	moved_in(3, 100);
	entry(SITE_DUP2, 4, 4)->row = table.row[4]; /* onto itself: nothing */
	moved_in(4, 1000);
	assert_true(drain(false));
	got("1 read in 2 11\n2 read in 2 1100\n");
}

static void a_failed_open(void **state)
{
	(void)state;
	stopped(&files[READ_ONLY], 0);
	entry(SITE_OPEN, 0, -2);
	opened(&files[BOTH], 3);
	moved_in(3, 1);
	assert_true(drain(false));
	assert_int_equal(c->seen, 2);
	got("2 read in 1 1\n");
}

static void what_is_no_file(void **state)
{
	(void)state;
	int32_t pair[2] = {4, 5};
	int64_t both;
	memcpy(&both, pair, sizeof(both));
	entry(SITE_MADE, 0, 3);
	entry(SITE_PAIR, 0, both);
	opened(NULL, 6);
	for (int fd = 3; fd <= 6; fd++) {
		moved_in(fd, 10);
		moved_out(fd, 1);
	}
	assert_true(drain(false));
	assert_int_equal(c->sum_read, 40); /* it is part of what the process has moved */
	assert_int_equal(c->sum_written, 4);
	got("");
}

static void mapped_and_spliced(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	opened(&files[BOTH], 4);
	entry(SITE_MAP, 3, 4096);
	entry(SITE_MAP, 9, 5); /* of nothing that is known */
	entry(SITE_MAP, -1, 5);
	struct counted_entry *e = entry(SITE_SPLICE, 3, 50);
	e->to = 4;
	assert_true(drain(false));
	assert_true(held[READ_ONLY].loaded);
	assert_false(held[BOTH].loaded);
	assert_int_equal(c->sum_read + c->sum_written, 0); /* the kernel's totals do not have them */
	got("1 mmap in 1 4096\n1 splice in 1 50\n2 splice out 1 50\n");
}

/* Of the program itself nothing is claimed; that it was written says that the bytes may be another's. */
static void the_program(void **state)
{
	(void)state;
	opened(&files[PROGRAM], 3);
	moved_in(3, 10);
	assert_true(drain(false));
	assert_false(c->elsewhere);
	moved_out(3, 1);
	assert_true(drain(false));
	assert_true(c->elsewhere);
	got("");
}

static void two_accesses_of_one_file(void **state)
{
	(void)state;
	held[BOTH].file = &files[READ_ONLY];
	opened(&files[READ_ONLY], 3);
	moved_in(3, 10);
	assert_true(drain(false));
	assert_int_equal(held[READ_ONLY].beside | held[BOTH].beside, ACCESS_READ); /* one got them all */
	assert_true(held[READ_ONLY].beside != held[BOTH].beside);
}

/* ---- opens without a stop, opens in signals ---- */

static void logged_elsewhere(void **state)
{
	(void)state;
	counted_logged(&p, 3, &files[READ_ONLY], true);
	counted_logged(&p, 4, NULL, true);
	counted_logged(&p, 5, &files[BOTH], true);
	entry(SITE_LOGGED, 0, 5); /* in another order */
	entry(SITE_LOGGED, 0, 3);
	entry(SITE_LOGGED, 0, 4);
	moved_in(3, 1);
	moved_in(4, 10);
	moved_in(5, 100);
	assert_true(drain(false));
	assert_int_equal(c->nlogged, 0);
	got("1 read in 1 1\n2 read in 1 100\n");
}

static void not_logged_yet(void **state)
{
	(void)state;
	opened(&files[BOTH], 4);
	entry(SITE_LOGGED, 0, 3);
	assert_false(drain(false));
	assert_false(c->lost);
	assert_int_equal(c->read, 1);
	counted_logged(&p, 3, &files[READ_ONLY], true);
	moved_in(3, 1);
	assert_true(drain(false));
	got("1 read in 1 1\n");
}

static void too_many_logged(void **state)
{
	(void)state;
	for (int i = 0; i < LOGGED; i++) {
		assert_int_equal(counted_is_behind(&p), i > LOGGED / 2);
		counted_logged(&p, i, NULL, true);
		assert_false(c->lost);
	}
	counted_logged(&p, 0, NULL, true);
	assert_true(c->lost);
	assert_false(counted_is_behind(&p));
}

static void not_sure_what_was_logged(void **state)
{
	(void)state;
	counted_logged(&p, COUNTED_FDS, NULL, false); /* has no row */
	counted_logged(&p, -1, NULL, false);
	assert_false(c->lost);
	counted_logged(&p, 3, &files[BOTH], false);
	assert_true(c->lost);
}

/* A signal's handler opens between another open's stop and its entry: its own entry comes first. */
static void an_open_within_another(void **state)
{
	(void)state;
	stopped(&files[READ_ONLY], 0);
	stopped(&files[BOTH], 0);
	entry(SITE_OPEN, 0, 4);
	entry(SITE_OPEN, 0, 3);
	moved_in(3, 1);
	moved_in(4, 10);
	assert_true(drain(false));
	assert_int_equal(c->seen, c->opens);
	got("1 read in 1 1\n2 read in 1 10\n");
}

/* ---- threads ---- */

static void threads(void **state)
{
	(void)state;
	sites.tid = 16;
	table.threads = 1;
	entry(SITE_MARK, 0, CLONE_THREAD);
	stopped(&files[READ_ONLY], 7);
	stopped(&files[BOTH], 8);
	entry(SITE_OPEN, 0, 3)->tid = 7; /* not the latest stop, but that of its own thread */
	entry(SITE_OPEN, 0, 4)->tid = 8;
	moved_in(3, 1);
	moved_in(4, 10);
	assert_true(drain(false));
	assert_true(c->many);
	assert_int_equal(c->made, 1);
	got("1 read in 1 1\n2 read in 1 10\n");
}

static void threads_of_a_library_without_them(void **state)
{
	(void)state;
	entry(SITE_MARK, 0, CLONE_THREAD);
	lost();
}

/* Threads of which the code knows nothing: the table says that there are some, and where their numbers stand is not
 * known; or /proc says so, and no call that makes one was seen. */
static void threads_made_elsewhere(void **state)
{
	(void)state;
	table.threads = 1;
	lost();
}

static void threads_that_no_call_made(void **state)
{
	(void)state;
	sites.tid = 16;
	p.threads = true;
	lost();
}

/* A call of another thread was under way when the descriptor was closed: what it moves is yet to be counted. */
static void closed_in_the_midst_of_a_call(void **state)
{
	(void)state;
	sites.tid = 16;
	table.threads = 1;
	entry(SITE_MARK, 0, CLONE_THREAD);
	stopped(&files[READ_ONLY], 7);
	entry(SITE_OPEN, 0, 3)->tid = 7;
	closed(3)->flying = 1;
	assert_true(drain(false));
	stopped(&files[BOTH], 7);
	entry(SITE_OPEN, 0, 3)->tid = 7;
	lost();
}

/* ---- children that share the memory ---- */

static void a_child_of_vfork(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	entry(SITE_MARK, 0, CLONE_VFORK | CLONE_VM);
	assert_false(drain(false)); /* nobody has said how far the child's entries go */
	assert_false(c->lost);
	closed(3); /* the child's */
	entry(SITE_MADE, 0, 9);
	c->resume[c->nresumes].child = 5;
	c->resume[c->nresumes++].pos = table.pos;
	opened(&files[BOTH], 4);
	moved_in(3, 1);
	moved_in(4, 10);
	assert_true(drain(false));
	assert_int_equal(c->nresumes, 0);
	got("1 read in 1 1\n2 read in 1 10\n");
}

/* ---- pipes that it has made ---- */

static void own_pipes(void **state)
{
	(void)state;
	int32_t ends[2] = {6, 7};
	int64_t both;
	memcpy(&both, ends, sizeof(both));
	entry(SITE_PIPE, 0, both);
	assert_true(drain(false));
	uint64_t own = c->file[6];
	assert_int_equal(own, OWN_PIPE(0));
	assert_int_equal(c->file[7], own);
	assert_int_equal(counted_unsaid(&held[A_FIFO]), 0);
	/* what went through it waits until it is known which one it is */
	moved_out(7, 20);
	closed(7);
	assert_true(drain(false));
	assert_int_equal(counted_unsaid(&held[A_FIFO]), ACCESS_WRITE);
	assert_int_equal(counted_unsaid(&held[BOTH]), 0); /* no pipe */
	counted_found(&s, &p, own, files[A_FIFO].num);
	assert_int_equal(counted_unsaid(&held[A_FIFO]), 0);
	got("3 read out 1 20\n");
}

static void a_pipe_that_nobody_knows_any_more(void **state)
{
	(void)state;
	for (int i = 0; i <= OWN_PIPES; i++) {
		int32_t ends[2] = {6, 7};
		int64_t both;
		memcpy(&both, ends, sizeof(both));
		entry(SITE_PIPE, 0, both);
		moved_in(6, i == 0);
		closed(6);
		closed(7);
	}
	assert_true(drain(false));
	assert_int_equal(c->nown, OWN_PIPES + 1);
	assert_int_equal(counted_unsaid(&held[A_FIFO]), ACCESS_READ);
	counted_given(c, &files[A_FIFO]); /* but it began with this one */
	assert_int_equal(counted_unsaid(&held[A_FIFO]), 0);
	got("");
}

/* ---- a log that does not fit is given up ---- */

#define LOST(name, ...)                                                                                                \
	static void name(void **state)                                                                                     \
	{                                                                                                                  \
		(void)state;                                                                                                   \
		__VA_ARGS__;                                                                                                   \
		lost();                                                                                                        \
	}
LOST(an_open_without_a_stop, entry(SITE_OPEN, 0, 3))
LOST(an_open_of_what_is_open, opened(&files[BOTH], 3); opened(&files[BOTH], 3))
LOST(counted_before_it_was_opened, opened(&files[BOTH], 3); moved_in(3, 1); closed(3);
     struct counted_entry *e = opened(&files[BOTH], 3); e->row.read_bytes--)
LOST(a_duplicate_of_what_is_open, opened(&files[BOTH], 3); opened(&files[BOTH], 4); entry(SITE_DUP, 3, 4))
LOST(a_duplicate_out_of_range, opened(&files[BOTH], 3); entry(SITE_DUP, 3, COUNTED_FDS))
LOST(a_close_out_of_range, entry(SITE_CLOSE, COUNTED_FDS, 0))
LOST(a_close_below_range, entry(SITE_CLOSE, -1, 0))
LOST(many_closed, entry(SITE_RANGE, 3, 9))
LOST(no_kind, entry(77, 3, 9))
LOST(made_where_something_is, opened(&files[BOTH], 3); entry(SITE_MADE, 0, 3))
LOST(spliced_from_nothing, opened(&files[BOTH], 4); entry(SITE_SPLICE, 3, 5)->to = 4)
LOST(spliced_to_nothing, opened(&files[READ_ONLY], 3); entry(SITE_SPLICE, 3, 5)->to = 4)
LOST(logged_where_something_is, opened(&files[BOTH], 4); counted_logged(&p, 4, NULL, true); entry(SITE_LOGGED, 0, 4))
LOST(written_and_opened_to_read, opened(&files[READ_ONLY], 3); moved_out(3, 1))
LOST(beyond_the_table, table.row[COUNTED_FDS].read_calls = 1; table.row[COUNTED_FDS].read_bytes = 1)
LOST(another_process, table.owner++)
LOST(a_stop_that_nobody_looked_at, s.passes++)
LOST(io_by_another_way, p.io_unseen = true)
LOST(threads_by_another_way, p.threads = true)
LOST(written_over, table.pos = COUNTED_LOG + 1)

static void no_bytes_are_no_matter(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	moved_out(3, 0); /* a write that failed */
	assert_true(drain(false));
	got("");
}

/* An entry that is being written is waited for, unless who writes it stands still. */
static void an_entry_that_is_not_whole(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	table.entry[0].seq = 0;
	assert_false(drain(false));
	assert_false(c->lost);
	table.entry[0].seq = 1;
	assert_true(drain(false));
	opened(&files[BOTH], 4);
	table.entry[1].seq = 0;
	assert_false(drain(true));
	assert_true(c->lost);
}

/* The ring is gone round, and the numbers of its entries, too. */
static void a_full_ring(void **state)
{
	(void)state;
	c->theirs = c->read = table.pos = UINT32_MAX - 3 * COUNTED_LOG / 2;
	uint64_t bytes = 0;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < COUNTED_LOG / 2; i++) {
			opened(&files[READ_ONLY], 3);
			moved_in(3, (uint64_t)i);
			bytes += (uint64_t)i;
			closed(3);
			if (i % 256 == 255) {
				assert_true(drain(false));
				assert_int_equal(c->seen, c->opens);
			}
		}
	}
	assert_false(c->lost);
	assert_int_equal(c->sum_read, bytes);
}

static void a_look_that_is_one_already(void **state)
{
	(void)state;
	opened(&files[READ_ONLY], 3);
	assert_true(drain(false));
	moved_in(3, 5);
	assert_true(counted_drain(&s, &p, false)); /* the same epoch: nothing is read */
	assert_int_equal(c->sum_read, 0);
	assert_true(drain(false));
	assert_int_equal(c->sum_read, 5);
	c->frozen = true;
	moved_in(3, 5);
	assert_true(drain(false));
	assert_int_equal(c->sum_read, 5);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(rows_of_the_table),
	    TEST(an_open_file),
	    TEST(positional_calls_are_apart),
	    TEST(a_number_is_used_again),
	    TEST(duplicates),
	    TEST(a_failed_open),
	    TEST(what_is_no_file),
	    TEST(mapped_and_spliced),
	    TEST(the_program),
	    TEST(two_accesses_of_one_file),
	    TEST(logged_elsewhere),
	    TEST(not_logged_yet),
	    TEST(too_many_logged),
	    TEST(not_sure_what_was_logged),
	    TEST(an_open_within_another),
	    TEST(threads),
	    TEST(threads_of_a_library_without_them),
	    TEST(threads_made_elsewhere),
	    TEST(threads_that_no_call_made),
	    TEST(closed_in_the_midst_of_a_call),
	    TEST(a_child_of_vfork),
	    TEST(own_pipes),
	    TEST(a_pipe_that_nobody_knows_any_more),
	    TEST(an_open_without_a_stop),
	    TEST(an_open_of_what_is_open),
	    TEST(counted_before_it_was_opened),
	    TEST(a_duplicate_of_what_is_open),
	    TEST(a_duplicate_out_of_range),
	    TEST(a_close_out_of_range),
	    TEST(a_close_below_range),
	    TEST(many_closed),
	    TEST(no_kind),
	    TEST(made_where_something_is),
	    TEST(spliced_from_nothing),
	    TEST(spliced_to_nothing),
	    TEST(logged_where_something_is),
	    TEST(written_and_opened_to_read),
	    TEST(beyond_the_table),
	    TEST(another_process),
	    TEST(a_stop_that_nobody_looked_at),
	    TEST(io_by_another_way),
	    TEST(threads_by_another_way),
	    TEST(written_over),
	    TEST(no_bytes_are_no_matter),
	    TEST(an_entry_that_is_not_whole),
	    TEST(a_full_ring),
	    TEST(a_look_that_is_one_already),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
