/* apart.h - memory that need not be in any process: files of tmpfs, memfds, segments, shared memory that somebody let
 * go of. Internal to monitor.
 *
 * The kernel tells how much such memory the whole machine has, for 1 us (sysinfo). What that has grown by since the run
 * began, less what a process of the run has mapped, is the most that the run can have had apart from its processes, as
 * often as somebody looks; others may have had it. Files in memory that a process holds open are the run's: 3 us a
 * descriptor. Bytes; the caller holds the monitor's lock. */
#ifndef STEMMA_MONITOR_APART_H
#define STEMMA_MONITOR_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define APART_MUCH (1u << 20) /* less than this is not looked for in processes, nor is it said to be missing */

struct apart {
	bool known;    /* the machine told at the beginning */
	bool told;     /* each file in memory is told, by the recorder */
	bool used;     /* ... and there was one */
	uint64_t base; /* of the machine, when the run began */
	uint64_t now;  /* more than that at the last look; never below 0 */
	uint64_t most; /* the most that no process of the run had mapped */
	uint64_t held; /* the most that was found in files which its processes held open, and that none had mapped */
};

void apart_begin(struct apart *a);
/* Looks how much shared memory there is that no process has mapped. mapped: the most shared memory that one process
 * of the run has mapped now, as far as is known. */
void apart_look(struct apart *a, uint64_t mapped);
/* Is there so much that it is worth to ask whose it is? */
bool apart_asks(const struct apart *a);

/* Files in memory that processes hold, each once. Zeroed; add for each process; then take the sum. */
struct apart_held {
	struct apart_file {
		uint64_t dev, ino;
	} * file;
	size_t n, cap;
	uint64_t bytes;
	uint64_t memfds; /* the device of files that have no name; 0 not asked yet */
};
/* Only files of a size that matters. What cannot be read is passed over. */
void apart_held_add(struct apart_held *h, pid_t pid);
/* mapped: what all processes of the run have mapped, added up. Releases h. Returns what they hold now, no more than was
 * made since the run began. */
uint64_t apart_held_take(struct apart *a, struct apart_held *h, uint64_t mapped);

/* The most that a run can have had apart from its processes, which have written so many bytes and had so much shared
 * memory mapped; 0 where it is known to have had no such file. */
uint64_t apart_bound(const struct apart *a, uint64_t written, uint64_t mapped);

#endif
