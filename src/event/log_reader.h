/* log_reader.h - read a segment, whatever state it is in.
 *
 * Never fails on content: damage is passed over and counted. Memory: the file is read in pieces; a frame's events stay
 * valid until the next call of log_reader_frame. */
#ifndef STEMMA_EVENT_LOG_READER_H
#define STEMMA_EVENT_LOG_READER_H

#include "base/err.h"
#include "event/event.h"
#include "event/log_format.h"

struct log_reader;

struct log_frame_info {
	uint64_t offset; /* of the frame in the file */
	uint64_t end;    /* offset just after it */
	uint64_t session;
	uint32_t number;
	uint32_t count;
	uint64_t seq;
	int64_t time;
	uint64_t sum; /* its checksum */
};

struct log_damage {
	uint64_t skipped;    /* bytes passed over before some later whole frame */
	uint64_t torn;       /* bytes at the end that are no whole frame */
	uint64_t newer;      /* frames of a newer format version */
	uint64_t bad_events; /* frames whose events could not all be decoded */
};

/* Opens a segment of the log for reading. 0; -errno with a sentence. */
int log_reader_open(const char *path, struct err *err, struct log_reader **ret);
/* Takes over fd when it succeeds. 0; -errno with a sentence. */
int log_reader_fdopen(int fd, struct err *err, struct log_reader **ret);
/* Bytes in memory, not copied (fuzzing). */
int log_reader_memopen(const void *p, size_t n, struct log_reader **ret);
/* The next whole frame must begin at or after offset. */
void log_reader_seek(struct log_reader *r, uint64_t offset);
/* Goes to the next whole frame. 1: there is one; 0: end; -errno: the file could not be read. */
int log_reader_frame(struct log_reader *r, struct log_frame_info *ret);
/* The same for who wants no events: they are not unpacked, and none can be read. */
int log_reader_skim(struct log_reader *r, struct log_frame_info *ret);
/* The header that begins at offset, if one could: 1, 0, -errno. No event of the current frame can be read after. */
int log_reader_header(struct log_reader *r, uint64_t offset, struct log_frame *ret);
/* The next event of the current frame, with writer and seq filled. 1, or 0 at its end. log_reader_close: NULL is none.
 * */
int log_reader_event(struct log_reader *r, struct event *ret);
const struct log_damage *log_reader_damage(const struct log_reader *r);
void log_reader_close(struct log_reader *r);

#endif
