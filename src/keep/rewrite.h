/* rewrite.h - segments without some of their events, in the place of the old ones. */
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
/* Adds an edit: ev takes the place of event seq of the session; NULL: the event goes. 0, -ENOMEM. */
int edits_add(struct edits *e, uint64_t session, uint64_t seq, const struct event *ev);
/* The session goes whole, and its edits, from index `first` on, are not needed. */
void edits_whole(struct edits *e, size_t first, uint64_t session);
/* Before segments are rewritten by them. 0, -ENOMEM. */
int edits_ready(struct edits *e);
void edits_release(struct edits *e);

/* Of all segments that were written anew. */
struct rewritten {
	uint64_t segments;
	uint64_t before, size;   /* bytes that they had, and have */
	uint64_t damaged, newer; /* bytes that could not be read and are gone; frames of a newer stemma, which stay */
};
/* Writes the segments of l anew that the edits touch, and puts each in the old one's place; all are held first. A dry
 * run only counts. more (may be NULL) appends to the first of them, by fd, which it takes over. A segment that nothing
 * is left of is removed. 0, or -errno: the segment at hand is as it was, those before it are written. */
int rewrite_touched(struct keep_logs *l, const struct edits *e, bool dry_run,
                    int (*more)(void *arg, int fd, struct err *err), void *arg, struct err *err, struct rewritten *ret);

#endif
