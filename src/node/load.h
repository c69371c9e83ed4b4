/* load.h - overload control: which step of granularity the node can afford (LPS IV.B.1 and its future work).
 *
 * Pure: rates in, a step out. Over a limit for LOAD_UP seconds in a row: one step down; below half of every limit for
 * LOAD_DOWN seconds: one step up. So a burst changes nothing, and a load at the limit does not make it swing. */
#ifndef STEMMA_NODE_LOAD_H
#define STEMMA_NODE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum load_step { LOAD_ACCESS, LOAD_OPEN, LOAD_PROCESSES }; /* from the finest to the coarsest */

enum { LOAD_UP = 3, LOAD_DOWN = 30 };

/* 0: no limit. A second. */
struct load_rates {
	double events; /* of processes and files */
	double calls;  /* reads and writes seen by `access` */
	double cpu;    /* of one core, 0 to 1 */
	double memory; /* bytes, now */
};

struct load {
	struct load_rates limit;
	enum load_step step;
	unsigned over, quiet; /* seconds */
};

/* Once a second. True where the step was changed; ret_why: what was over its limit, a word, or what it is quiet after.
 */
bool load_tick(struct load *l, const struct load_rates *now, const char **ret_why);
const char *load_step_name(enum load_step step);

#endif
