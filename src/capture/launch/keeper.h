/* keeper.h - the process the user started, once the worker is there: it passes signals on, sees the worker's death and
 * what follows it, and ends as the command ended. Internal to capture.
 *
 * One thread. After the worker's death it answers what that held and starts a new worker, which takes up the processes
 * that live (adopt.h). A worker that does not live for a minute is followed by another ever later: at once, then after
 * 0.2, 0.4 ... 12.8 seconds, and after the 20th by none. Meanwhile, and after that, this process lets every call go on.
 */
#ifndef STEMMA_CAPTURE_LAUNCH_KEEPER_H
#define STEMMA_CAPTURE_LAUNCH_KEEPER_H

#include "capture/app/channel.h"
#include "capture/launch/choose.h"
#include "capture/supervisor/worker.h"

#include <sys/resource.h>

struct safe_place;

struct keeper {
	const struct run_options *o;
	struct control *control;
	struct sup *sup; /* the worker's, as it was before the fork: log and names */
	pid_t worker;
	int worker_alive;
	int listener;     /* -1: not fetched yet, or none */
	int from_command; /* where it comes from; -1: fetched */
	struct choice choice;
	struct channel channel; /* sup->channel */
	bool trace;             /* by ptrace, not by notification */
	int signals;            /* signalfd */
	unsigned mine[65];      /* signals this process received */
	unsigned stops;         /* how often the command was seen stopped */
	bool stop_due;          /* this process has not stopped for the last of them yet */
	int64_t continued;      /* when it sent SIGCONT to the command; CLOCK_MONOTONIC, ns; 0: never */
	struct sigaction xfsz;  /* what SIGXFSZ did then: a log that may not grow must not kill its writer */
	sigset_t before;        /* the signal mask we were started with */
	bool closed[3];         /* standard descriptors that we were started without */
	bool let_go;            /* of standard input and output */
	struct rusage used;     /* by the command, where it was waited for here */
	bool used_known;
	bool unwritten;          /* the record is not complete yet, for a file system does not answer */
	bool was_seen;           /* ... by the worker, which waited for it and was killed then */
	struct worker *w;        /* as it was before the first worker was started, but for what is shared */
	struct safe_place *safe; /* --capture=safe: what it has instead of a listener; NULL: another mode */
	int memory;              /* descriptor of control; -1: it has none */
	int life[2];       /* the pipe by which the standby sees that nobody of the recorder is left; [0] is read here */
	pid_t standby;     /* 0: not started; negative: it cannot be */
	unsigned revivals; /* workers started after the first */
	int64_t revived;   /* when the last of them was; CLOCK_MONOTONIC, ns */
};

/* Until the command has ended and its record is closed; or the command has ended, and others live on. False: the worker
 * died before there was a command. */
bool keeper_wait(struct keeper *k);
/* Gets the listener from the command, where that has sent one and it was not got before. */
void keeper_fetch_listener(struct keeper *k);
/* Ends the standby where nobody is left under the filter. */
void keeper_dismiss_standby(struct keeper *k);
/* What the record says of the end of a run that no worker follows to its end. */
void keeper_emit_end(struct sup *s, int status);
/* A descriptor that came over a socket, and the word with it; or the negative word that came instead, or -EPIPE. */
int keeper_receive(int sock, int *ret_word);
/* The wall clock, ns since 1970. */
int64_t keeper_clock(void);

#endif
