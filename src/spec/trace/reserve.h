/* reserve.h - arrays that grow. */
#ifndef STEMMA_SPEC_TRACE_RESERVE_H
#define STEMMA_SPEC_TRACE_RESERVE_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* Makes place for one more behind n of `size` bytes each; at: the array's pointer. At most 2^28 of them. 0, -ENOMEM. */
static inline int reserve_one_more(void *at, uint32_t *cap, uint32_t n, size_t size)
{
	void **p = at;
	if (n < *cap)
		return 0;
	uint32_t more = *cap ? 2 * *cap : 256;
	void *q = more > 1u << 28 ? NULL : realloc(*p, more * size);
	if (!q)
		return -ENOMEM;
	*p = q;
	*cap = more;
	return 0;
}

#endif
