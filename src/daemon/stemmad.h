/* stemmad.h - the daemon as its files share it: stemmad.c starts it, waits and ends it, stemmad_load.c measures it and
 * records less when it is too much, stemmad_state.c keeps what the next daemon needs. Not for others. One thread. */
#ifndef STEMMA_DAEMON_STEMMAD_H
#define STEMMA_DAEMON_STEMMAD_H

#include "capture/node_tracer/helper.h"
#include "capture/node_tracer/tracer.h"
#include "daemon/answer.h"
#include "daemon/control.h"
#include "daemon/figures.h"
#include "daemon/grain.h"
#include "daemon/logs.h"
#include "daemon/settings.h"
#include "node/load.h"
#include "node/node.h"

#include <sys/resource.h>

struct stemmad {
	struct settings settings;
	struct rules *rules;
	struct helper *helper;
	struct tracer *tracer;
	struct node *node;
	struct logs *logs;
	struct control *control;
	struct grain *grain;
	struct figures *figures;
	struct load load;
	/* Users of whom openings and closes are not recorded, for most of what was too much came from them. */
	struct passed {
		uint32_t uid;
		unsigned quiet;      /* seconds */
		uint64_t rate;       /* events a second, when it began */
		uint64_t seen, said; /* events that were passed over: at the last look; told by a gap */
		int64_t since;       /* of what no gap tells yet */
	} passed[TRACER_PASS];
	unsigned n_passed;
	int64_t stepped; /* when the step was taken that is in force */
	int64_t helped;  /* the helper was there then */
	uint64_t asked;  /* ns of processor time that questions took, but for the events that were read meanwhile */
	struct answer_limits answers;
	int epoll, signals, timer, lock;
	uint64_t seconds;
	const char *config;
	struct texts {
		const char **v;
		size_t n;
	} ignore, mounts, options;
	bool ending, failing;
	bool lame; /* the helper is gone */
};

/* A line to standard error, which is the journal. */
void stemmad_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Takes what the tracer has. Ends the loop if the helper is gone. */
void stemmad_drain(struct stemmad *d);

/* What the daemon used and did up to now. */
void stemmad_figures(const struct stemmad *d, struct figures_now *ret);
uint64_t stemmad_cpu_of(const struct rusage *u); /* ns */
/* Gaps of users whose openings and closes are passed over, up to now. */
void stemmad_tell_passed(struct stemmad *d, int64_t now);
/* Once a second: is it too much, or little enough to record more again? */
void stemmad_look_at_load(struct stemmad *d);
/* To the file of the setting `metrics`, if there is one. */
void stemmad_write_metrics(const struct stemmad *d);

/* One daemon a node: makes the folders, and holds the lock. 0 or -errno: -EBUSY there is another one. */
int stemmad_lock(struct stemmad *d, struct err *err);
/* `when`: all that happened before then is on disk, so that a gap from there on tells of all that a kill takes. */
void stemmad_save_state(struct stemmad *d, int64_t when, bool clean);
/* Tells and writes what there is, and then until when that is all. Not while more waits in the kernel than a drain
 * takes, or where the disk is full: then what the file says stays so. */
void stemmad_keep_state(struct stemmad *d);
/* When the daemon before was last heard of; 0: there was none. */
int64_t stemmad_read_state(struct stemmad *d, bool *ret_clean);

#endif
