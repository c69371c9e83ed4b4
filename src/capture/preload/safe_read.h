/* safe_read.h - the worker's side of the region that libstemma-safe.so writes to (capture/preload/safe_format.h).
 *
 * What lies there is whatever the job's processes put there: each event is copied out first and then checked, nothing
 * is believed, no length or index of theirs is used unchecked. Memory: 2 bytes a chunk, and what was gathered and not
 * yet taken, at most READ_MAX events. One thread. */
#ifndef STEMMA_CAPTURE_PRELOAD_SAFE_READ_H
#define STEMMA_CAPTURE_PRELOAD_SAFE_READ_H

#include "base/str.h"
#include "capture/preload/safe_format.h"

#include <stdbool.h>
#include <stddef.h>

struct safe_reader;

/* An event, checked. It lives until the next safe_reader_gather. */
struct safe_seen {
	struct safe_event e;
	struct safe_stat stat[2]; /* flags SAFE_HAS_NOT where there is none */
	const void *more;         /* what the kind has, as long as it must be; else NULL */
	struct str str[2];
};

/* Reads a region of `size` bytes at `map`. NULL: no memory, or it is none. */
struct safe_reader *safe_reader_new(void *map, size_t size);
void safe_reader_free(struct safe_reader *r);
/* Copies out what has come. Times that are not between `since` and what `clock` says when they are read (ns of the
 * region's clock) are put there. Returns the number of events that wait. */
size_t safe_reader_gather(struct safe_reader *r, int64_t since, int64_t (*clock)(void));
/* The next event, in order of time, that is not later than `until`. False: there is none. */
bool safe_reader_next(struct safe_reader *r, int64_t until, struct safe_seen *ret);
/* A program has ended, or was replaced: its counters, one call each; then its chunks are given back. Returns how often
 * it was killed in the middle of writing something down. */
unsigned safe_reader_end(struct safe_reader *r, uint32_t pid, uint32_t image,
                         void (*see)(const struct safe_handle *h, void *arg), void *arg);
/* Chunks whose owners did not live any more at two sweeps, as `alive` tells. */
void safe_reader_sweep(struct safe_reader *r, bool (*alive)(uint32_t pid, uint32_t image, void *arg), void *arg);
/* A page of the region that cannot be read any more (SIGBUS: memory that has failed, a file that was cut) is empty from
 * then on, and counts as one event that was lost. Sets the handler of SIGBUS; for one reader of a process. */
void safe_reader_protect(struct safe_reader *r);
/* Events that found no room, and those that were no events, since the last time. */
uint64_t safe_reader_lost(struct safe_reader *r);
/* Chunks in use. */
unsigned safe_reader_used(const struct safe_reader *r);

#endif
