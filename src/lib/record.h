/* record.h - an open record of libstemma, and how it is asked. Inside this folder only.
 *
 * A page of the index is checked when it is first read. A question that meets a damaged one is not answered from it:
 * the index is made again from the logs, and the question asked again, once. */
#ifndef STEMMA_LIB_RECORD_H
#define STEMMA_LIB_RECORD_H

#include "answer/source.h"
#include "base/config.h"
#include "base/err.h"
#include "stemma/stemma.h"

#include <jansson.h>

#define EXPORTED __attribute__((visibility("default")))

struct stemma_record {
	struct answer_source source; /* its store is NULL where it could not be made again */
	struct config config;
	char *home; /* what stemma_open was given; NULL: by the settings */
	char *url;  /* of the database that the record is in; NULL: it is in a folder */
	unsigned flags;
};

/* code, with the sentence of err, or else `what` and the system's words. ret may be NULL. The hint is err's, or empty.
 * */
int record_fail(int code, const struct err *err, const char *what, struct stemma_error *ret);
/* What target_file and its like returned, where it is not 1. */
int record_fail_to_resolve(int r, const struct err *err, struct stemma_error *ret);

/* Makes the text of o, which is released; *ret is the caller's. 0 or -ENOMEM. */
int record_give_json(json_t *o, char **ret, struct stemma_error *err);
/* Gives a text to the caller of the library, which owns *ret then. 0; else as record_fail. */
int record_give_text(struct buf *b, char **ret, struct stemma_error *err);

/* What is asked: a function, and its arguments. */
struct record_question {
	int (*ask)(struct stemma_record *r, const struct record_question *q, struct stemma_error *err);
	const char *a, *b;
	const char *const *words; /* the last one NULL; NULL none */
	unsigned flags, depth;
	uint64_t count;
	int64_t at;
	char **ret; /* set to a text on success, and else NULL; may be NULL */
	void *arg;  /* where other answers go */
};
/* What q->ask returns; or -errno, with a sentence. */
int record_ask(struct stemma_record *r, const struct record_question *q, struct stemma_error *err);

#endif
