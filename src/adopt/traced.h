/* traced.h - jobs from what a tracer wrote down of system calls: who was started, forked, opened, wrote, renamed, in
 * the order of the log.
 *
 * Each program image of a process that used or made a file becomes a job; a fork that executes nothing goes by the
 * command of what it is a fork of. A file is followed through renames: a job made the file, whatever it was called when
 * it was written. What was only opened for writing is an output where nobody in the log was seen writing to it, or else
 * the shell would have made what it opened for a program. Pipes join the jobs at their ends.
 *
 * Errors (no memory, or more than is taken) are kept, and what follows is dropped: traced_finish tells. Texts that are
 * given are copied. Memory: 100 bytes an image, 60 a file, 16 an access. */
#ifndef STEMMA_ADOPT_TRACED_H
#define STEMMA_ADOPT_TRACED_H

#include "adopt/readers.h"
#include "base/map.h"

struct traced_image;
struct traced_process;
struct traced_object;
struct traced_fresh;
struct traced_held;
struct traced {
	struct adopt_jobs *l;
	enum adopt_tool tool;
	const char *source;
	/* Of logs that tell of no writes: what a process opened for writing since it last made another one, that one may
	 * have written, too, as with a shell's redirections. */
	bool inherit;
	bool coarse;   /* times may be off by less than a second */
	uint64_t salt; /* of this log: pipes of two logs are two */
	int error;
	VEC(struct traced_image) images;
	VEC(struct traced_process) processes;
	VEC(struct traced_object) objects;
	VEC(struct traced_fresh) fresh; /* where inherit: files that were opened for writing lately, in lists */
	VEC(struct traced_held) held;   /* which of them each process has */
	struct map process_at, held_at, name_at, seen;
};

enum traced_use { TRACED_READ, TRACED_WRITE, TRACED_OPENED };

/* *t is to be finished in any case. source: the log, as adopt_job's. */
void traced_begin(struct traced *t, struct adopt_jobs *l, enum adopt_tool tool, const char *source);
/* A process or thread was made. thread: it shares all with its creator. Times: ns since 1970, TIME_NONE unknown. */
void traced_fork(struct traced *t, uint64_t pid, uint64_t child, bool thread, int64_t time);
/* A new program: its words are given one by one behind it. cwd: nothing: as it was. */
void traced_exec(struct traced *t, uint64_t pid, int64_t time);
void traced_word(struct traced *t, uint64_t pid, struct str word);
void traced_chdir(struct traced *t, uint64_t pid, struct str path);
/* Absolute, by the process's directory, without . and .., in *ret (emptied first). False: it is relative, and the
 * directory is not known. */
bool traced_path(struct traced *t, uint64_t pid, struct str path, struct buf *ret);
/* A process opened, read or wrote a file or pipe. path: absolute, or pipe:[N]; another one, and what lies in /dev,
 * /proc and /sys, is passed over. */
void traced_access(struct traced *t, uint64_t pid, struct str path, enum traced_use use, int64_t time);
void traced_rename(struct traced *t, struct str from, struct str to);
/* What is called so from now on is another file. */
void traced_unlink(struct traced *t, struct str path);
void traced_exit(struct traced *t, uint64_t pid, bool ended, int code, int64_t time);
/* Makes the jobs and releases t. *ret_jobs: how many. 0, -ENOMEM. */
int traced_finish(struct traced *t, uint64_t *ret_jobs);

#endif
