/* far.h - what must be asked of a file system that may keep us waiting, by whoever has the lock. Internal to capture.
 *
 * What a stopped call names is looked at outside of the lock, for as long as that takes (sup_leave). What remains is
 * about what calls did before: has a name come, has a file changed. Of local file systems that is asked as ever. Of one
 * that another process or host serves, another thread asks; it is waited for FAR_NS at most, and not at all while the
 * same file system still owes an answer. Without one the caller says what it does not know. Safe for threads. */
#ifndef STEMMA_CAPTURE_RUN_FAR_H
#define STEMMA_CAPTURE_RUN_FAR_H

#include "base/fileid.h"

#define FAR_NS 20000000
#define FAR_THREADS 16 /* file systems that owe an answer; more are not asked */

/* statx with FILEID_STATX, of device dev. 0 or -errno; -EAGAIN: it has not answered. */
int far_statx(uint64_t dev, int dirfd, const char *path, int flags, struct statx *st);
/* Looks at the file of a descriptor, by its entry in a folder of /proc, or by itself ("" with AT_EMPTY_PATH in
 * flags); what the kernel remembers of it if its file system does not answer. 0, -errno. */
int far_descriptor(int dirfd, const char *name, int flags, struct statx *st);
/* Waits until no file system owes an answer any more, a second at most. */
void far_wait_all(void);

#endif
