/* rewrite.h - a segment without some of its events, in the place of the old one. */
#ifndef STEMMA_KEEP_REWRITE_H
#define STEMMA_KEEP_REWRITE_H

#include "keep/logs.h"

/* What is to happen to events: by session and seq. Events that are not in it stay. */
struct edit {
	uint64_t session, seq;
	size_t at, n; /* in bytes: the event to be written in its place; n 0: none */
};
struct edits {
	struct edit *v;
	size_t n, cap;
	VEC(uint64_t) wholes; /* sessions that go whole */
	struct buf bytes;
};
/* ev NULL: the event goes. 0, -ENOMEM. */
int edits_add(struct edits *e, uint64_t session, uint64_t seq, const struct event *ev);
/* The session goes whole, and its edits, from index `first` on, are not needed. */
void edits_whole(struct edits *e, size_t first, uint64_t session);
/* Before the following calls. 0, -ENOMEM. */
int edits_ready(struct edits *e);
bool edits_touch(const struct edits *e, const struct collect_frame *f);
void edits_release(struct edits *e);

struct rewritten {
	uint64_t size, damaged, newer;
};
/* Writes s anew and puts that in its place; s is held. more (may be NULL) appends to fd, which it takes over; a segment
 * that nothing is left of is removed. 0 or -errno, and the old one is still there. */
int rewrite_segment(const struct keep_segment *s, const struct edits *e,
                    int (*more)(void *arg, int fd, struct err *err), void *arg, struct err *err, struct rewritten *ret);

#endif
