/* Where things lie in a ring is told by a hostile process. */
#include "capture/supervisor/ring/ring_look.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { ENTRIES = 8, NONE = 0, USER_DATA = 77 };

static int pidfd, ring;
static struct io_uring_params params;
static struct ring_params told;

/* 0, or -errno: there is no ring here. */
static int make_ring(void)
{
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	memset(&params, 0, sizeof(params));
	ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params);
	memcpy(&told, &params, sizeof(told));
	return pidfd < 0 || ring < 0 ? -errno : 0;
}

static void drop_ring(void)
{
	close(ring);
	close(pidfd);
}

static int has_ring(void)
{
	static const char why[] = "# SKIP there is no io_uring here\n";
	if (make_ring() == 0)
		return 1;
	if (write(1, why, sizeof(why) - 1) < 0)
		return 0;
	return 0;
}

static void refuses_shapes(void **state)
{
	(void)state;
	const struct ring_params good = {.sq_entries = 8,
	                                 .cq_entries = 16,
	                                 .sq = {.head = 0, .tail = 4, .array = 320},
	                                 .cq = {.head = 8, .tail = 12, .cqes = 64}};
	struct ring_shape shape;
	struct ring_params p = good;
	assert_true(ring_shape_of(&p, &shape));
	assert_int_equal(shape.queues, 320 + 8 * 4);
	assert_int_equal(shape.calls, 8 * 64);
	const uint32_t odd[] = {0, 3, 12, 1u << 16, UINT32_MAX};
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		p = good;
		p.sq_entries = odd[i];
		assert_false(ring_shape_of(&p, &shape));
		p = good;
		p.cq_entries = odd[i] == 1u << 16 ? 1u << 17 : odd[i];
		assert_false(ring_shape_of(&p, &shape));
	}
	uint32_t *const places[] = {&p.sq.head, &p.sq.tail, &p.sq.array, &p.cq.tail, &p.cq.cqes};
	const uint32_t far[] = {1, 6, 1u << 23, UINT32_MAX - 3};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		for (size_t k = 0; k < sizeof(far) / sizeof(far[0]); k++) {
			p = good;
			*places[i] = far[k];
			assert_false(ring_shape_of(&p, &shape));
		}
	const uint32_t unseen[] = {RING_SETUP_SQPOLL, RING_SETUP_NO_MMAP, RING_SETUP_CQE_MIXED, RING_SETUP_SQE_MIXED};
	for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++) {
		p = good;
		p.flags = unseen[i];
		assert_false(ring_shape_of(&p, &shape));
	}
}

static void reads_what_waits_and_what_came(void **state)
{
	(void)state;
	struct ring_shape shape;
	struct ring_seen seen;
	if (!has_ring())
		return;
	assert_true(ring_shape_of(&told, &shape));
	char *sq = mmap(NULL, shape.queues, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *calls =
	    mmap(NULL, shape.calls, PROT_READ | PROT_WRITE, MAP_SHARED, ring, (off_t)IORING_OFF_SQES);
	assert_true(sq != MAP_FAILED && calls != MAP_FAILED);
	unsigned *tail = (unsigned *)(void *)(sq + params.sq_off.tail),
	         *array = (unsigned *)(void *)(sq + params.sq_off.array);
	calls[5].opcode = IORING_OP_NOP;
	calls[5].user_data = USER_DATA;
	array[0] = 5;
	array[1] = 1u << 30; /* there is none */
	*tail = 2;
	assert_int_equal(ring_look(pidfd, ring, &shape, 100, 0, &seen), 0);
	assert_int_equal(seen.ncalls, 2);
	assert_int_equal(seen.calls[0].user_data, USER_DATA);
	assert_int_equal(seen.calls[1].user_data, NONE);
	assert_int_equal(seen.nresults, 0);
	ring_seen_free(&seen);
	assert_int_equal(ring_look(pidfd, ring, &shape, 1, 0, &seen), 0);
	assert_int_equal(seen.ncalls, 1);
	ring_seen_free(&seen);
	assert_int_equal(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), 1);
	assert_int_equal(ring_look(pidfd, ring, &shape, 0, 0, &seen), 0);
	assert_int_equal(seen.nresults, 1);
	assert_int_equal(seen.results[0].user_data, USER_DATA);
	assert_int_equal(seen.sq_head, 1);
	ring_seen_free(&seen);
	/* Who says that it has seen less than there can be has missed some. */
	assert_int_equal(ring_look(pidfd, ring, &shape, 0, (uint32_t)-100, &seen), 0);
	assert_true(seen.lost);
	ring_seen_free(&seen);
	*tail = 1u << 31; /* no more than the queue has room for */
	assert_int_equal(ring_look(pidfd, ring, &shape, UINT32_MAX, 0, &seen), 0);
	assert_int_equal(seen.ncalls, ENTRIES);
	ring_seen_free(&seen);
	munmap(sq, shape.queues);
	munmap(calls, shape.calls);
	drop_ring();
}

/* Linux 6.18 maps these, and an access would kill. */
static void touches_only_what_is_there(void **state)
{
	(void)state;
	struct ring_shape shape;
	struct ring_seen seen;
	if (!has_ring())
		return;
	uint32_t *const places[] = {&told.sq.head, &told.sq.tail, &told.sq.array, &told.cq.tail, &told.cq.cqes};
	const struct ring_params good = told;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		told = good;
		*places[i] = 1u << 20;
		assert_true(ring_shape_of(&told, &shape));
		assert_int_equal(ring_look(pidfd, ring, &shape, 4, 0, &seen), -EFAULT);
	}
	told = good;
	told.sq_entries = 4096;
	assert_true(ring_shape_of(&told, &shape));
	assert_int_equal(ring_look(pidfd, ring, &shape, 4, 0, &seen), -EFAULT);
	told = good;
	assert_true(ring_shape_of(&told, &shape));
	assert_int_equal(ring_look(pidfd, pidfd, &shape, 4, 0, &seen), -EBADF);
	assert_int_equal(ring_look(pidfd, 9999, &shape, 4, 0, &seen), -EBADF);
	drop_ring();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(refuses_shapes),
	    cmocka_unit_test(reads_what_waits_and_what_came),
	    cmocka_unit_test(touches_only_what_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
