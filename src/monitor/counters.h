/* counters.h - the processor's own counters (perf_event) of a task: cycles and instructions of a process and all that
 * it starts from then on. In user mode only where the kernel allows no more. Internal to monitor. */
#ifndef STEMMA_MONITOR_COUNTERS_H
#define STEMMA_MONITOR_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counters {
	int cycles, instructions; /* descriptors, -1 none */
	bool user_only;
	const char *why; /* there are none */
};

/* The process is stopped before its program, or as good as. */
void counters_open(struct counters *c, pid_t pid);
/* Reads the hardware's counters. False: not known. */
bool counters_read(const struct counters *c, uint64_t *ret_cycles, uint64_t *ret_instructions);

#endif
