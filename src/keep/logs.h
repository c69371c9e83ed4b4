/* logs.h - all segments of a record, for those who change them: found, read through, and held so that nobody appends.
 * Private to keep; cut.h opens and closes them.
 *
 * Memory: 40 bytes a frame. */
#ifndef STEMMA_KEEP_LOGS_H
#define STEMMA_KEEP_LOGS_H

#include "base/err.h"
#include "event/log_lease.h"
#include "graph/collect.h"
#include "keep/cut.h"

struct keep_segment {
	char *path;       /* whole */
	char *host, *day; /* of a slot that writers lease; NULL: nobody writes there (an import) */
	unsigned slot;
	uint64_t size, inode;
	int lease[LOG_LEASE_PLACES]; /* the first -1: none */
};
/* A session's frames: collect.frames.v[first .. first + n), by seq, the longer of two that begin alike first. */
struct keep_session {
	uint64_t number;
	size_t first, n;
	uint32_t segment; /* of its first frame, and where it is */
	uint64_t offset;
	uint64_t bytes; /* of its frames */
};
struct keep_logs {
	char *home; /* real path */
	struct collect w;
	VEC(struct keep_segment) segments; /* as collect.segments */
	VEC(struct keep_session) sessions; /* as they lie in the segments */
	struct log_reader *reader;         /* of segment open_at */
	uint32_t open_at;
	int lock;
	unsigned wait_ms;
	bool shared; /* other machines may write there, too */
};

/* Calls say for each event of a session, each once, in order; stops at what is not 0. What say returned last; -errno,
 * reported, where a frame cannot be read. */
int keep_logs_events(struct keep_logs *l, const struct keep_session *s, struct err *err,
                     int (*say)(void *arg, const struct event *ev), void *arg);
/* Holds a segment's slot. -EBUSY: somebody writes to it, or another machine may; or it is not what was read. */
int keep_logs_hold(struct keep_logs *l, struct keep_segment *s, struct err *err);

#endif
