/* answer.h - the process that brings one store up to date and hands a copy of it to who asked.
 *
 * It is started for one question and has no capability left; the daemon goes on meanwhile. What it has not to do it
 * cannot do: it reads the logs of the store that it was started for, writes that store's index, and makes no system
 * call that this does not need (confine.h); its memory, its processor time and the room that it takes of the disk are
 * limited; it ends with the daemon. What is handed over is a file without a name, opened for reading: nobody can change
 * it, lock it, or learn from it where the record is.
 *
 * Status: 0 answered; 1 answered that it cannot be. Any other end has answered nothing. */
#ifndef STEMMA_DAEMON_ANSWER_H
#define STEMMA_DAEMON_ANSWER_H

#include <stdint.h>

struct answer_limits {
	uint64_t memory; /* bytes; 0: no limit */
	uint64_t seconds;
	uint64_t floor; /* of the disk so much stays free */
};

/* Hands the store of a user to whoever asked, over the socket; in a process of its own. base: the daemon's folder;
 * who: the number of a user, or "all"; sock: who asked. The exit status. */
int answer_store(const char *base, const char *who, const struct answer_limits *limits, int sock);

#endif
