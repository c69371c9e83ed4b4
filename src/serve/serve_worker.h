/* serve_worker.h - a process that answers, one request after the other. Its memory is bounded, and who waits for it
 * ends it when it takes too long: so no question stops the others, whatever it makes the program do.
 *
 * The process that serves has one thread, so it may fork at any time. A worker ends with it. */
#ifndef STEMMA_SERVE_SERVE_WORKER_H
#define STEMMA_SERVE_SERVE_WORKER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

enum { SERVE_ANSWER = 64 << 20 }; /* bytes of an answer */

struct serve_reply {
	unsigned status, retry_after;
	bool damaged, last; /* last: the worker ends after it */
	char type[64];
	char etag[40]; /* of the body, quoted */
	uint64_t n;    /* bytes of the body that follow */
};

struct serve_worker {
	pid_t pid; /* 0: there is none */
	int fd;    /* does not block */
	struct buf out;
	size_t sent; /* bytes of out */
	struct buf in;
	struct serve_reply reply; /* the head of the answer, once in has it */
};

struct serve_worker_options {
	const char *home; /* of the record, as for stemma_open */
	uint64_t memory;  /* bytes for one answer */
	int64_t ns;       /* of a query of SPARQL, which it bounds itself */
	bool dataset;     /* it answers SPARQL: its data may have three times as many bytes, and is kept */
};

/* Starts a worker, a process that answers questions. 0 or -errno. */
int serve_worker_start(struct serve_worker *w, const struct serve_worker_options *o, struct err *err);
/* Ends it at once. */
void serve_worker_stop(struct serve_worker *w);
/* Hands the target over, and what the client accepts (NULL: nothing was said). Only to one that has no request. 0 or
 * -ENOMEM. */
int serve_worker_ask(struct serve_worker *w, struct str target, const char *accept);
/* Sends and receives what can be without waiting. 1: the answer is there: w->reply, and its body in w->in; 0: not yet;
 * -errno: the worker has failed. */
int serve_worker_go_on(struct serve_worker *w);

/* Brings the index up to date in a process of its own. The descriptor of a pipe that says when it has ended, and how
 * (serve_index_end), or -errno. */
int serve_index_start(const char *home, pid_t *ret, struct err *err);
/* Once fd can be read: what stemma_open returned, and its sentence. Closes fd and waits for pid. -EIO with a sentence:
 * it died. */
int serve_index_end(int fd, pid_t pid, struct err *err);

#endif
