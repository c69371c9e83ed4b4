/* inputs.h - how many bytes a task was given, so far as the record or its command tells. */
#ifndef STEMMA_ARCHIVE_INPUTS_H
#define STEMMA_ARCHIVE_INPUTS_H

#include "store/store.h"

/* Sizes of versions, kept from run to run: most read the same libraries. */
struct input_cache;
struct input_cache *input_cache_new(const char *system_extra); /* NULL: no memory; keeps the pointer */
void input_cache_free(struct input_cache *c);

/* Of a recorded run: the sizes of the regular files that it read and did not make, but for those of the machine; each
 * version once. *ret_named: of those of them whose name stands in its arguments. Negative: nothing was recorded, or a
 * size is not known. 0 or -errno. */
int input_of_run(struct store *s, struct input_cache *c, store_id run, double *ret, double *ret_named);
/* The sizes, now, of the regular files that the words of a command name, behind its first; of OPTION=FILE, too. Files
 * that a run of the same command made are results, and do not count. *ret: bytes. 0 or more, -errno. */
int input_of_command(struct store *s, char *const *argv, double *ret);

#endif
