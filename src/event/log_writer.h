/* log_writer.h - append events to a segment.
 *
 * One writer per session, one thread at a time. Events gather in a buffer that lies in memory shared with child and
 * parent processes (MAP_SHARED, made at open), so that a keeper process can flush what a killed writer had gathered; a
 * frame is written when 4 KiB have gathered, and on log_writer_flush. What the caller gave before a SIGKILL of this
 * process is therefore lost only if nobody else holds the writer.
 *
 * Names of files, notes, gaps and other texts are written without the secrets in them (clean.def); command lines and
 * variables are redacted by who makes the event.
 *
 * After log_writer_behind neither add nor flush touches the file: frames go into a queue in the shared memory
 * (log_queue.h), and a thread that the first flush of a process starts writes them. It is woken by flush, and by add
 * when 64 KiB wait: not once an event, and not once a frame. A killed writer's queue is written by whoever takes over.
 * While the disk writes, however slowly, add waits for room in a full queue for 50 ms at most; when it does not write
 * at all add waits for 50 ms once. Then events gather as after a failed write (below), and those that find no room are
 * lost and counted. Where no thread can be started flush and add write themselves.
 *
 * Budget: log_writer_add costs an encode and a copy (about 50 ns, an event with the name of a file 100 more), one write
 * and one XXH3 per 4 KiB. A failed write (ENOSPC, EIO) is remembered: events go on gathering, up to 1 MiB, and writing
 * is tried again at the next flush and now and then by add. Events that find no room any more are lost and counted, and
 * the next thing kept after writing works again is a gap event (lost, count). The caller never fails. A process with a
 * file size limit ignores SIGXFSZ, which would kill it in a write. */
#ifndef STEMMA_EVENT_LOG_WRITER_H
#define STEMMA_EVENT_LOG_WRITER_H

#include "base/err.h"
#include "event/event.h"

struct log_writer;

/* Bytes after which a slot's next segment is begun: LOG_SEGMENT_MAX; tests lower it. */
extern uint64_t log_writer_segment_max;

/* When what was written is made to stay after a power loss. Never: the kernel does it within about half a minute. End:
 * when the session is closed. Frame: after each frame, at the cost of a write to the disk. */
enum log_sync { LOG_SYNC_NEVER, LOG_SYNC_END, LOG_SYNC_FRAME };
/* Of all writers of this process that have a directory; LOG_SYNC_NEVER unless it is set before they are opened. */
extern enum log_sync log_writer_sync_when;

/* Leases a slot in <home>/logs/<host>/<day>/ and opens its segment (creating directories 0700 and files 0600 where
 * missing). `day` is the directory's name (a UTC day or a job id; no slash). home is where the store's logs are; lock
 * files go to local disk. Draws a random session number. O_CLOEXEC all.
 * Errors: -EACCES, -EROFS, -ENOSPC, ... with a sentence. */
int log_writer_open(const char *home, const char *host, const char *day, struct err *err, struct log_writer **ret);
/* A writer on an open file, without a lease (tests, export). Takes over fd. session 0: draw one. */
int log_writer_fdopen(int fd, uint64_t session, struct err *err, struct log_writer **ret);

uint64_t log_writer_session(const struct log_writer *w);
/* Appends ev; its seq is set by the writer and returned (0 if the event could not be kept: no room, or larger than
 * LOG_PAYLOAD_MAX). ev->writer and ev->seq are ignored. */
uint64_t log_writer_add(struct log_writer *w, const struct event *ev);
/* Bytes of the segment that were written; a new segment begins anew. Not while a thread writes behind. */
uint64_t log_writer_size(const struct log_writer *w);
/* Bytes gathered and not yet written. */
size_t log_writer_pending(const struct log_writer *w);
/* Writes a frame with what has gathered. 0, or -errno if it could not be written now (it is kept). Behind: puts it in
 * the queue and has that written; the error is that of the last write that was tried. */
int log_writer_flush(struct log_writer *w);
/* Flushes, and waits until the disk has it, with the names of the directories. 0, -errno. */
int log_writer_sync(struct log_writer *w);
/* Makes a frame of what has gathered. Behind: puts what has gathered in the queue, and leaves the writing to others.
 * Else as log_writer_flush. */
int log_writer_seal(struct log_writer *w);
/* From now on, in this process and in those that it forks, other threads do the writing. */
void log_writer_behind(struct log_writer *w);
/* Behind: whether this process, and those that it forks, start no thread that writes. Frames are taken from the queue
 * by one process at a time: with two, a frame could be dropped that neither has written. Not after a flush. */
void log_writer_quiet(struct log_writer *w, bool quiet);
/* Behind: writes what is in the queue, unless a thread of this process is at that. By any thread; waits for the disk.
 */
void log_writer_write(struct log_writer *w);
/* Waits until the writing thread has ended, and writes what is in the queue. 0, or -errno: frames are left there. The
 * next flush may start a thread again. */
int log_writer_settle(struct log_writer *w);
/* Bytes that are not in the segment yet: gathered, or in the queue. */
size_t log_writer_waiting(const struct log_writer *w);
/* Called in another process that inherited w (fork) after the writing process has died: makes what had gathered
 * consistent (whole events only) and lets this process go on as the session's writer. Behind: without touching the
 * disk, 0; the next flush does. */
int log_writer_takeover(struct log_writer *w);
/* The time of the latest event that was kept; 0: there was none. */
int64_t log_writer_last(const struct log_writer *w);
/* Events lost so far to failed writes. */
uint64_t log_writer_lost(const struct log_writer *w);
/* The segment's path, for messages. Not while a thread writes behind: it may be about to change. */
const char *log_writer_path(const struct log_writer *w);
/* The folder it lies in; "" none is known. */
const char *log_writer_folder(const struct log_writer *w);
/* What became of a session's record. */
struct log_outcome {
	int error;     /* errno of the last write, 0: all was written */
	bool nothing;  /* not one frame was */
	uint64_t lost; /* events */
	enum { LOG_REMOVED_NOT, LOG_REMOVED_ANEW, LOG_REMOVED_ELSEWHERE, LOG_REMOVED_LOST } removed; /* log_rescue.h */
	char *place; /* removed: where the session's events are now. The writer's */
};
/* The last write: what there is room for, from the first event on; behind it the gap event that counts the others; and
 * what tells how the run and the session ended. Room for these two is kept on the disk (log_reserve.h). A segment that
 * was removed meanwhile is copied. Nothing may be added any more. 0 or -errno, as in *ret. */
int log_writer_end(struct log_writer *w, struct log_outcome *ret);
/* log_writer_end if that has not been; ends this process's hold of the lease, frees. NULL is fine. A process that only
 * inherited w calls it, without takeover, when the writer has closed in good order: there is nothing left to flush
 * then. 0, or -errno if not all could be written. */
int log_writer_close(struct log_writer *w);

#endif
