/* logging.h - what is known of processes that open files by themselves, and of their logs. Internal to
 * capture/inline_open; under the big lock. */
#ifndef STEMMA_CAPTURE_INLINE_OPEN_LOGGING_H
#define STEMMA_CAPTURE_INLINE_OPEN_LOGGING_H

#include "capture/inline_open/observed_paths.h"
#include "capture/inline_open/open_code.h"
#include "capture/supervisor/calls_logged.h"

#include <fcntl.h>

/* Of the log of a thread. */
struct thread_log {
	pid_t tid;        /* 0: nobody's */
	uint64_t pointer; /* the thread's */
	uint32_t lost;
	bool closed;       /* until its thread stops */
	bool late;         /* an open was under way when names changed: its entry is the one that begins */
	uint32_t late_pos; /* ... here */
	bool stuck;        /* it was busy when it was read last, with this much in it */
	uint32_t pos;
};

/* A row of the table of folders in a log (opens_folders.h). */
struct opens_folder {
	struct opens_folder_row row;
	char *path;      /* NULL: no folder */
	uint64_t looked; /* number of the copying of logs at which it led there last */
};

/* What is known of a process that has the code. */
struct logging {
	uint64_t code; /* of the stubs */
	uint64_t base; /* where the library is loaded whose calls jump to them */
	const struct sites *sites;
	int slot; /* its log; -1 none */
	uint32_t lost;
	bool never;    /* its log was not what it should be, or it has a filter of its own: opens stop */
	uint64_t late; /* an open that began before this was under way when names changed; 0: none */
	dev_t cwd_dev; /* its working directory */
	ino_t cwd_ino;
	unsigned batch; /* when that was last looked for by its name */
	bool lost_cwd, cwd_in_proc;
	unsigned fresh, opens; /* files that it opened by itself: taken and not yet recorded; ever */
	/* It has its own log, and how many it had opened when that was given to it. Who opens nothing before it is shut
	 * again, as a program that copies files, in so many turns now, is given it that many stops later. */
	bool given;
	unsigned opens_given, idle, skip;
	int64_t crowded;              /* when its threads had all logs that it can have */
	struct thread_log *threads;   /* OPENS_THREADS, as in its table; NULL: none of its threads had one */
	struct opens_folder *folders; /* OPENS_FOLDERS, as in the table of its log; NULL: none is known */
	bool astray;                  /* one of them was not found again */
};

#define OPENED_UNKNOWN INT32_MAX /* value of one that was made at a stop */

struct opened {
	struct proc *proc;
	uint64_t tsc;
	int32_t value;
	uint32_t flags;
	size_t path; /* in paths */
	uint32_t length;
	struct opened_id id;
	bool late;
	bool unasked; /* its descriptor was closed before it was asked which file it had */
	bool ended;   /* its thread did, in the middle of it */
	uint64_t hash;
};

/* A call that changed names while an open was under way. */
#define LATE_CHANGES 32
struct opens_change {
	uint64_t tsc;
	char *name_a, *name_b;
	bool takes;                 /* name_a is not file's any more */
	bool leads_on;              /* a folder or link has another name */
	struct file *file, *victim; /* pinned; NULL: none */
};

struct opens_logs {
	struct proc *owner[OPENS_SLOTS];
	unsigned char *map[OPENS_SLOTS];     /* memory that they have, and nobody else */
	struct opens_slot *log[OPENS_SLOTS]; /* ... in it their own log, behind those of their threads */
	unsigned used, failures, batch;
	uint64_t copies;  /* how often logs were copied */
	unsigned threads; /* logs of threads that are somebody's */
	int logs;         /* at a time */
	bool off, barred;
	uint64_t tsc; /* when both clocks were read last */
	int64_t time;
	struct buf paths; /* what was taken and is not yet recorded */
	struct opened *taken;
	size_t ntaken, room;
	struct observed_table observed;
	struct opens_change changes[LATE_CHANGES]; /* opens_late.h */
	unsigned nchanges;
	bool changes_lost; /* there were more */
};

/* The log of the process that has that slot. */
static inline struct opens_slot *logging_slot(const struct opens_logs *l, int i)
{
	return l->log[i];
}

/* Its arguments from the path on: path, flags. */
static inline const uint64_t *logging_path_arguments(const struct trap *t)
{
	return t->call == CALL_open ? t->args : t->args + 1;
}

/* Is the stopped open one that reads a file by an absolute path or from the working directory, and that the injected
 * code can do? */
static inline bool logging_only_reads(const struct trap *t)
{
	return !t->compat && (t->call == CALL_open || (t->call == CALL_openat && (int)t->args[0] == AT_FDCWD)) &&
	       !(logging_path_arguments(t)[1] & OPENS_FLAGS_NOT);
}

/* Is the stopped open one that reads a file below the folder of a descriptor, and that the injected code can do? The
 * same by the descriptor of a folder. */
static inline bool logging_reads_below(const struct trap *t)
{
	return !t->compat && t->call == CALL_openat && (int)t->args[0] != AT_FDCWD && !(t->args[2] & OPENS_FLAGS_NOT);
}

/* The processor's counter. */
static inline uint64_t logging_tsc_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

/* Is it a call that can be made by the code? Where the program counts as well, it stops in the stubs for that. */
bool logging_can_make(const struct proc *p, const struct logging *g, const struct trap *t);
/* Learns how many files a program opens: p has opened one more file. */
void logging_learn_habit(const struct proc *p);
/* The log of p could not be read to its end: no more of it is. */
void logging_give_up(struct sup *s, struct proc *p);
/* Takes an entry, whose path has e->length bytes and may change. folder: that a relative path begins in, NULL: the
 * working directory. how: id, late and ended. False: no memory. */
bool logging_append(struct opens_logs *l, struct proc *p, const struct opens_entry *e, const char *folder,
                    const unsigned char *path, const struct opened *how);
/* Its working directory, as it is now. */
void logging_know_cwd(struct sup *s, struct proc *p, struct logging *g);

#endif
