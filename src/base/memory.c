#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

static atomic_uint lacks;

void memory_note_lack(void)
{
	atomic_fetch_add_explicit(&lacks, 1, memory_order_relaxed);
}

unsigned memory_lacks(void)
{
	return atomic_load_explicit(&lacks, memory_order_relaxed);
}

bool memory_lacked(void)
{
	return memory_lacks() > 0;
}

#define MEMORY_LARGE ((size_t)2 << 20) /* a large page, on the machines that stemma runs on */

void *memory_regrow(void *p, size_t n)
{
	char *v = realloc(p, n);
	if (v && n >= 2 * MEMORY_LARGE) {
		const size_t skip = -(uintptr_t)v % MEMORY_LARGE;
		madvise(v + skip, (n - skip) & ~(MEMORY_LARGE - 1), MADV_HUGEPAGE);
	}
	return v;
}
