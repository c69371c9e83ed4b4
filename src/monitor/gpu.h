/* gpu.h - what a task does on NVIDIA's GPUs, as their management library tells it. Internal to monitor.
 *
 * The library is loaded when it is needed, by a thread of its own: its initialisation takes up to a second, and the
 * task waits for nothing of it. Where there is no GPU nothing is loaded. What is read, every half second: which
 * processes have a context on which device and how much memory each holds; how busy each kept it since (the driver's
 * own samples). A process that ended between two looks is asked about once more where the driver keeps accounts
 * ("accounting mode"). Where it is off, what such a process did last is missed: the figures are lower bounds and not
 * complete. */
#ifndef STEMMA_MONITOR_GPU_H
#define STEMMA_MONITOR_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GPU_LIBRARY "libnvidia-ml.so.1"

struct gpu;

struct gpu_figures {
	uint64_t devices;     /* that one of the task's processes had a context on */
	uint64_t busy;        /* ns that they kept devices busy, summed over devices */
	uint64_t memory_peak; /* bytes, of all devices together */
	bool accounts;        /* every device keeps accounts */
	bool busy_known;
	bool untold;        /* of some process the driver did not tell the memory: its peak may be more */
	const char *absent; /* why nothing is known; NULL: it is */
};

/* Is there an NVIDIA driver at all, that knows this process by the number that it has here? Three file names are looked
 * at. False: *ret_why says why nothing can be known. */
bool gpu_here(const char **ret_why);
/* Looks with that library, until gpu_free. ours, called by the thread and by
 * gpu_last: does that process belong to the task, or did it? NULL: no memory, no
 * thread. */
struct gpu *gpu_new(const char *library, bool (*ours)(void *arg, pid_t pid), void *arg);
/* The memory that was held at the last look, in bytes; -1: there was none. Never waits. */
int64_t gpu_memory(struct gpu *g);
/* Looks once more, if the library is up, and tells. Waits for a look that is under way, at most. */
void gpu_last(struct gpu *g, struct gpu_figures *ret);
/* A library that does not come up is left to its thread: the process is about to end anyway. */
void gpu_free(struct gpu *g);

#endif
