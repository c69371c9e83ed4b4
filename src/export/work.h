/* work.h - who used and wrote which files, gathered: what the formats of other recorders of commands want, which know
 * only commands, inputs and outputs.
 *
 * Memory grows with the selection: 40 bytes an execution, 32 a use or a write. */
#ifndef STEMMA_EXPORT_WORK_H
#define STEMMA_EXPORT_WORK_H

#include "prov/prov.h"

#define WORK_NONE SIZE_MAX

struct work_exec {
	store_id id, run;
	size_t parent;   /* in the array, WORK_NONE */
	size_t first, n; /* its files: uses, then writes */
	bool program;    /* it is more than an image before any exec */
	bool failed;     /* it ended by a signal or with another status than 0 */
	bool mark;       /* the caller's */
};
struct work_file {
	store_id version;
	int64_t until; /* end of the access, TIME_NONE */
	bool output;
	bool code;       /* used as a program or a script only */
	bool given;      /* by a descriptor that somebody else opened */
	bool stream;     /* a pipe or fifo */
	bool of_channel; /* not a regular file */
};
struct work {
	struct prov_source *p;
	struct work_exec *execs; /* by id */
	size_t n_execs, cap_execs;
	struct work_file *files;
	size_t n_files, cap_files;
};
/* Collects what the selected executions read and wrote, for exports that tell of each execution by itself. 0, -errno
 * with a sentence. */
int work_collect(struct prov_source *p, struct err *err, struct work *ret);
void work_release(struct work *w);
/* The place of an execution in w->execs; WORK_NONE: it is none of them. */
size_t work_find(const struct work *w, store_id exec);

/* Texts, to be sorted and each once. */
struct texts_set {
	struct buf bytes;
	struct text_at {
		size_t at, n, owner;
		int64_t tag;
	} * v;
	size_t n, cap;
};
int texts_set_add(struct texts_set *t, struct str s, int64_t tag, size_t owner); /* 0, -ENOMEM */
/* Sorts; of equal ones that with the greatest tag stays, then that with the least owner. texts_set_find: after that;
 * NULL: it is not there. */
void texts_set_close(struct texts_set *t);
struct str texts_set_at(const struct texts_set *t, size_t i);
const struct text_at *texts_set_find(const struct texts_set *t, struct str s); /* NULL; after close */
void texts_set_release(struct texts_set *t);

/* A path as seen from a directory: below it relative, else as it is. */
struct str work_path_from(struct str dir, struct str path);
/* The words as a line for sh: quoted where they need it. shell_quote_argument: one word. */
void shell_quote_arguments(struct buf *b, const struct strlist *argv);
void shell_quote_argument(struct buf *b, struct str word);

#endif
