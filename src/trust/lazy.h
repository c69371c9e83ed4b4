/* lazy.h - digests of what a run made, when it is over and at no cost to it (doc/trust.md, "Digests afterwards"): which
 * files, how many, by what process, and where none at all. */
#ifndef STEMMA_TRUST_LAZY_H
#define STEMMA_TRUST_LAZY_H

#include "trust/session.h"

#define LAZY_FILE (16u << 20) /* bytes of one file: 10 ms of a processor */
#define LAZY_ALL (1u << 30)   /* bytes of all files of a run */
#define LAZY_FILES 1000
#define LAZY_CPU 10  /* s of processor time */
#define LAZY_WALL 30 /* s */

/* What of a run was digested. Zero it. */
struct lazy_sum {
	uint64_t bytes;
	size_t files;
};
/* May the file be digested beside those of sum? By what the record says of it; it is counted if so. */
bool lazy_takes(const struct session_file *f, struct lazy_sum *sum);
/* Is this process part of a batch job, by its environment or control group? */
bool lazy_in_batch_job(void);
/* Makes of the calling process, a child of its own, one that costs others nothing: idle classes of processor and disk,
 * bounds of time, a session of its own, no open file but /dev/null. 0 or -errno: then it is to end. */
int lazy_withdraw(void);

#endif
