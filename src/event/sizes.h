/* sizes.h - the classes by which calls that move bytes are counted by size: Darshan's, so that the two can be laid side
 * by side. The last has no upper end. */
#ifndef STEMMA_EVENT_SIZES_H
#define STEMMA_EVENT_SIZES_H

#include <stdint.h>

#define SIZE_CLASSES 10

/* The class of a call of n bytes: its number. */
static inline unsigned size_class(uint64_t n)
{
	static const uint64_t up_to[SIZE_CLASSES - 1] = {100,     1000,     10000,     100000,    1000000,
	                                                 4000000, 10000000, 100000000, 1000000000};
	unsigned i = 0;
	while (i < SIZE_CLASSES - 1 && n > up_to[i])
		i++;
	return i;
}

#endif
