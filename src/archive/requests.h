/* requests.h - an advice in the words of those who are to give what it asks for. Amounts are rounded up to the unit of
 * the receiver; what an advice does not know is left out. */
#ifndef STEMMA_ARCHIVE_REQUESTS_H
#define STEMMA_ARCHIVE_REQUESTS_H

#include "archive/advise.h"

enum request {
#define REQUEST(name, meaning) REQUEST_##name,
#include "archive/requests.def"
	REQUESTS
};
/* The one of that name, or -1. */
int request_by_name(const char *name);

/* What is asked for, in whole units; 0: not known. */
struct amounts {
	uint64_t memory, disk; /* bytes, whole MiB */
	uint64_t wall;         /* s, whole minutes: what starts it takes some of it, and schedulers look no oftener */
	uint64_t cores;
};
/* The amounts to request, in units that schedulers take. cores: a tenth above a whole number is that number: clocks
 * are read at slightly different moments. */
struct amounts advice_amounts(const struct advice *a);
/* Appends lines. 0 or -ENOMEM. */
int request_write(enum request r, const struct advice *a, struct buf *ret);

#endif
