/* logs.h - the event logs of all users: BASE/users/UID/logs, each with one session that is being written.
 *
 * A log is opened when its user's first event comes and closed when the user has been quiet; it is begun again once a
 * day, when its files were taken away, and when an eighth of the user's share was written (in a folder of its own, so
 * that the folder before can be removed). Age and size are held to a budget (shares.h).
 *
 * Nobody's events are written faster than `rate` for long: an account that writes more than ten seconds' worth above it
 * is held for ten seconds. Nobody's are written while less than `floor` of the disk is free. What is not written is
 * counted, and told by gaps: when it begins, when a question comes (logs_say_gaps) and when it is over, and then all
 * that lives is told anew. One thread. Memory: a log_writer (about 20 KiB touched) for each open log, LOGS_OPEN at
 * most.
 */
#ifndef STEMMA_DAEMON_LOGS_H
#define STEMMA_DAEMON_LOGS_H

#include "base/err.h"
#include "daemon/shares.h"
#include "event/event.h"

#define LOGS_OPEN 64

struct logs;
struct logs_options {
	const char *base; /* made 0700 where missing */
	const char *mode; /* of the session events */
	const char *host; /* NULL: the machine's name */
	struct shares_limits limits;
	uint64_t rate;  /* bytes a second, of one account; 0: no limit. Of a small share less, so that it lasts a minute */
	uint64_t floor; /* as disk_floor takes it */
};
/* What the aggregator is to know: part: the log of uid is about to be begun again; begun: it was. */
struct logs_hooks {
	void *arg;
	void (*part)(void *arg, uint32_t uid);
	void (*begun)(void *arg, uint32_t uid);
	void (*trouble)(void *arg, uint32_t uid, const char *text); /* it cannot be written; once each time; may be NULL */
};

/* ret is to be closed. 0; -errno with a sentence. */
int logs_open(const struct logs_options *o, const struct logs_hooks *h, struct err *err, struct logs **ret);
/* Closes all in good order. */
void logs_close(struct logs *l);
/* The seq, 0 if it could not be kept (no room on the disk, no log). */
uint64_t logs_add(struct logs *l, uint32_t uid, const struct event *ev);
/* Writes what has gathered; about once a second. False if some of it could not be written and waits. */
bool logs_flush(struct logs *l, int64_t now);
/* The daily change, logs that were taken away, the budget; about every ten seconds. */
void logs_tend(struct logs *l, int64_t now);
/* What changes while the daemon runs. */
void logs_limits(struct logs *l, uint64_t rate, uint64_t floor);
/* A gap in the log of one user. */
void logs_gap(struct logs *l, uint32_t uid, unsigned reason, uint64_t count, int64_t from, int64_t until,
              const char *text);
/* Writes down what is being held back: a question is about to be answered. */
void logs_emit_gaps(struct logs *l, int64_t now);
/* Ends every session and begins another (SIGHUP). */
void logs_again(struct logs *l, int64_t now);
/* Events that could not be kept, since logs_open; bytes on disk when last looked. */
uint64_t logs_lost(const struct logs *l);
uint64_t logs_bytes(const struct logs *l);
uint64_t logs_written(const struct logs *l); /* bytes, since logs_open */
uint64_t logs_removed(const struct logs *l); /* bytes */
/* From when on something is missing that no gap tells of yet; INT64_MAX: nothing is. */
int64_t logs_missed(const struct logs *l);

#endif
