/* observed.h - what a tape says: the programs that ran, and the files they opened, each once, in the order of their
 * first opens. Looks at nothing but the tape, and believes nothing of it. */
#ifndef STEMMA_CC_OBSERVED_H
#define STEMMA_CC_OBSERVED_H

#include "base/map.h"
#include "cc/tape/tape.h"

#include <stddef.h>

struct observed_image {
	const char *path; /* lives as long as the tape's bytes */
	uint32_t pid;
	bool meant; /* by an exec of its own process */
};

struct observed_file {
	const char *path; /* as it was opened, absolute where that could be told */
	uint32_t image;   /* that opened it first, VEC_NONE not known; of what was written: that wrote it last */
	bool read, written;
};

struct observed_exec {
	const char *path;
	uint32_t pid;
	bool alone; /* could not take the library along */
	bool began; /* its program said so, in the same process; of a spawn that cannot be told here */
};

struct observed {
	VEC(struct observed_image) images;
	VEC(struct observed_file) files;
	VEC(struct observed_exec) execs;
	struct table by_path;
	uint64_t lost; /* entries that found no room, or were cut off */
};

/* Reads what a command did from its tape. bytes: the entries of a tape (behind struct tape), n of them in all; they
 * must outlive ret. 0 or -ENOMEM. */
int observed_read(const void *bytes, size_t n, struct observed *ret);
void observed_release(struct observed *s);
/* The last component of the image's path; "" for VEC_NONE. */
const char *observed_program(const struct observed *s, uint32_t image);

#endif
