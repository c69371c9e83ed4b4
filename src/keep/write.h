/* write.h - sessions that record no run: what people add to the record. They lie in the logs as a run's do, in a slot
 * of this host and day. */
#ifndef STEMMA_KEEP_WRITE_H
#define STEMMA_KEEP_WRITE_H

#include "event/log_writer.h"

/* Who we are; the number where it has no name. Valid until the next call. */
const char *keep_user(void);
/* This host's name as log directories have it. */
void keep_host(char *ret, size_t size);
int64_t keep_now(void);

/* A new session in the logs of home, with its first event. keep_end closes it in good order. Its files are the caller's
 * alone (mode 0600). -errno, reported. */
int keep_begin(const char *home, struct err *err, struct log_writer **ret);
/* Begins a session of notes in an open file, which is taken over, as keep_begin does in the record; it is flushed by
 * keep_end. 0, -errno with a sentence. */
int keep_begin_at(int fd, struct err *err, struct log_writer **ret);
int keep_end(struct log_writer *w, struct err *err);
/* Ends a session of notes as keep_end does, when the disk has it: for what is there to last. 0, -errno with a
 * sentence. */
int keep_end_durable(struct log_writer *w, struct err *err);

struct keep_note {
	struct str run;          /* ULID; or: */
	struct str domain, path; /* of the file; the path only if it is absent */
	uint64_t kind, ino, gen;
	struct str version; /* public id, or empty */
	struct str text;
};
/* A note at a run, or else at the file that n names, in a session of its own; durable. -errno, reported. */
int keep_note(const char *home, const struct keep_note *n, struct err *err);

#endif
