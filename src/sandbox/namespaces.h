/* namespaces.h - namespaces of its own for a process that is to be confined, and what it may change in their mounts.
 *
 * For a child that will exec: what is done here cannot be undone. All return 0 or -errno. */
#ifndef STEMMA_SANDBOX_NAMESPACES_H
#define STEMMA_SANDBOX_NAMESPACES_H

#include <stdbool.h>

/* Enters new namespaces: CLONE_NEW... that are needed, CLONE_NEWNS among them, and those that are wished for, which it
 * does without where the kernel has not all of them. Who is not root, or may not, gets a user namespace, too, in which
 * user and group are the same as outside. Nothing that is mounted in there is seen outside. -errno: some may have been
 * entered. */
int namespaces_enter(int needed, int wished);
/* Lets the mount at path, `below` all mounts below it too, be read-only or not. Linux 5.12. */
int namespaces_set_readonly(const char *path, bool on, bool below);

#endif
