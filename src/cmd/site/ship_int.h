/* ship_int.h - what `stemma ship` and its carriers share. A carrier brings a batch to the collector and its answer
 * back: a folder, HTTPS, a broker. */
#ifndef STEMMA_CMD_SITE_SHIP_INT_H
#define STEMMA_CMD_SITE_SHIP_INT_H

#include "base/str.h"
#include "cmd/cmd.h"
#include "site/shipper.h"

#include <stdbool.h>
#include <stdint.h>

enum { SHIP_PATIENCE_S = 10 }; /* that an answer is waited for */

struct ship_carrier;
struct shipping {
	struct cmd *c;
	const struct opts_ship *o;
	const struct ship_carrier *carrier;
	void *state; /* the carrier's own */
	struct shipper *s;
	uint64_t rate;
	int64_t interval;
	uint64_t frames, bytes, known, refused;
	bool waits; /* a batch waits for the collector, and nobody has taken it */
	bool ended; /* by a signal */
};

struct ship_carrier {
	/* Is `to` such a destination? */
	bool (*is)(const char *to);
	/* What sending needs; NULL: nothing. STATUS_OK, or the status to end with (and it was said). */
	int (*open)(struct shipping *x);
	/* A batch that an earlier process has left is dealt with first; NULL: none is ever left. As send. */
	int (*resume)(struct shipping *x, struct err *err);
	/* 1: the collector has dealt with the batch; 0: not now, *wait_s says when again, and err or x->waits why; -errno:
	 * it makes no sense to go on. */
	int (*send)(struct shipping *x, struct str batch, uint64_t frames, unsigned *wait_s, struct err *err);
	void (*close)(struct shipping *x); /* NULL: there is nothing to close */
};
extern const struct ship_carrier ship_by_folder, ship_by_http, ship_by_nats;

/* What a collector answers to frames. */
struct ship_answer {
	char collector[32];
	uint64_t taken, known, refused, bytes;
	char why[256]; /* of the first that was refused, or "" */
};
/* Reads the collector's answer to what was sent. 0, or -EPROTO with a sentence. */
int ship_read_answer(const char *text, struct err *err, struct ship_answer *ret);
/* Moves the marks. 1: the batch is dealt with; 0: it is to be sent again; -errno. */
int ship_take_answer(struct shipping *x, const struct ship_answer *a, uint64_t frames, struct err *err);
/* The line in a file: a token, a password. STATUS_OK, or the status to end with (and it was said). */
int ship_read_secret(const char *path, char *ret, size_t size);

#endif
