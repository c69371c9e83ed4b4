/* keeping_specs.h - what `stemma cc` kept of a program's code (`spec/BUILD-ID.bc`, `.spec`) goes when the last build
 * goes that made the program. */
#ifndef STEMMA_CMD_KEEPING_KEEPING_SPECS_H
#define STEMMA_CMD_KEEPING_KEEPING_SPECS_H

#include "cmd/cmd.h"

struct keeping_specs {
	char **names; /* build-ids of which something is kept and the record has a build; owned */
	size_t n;
};
/* Before builds go. What no build of the record made is not touched: its build may be one that is not in the index yet.
 * 0, -errno. */
int keeping_specs_find(struct cmd *c, struct keeping_specs *ret);
/* After that, with a new index: removes those of which no build is left, and counts the files. 0, -errno. */
int keeping_specs_sweep(struct cmd *c, const struct keeping_specs *k, uint64_t *ret_removed);
void keeping_specs_release(struct keeping_specs *k);

#endif
