/* confine.h - how a process gives up what its work does not need: files by Landlock, system calls by seccomp.
 *
 * Both hold until the process ends, and for what it starts. The process must have given up new privileges before
 * (service_drop). One thread. */
#ifndef STEMMA_DAEMON_CONFINE_H
#define STEMMA_DAEMON_CONFINE_H

#include "base/err.h"

/* Confines this process to files below some folders, by Landlock. NULL-terminated folders. Below `read` files are
 * read; below `write` they are made, changed and removed, too. No other file can be opened. 0; -ENOSYS where the
 * kernel has no Landlock: then nothing has changed; -errno with a sentence. */
int confine_files(const char *const *read, const char *const *write, struct err *err);
/* Allows the system calls of confine.def alone; the others fail with EPERM. 0; -ENOSYS for a processor whose calls are
 * not known here; -errno with a sentence. */
int confine_calls(struct err *err);

#endif
