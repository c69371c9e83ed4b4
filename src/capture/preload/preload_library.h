/* preload_library.h - libraries of ours that are to be loaded into other programs: where they are, and how the command
 * gets one. */
#ifndef STEMMA_CAPTURE_PRELOAD_PRELOAD_LIBRARY_H
#define STEMMA_CAPTURE_PRELOAD_PRELOAD_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Where a library of ours is that programs open by its path: beside this program in the tree that it was built in
 * (`built`, a folder relative to its own), else where libraries are installed. False: not there. */
bool preload_library_find(const char *built, const char *name, char *ret, size_t n);
/* Where a library of ours for other programs is: beside this program in the tree that it was built in (`built`, a
 * folder relative to its own), else where it is installed. False: not there, or at a path that LD_PRELOAD cannot hold.
 */
bool preload_library_path(const char *built, const char *name, char *ret, size_t n);
/* Puts it first in this process's LD_PRELOAD, which is about to be the command's; false: the command cannot have it. */
bool preload_library_enter(const char *library, const char *command);

#endif
