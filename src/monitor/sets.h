/* sets.h - the most that processes alive together can have had, when of each only its own peak is known, and that only
 * at its end (the maximum sum of the peaks of all the sets of concurrent processes: resource monitoring paper, Table
 * 2).
 *
 * A member lives from a moment on; when it ends its heights are told. Between the beginnings of two members that live
 * on, only the largest sum of those that ended counts: that is all that is kept, so memory and time of an event go with
 * the members alive, not with those that there ever were. No threads. */
#ifndef STEMMA_MONITOR_SETS_H
#define STEMMA_MONITOR_SETS_H

#include <stddef.h>
#include <stdint.h>

enum set_height { SET_COUNT, SET_RESIDENT, SET_VIRTUAL, SET_SWAP, SET_THREADS, SET_HEIGHTS };

struct sets_member {
	uint64_t id;
	int64_t start;
	uint64_t ended[SET_HEIGHTS];  /* most of those that have ended, between its start and the next one's */
	uint64_t height[SET_HEIGHTS]; /* its own, up to now */
};

struct sets {
	struct sets_member *member; /* by start */
	size_t n, cap;
	uint64_t before[SET_HEIGHTS]; /* ... before the first one's start */
	int64_t last_end;
};

void sets_release(struct sets *s);
/* Notes that something is alive from a time on. 0 or -ENOMEM. A start in the past is fine: what ended since counts
 * as alive together with it. */
int sets_begin(struct sets *s, uint64_t id, int64_t start);
/* What it has had up to now; never less than before. */
void sets_raise(struct sets *s, uint64_t id, const uint64_t height[SET_HEIGHTS]);
void sets_end(struct sets *s, uint64_t id, int64_t end);
/* The largest sums up to now. */
void sets_peak(const struct sets *s, uint64_t ret[SET_HEIGHTS]);

#endif
