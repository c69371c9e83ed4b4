/* grain.h - who asked for which granularity: through the socket, or by a touch file (LPS IV.A.2).
 *
 * A request is for a job, a user or the node, and belongs to who made it. A user may ask for what is the user's own;
 * administrators for all. It holds until it is taken back; a job's also ends with its last process. Bounded: GRAIN_MAX
 * requests, GRAIN_USER of one user. */
#ifndef STEMMA_DAEMON_GRAIN_H
#define STEMMA_DAEMON_GRAIN_H

#include "base/err.h"
#include "node/node.h"

enum { GRAIN_MAX = 256, GRAIN_USER = 16 };

struct grain;

/* Begins to take requests of users for how finely they are recorded. run: the folder in which `touch` is made, 1777;
 * its changes show at grain_fd. tracer may be NULL. */
int grain_open(const char *run, struct node *node, struct tracer *tracer, struct err *err, struct grain **ret);
void grain_close(struct grain *g);
int grain_fd(const struct grain *g); /* readable where a job was touched */
/* What happened in the touch folder. */
void grain_touched(struct grain *g);
/* `words`: "access job ID" and the like, as the socket's word has it. 0, -errno with a sentence. */
int grain_ask(struct grain *g, const char *words, uint32_t uid, bool admin, struct err *err);
/* Overload: nobody's request is in force, or all are again. */
void grain_suspend(struct grain *g, bool yes);
/* About once a second: processes that a job has gained, jobs that are over. */
void grain_tick(struct grain *g);
unsigned grain_count(const struct grain *g);

#endif
