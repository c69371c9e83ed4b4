/* private.h - folders in memory that a run's programs find by name: made for one run, taken away with it, and, where
 * all of its recorder was killed, by a later run of the same user. */
#ifndef STEMMA_CAPTURE_APP_PRIVATE_H
#define STEMMA_CAPTURE_APP_PRIVATE_H

#include <sys/types.h>

#define PRIVATE_PATH 200

/* Makes TOP/PREFIX-UID-RANDOM, the first of /dev/shm, /tmp and /var/tmp in which `then` (may be NULL) returns 0, with
 * that mode. *ret_lock: a descriptor of it, locked: whoever has a copy keeps the folder from being taken for left over.
 * 0 or -errno. private_remove: removes it with all that this user has in it; quietly. */
int private_make(const char *prefix, mode_t mode, int (*then)(void *arg, const char *path), void *arg,
                 char ret[PRIVATE_PATH], int *ret_lock);
void private_remove(const char *path);

#endif
