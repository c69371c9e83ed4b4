/* place.h - where what is imported goes: a file that is written under a temporary name and then appears whole. */
#ifndef STEMMA_IMPORT_PLACE_H
#define STEMMA_IMPORT_PLACE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct place {
	int fd;
	char *path, *temporary;
};

/* Begins logs/<host>/import/<name>.stl of the record at home. 1; 0 if it is there already; -errno with a sentence. host
 * is of foreign origin: what a file name cannot hold is replaced. */
int place_open(const char *home, struct str host, uint64_t name, struct err *err, struct place *ret);
int place_write(struct place *p, const void *bytes, size_t n, struct err *err); /* 0, -errno with a sentence */
/* Makes its bytes durable and closes it: no place_write after it; -errno with a sentence. Then place_show, which gives
 * it its name, durably, or place_drop. */
int place_sync(struct place *p, struct err *err);
/* Gives the new file its name. -errno, reported: it has no name then, and place_drop is still due. */
int place_show(struct place *p, struct err *err);
/* Takes back what was not shown; frees. */
void place_drop(struct place *p);

#endif
