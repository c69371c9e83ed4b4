/* choose.h - how a run is recorded: what was asked for, what works here, what is taken and why. Internal to
 * capture.
 *
 * Decided before the command starts, for what is set up then (a filter, no_new_privs, a tracer) cannot be taken back.
 * Where nothing speaks against the first choice that costs two system calls; a doubt costs a trial in a child process
 * (0.3 ms). No globals, no threads. */
#ifndef STEMMA_CAPTURE_LAUNCH_CHOOSE_H
#define STEMMA_CAPTURE_LAUNCH_CHOOSE_H

#include "capture/launch/run.h"

#include <stddef.h>

/* The mechanisms, the best first. */
enum backend { BACKEND_EXACT, BACKEND_NOTIFY, BACKEND_TRACE, BACKEND_SAFE, BACKEND_PROC, BACKEND_NONE };

struct choice {
	enum backend backend;
	bool tree_only;  /* programs and processes, no files */
	bool loses;      /* set-id programs inside the run lose their privilege */
	bool outranked;  /* a supervisor around the run gets the calls it wants first */
	bool crowded;    /* no process may be taken from the command (room.h): it gets this one */
	bool privileged; /* the command itself has a privilege that other ways would have taken */
	char mode[32];   /* as the session says it: complete/notify */
	char why[256];   /* why it is not what was asked for, or not the best; "" it is */
	char line[400];  /* what the user should know of that; "" nothing is missing */
};

/* A way that works, the best for what is wanted; BACKEND_NONE: none does, or nothing is to be recorded. ret->line is
 * the sentence for the user, if there is one. */
void capture_choose(const struct run_options *o, struct choice *ret);
/* Writes the session and the run, with what was chosen, into the log (describe.c). run_describe: sets s->user, s->group
 * and s->argv, too. */
struct sup;
void run_describe(struct sup *s, const struct run_options *o, const struct choice *choice);

/* Row i of the table: whether it works here. Its backend, -1 after the last. choose_row: ret->why where it does not
 * work. */
struct backend_state;
int choose_row(unsigned i, struct backend_state *ret);

/* Does the command, or what it is a wrapper for (env, nice, timeout ...), have a privilege that this process has not
 * (set-id, file capabilities)? Its name in *ret. */
bool privileged_program(char *const *argv, char *ret, size_t n);

#endif
