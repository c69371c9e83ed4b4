/* secrets.h - search the logs for secrets that slipped in, and take them out: events are cleaned by the rows of
 * event/clean.def, all of them, summaries as well. Ids stay, since events keep session and seq (rewrite.h).
 *
 * Cost: every event of the record is read and redacted once. Memory: what is changed. */
#ifndef STEMMA_KEEP_SECRETS_H
#define STEMMA_KEEP_SECRETS_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct keep_logs;

/* Where a secret is. The strings live as long as the call. */
struct keep_secret {
	const char *family;
	struct str secret; /* never to be printed whole */
	const char *event; /* the kind of event */
	struct str run;    /* the session's ULID, or empty */
	struct str what;   /* the event without the secret, in one word: a program, the name of a file; or empty */
	uint64_t session, seq;
	int64_t time;
};
struct keep_secrets_options {
	struct str run; /* ULID: the sessions of this run only; empty: all */
	bool redact;    /* take them out */
	void (*found)(void *arg, const struct keep_secret *s);
	void *arg;
};
struct keep_secrets_stats {
	uint64_t secrets, events; /* found; events they are in */
	uint64_t segments;        /* written anew */
	uint64_t damaged, newer;  /* as in keep_cut_stats */
};
/* Searches the logs for secrets, and takes them out if that was asked for. 0, or -errno as keep_cut. */
int keep_secrets(struct keep_logs *l, const struct keep_secrets_options *o, struct err *err,
                 struct keep_secrets_stats *ret);

#endif
