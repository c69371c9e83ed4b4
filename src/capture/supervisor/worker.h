/* worker.h - the worker process of a run, and what it shares with the keeper. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_WORKER_H
#define STEMMA_CAPTURE_SUPERVISOR_WORKER_H

#include "capture/supervisor/super.h"

#include <signal.h>

/* In memory shared by keeper and worker. Written by the worker, but where it says otherwise. */
#define SERVERS_MORE (NOTIFY_SLOTS - SLOT_MORE)
#define RAW_MAX 16384 /* calls that are kept while a stand-in answers, of 100 bytes and a path */
struct serving;
struct raw;

struct control {
	struct notify_page page; /* first: the standby maps it, too */
	struct known known;
	pid_t root;
	int status;       /* wait status of the command, valid when seen or ended */
	unsigned seen;    /* it has ended, and was not waited for before this was set */
	unsigned telling; /* the record of that has been begun */
	unsigned started; /* the command runs its program, or will without more from us */
	unsigned ended;   /* the command ended */
	unsigned stopped; /* the command is stopped, and the keeper is to be */
	unsigned stops;   /* how often it was; the keeper stops itself once for each */
	unsigned halting; /* the keeper is about to stop, or has. Written by the keeper */
	unsigned done;    /* log closed, nobody left */
	unsigned left;    /* the command has ended, and processes that outlive it are being recorded */
	unsigned stays;   /* ... and are about to be ended, which is waited for */
	unsigned reaped;  /* the keeper has waited for the command, of whose status is valid. Written by the keeper */
	unsigned adopted; /* this worker is not the first; the command is the keeper's child. Written by the keeper */
	unsigned taken;   /* the new worker has taken up the processes, and serves */
	unsigned quit;    /* the worker ended as it was asked to (page.stop), with the record unfinished */
	unsigned got[65]; /* signals the worker received: those sent to the whole group */
	pid_t server;     /* the worker's thread that takes the stops; 0: not yet */
	pid_t standby;    /* the third holder of the listener (standby.h), 0: none. Written by the keeper */
	uint64_t passed;  /* calls that the keeper let go on while that stood still (standstill.h) */
	uint64_t traps;
	struct {
		int error;        /* errno: part of the record could not be written; 0: all was */
		unsigned nothing; /* nothing was */
		unsigned removed; /* enum of log_outcome */
		uint64_t lost;    /* events */
		char place[256];  /* where it is, if it was removed */
	} log;
	unsigned closing; /* the keeper, in the worker's place, has said all (log_server.h) */
	unsigned few;     /* descriptors had run out */
	unsigned untold;  /* CHANNEL_UNTOLD_* */
	unsigned gaps;    /* 1 << reason of what was not seen, up to the command's end */
};

struct worker {
	struct sup sup;
	struct control *control;
	pid_t keeper;
	int notice; /* written to when the command has ended and others live on */
	bool told, few_said;
	int signals;     /* signalfd */
	int64_t killing; /* since when what outlives the command is being killed; 0: it is not */
	pthread_attr_t attr;
	pid_t server; /* the thread that takes the stops */
	struct stillness {
		int64_t since, seen; /* the stop it was asleep at when it was looked at first, and when that was; ns */
		uint64_t switches;   /* how often it had been taken off a processor */
		char where[48];      /* in the kernel: wchan */
	} still;
	char held_in[48];        /* where it was held up last */
	char held_at[LOOKS_AT];  /* the path that it was held up at, until it is said; "" not known */
	uint64_t holds;          /* the stop that the server is at, or was at last */
	int standing_in;         /* a stand-in answers in its place */
	unsigned held_up;        /* times that happened */
	uint64_t passed;         /* calls that went by unrecorded then */
	uint64_t stood[2];       /* of control.passed, what the server's thread has seen and what has been said */
	int scan_ms;             /* until the next look, where sup.scans */
	struct serving *serving; /* the thread that receives (serve.h) */
	struct serving *first, *spare, *servers[SERVERS_MORE]; /* the first of them; those not needed now; all others */
	unsigned nservers, away;                               /* away: of them who look for more than a tick */
	bool full;                                             /* there was none to be had; atomic */
	struct trap *parked;                                   /* stops that were put off, NOTIFY_PARKED at most */
	unsigned nparked;
	int64_t parked_at;    /* since when there are any */
	bool crowded;         /* all of them wait for file systems; by pool */
	pthread_mutex_t pool; /* of these, and of raw */
	bool begins;          /* the command has not become its program yet; under the lock */
	int64_t wary;         /* until then they do not write the log themselves */
	int64_t alert;        /* until then each look is expected to be held up */
	struct raw_calls {
		struct raw *v;
		size_t n;
		uint64_t more; /* that there was no room for */
	} raw;             /* what went by while a stand-in answered; that one's until raw_waits */
	int raw_waits;     /* it is to be recorded */
	int wake;          /* eventfd: the main thread is to look, though it meant to sleep for long */
	int dozing;        /* it does mean that */
};

