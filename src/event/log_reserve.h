/* log_reserve.h - room on the disk behind the end of a segment, kept for what is said last. Internal to event.
 *
 * LOG_RESERVE bytes behind the segment's end are allocated before anything is written (fallocate without a change of
 * length, so no reader sees them). An ordinary frame is written only while so many stay free behind it; what tells of a
 * loss, and of the run's end, may use them. A file system that cannot allocate so has no reserve, and nothing else
 * changes.
 *
 * Cost: one fallocate for each LOG_AHEAD bytes written, and one when a segment is opened. */
#ifndef STEMMA_EVENT_LOG_RESERVE_H
#define STEMMA_EVENT_LOG_RESERVE_H

#include <stddef.h>
#include <stdint.h>

#define LOG_RESERVE 4096
#define LOG_AHEAD (32 * 1024)

struct log_reserve {
	uint64_t until; /* allocated up to here; UINT64_MAX: this file system allocates nothing ahead */
};

/* May n bytes be written at the end, which is at size, with the reserve left free behind them? 0; -ENOSPC, -EDQUOT, ...
 */
int log_reserve_keep(struct log_reserve *r, int fd, uint64_t size, size_t n);

#endif
