/* early.h - copies of files that were there before a run, made before the run itself changes or removes them: what
 * --keep-inputs cannot copy when the run has ended. They lie in a folder of the run beside the kept copies (kept.h),
 * each called by the number that the file has in the run's record, until trust_record takes them.
 *
 * Only files of EARLY_MOST bytes, on file systems of this machine, that did not change since early_begin: the call that
 * is about to change one waits for its copy (16 MiB: 10 ms; nothing where the file system shares blocks). */
#ifndef STEMMA_TRUST_EARLY_H
#define STEMMA_TRUST_EARLY_H

#include "base/err.h"
#include "capture/launch/run.h"

#define EARLY_MOST (16u << 20)

struct early {
	char *folder;             /* NULL: there is none, and nothing is kept */
	struct run_keeper keeper; /* for struct run_options; holds as long as this is not moved */
};

/* Makes the folder in the record. 0 or -errno with a sentence: then ret keeps nothing. early_end in any case. */
int early_begin(const char *home, struct err *err, struct early *ret);
/* The copy of the file with that number, opened. The caller's descriptor; -ENOENT there is none; -errno. */
int early_open(const char *folder, uint64_t number);
/* Removes the folder with what is in it. */
void early_end(struct early *e);

#endif
