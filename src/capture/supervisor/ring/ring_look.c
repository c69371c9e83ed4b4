#include "capture/supervisor/ring/ring_look.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's bounds. */
enum { SQ_MOST = 32768, CQ_MOST = 2 * SQ_MOST, ARRAY_MOST = 1 << 23 };
/* Where in the descriptor the mappings are: of both queues, and of the submissions. */
#define QUEUES_AT 0
#define CALLS_AT 0x10000000
#define PAGE_LEAST 4096u

/* A power of two from 1 to most. */
static bool is_power(uint32_t n, uint32_t most)
{
	return n && !(n & (n - 1)) && n <= most;
}

/* Whether a kernel's offset into the ring's map is sane: aligned, and not too large. */
static bool is_place(uint32_t at)
{
	return !(at & 3) && at < ARRAY_MOST;
}

bool ring_shape_of(const struct ring_params *p, struct ring_shape *ret)
{
	const uint32_t unread = RING_SETUP_SQPOLL | RING_SETUP_NO_MMAP | RING_SETUP_CQE_MIXED | RING_SETUP_SQE_MIXED;
	if ((p->flags & unread) || !is_power(p->sq_entries, SQ_MOST) || !is_power(p->cq_entries, CQ_MOST))
		return false;
	*ret = (struct ring_shape){.sq_entries = p->sq_entries,
	                           .cq_entries = p->cq_entries,
	                           .sq_head = p->sq.head,
	                           .sq_tail = p->sq.tail,
	                           .array = p->sq.array,
	                           .cq_tail = p->cq.tail,
	                           .cqes = p->cq.cqes,
	                           .has_array = !(p->flags & RING_SETUP_NO_SQARRAY),
	                           .sqe_size = p->flags & RING_SETUP_SQE128 ? 128 : 64,
	                           .cqe_size = p->flags & RING_SETUP_CQE32 ? 32 : 16};
	const uint32_t counters[] = {ret->sq_head, ret->sq_tail, ret->cq_tail, ret->cqes, ret->array};
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (!is_place(counters[i]))
			return false;
	if (ret->cqes & 7)
		return false;
	ret->queues = ret->cqes + (size_t)ret->cq_entries * ret->cqe_size;
	const size_t array = ret->has_array ? ret->array + (size_t)ret->sq_entries * sizeof(uint32_t) : 0;
	if (array > ret->queues)
		ret->queues = array;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		if (counters[i] + sizeof(uint32_t) > ret->queues)
			ret->queues = counters[i] + sizeof(uint32_t);
	ret->calls = (size_t)ret->sq_entries * ret->sqe_size;
	return true;
}

/* A mapping of n bytes, all of which are there; NULL if not. */
static const char *map_whole(int fd, off_t at, size_t n)
{
	unsigned char there[(ARRAY_MOST + CQ_MOST * 32) / PAGE_LEAST + 2];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (n + page - 1) / page;
	if (pages > sizeof(there))
		return NULL;
	char *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, at);
	if (map == MAP_FAILED)
		return NULL;
	bool whole = mincore(map, n, there) == 0;
	for (size_t i = 0; i < pages && whole; i++)
		whole = there[i] & 1;
	if (whole)
		return map;
	munmap(map, n);
	return NULL;
}

/* Is the descriptor an io_uring? Of this process's descriptors. False also where it cannot be asked. */
static bool is_ring(int fd)
{
	static const char is[] = "anon_inode:[io_uring]";
	char name[32], link[sizeof(is) + 1];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return readlink(name, link, sizeof(link)) == sizeof(is) - 1 && !memcmp(link, is, sizeof(is) - 1);
}

/* The other side writes it: it may be anything. at: as is_place allows. */
static uint32_t counter_at(const char *map, uint32_t at)
{
	return __atomic_load_n((const uint32_t *)(const void *)(map + at), __ATOMIC_ACQUIRE);
}

/* Copies calls that wait in an io_uring to be submitted. 0 or -ENOMEM. Copies those that wait in the ring, `most` at
 * most, to ret->calls (malloc'ed). */
static int copy_calls(const char *queues, const char *calls, const struct ring_shape *sh, uint32_t most,
                      struct ring_seen *ret)
{
	const uint32_t waiting = counter_at(queues, sh->sq_tail) - ret->sq_head, mask = sh->sq_entries - 1;
	uint32_t n = waiting < most ? waiting : most;
	n = n < sh->sq_entries ? n : sh->sq_entries;
	if (!n)
		return 0;
	if (!(ret->calls = malloc(n * sizeof(*ret->calls))))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = (ret->sq_head + i) & mask;
		if (sh->has_array)
			at = counter_at(queues, sh->array + at * (uint32_t)sizeof(uint32_t));
		struct ring_call *c = &ret->calls[ret->ncalls++];
		if (at > mask) /* the kernel passes it over */
			*c = (struct ring_call){0};
		else
			memcpy(c, calls + (size_t)at * sh->sqe_size, sizeof(*c));
	}
	return 0;
}

/* The results since that count. ret->lost: they were written over. 0, -ENOMEM. */
static int copy_results(const char *queues, const struct ring_shape *sh, uint32_t since, struct ring_seen *ret)
{
	ret->cq_tail = counter_at(queues, sh->cq_tail);
	const uint32_t n = ret->cq_tail - since;
	ret->lost = n > sh->cq_entries || n > RING_RESULTS_MAX;
	if (ret->lost || !n)
		return 0;
	if (!(ret->results = malloc(n * sizeof(*ret->results))))
		return -ENOMEM;
	for (; ret->nresults < n; ret->nresults++) {
		const uint32_t at = (since + (uint32_t)ret->nresults) & (sh->cq_entries - 1);
		memcpy(&ret->results[ret->nresults], queues + sh->cqes + (size_t)at * sh->cqe_size, sizeof(*ret->results));
	}
	return 0;
}

int ring_look(int pidfd, int fd, const struct ring_shape *sh, uint32_t most, uint32_t since, struct ring_seen *ret)
{
	*ret = (struct ring_seen){0};
	int copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (copy < 0)
		return -errno;
	const bool ring = is_ring(copy);
	const char *queues = ring ? map_whole(copy, QUEUES_AT, sh->queues) : NULL;
	const char *calls = queues && most ? map_whole(copy, CALLS_AT, sh->calls) : NULL;
	int rc = !ring ? -EBADF : !queues || (most && !calls) ? -EFAULT : 0;
	close(copy);
	if (rc == 0) {
		ret->sq_head = counter_at(queues, sh->sq_head);
		rc = most ? copy_calls(queues, calls, sh, most, ret) : 0;
	}
	if (rc == 0)
		rc = copy_results(queues, sh, since, ret);
	if (calls)
		munmap((void *)(uintptr_t)calls, sh->calls);
	if (queues)
		munmap((void *)(uintptr_t)queues, sh->queues);
	if (rc < 0)
		ring_seen_free(ret);
	return rc;
}

/* r is empty then. */
void ring_seen_free(struct ring_seen *r)
{
	free(r->calls);
	free(r->results);
	*r = (struct ring_seen){0};
}
