/* group.h - was a signal for us alone, or for the whole process group? Nothing in what the kernel hands over tells.
 * An ear is a process of the same group that hears what the whole group gets: what it hears a command of ours in the
 * group has got, too, and is not to get from us again.
 *
 * It shares our memory (no copy of it is made: 0.1 ms), holds no descriptor of its own, takes no signal but those, and
 * ends with us however we end. */
#ifndef STEMMA_CC_GROUP_H
#define STEMMA_CC_GROUP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define GROUP_SIGNALS 65

struct group_ear {
	unsigned heard[GROUP_SIGNALS]; /* written by the ear */
	unsigned mine[GROUP_SIGNALS];
	sigset_t wanted;
	pid_t pid; /* 0: there is none */
	pid_t parent;
	void *stack;
};

/* Begins to hear signals of the terminal. All signals must be blocked when it is called. Where no process is to be
 * had, group_received says false. */
void group_listen(struct group_ear *e, const int *signals, size_t n);
/* Was a signal sent to the whole group? To be called once for each signal that came; looks for up to 10 ms whether
 * the ear has got it. Safe in a signal handler. group_end: ends the ear, and waits for it. */
bool group_received(struct group_ear *e, int sig);
void group_end(struct group_ear *e);

#endif
