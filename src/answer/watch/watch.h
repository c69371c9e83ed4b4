/* watch.h - what a record gains, as events: what `stemma watch` prints (stemma-watch(1)).
 *
 * A look compares what is indexed with what was there at the look before. It goes through the runs that are new or had
 * no end then, and through what their programs made and used; the expression is evaluated only if there is something
 * new, as `stemma find` does. One thread. */
#ifndef STEMMA_ANSWER_WATCH_WATCH_H
#define STEMMA_ANSWER_WATCH_WATCH_H

#include "answer/js.h"
#include "answer/source.h"
#include "base/err.h"
#include "query/find/expr.h"

struct watch;

enum watch_what {
	WATCH_MADE,      /* a version that the expression describes: id */
	WATCH_RUN,       /* a run that it describes: id */
	WATCH_EXECUTION, /* an execution that it describes: id */
	WATCH_STALE      /* a version that it describes came from `was`, in whose place is now `now`: id */
};
struct watch_event {
	enum watch_what what;
	store_id id, was, now;
	bool sure; /* else the expression only possibly describes it, or it only possibly came from that */
};
/* Returns 0 to go on. */
typedef int watch_each(void *arg, const struct watch_event *e);

/* Begins to watch for what the expression selects. kind: EXPR_FILES, EXPR_RUNS or EXPR_EXECS. e and a belong to the
 * caller and outlive it. What is there now is no event. 0; -EINVAL, -ENOENT with a sentence as select_eval; -errno.
 */
int watch_new(const struct answer_source *a, const struct expr *e, enum expr_kind kind, struct err *err,
              struct watch **ret);
/* What came since the look before. A version is told when it is written to its end, or the run that wrote it is over; a
 * run with its end; an execution with its end. 0, what each returned, or -errno. */
int watch_look(struct watch *w, struct err *err, watch_each *each, void *arg);
void watch_free(struct watch *w);

/* One event as JSON; a new reference. 0 or -errno. */
int watch_json(const struct answer_source *a, const struct watch_event *e, json_t **ret);

#endif
