/* unasked.h - what can be known of a file without asking a FUSE daemon, which may never answer: whoever waits for an
 * answer that was already asked for cannot be killed, and a process does not end before all its threads do. A file
 * server is asked by a thread of its own (soon.h), which dies with the process.
 *
 * What is on top of FUSE without saying so (an overlay of which it is a layer) is asked all the same. Safe for threads.
 */
#ifndef STEMMA_BASE_OS_UNASKED_H
#define STEMMA_BASE_OS_UNASKED_H

#include "base/fileid.h"

#include <limits.h>

/* fileid_get of a path. -ETIMEDOUT after two seconds, or -EAGAIN (soon.h). Where the path is /proc/PID/fd/N or
 * /proc/PID/exe, local file systems cost no more than there, and FUSE is not asked (fileid_of_unasked); another path
 * must be one of unasked_real's. */
int unasked_get(const char *path, bool follow, struct fileid *ret);
/* realpath of an absolute path. -EREMOTE: it leads into FUSE. A file server on the way is asked. */
int unasked_real(const char *path, char ret[PATH_MAX]);

#endif
