/* access_ending.h - what is said of an access when it has ended (the event access_end): did it write, and until when.
 * One engine for all who see accesses, the supervisor of a run, its preloaded library and the tracer of a node; they
 * differ in what they see, and say that here. doc/graph.md says what is made of it. No state, no calls but what is
 * asked back. */
#ifndef STEMMA_EVENT_ACCESS_ENDING_H
#define STEMMA_EVENT_ACCESS_ENDING_H

#include <stdbool.h>
#include <stdint.h>

struct fs_domain;

/* A regular file as it was at one moment. Who has no ctime gives mtime in its place. Times in ns. */
struct access_print {
	bool known;
	uint64_t size;
	int64_t mtime, ctime;
};

enum access_bytes { ACCESS_BYTES_UNKNOWN, ACCESS_BYTES_NONE, ACCESS_BYTES_SOME };

/* What was seen of an access that could write. */
struct access_ending {
	enum access_bytes written;         /* NONE: and nothing else of its can have changed the file */
	unsigned via;                      /* term via */
	bool regular;                      /* of a regular file */
	bool made;                         /* it made the file, or emptied it */
	bool timed;                        /* its process has set the file's times meanwhile */
	bool mapped;                       /* the file was, or may have been, written by a mapping */
	bool appends;                      /* what it writes makes the file longer */
	bool fresh;                        /* the file was made when it began, and had nothing in it */
	bool unread;                       /* nobody who is seen can have read the file while it lasted */
	struct access_print before, after; /* as it began, as it has ended */
	/* What the clock of file times had shown when it began or before, INT64_MIN not known; by how much a file time may
	 * be behind that. */
	int64_t stamp, slack;
	/* Asked only where it decides, for an answer may cost a look at the processes: can nobody else have changed the
	 * file meanwhile; has its process written nothing at all by then? NULL: no. */
	bool (*is_alone)(void *arg);
	bool (*is_silent)(void *arg);
	void *arg;
};

/* Term evidence. */
unsigned access_ending_evidence(const struct access_ending *e);

/* Are the times of files there those of this machine's clock? NULL: that is not known, so no. */
bool access_ending_has_clock(const struct fs_domain *d);

/* The latest moment of the end, given that it was over at `until` (TIME_NEVER: it goes on) and that the clock of file
 * times had passed the time of the file's last change at `passed`, which shows when the last write was over; TIME_NONE
 * or TIME_NEVER: that does not show (another clock, a mapping). After start, where it is not `until`. */
int64_t access_ending_until(int64_t start, int64_t until, int64_t passed);

#endif
