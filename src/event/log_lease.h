/* log_lease.h - the lowest free slot of a log directory, held by a flock on a local lock file.
 *
 * The lease lives as long as one process holds the descriptor or a copy of it (fork); it needs no clean-up after a
 * SIGKILL. Two writers on one slot (different $XDG_RUNTIME_DIR of one user) would be harmless: frames are appended by
 * one write each.
 *
 * The lock files lie in the first of these places that is a folder of this user's alone, on a local disk (own_dir.h):
 * $XDG_RUNTIME_DIR/stemma, /var/tmp/stemma-UID/locks, /tmp/stemma-UID/locks. Somebody else's folder or link of that
 * name is passed by, and a second one of our own made beside it. */
#ifndef STEMMA_EVENT_LOG_LEASE_H
#define STEMMA_EVENT_LOG_LEASE_H

#include "base/err.h"

/* In how many places a writer may have its lock files. */
#define LOG_LEASE_PLACES 7

/* Leases a number of a segment of the log, which no other writer has then. home: the store's real path; host and
 * day: names of directories below it. Closing *ret_fd ends the lease. 0; -errno with a sentence. */
int log_lease_take(const char *home, const char *host, const char *day, struct err *err, int *ret_fd,
                   unsigned *ret_slot);

/* Leases one certain slot. Waits up to so many ms. 0; -EWOULDBLOCK: somebody has it; -errno. */
int log_lease_slot(const char *home, const char *host, const char *day, unsigned slot, unsigned wait_ms, int *ret_fd);
/* Takes the lease of a segment in every place where a writer may keep its lock files, whatever its environment said:
 * for those who put another file in the segment's place. ret_fd: one descriptor for each place, -1 none; closing
 * them ends the leases. 0; -errno. */
int log_lease_hold(const char *home, const char *host, const char *day, unsigned slot, unsigned wait_ms,
                   int ret_fd[LOG_LEASE_PLACES]);
/* Does somebody hold the slot now? Looks where log_lease_hold does, makes no file, and disturbs nobody but one who
 * takes a lease in this moment: that one gets the next slot. 1, 0, -errno: that cannot be told. */
int log_lease_is_held(const char *home, const char *host, const char *day, unsigned slot);

#endif
