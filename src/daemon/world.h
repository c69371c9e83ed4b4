/* world.h - what the aggregator asks of the machine: /proc, names of users, file identities. Looks, opens nothing of
 * anybody for reading, and waits for nobody. */
#ifndef STEMMA_DAEMON_WORLD_H
#define STEMMA_DAEMON_WORLD_H

#include "capture/node_tracer/helper.h"
#include "node/node.h"

/* Fills in all but `add` and `arg`. What others' processes and paths have to be looked at for is asked of `by`. */
void world_init(struct node_world *w, struct helper *by);
/* CLOCK_REALTIME, ns; and when the machine was started. */
int64_t world_now(void);
int64_t world_boot(void);
/* The number of a user by name or number. False if there is no such user. */
bool world_uid(const char *name, uint32_t *ret);
/* Is the user a member of the group, by /etc/group or by their own one? */
bool world_is_member(uint32_t uid, uint32_t gid, const char *group);

/* Is there such a group? */
bool world_has_group(const char *group);

#endif
