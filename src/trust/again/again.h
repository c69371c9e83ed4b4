/* again.h - of two runs that differ: which programs are to be run once more, so that their function traces can be
 * compared, and what they need for that.
 *
 * Of each pair of executions (query/diff.h) whose program can be traced and that ran with something different (program,
 * arguments, environment, what it read) or ended differently, both are steps. What a step read and is not to be had any
 * more as it was, but was made by another execution of the run, makes that one a step, too. Where a step cannot be run
 * alone, because it was fed through a pipe, inherited an open file, shared memory, or left its output to a descriptor
 * that another had opened, the whole command of the run is its one step.
 *
 * Cost: that of rerun.h for each file looked at; some 100 bytes an access of the run. Strings belong to the struct. */
#ifndef STEMMA_TRUST_AGAIN_H
#define STEMMA_TRUST_AGAIN_H

#include "query/diff.h"
#include "trust/rerun/rerun.h"

#define AGAIN_NONE SIZE_MAX

/* A file that steps read. */
struct again_file {
	struct rerun_file f; /* state DIFFERS, GONE, UNKNOWN: not to be had, and below the working directory or not */
	char *fetched;       /* where it was put if it came from elsewhere; NULL: it lies at f.path */
	char *reader;        /* the program that wants it */
	store_id version;
};
/* What a step left in the run. */
struct again_made {
	char *path;
	char *digest; /* "" not known */
	bool has_size;
	uint64_t size;
	int64_t mtime;
};
struct again_step {
	store_id exec;
	size_t pair;   /* the same on both sides; AGAIN_NONE: it is there to make what another one reads */
	char *program; /* its path; of a script, the script's */
	char *shown;   /* the command line */
	char **argv, **env, *cwd;
	uint64_t pid;         /* it had */
	char *standard_input; /* a file of the caller's; NULL none */
	size_t *files;        /* places in again_side.files: to be there before it */
	size_t n_files;
	struct again_made *made;
	size_t n_made;
	uint64_t ending, code;
	int64_t start;
};
struct again_side {
	store_id run;
	char *ulid, *cwd;
	struct again_step *v; /* in start order */
	size_t n;
	struct again_file *files;
	size_t n_files;
	char **reads; /* files and folders that the run used */
	size_t n_reads;
	char *whole;   /* why it is the whole command, in words; NULL: single programs */
	char *refused; /* why it cannot be run, in words; NULL */
	size_t missing;
};
struct again {
	struct again_side side[2];
	char **programs;      /* that are to be traced: last parts of their paths; NULL-terminated */
	size_t pairs;         /* that differ and can be traced */
	size_t untraced;      /* that differ and cannot */
	size_t unpaired;      /* that ran on one side only */
	bool untraced_gone;   /* that one's file is not there any more */
	char *first_untraced; /* the program of one of the untraced, NULL */
};

/* Plans what is run again to find where two runs part. dir: a folder of the caller's, there and empty, in which
 * copies of files are kept that are brought back. Changes nothing else. whole: the commands of the runs, in any
 * case. 0 or -errno with a sentence. Release ret in any case. */
int again_plan(struct store *s, const struct diff *d, const struct witness_options *o, const char *home,
               const char *dir, bool whole, struct err *err, struct again *ret);
void again_release(struct again *a);

#endif
