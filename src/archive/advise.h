/* advise.h - what to ask for, for a task like some before: memory, wall time, disk, cores.
 *
 * Like it are the tasks of the same shape (keys.def); where there are fewer than ADVICE_FEW, those of the same command;
 * else those of the same program. Of tasks that were killed, and of figures that are not complete, it is only known
 * that they needed at least what they had (sizing.h: censored); so it is with tasks that failed by themselves, unless
 * all did: many end before they need much. A figure with bounds counts as its upper one. */
#ifndef STEMMA_ARCHIVE_ADVISE_H
#define STEMMA_ARCHIVE_ADVISE_H

#include "archive/history.h"
#include "archive/sizing.h"

/* So many tasks are known before one is judged, and so many are judged before a method is chosen. */
#define ADVICE_FEW 10

enum advice_resource {
	ADVICE_memory,
	ADVICE_wall,
	ADVICE_disk,
	ADVICE_cores, /* too few of them fail nothing: the quantile, no back-test; in thousandths */
	ADVICE_RESOURCES
};
const char *advice_name(enum advice_resource r); /* "memory" */

struct advice_options {
	double quantile; /* 0: 0.99 */
	double retries;  /* the share of tasks whose first attempt may fail; 0: 0.05 */
	int method;      /* enum method, or -1: that which wasted least of those within `retries` */
	double input;    /* bytes that the task will read; negative: from its command */
	const char *system_extra;
	const struct where *where;
};

struct advised {
	bool known;   /* there is an answer */
	bool open;    /* it lies beyond what was ever seen to be enough */
	int figure;   /* enum figure_name: what was looked at */
	double value; /* in that figure's base unit */
	enum method method;
	size_t tasks, censored, bounded, absent;
	double median, most;
	bool answered[METHODS];
	double answer[METHODS];
	struct backtest test[METHODS]; /* in the order of time; no tasks: none was made */
	bool line;                     /* on bytes of input */
	double offset, slope, r2;
};
struct advice {
	enum task_key key; /* what the tasks have in common: shape, command or program */
	char *like;        /* and its value */
	size_t tasks, cut, failed, with_input;
	int64_t first, last; /* when they began */
	double input;        /* what the answer is for; negative: not known */
	struct advised of[ADVICE_RESOURCES];
};

/* Gives advice for the command, or for one like the run's (argv NULL). 1; 0 there is no task like it, with a
 * sentence; -errno. */
int advise_task(struct store *s, const struct advice_options *o, char *const *argv, store_id run, struct err *err,
                struct advice *ret);
/* Releases what an advice holds itself. */
void advice_release(struct advice *a);

/* Finds past tasks: only the tasks like it, with these figures, without advice. ret_key and ret_like as in struct
 * advice; *ret has one group or none. 0 or -errno. */
int advise_history(struct store *s, const struct strlist *argv, const struct advice_options *o,
                   const unsigned char *figures, size_t n_figures, bool input, struct err *err, struct history *ret,
                   enum task_key *ret_key, char **ret_like);

#endif
