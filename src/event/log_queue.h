/* log_queue.h - frames in memory that wait to be written to a segment. Internal to event.
 *
 * A ring in memory that several processes share (MAP_SHARED). One thread puts frames in, one thread takes them out; the
 * two may be in different processes, and either may be killed at any instruction. A frame is in the queue as soon as
 * its putter has published the new head (log_writer.c does that together with its own state), and until it has been
 * taken. Who takes a frame writes it first: killed between the two it leaves a frame that is written twice, which
 * readers pass over.
 *
 * LOG_QUEUE bytes is the most it holds: about 3 million events. Pages that were never reached cost nothing; an empty
 * queue that has reached LOG_QUEUE_KEEP begins at its first page again, so that it takes as much memory as the longest
 * wait needed. No system call, but one that gives memory back after more had waited. */
#ifndef STEMMA_EVENT_LOG_QUEUE_H
#define STEMMA_EVENT_LOG_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_QUEUE (16u << 20)
#define LOG_QUEUE_KEEP (256u << 10)

struct log_queue {
	_Atomic uint64_t filled; /* bytes ever put in, up to the last whole frame */
	_Atomic uint64_t taken;  /* bytes ever taken out */
	_Alignas(4096) unsigned char at[LOG_QUEUE];
};

/* Puts a frame of n bytes behind *head, and moves *head behind it. False: there is no room. The frame can be taken
 * after log_queue_show. */
bool log_queue_put(struct log_queue *q, uint64_t *head, const void *p, size_t n);
void log_queue_show(struct log_queue *q, uint64_t head);
/* The oldest frame, in the queue; NULL: it is empty. It stays until log_queue_drop. */
const void *log_queue_next(struct log_queue *q, size_t *ret_n);
void log_queue_drop(struct log_queue *q);
/* Bytes that wait. */
size_t log_queue_waiting(const struct log_queue *q);

#endif
