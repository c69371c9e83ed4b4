/* serve_answer.h - answers a request from the record: the same code as the commands' JSON (src/answer, src/lib). It is
 * called in a worker, which may be ended at any time, and whose memory is bounded.
 *
 * The record is only read. An index that was made anew meanwhile is opened again. */
#ifndef STEMMA_SERVE_SERVE_ANSWER_H
#define STEMMA_SERVE_SERVE_ANSWER_H

#include "answer/live.h"
#include "serve/serve_request.h"
#include "stemma/stemma.h"

#include <sys/types.h>

enum {
	SERVE_ROWS = 100,      /* of a page, where no limit is asked for */
	SERVE_PAGES_KIB = 4096 /* of the index that a worker keeps: /why takes 1.4 times as long as with all of it mapped */
};

struct serve_answerer {
	const char *home; /* as for stemma_open */
	struct stemma_record *record;
	dev_t dev; /* of the index that is open */
	ino_t ino;
	struct live_runs live;
	int64_t looked; /* ns: when runs that go on, and damage, were looked for */
	bool damaged;   /* a part of the logs cannot be read */
};
struct serve_answered {
	unsigned status;
	unsigned retry_after; /* seconds; 0: nothing is said */
	bool damaged;         /* the answer may be incomplete: the logs are damaged */
	const char *type;
	struct buf body;
};

/* The record as it lies there now: a->record. 0, or what stemma_open returns. */
int serve_answerer_open(struct serve_answerer *a, struct stemma_error *err);
/* Fills ret, which is to be released; what is wrong is an answer, too. */
void serve_answer(struct serve_answerer *a, const struct serve_request *q, struct serve_answered *ret);
/* In the place of what ret has. */
void serve_answer_problem(struct serve_answered *ret, unsigned status, const char *detail, const char *hint);
void serve_answered_release(struct serve_answered *r);

#endif
