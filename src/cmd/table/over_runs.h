/* over_runs.h - runs by what their programs told of themselves: which of them are asked for, and one value of a metric
 * for each. For `best` and `table`. */
#ifndef STEMMA_CMD_TABLE_OVER_RUNS_H
#define STEMMA_CMD_TABLE_OVER_RUNS_H

#include "cmd/cmd.h"
#include "query/app_log.h"

/* Which of the values that a run told of a metric. */
enum figure_of { OF_LAST, OF_MAX, OF_MIN, OF_MEAN };

struct over_runs {
	struct app_log d;
	struct app_log_run *runs; /* those asked for, the earliest first */
	size_t n;
	enum figure_of of;
};

/* where: an expression as of `find`, or NULL; with: conditions NAME=VALUE (also != < <= > >=) on settings and metrics;
 * of: last, max, min, mean or NULL. STATUS_OK, or what to end with (and it was said). Release it in any case. */
int over_runs_load(struct cmd *c, const char *where, const struct texts *with, const char *of, struct over_runs *ret);
void over_runs_release(struct over_runs *r);

/* *ret_step: that of the value, where it is one; *ret_stepped: there is one. */
double over_runs_value(const struct over_runs *r, const struct app_log_metric *f, int64_t *ret_step, bool *ret_stepped);
/* "0.93"; as short as it can be and still be read back to ... seven digits, which is what a table has room for. exact:
 * to be read back to the same. */
void over_runs_number(struct buf *b, double v, bool exact);
/* A finite number, the whole text. False: it is none, or longer than 63 bytes. */
bool over_runs_parse(struct str text, double *ret);

#endif