/* Starts a thread of the worker. 0 or -errno. */
int worker_thread(struct worker *w, void *(*body)(void *arg), void *arg, pthread_t *ret);
/* Whether other processes of this user may read or trace this one, which has every program's log and the listener. Who
 * shares this memory is no longer read by others either. */
void worker_hide_memory(bool hidden);
/* What the server's thread does: takes the stops, one after the other. The caller has set up sup.log, sup.run,
 * sup.listener, sup.root and the flags. Returns when nobody is left. */
void worker_serve(struct worker *w);
/* Everything else, beside the server, until nobody is left. */
_Noreturn void worker_main(struct worker *w);
/* Begins to trace the command by ptrace; it has been seized. exact: all of its calls stop, whatever filter it has.
 * exits: its threads stop once more when they end. 0, -errno. */
int trace_seize(pid_t pid, bool exact, bool exits);
/* Can a child that just waits be seized, and its calls be read? For exact, their ends too. 0 or -errno (-ENOTSUP: the
 * kernel is too old). It is left stopped. */
int trace_try(pid_t pid, bool exact);
void trace_loop(pid_t pid, bool exact);
_Noreturn void worker_trace(struct worker *w);
/* A tracer that takes the worker's place (ptrace_keeper.c): seizes all processes below this one; those that another
 * process of the same memory traced, once that has ended; lets go on what has stopped. Release v with free.
 * traced_seize_again: waits for the old tracer to end, a second at most. */
struct traced {
	pid_t *v;
	size_t n, cap;
};
void traced_seize(struct traced *t);
void traced_seize_again(struct traced *t);
/* Lets stopped threads go on, and tells which processes have ended. False: nobody is left. */
bool traced_serve(struct traced *t, void (*ended)(void *arg, pid_t pid, int status), void *arg);
/* Parts that both transports share. worker_command_ended: status as wait gives it; writes the run's end. */
void worker_signals(struct worker *w);
void worker_take_signals(struct worker *w);
void worker_command_ended(struct worker *w, int status);
/* Tells the keeper that the command has ended, whatever of the record is still to be
 * written. */
void worker_emit_ended(struct worker *w, int status);
/* Is the server's thread held up where it looks at something? To be asked every few milliseconds. */
bool worker_held_up(struct worker *w);
/* The second half of it: the run's end, of which the command was process p. */
void worker_run_end(struct worker *w, const struct proc *p, int status);
/* The command is stopped (Ctrl-Z): so is the keeper, for the shell that waits for it to take the terminal back.
 * Somebody may continue the command alone: worker_continue, now and then, has the keeper go on too. */
void worker_stop(struct control *c, pid_t keeper);
/* Continues a keeper that worker_stop has stopped, if the command runs again or is over. Nothing where the keeper is
 * not this process's parent any more. */
void worker_continue(struct control *c, pid_t keeper);
/* The same without looking at the command, for who knows that it runs. */
void worker_go_on(struct control *c, pid_t keeper);
/* Ends the log, and writes down in control what became of it. s->log is closed after it. */
void worker_end_log(struct sup *s, struct control *c);
/* Wakes the keeper: the command has ended, and the worker lives on. */
void worker_emit_end(struct worker *w);
/* Waits for a child of this process that has ended (si: from waitid with WNOWAIT), and tells the observer. flags: for
 * wait4. False: it has not ended. */
bool worker_reap(struct worker *w, const siginfo_t *si, int flags, int *ret_status);
/* How the command ended, for the keeper, who could not learn it if this process were killed. */
void worker_see_end(struct worker *w, int status);
/* Kills a process and its children, for procfs_children. */
void worker_kill_child(void *arg, pid_t pid);
_Noreturn void worker_finish(struct worker *w);
/* Looks for processes that are new, have become other programs or have ended. False: none is left. (scan.c) */
bool worker_scan(struct worker *w);
/* Fills in what is the same for every process: clock, namespaces, credentials. */
void sup_init(struct sup *s);

#endif
