#include "event/log_queue.h"

#include <string.h>
#include <sys/mman.h>

#define SKIP UINT32_MAX /* in place of a length: the next frame is at the ring's begin */

/* A frame with its length before it, in whole words: so there is always room for a SKIP before the ring's end. */
static uint64_t framed_size(size_t n)
{
	return (sizeof(uint32_t) + n + 7) / 8 * 8;
}

bool log_queue_put(struct log_queue *q, uint64_t *head, const void *p, size_t n)
{
	uint64_t taken = atomic_load_explicit(&q->taken, memory_order_acquire), need = framed_size(n);
	uint64_t at = *head % LOG_QUEUE, skip = 0;
	const uint32_t length = (uint32_t)n, elsewhere = SKIP;
	/* From its begin on again, to take no more memory than it needs. What is skipped counts as taken up until the next
	 * frame is asked for: so not where that would leave little room. */
	if (LOG_QUEUE - at < need || (*head == taken && at >= LOG_QUEUE_KEEP && need <= at))
		skip = LOG_QUEUE - at;
	if (*head + skip + need - taken > LOG_QUEUE)
		return false;
	if (skip) {
		/* Nobody reads there: it is empty. */
		if (*head == taken && at > 2 * LOG_QUEUE_KEEP)
			madvise(q->at + LOG_QUEUE_KEEP, LOG_QUEUE - LOG_QUEUE_KEEP, MADV_REMOVE);
		memcpy(q->at + at, &elsewhere, sizeof(elsewhere));
		*head += skip;
		at = 0;
	}
	memcpy(q->at + at, &length, sizeof(length));
	memcpy(q->at + at + sizeof(length), p, n);
	*head += need;
	return true;
}

/* The reader can take all up to head from now on. */
void log_queue_show(struct log_queue *q, uint64_t head)
{
	atomic_store_explicit(&q->filled, head, memory_order_release);
}

const void *log_queue_next(struct log_queue *q, size_t *ret_n)
{
	uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);
	uint32_t length;
	if (taken == atomic_load_explicit(&q->filled, memory_order_acquire))
		return NULL;
	memcpy(&length, q->at + taken % LOG_QUEUE, sizeof(length));
	if (length == SKIP) {
		taken += LOG_QUEUE - taken % LOG_QUEUE;
		atomic_store_explicit(&q->taken, taken, memory_order_release);
		memcpy(&length, q->at, sizeof(length));
	}
	*ret_n = length;
	return q->at + taken % LOG_QUEUE + sizeof(length);
}

/* What log_queue_next gave is void then. Nothing if it is empty. */
void log_queue_drop(struct log_queue *q)
{
	size_t n;
	if (log_queue_next(q, &n))
		atomic_fetch_add_explicit(&q->taken, framed_size(n), memory_order_release);
}

size_t log_queue_waiting(const struct log_queue *q)
{
	uint64_t taken = atomic_load_explicit(&q->taken, memory_order_acquire);
	return (size_t)(atomic_load_explicit(&q->filled, memory_order_acquire) - taken);
}
