/* memory.h - whether any allocation of this process failed, or of the one that it was forked from.
 *
 * Much of the program leaves out what it has no memory for. So at its end a command asks here, and says that something
 * may be missing. cmd/ui/memory.c notes the failures of the program `stemma`. Any thread. */
#ifndef STEMMA_BASE_MEMORY_H
#define STEMMA_BASE_MEMORY_H

#include <stdbool.h>

void memory_note_lack(void);
bool memory_lacked(void);
/* How often that was noted so far: whether there was none for a piece of work. */
unsigned memory_lacks(void);

#endif
