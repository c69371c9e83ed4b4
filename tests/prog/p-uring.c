/* p-uring.c - opens and writes through io_uring, whose queues are read from outside. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ring;
static unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;

static void setup(void)
{
	struct io_uring_params p = {0};
	ring = (int)syscall(SYS_io_uring_setup, 8, &p);
	if (ring < 0 && (errno == ENOSYS || errno == EPERM))
		skip("io_uring is not allowed here");
	must(ring);
	size_t n = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	size_t c = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	char *sq = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, c, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	check(sq != MAP_FAILED && cq != MAP_FAILED && sqes != MAP_FAILED);
	sq_tail = (unsigned *)(sq + p.sq_off.tail);
	sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	sq_array = (unsigned *)(sq + p.sq_off.array);
	cq_head = (unsigned *)(cq + p.cq_off.head);
	cq_tail = (unsigned *)(cq + p.cq_off.tail);
	cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

static int submit(uint8_t op, int fd, const void *addr, unsigned len, unsigned flags)
{
	unsigned i = *sq_tail & *sq_mask;
	memset(&sqes[i], 0, sizeof(sqes[i]));
	sqes[i].opcode = op;
	sqes[i].fd = fd;
	sqes[i].addr = (uintptr_t)addr;
	sqes[i].len = len;
	sqes[i].open_flags = flags;
	sq_array[i] = i;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	check(__atomic_load_n(cq_tail, __ATOMIC_ACQUIRE) != *cq_head);
	int r = cqes[*cq_head & *cq_mask].res;
	__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
	return r;
}

CASE(c_open_write)
{
	setup();
	int fd = submit(IORING_OP_OPENAT, AT_FDCWD, in_dir("out"), 0644, O_WRONLY | O_CREAT);
	check(fd >= 0);
	truth_fd("write", in_dir("out"), fd);
	check(submit(IORING_OP_WRITE, fd, "hello\n", 6, 0) == 6);
	fd = submit(IORING_OP_OPENAT, AT_FDCWD, in_dir("in"), 0, O_RDONLY);
	check(fd >= 0);
	truth_fd("read", in_dir("in"), fd);
	make_file(in_dir("plain"));
}

const struct tcase cases[] = {
    {"open-write", c_open_write},
    {0},
};
