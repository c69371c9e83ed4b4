/* builder.h - several builders, one database: which of them writes, and what it has written
 * (doc/decisions/several-builders.md).
 *
 * The row of stemma_load.builder has the holder, its epoch and its last sign of life. A builder claims it before each
 * load. Each claim of another builder makes the epoch larger, and a load ends only if the epoch is still its own, which
 * is checked in the load's transaction. So a builder that was thought dead, and is not, changes nothing.
 *
 * stemma_load.session has what the loaded index had of each session, stemma_load.forgotten what was forgotten: a
 * builder whose index has less does not take over. stemma_load.host has the same for each host, for people.
 *
 * Memory: 24 bytes a session. */
#ifndef STEMMA_SITE_BUILDER_H
#define STEMMA_SITE_BUILDER_H

#include "base/str.h"
#include "site/database.h"

#include <stdint.h>

struct store;
struct builder {
	const char *url;       /* of the database, for a second connection while a load goes on */
	const char *name;      /* of this builder, unlike that of others */
	int64_t lasts;         /* ns after its last sign of life, from which on others may take over */
	bool replace;          /* take over from a builder or a record of any state */
	uint64_t epoch;        /* that was claimed last; 0: none */
	int64_t beat;          /* when the last sign was given, ns of CLOCK_MONOTONIC */
	struct database *sign; /* the second connection; NULL: not needed so far */
};
/* Claims the right to load the index of s. 1: it is this builder's; 0: not now, err says why; -errno with a sentence:
 * -EEXIST, the database has a record that no builder has loaded. to: no transaction is open. */
int builder_claim(struct builder *b, struct database *to, struct store *s, struct err *err);
/* A sign of life, if it is time for one. 0; -ESTALE: another builder has taken over; -errno with a sentence. */
int builder_beat(struct builder *b, struct err *err);
/* In the load's transaction, as its last statement. As builder_beat. */
int builder_fence(struct builder *b, struct database *to, struct err *err);
/* Gives the right back, so that others need not wait. */
void builder_resign(struct builder *b, struct database *to);

/* ---- what was loaded ---- */

struct builder_state;
/* NULL: no memory. */
struct builder_state *builder_state_new(void);
void builder_state_free(struct builder_state *t); /* NULL is fine */
/* The host's record goes on until ns (TIME_NONE: not known). 0, -ENOMEM. */
int builder_state_host(struct builder_state *t, struct str host, int64_t ns);
/* Writes what the index of s has of each session and host. In the transaction of the load. 0, or -errno with a
 * sentence. */
int builder_state_write(struct builder_state *t, struct database *to, struct store *s, struct err *err);
/* The tables, made where they are missing. 0, or -errno with a sentence. */
int builder_tables(struct database *to, struct err *err);

#endif
