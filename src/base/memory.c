#include "base/memory.h"

#include <stdatomic.h>

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
