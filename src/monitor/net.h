/* net.h - the bytes of a task on the network, where they can be told. Internal to monitor; the caller holds its lock.
 *
 * The kernel counts no network bytes for a process. What it does count, in the order in which it is believed:
 *
 *   calls     under --exact every call on a socket is seen: the bytes that went over connections to other addresses
 *   devices   processes in a network namespace that is not stemma's: what its devices have carried, headers included,
 *             loopback apart
 *   sockets   in stemma's own namespace: what TCP connections of the task had carried when they were looked at. Between
 *             two looks one may come and go: a lower bound. The upper bound is what all devices there have carried
 *             meanwhile, for whomever; where that is nothing, so is the task's part
 *
 * Cost: one look is a stat a process; a dump of the user's TCP sockets (30 us), and a walk over descriptors only when
 * there are sockets of which it is not known yet whose they are. Memory: 48 bytes a socket, 768 at most. */
#ifndef STEMMA_MONITOR_NET_H
#define STEMMA_MONITOR_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct net;

struct net_figure {
	const char *absent; /* why it is not known; NULL: it is */
	const char *method;
	bool bounded, complete, lower; /* lower: the value is only a lower bound */
	int64_t value, low, high;
};

/* Begins to count what a task sends and receives. NULL: no memory. ours: does that process belong to the task? Asked
 * while this is called. */
struct net *net_new(bool (*ours)(void *arg, pid_t pid), void *arg);
void net_free(struct net *n);
/* A look at the processes that are alive. */
void net_look(struct net *n, const pid_t *pids, size_t npids);
/* A process is about to end; looked: /proc still has it. */
void net_last(struct net *n, pid_t pid, bool looked);
/* From here on every call on a socket is reported: under --exact. */
void net_set_reported(struct net *n);
/* One was: sure: to another address than this machine's; else that is not known. */
void net_moved(struct net *n, bool sent, bool sure, uint64_t bytes);
/* ... or some may not have been. */
void net_set_incomplete(struct net *n);
/* What is known now. blind: processes may have come and gone unseen. */
void net_figures(struct net *n, bool blind, struct net_figure *ret_received, struct net_figure *ret_sent);

#endif
