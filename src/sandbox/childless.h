/* childless.h - a program that can start no other program.
 *
 * git reads the configuration of the repository it works in, and that can name programs: core.fsmonitor, filters,
 * gpg.program, a remote's command. Whoever made the repository (an archive that was unpacked, a shared folder) would
 * run them as the user. The kernel forbids it here, whatever git's version knows of: a system call filter lets the
 * program make threads, but no processes. */
#ifndef STEMMA_SANDBOX_CHILDLESS_H
#define STEMMA_SANDBOX_CHILDLESS_H

#include <stdint.h>

/* In a child that will exec: from now on it can make no process. It has no_new_privs afterwards. Calls only system
 * calls, so a child of vfork may use it. 0 or -errno: then the program must not be run. */
int childless_enter(void);
/* In the same child: the most bytes of a file that it may write (0: as many as before), and 4 GiB of memory of its own,
 * without a core. An object in the repository may say that it is of any size. */
void childless_bound(uint64_t file);

#endif
