/* log_server.h - a process that writes the log in the place of a worker that was killed. Internal to capture.
 *
 * The worker's events lie in memory that the keeper shares (event/log_writer.h). The keeper must not write them itself:
 * where the disk stands still a thread that writes cannot even be killed, and the keeper has calls to answer and a
 * status to return. So it forks a process that only writes. That ends when all has been said and written, or when the
 * keeper has died. */
#ifndef STEMMA_CAPTURE_LAUNCH_LOG_SERVER_H
#define STEMMA_CAPTURE_LAUNCH_LOG_SERVER_H

#include "capture/supervisor/worker.h"

/* Was the process killed? Its first thread is over then, even if another one hangs at a disk and cannot end. A child
 * that has not been waited for keeps its number; of any other process held is its pidfd, by which it is known that the
 * number was still its own (-1: there is none). */
bool log_server_killed(pid_t pid, int held);
/* Starts it, after log_writer_takeover: what the caller adds from then on is written, too. not_its: n
 * descriptors that it must not hold, -1 among them are none. Its process id, or -1: there is none, and log_server_await
 * writes. */
pid_t log_server_start(struct sup *s, struct control *control, const int *not_its, size_t n);
/* Waits for the thread that writes the log. All has been said; s->log is no longer there after it. Waits until it is
 * written, for two seconds at most. False: it is not yet, and will be when the disk goes on. control->log says what
 * became of it. not_its: as above, for another process that it starts. */
bool log_server_await(pid_t server, struct sup *s, struct control *control, const int *not_its, size_t n);

#endif
