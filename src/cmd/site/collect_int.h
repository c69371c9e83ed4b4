/* collect_int.h - what `stemma collect` and its carriers share. */
#ifndef STEMMA_CMD_SITE_COLLECT_INT_H
#define STEMMA_CMD_SITE_COLLECT_INT_H

#include "cmd/cmd.h"
#include "site/collector.h"
#include "site/http.h"
#include "site/nodes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct collecting {
	struct cmd *c;
	const struct opts_collect *o;
	char *home;
	struct collector *collector;
	struct nodes nodes;
	uint64_t share, floor;
	int64_t interval;
	pthread_mutex_t lock; /* of collector and nodes: the server answers in a thread of its own */
	bool complained;      /* of the folder or the broker, since it last worked */
};

/* Takes frames of s (NULL: nobody knows the sender) and makes the answer, JSON, with the status that HTTP has for it.
 * Under the lock. */
void collect_take(struct collecting *x, const struct collector_sender *s, const void *body, size_t n,
                  struct http_reply *ret);

/* What was received from each sender; with --clocks, how far the hosts' clocks can be apart. The status. */
int collect_status(struct collecting *x);
/* From a broker, once or until a signal comes. The status. */
int collect_broker(struct collecting *x);

#endif
