/* control.h - the daemon's side of the socket (request.h): who asks is told by the kernel, and nobody can keep it busy.
 *
 * Bounds: CONTROL_OPEN connections at once, CONTROL_USER of one account (accounts.h); one question a connection, which
 * has to come within CONTROL_WAIT seconds; CONTROL_ACCEPTS connections a second of everybody, and what is above waits
 * in the kernel for the next (each costs 10 us, and a loop can make twenty thousand a second); CONTROL_RATE questions a
 * second of one account; ANSWERS processes that bring a store up to date, ANSWERS_USER of one account and only one
 * where half of them are at work. What is above is answered "busy". A process that answers ends when its asker has
 * closed the connection, when its time is over, and with the daemon. Descriptors that are sent are refused where the
 * kernel can (SO_PASSRIGHTS, Linux 6.16). One thread, nothing here waits. */
#ifndef STEMMA_DAEMON_CONTROL_H
#define STEMMA_DAEMON_CONTROL_H

#include "base/buf.h"
#include "base/err.h"
#include "daemon/answer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CONTROL_OPEN = 64,
	CONTROL_USER = 8,
	CONTROL_WAIT = 5,
	CONTROL_ACCEPTS = 500,
	CONTROL_RATE = 20,
	ANSWERS = 8,
	ANSWERS_USER = 2
};

struct control;

struct control_hooks {
	void *arg;
	/* Everything that happened is to be in the logs: a store is about to be asked for. */
	void (*bring_up)(void *arg);
	void (*stats)(void *arg, const char *operands, struct buf *out);
	int (*granularity)(void *arg, const char *operands, uint32_t uid, bool admin, struct buf *out, struct err *err);
	bool (*is_admin)(void *arg, uint32_t uid, uint32_t gid);
};

/* Listens at path (removed and made; 0666). epoll: descriptors are added to it with data.u64 = first + number. limits:
 * of the processes that answer, looked at when one is started; not copied. 0; -errno with a sentence. */
int control_open(const char *path, const char *base, int epoll, uint64_t first, const struct control_hooks *h,
                 const struct answer_limits *limits, struct err *err, struct control **ret);
void control_close(struct control *c);
/* Something can be read at number n (data.u64 - first). */
void control_ready(struct control *c, uint64_t n);
/* A child ended, with this status of wait(2) and so much processor time, ns; true if it was one of these. */
bool control_reaped(struct control *c, pid_t pid, int status, uint64_t cpu);
/* About once a second. */
void control_tick(struct control *c);

/* Since control_open. */
struct control_stats {
	uint64_t questions, busy;    /* that were answered; that were put off */
	uint64_t answers, abandoned; /* processes that were started; ... whose asker went before they were done */
	uint64_t cpu;                /* ns, of these processes */
};
void control_stats(const struct control *c, struct control_stats *ret);

#endif
