/* over_runs.h - runs by what their programs told of themselves: which of them are asked for, and one value of a metric
 * for each. For `best` and `table`. */
#ifndef STEMMA_ANSWER_TABLE_OVER_RUNS_H
#define STEMMA_ANSWER_TABLE_OVER_RUNS_H

#include "answer/source.h"
#include "base/buf.h"
#include "base/err.h"
#include "query/app_log.h"

/* Which of the values that a run told of a metric. */
enum figure_of { OF_LAST, OF_MAX, OF_MIN, OF_MEAN };

struct over_runs {
	struct app_log d;
	struct app_log_run *runs; /* those asked for, the earliest first */
	size_t n;
	enum figure_of of;
};

/* What is asked for: an expression as of `find`, or NULL; conditions NAME=VALUE (also != < <= > >=) on settings and
 * metrics; of: last, max, min, mean or NULL. */
struct over_runs_question {
	const char *where, *of;
	const char *const *with;
	size_t n_with;
};
/* Finds the runs that are asked for, with their settings and metrics. 0; with a sentence -EINVAL: the question makes no
 * sense; -ENOENT: what it names is not recorded; -errno. Release it in any case. */
int over_runs_load(const struct answer_source *a, const struct over_runs_question *q, struct err *err,
                   struct over_runs *ret);
void over_runs_release(struct over_runs *r);

/* The value of a metric over a run: the last one, the most, the least or the mean. *ret_step: that of the value,
 * where it is one; *ret_stepped: there is one. */
double over_runs_value(const struct over_runs *r, const struct app_log_metric *f, int64_t *ret_step, bool *ret_stepped);
/* "0.93"; as short as it can be and still be read back to ... seven digits, which is what a table has room for. exact:
 * to be read back to the same. */
void over_runs_number(struct buf *b, double v, bool exact);
/* A finite number, the whole text. False: it is none, or longer than 63 bytes. */
bool over_runs_parse(struct str text, double *ret);

#endif
