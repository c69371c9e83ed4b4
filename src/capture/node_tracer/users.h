/* users.h - which processes change their user without executing anything, told by the kernel's process connector.
 *
 * Needs CONFIG_PROC_EVENTS, the initial user and pid namespaces, and CAP_NET_ADMIN when it is opened (not from
 * Linux 6.6 on). The kernel makes a message of each fork, exec and exit, too, while somebody listens; a filter of the
 * socket drops these before they are kept, and from Linux 6.6 on the kernel itself does. Never waits. One thread. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_USERS_H
#define STEMMA_CAPTURE_NODE_TRACER_USERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Opens what the kernel tells about users that processes become. *ret: a descriptor, readable when something is
 * there. -errno with a sentence. */
int users_open(struct err *err, int *ret);
/* Calls each(arg, record, size) with a struct rec_user for each process whose real and effective user are the same one
 * after the change: the change is meant to stay. *ret_lost: messages were lost. The number read. What fails ends the
 * reading. */
int users_read(int fd, void (*each)(void *arg, const void *record, size_t size), void *arg, bool *ret_lost);

#endif
