/* idmap.h - 64-bit keys to 32-bit values, open addressing; made for graph walks (insert and look up, never delete).
 *
 * init: zero it. Keys may be anything but 0. About 20 ns an operation while it fits the cache. */
#ifndef STEMMA_QUERY_IDMAP_H
#define STEMMA_QUERY_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap_slot {
	uint64_t key;
	uint32_t value;
};

struct idmap {
	struct idmap_slot *slots;
	size_t n, cap; /* cap is a power of two, or 0 */
	unsigned near; /* 0: the keys are hashes, or of several kinds; else one of enum idmap_near, set before the first */
};

/* Keys of one kind: how many of their low bits number the executions of a process, the versions of a file. Who goes
 * through a large run meets rows that follow one another; they are then beside each other in the table, too. */
enum idmap_near { IDMAP_FILES = 1, IDMAP_EXECS = 20, IDMAP_VERSIONS = 24 };

/* Where key's value is, or NULL. Valid until the next idmap_add. */
uint32_t *idmap_find(const struct idmap *m, uint64_t key);
/* Like idmap_find, but gives an absent key `value` first and sets *ret_new. NULL when out of memory. */
uint32_t *idmap_add(struct idmap *m, uint64_t key, uint32_t value, bool *ret_new);
void idmap_release(struct idmap *m);

#endif
