/* rights.h - has a process the recorder's own rights? Memory is shared with no other. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_RIGHTS_H
#define STEMMA_CAPTURE_SUPERVISOR_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Has the process the same rights as this one? The same users, groups and capabilities, and the same user, pid,
 * mount and network namespaces. False also where that cannot be told. Reads two files and eight links of /proc: 20
 * us. */
bool rights_are_ours(pid_t pid);

#endif
