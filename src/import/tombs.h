/* tombs.h - whom the tombstones of other machines' logs may forget.
 *
 * Nobody's log changes the record of another (logs.h): a tombstone that is imported forgets what was imported of the
 * same host, and never what this record's own runs wrote. Hosts are what logs say of themselves. */
#ifndef STEMMA_IMPORT_TOMBS_H
#define STEMMA_IMPORT_TOMBS_H

#include "event/log_reader.h"
#include "graph/intern.h"

#include <stdbool.h>

/* A tombstone of the sources. */
struct tomb {
	uint64_t dead; /* the session that it forgets */
	uint32_t next; /* of the same frame; VEC_NONE: the last */
};
/* A session that one of them forgets, as the record has it. */
struct tomb_dead {
	uint64_t session;
	uint32_t host; /* that it was imported from; VEC_NONE: not known */
	bool own;      /* this record's own runs wrote it */
	bool here;
};
struct tombs {
	VEC(struct tomb) all;
	VEC(struct tomb_dead) dead;
	struct map numbers; /* session -> its place in dead */
	struct interner hosts;
};

/* An event of a source. *first: the first tombstone of its frame, VEC_NONE before there is one. 0, -ENOMEM. */
int tombs_take(struct tombs *t, const struct event *ev, uint32_t *first);
/* A frame of the record, in the segment of that path; its first event is read where that says the host. 0, -ENOMEM. */
int tombs_meet(struct tombs *t, const char *path, struct log_reader *r, const struct log_frame_info *f);
/* May a frame with these tombstones, of a session of that host, be taken? All of the record's frames were met. */
bool tombs_may(const struct tombs *t, uint32_t first, struct str host);
void tombs_release(struct tombs *t);

#endif
