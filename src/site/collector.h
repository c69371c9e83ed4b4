/* collector.h - the receiving end: frames of other machines' logs, checked and kept.
 *
 * A sender is hostile: see the table in doc/site.md. What is taken goes to logs/HOST/collected-SENDER/ of the record,
 * in segments as all others, and is on disk when collector_take returns. The truth is those segments: a collector that
 * was killed reads their frames when it is opened again, and cuts off a last frame that is not whole.
 *
 * One collector a record (a lock in collect/lock). Not safe for threads.
 *
 * Cost: opening reads what was collected once. Taking decodes each event (about 0.2 us), one write and one fsync for
 * each host in a batch. Memory: 80 bytes a session. */
#ifndef STEMMA_SITE_COLLECTOR_H
#define STEMMA_SITE_COLLECTOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLLECTOR_ID 26            /* characters of a collector's identity, a ULID */
#define COLLECTOR_BATCH (8u << 20) /* bytes that are taken at once */
#define COLLECTOR_BATCH_HOSTS 16   /* hosts of a batch: each costs folders, a lock and a sync */
#define COLLECTOR_HOSTS 4096       /* of a sender that may tell of one user only, in all */
#define COLLECTOR_NAME 48          /* a sender's name: letters, digits, '-', '_' and '.' */

/* A relay is a sender that may tell of any host and user: another collector, as a rule. Its batch may begin with this
 * and the name of the sender from whom it has the frames, then a newline: they are kept as that sender's. */
#define COLLECTOR_RELAYED "stemma-relay 1 "

/* Who sends, as the carrier has made sure. */
struct collector_sender {
	const char *name;
	const char *host; /* the only host that it may tell of; NULL: any */
	bool any_user;    /* it may tell of runs of all users; else of uid's */
	uint64_t uid;
	uint64_t share; /* bytes that it may have here, or each sender of a relay; 0: no limit */
};

/* What became of the frames of a batch. */
struct collected {
	uint64_t taken, known, refused, bytes; /* bytes: of those that were taken */
	char why[160];                         /* of the first that was refused, or "" */
};

/* The length of the line with which a relayed batch begins, and the name in it; 0: the batch has none. */
size_t collector_relay_line(const void *batch, size_t n, char ret[COLLECTOR_NAME + 1]);

struct collector;
/* Opens the record at home for collecting. floor: bytes of free disk below which nothing is taken. 0, or -errno with a
 * sentence: -EBUSY, another collector has it. */
int collector_open(const char *home, uint64_t floor, struct err *err, struct collector **ret);
/* Opens what a collector has collected without its lock, for collector_states alone: another collector may go on.
 * *ret is the caller's. 0, -errno with a sentence. */
int collector_look(const char *home, struct err *err, struct collector **ret);
void collector_close(struct collector *c); /* NULL is fine */
/* Its identity, made when the record was first collected into. */
const char *collector_id(const struct collector *c);

/* Takes frames, one after the other in n bytes. 0; -EDQUOT: the sender's share is used up; -ENOSPC: so is the disk;
 * another -errno with a sentence, and then it is not known whether they were kept: they are to be sent again. */
int collector_take(struct collector *c, const struct collector_sender *who, const void *batch, size_t n,
                   struct err *err, struct collected *ret);

/* One sender, for people. Times: ns since 1970, TIME_NONE: none. */
struct collector_state {
	const char *name;
	uint64_t hosts, sessions, open, missing, bytes; /* open: without an end; missing: frames that never came */
	int64_t until;                                  /* of its latest frame: when that began */
};
/* By name. What is said of them belongs to c. */
int collector_states(const struct collector *c, const struct collector_state **ret, size_t *ret_n);

#endif
