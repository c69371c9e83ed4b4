/* watch_logs.h - waits until something is written to the logs of a record, by inotify. */
#ifndef STEMMA_CMD_WATCH_WATCH_LOGS_H
#define STEMMA_CMD_WATCH_WATCH_LOGS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* The folder and all folders in it are watched. Where that cannot be (too many folders, a file system that other hosts
 * write), `blind` is set, and waiting ends after LOGS_BLIND at the latest. Where the user has no instance of inotify
 * left, waiting ends after LOGS_UNNOTICED, and one is asked for again. */
struct watch_logs {
	int fd, signals; /* inotify, -1 while there is none to be had; SIGINT, SIGTERM and SIGHUP, which are blocked from
	                    then on */
	struct buf root;
	struct buf *folders; /* by the watch's number, "" none */
	size_t cap;
	bool blind;
};
#define LOGS_BLIND 10000    /* ms */
#define LOGS_UNNOTICED 1000 /* ms */

/* Begins to watch the folder of logs, and signals that end the command. 0 or -errno; close ret in any case. */
int watch_logs_open(const char *folder, struct watch_logs *ret);
void watch_logs_close(struct watch_logs *w);
/* Waits until something was written, or may have been: 1; 0 a signal says that it is to end; -errno. What is written
 * after it returned is met by the next call. */
int watch_logs_wait(struct watch_logs *w);
/* Waits so many ms, or until a signal: 1, 0 as above. */
int watch_logs_pause(struct watch_logs *w, int64_t ms);

#endif
