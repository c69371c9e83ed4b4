/* ring_look.h - the queues of an io_uring, read from outside of the process that has it.
 *
 * A copy of the ring's descriptor is mapped to be read, for the time of one look; neither is kept, for either would
 * keep the ring alive when its process has closed it. What lies there, the process may write at any time, and it may
 * say what it likes about where things lie: all of it is checked, and each entry is read once, into memory of our own.
 * Linux maps more than there is of a ring if asked for it, and an access beyond would kill: only what mincore says is
 * there is touched.
 *
 * Cost: 12 us for a ring of 64 entries, 23 us for one of 4,096 (doc/decisions/io-uring.md). Threads: any; nothing is
 * kept. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_RING_LOOK_H
#define STEMMA_CAPTURE_SUPERVISOR_RING_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the kernel's interface, which does not change; its headers on this machine may be older. */
enum ring_setup_flag {
	RING_SETUP_SQPOLL = 1u << 1,  /* a thread of the kernel takes what is submitted */
	RING_SETUP_SQE128 = 1u << 10, /* longer submissions, and results */
	RING_SETUP_CQE32 = 1u << 11,
	RING_SETUP_NO_MMAP = 1u << 14, /* the queues are in memory of the program */
	RING_SETUP_NO_SQARRAY = 1u << 16,
	RING_SETUP_CQE_MIXED = 1u << 18, /* entries of both lengths */
	RING_SETUP_SQE_MIXED = 1u << 19
};

/* What io_uring_setup fills in: struct io_uring_params. */
struct ring_params {
	uint32_t sq_entries, cq_entries, flags, thread_cpu, thread_idle, features, wq, reserved[3];
	struct {
		uint32_t head, tail, mask, entries, flags, dropped, array, reserved;
		uint64_t address;
	} sq;
	struct {
		uint32_t head, tail, mask, entries, overflow, cqes, flags, reserved;
		uint64_t address;
	} cq;
};
_Static_assert(sizeof(struct ring_params) == 120, "the kernel's");

/* Where things lie in a ring's two mappings; checked. */
struct ring_shape {
	uint32_t sq_entries, cq_entries; /* powers of two */
	uint32_t sq_head, sq_tail, array, cq_tail, cqes;
	bool has_array;
	uint32_t sqe_size, cqe_size;
	size_t queues, calls; /* bytes of the mappings */
};
/* Takes the sizes and places of an io_uring's queues from what the kernel gave the process. False: they cannot be
 * those of a ring, or are of one that cannot be read. */
bool ring_shape_of(const struct ring_params *p, struct ring_shape *ret);

/* A submission: struct io_uring_sqe, its first 64 bytes. */
struct ring_call {
	uint8_t opcode, flags;
	uint16_t priority;
	int32_t fd;
	uint64_t off, addr;
	uint32_t len, op_flags;
	uint64_t user_data;
	uint16_t buffer, personality;
	uint32_t file_index;
	uint64_t more[2];
};
_Static_assert(sizeof(struct ring_call) == 64, "the kernel's");
struct ring_result { /* struct io_uring_cqe */
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

#define RING_RESULTS_MAX 4096

struct ring_seen {
	uint32_t sq_head, cq_tail;
	struct ring_call *calls; /* the next to be taken, malloc'ed */
	size_t ncalls;
	struct ring_result *results; /* since the last look, malloc'ed */
	size_t nresults;
	bool lost; /* there were more results than the queue has room for, or than RING_RESULTS_MAX: none are told */
};
/* The ring behind descriptor fd of the process: up to `most` of the calls that wait there, and the results from number
 * `since` on. 0 (ring_seen_free then), or -errno: EBADF no ring is there any more, EFAULT it does not have that shape.
 */
int ring_look(int pidfd, int fd, const struct ring_shape *sh, uint32_t most, uint32_t since, struct ring_seen *ret);
void ring_seen_free(struct ring_seen *r);

#endif
