/* early.h - copies of files that were there before a run, made before the run itself changes or removes them: what
 * --keep-inputs cannot copy when the run has ended. They lie in a folder of the run beside the kept copies (kept.h),
 * each called by the number that the file has in the run's record, until trust_record takes them.
 *
 * Only files of EARLY_MOST bytes, on file systems of this machine, that did not change since early_begin. The call that
 * is about to change one waits for its copy, and so does the record; so all copies of a run together have bounds, in
 * time and in bytes (none are counted where the file system shares blocks), and they leave room on the file system of
 * the record, which the command may need. What the bounds do not allow is passed over; trust_record counts it.
 * Measured: 256 MiB in 16 files, on ext4, 0.12 to 0.15 s. */
#ifndef STEMMA_TRUST_EARLY_H
#define STEMMA_TRUST_EARLY_H

#include "base/digest.h"
#include "base/err.h"
#include "capture/launch/run.h"

#define EARLY_MOST (16u << 20)
#define EARLY_BYTES (256ull << 20) /* of all copies of a run */
#define EARLY_SHARE 10             /* at most a tenth of what was free on the record's file system */
#define EARLY_STALL 1000000000     /* ns, of all copies of a run; a read or write that has begun is waited for */

struct early_spent;

struct early {
	char *folder; /* NULL: there is none, and nothing is kept */
	struct early_spent
	    *spent; /* shared with the workers of the run, of which a later one goes on where one was killed */
	struct run_keeper keeper; /* for struct run_options; holds as long as this is not moved */
};

/* Makes the folder in the record. 0 or -errno with a sentence: then ret keeps nothing. early_end in any case. */
int early_begin(const char *home, struct err *err, struct early *ret);
/* The copy of the file with that number, opened. The caller's descriptor; -ENOENT there is none; -ELOOP: the
 * file was to be copied, and that failed (known of the first 10,000 of a run); -errno. */
int early_open(const char *folder, uint64_t number);
/* Keeps that copy, which had the digest, in the record (kept.h). 0 or -errno. */
int early_keep(const char *folder, uint64_t number, const char *home, const struct digest *d);
/* Removes the folder with what is in it. */
void early_end(struct early *e);

#endif
