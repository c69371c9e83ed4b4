#include "base/memory.h"

#include <stdatomic.h>

static atomic_uint lacks;

/* Counts that memory lacked somewhere. Any thread may call it. */
void memory_note_lack(void)
{
	atomic_fetch_add_explicit(&lacks, 1, memory_order_relaxed);
}

unsigned memory_lacks(void)
{
	return atomic_load_explicit(&lacks, memory_order_relaxed);
}

/* Whether memory_note_lack was ever called in this process. */
bool memory_lacked(void)
{
	return memory_lacks() > 0;
}
