/* log_lease.h - the lowest free slot of a log directory, held by a flock on a local lock file.
 *
 * The lease lives as long as one process holds the descriptor or a copy of it (fork); it needs no clean-up after a
 * SIGKILL. Two writers on one slot (different $XDG_RUNTIME_DIR of one user) would be harmless: frames are appended by
 * one write each. */
#ifndef STEMMA_EVENT_LOG_LEASE_H
#define STEMMA_EVENT_LOG_LEASE_H

#include "base/err.h"

/* home: the store's real path; host and day: names of directories below it. Closing *ret_fd ends the lease. */
int log_lease_take(const char *home, const char *host, const char *day, struct err *err, int *ret_fd,
                   unsigned *ret_slot);

#endif
