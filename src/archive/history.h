/* history.h - the tasks that the store has summaries of, each once, in order of time.
 *
 * Two summaries are of one task where they are of one run, or where they are the same text: then what the run's own
 * recorder said holds, the last it said; of what was submitted, what came first. Memory: the figures asked for, about
 * 32 bytes each, and 60 bytes a task. Cost: about 3 µs a summary; input of a recorded run is a look at all it read,
 * about 10 µs a process. */
#ifndef STEMMA_ARCHIVE_HISTORY_H
#define STEMMA_ARCHIVE_HISTORY_H

#include "archive/task.h"
#include "archive/where.h"

struct history_options {
	const unsigned char *figures; /* enum figure_name, those wanted */
	size_t n_figures;
	const struct where *where; /* NULL: all */
	const struct key *by;      /* what groups them */
	size_t n_by;
	bool input; /* find the bytes of input, too */
	const char *system_extra;
	/* NULL, or: only tasks for which it returns 1; 0 not, -errno. */
	int (*only)(void *arg, const struct summary_info *m);
	void *arg;
};

struct history_figure {
	int64_t value, low, high;
	bool known, bounded, complete;
};
struct task {
	int64_t start; /* or when it was told, where that is not known */
	uint64_t session, seq;
	store_id run; /* 0: not recorded here */
	double input; /* bytes; negative: not known */
	double named; /* of these, of files that the command names; negative: not known */
	uint32_t group;
	enum task_end end;
	const struct history_figure *figure; /* as asked for */
};
struct history {
	struct task *v;
	size_t n;
	size_t repeated; /* summaries of tasks that others tell of, too */
	char **group;    /* the values of the keys, each NUL-terminated, one after the other; sorted */
	size_t n_groups;
	struct history_figure *figures;
};

/* Reads the summaries of past tasks, with their groups and figures. 0 or -errno with a sentence. Release in any
 * case. */
int history_load(struct store *s, const struct history_options *o, struct err *err, struct history *ret);
void history_release(struct history *h);

#endif
