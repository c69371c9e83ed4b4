#include "base/memory.h"

#include <stdatomic.h>

static atomic_bool lacked;

void memory_note_lack(void)
{
	atomic_store_explicit(&lacked, true, memory_order_relaxed);
}

bool memory_lacked(void)
{
	return atomic_load_explicit(&lacked, memory_order_relaxed);
}
