/* counted_int.h - what the files of the recorder's half share: the state of a process that counts. */
#ifndef STEMMA_CAPTURE_COUNT_COUNTED_INT_H
#define STEMMA_CAPTURE_COUNT_COUNTED_INT_H

#include "capture/count/counted.h"
#include "capture/inject/sites.h"

#include <assert.h>

#define OPENED 512    /* opens whose files are remembered; a thread that does not get its turn holds up the others */
#define DRAIN_AT 24   /* opens after which the log is read: each may come with a dup, a map and a close */
#define LOGGED 512    /* opens written down elsewhere that the log has not been read for */
#define GIVEN 8       /* pipes that it began with */
#define FIRST_OPENS 8 /* of a child: at these is looked at which pipes its parent has made */
#define RESUMES 16    /* children that shared the memory, since the log was read */
#define NOT_A_FILE UINT64_MAX
#define A_PIPE (UINT64_MAX - 1) /* that it has made, and nobody can tell any more which one it was */
/* The k-th that it has made; which one it is is found when somebody else has it. Numbers of files are below. */
#define OWN_PIPES 16
#define OWN_PIPE(k) (A_PIPE - OWN_PIPES + (k))
/* Looked at always, whether or not the log names them (fcntl duplicates past it): what the table's first page holds. */
#define FIRST_FDS ((4096 - offsetof(struct counted_table, row)) / sizeof(struct counted_row))

struct counted {
	uint64_t code, table;
	uint64_t base; /* where the library is that jumps to it */
	const struct sites *sites;
	const struct counted_table *shared; /* what it counts into, here; NULL: memory of its own */
	uint32_t read;                      /* entries taken */
	struct { /* of children that shared the memory, oldest first: who, and up to where the entries are its */
		uint64_t child;
		uint32_t pos;
	} resume[RESUMES];
	unsigned nresumes;
	uint32_t theirs; /* up to here entries are a child's, of the thread that made it */
	uint32_t theirs_tid;
	struct counted_row last[COUNTED_FDS + 1]; /* as attributed */
	uint64_t file[COUNTED_FDS];               /* number of the file behind it; 0 not known */
	unsigned high;                            /* highest descriptor looked at */
	uint64_t opens, seen;                     /* stopped; all before this found in the log */
	struct stopped {
		uint64_t file;    /* 0: not known yet */
		uint64_t pending; /* id of the pending call that shows it; 0 none */
		uint32_t pos;     /* entries that the log had when it was stopped: its own comes after them */
		pid_t tid;
		bool seen;
	} opened[OPENED];
	struct { /* opens without a stop (inline_open.h), oldest first */
		uint64_t file;
		int fd;
	} logged[LOGGED];
	size_t nlogged;
	bool opening;
	uint64_t base_read, base_written, sum_read, sum_written;
	int64_t looked, now;          /* when the last look began after which all counts were known; when this one ended */
	uint64_t passes;              /* of the supervisor's, when this began */
	uint64_t epoch, judged;       /* numbers of the epoch + 1 when the log was read, the sums were compared */
	bool many;                    /* it has, or had, several threads: entries say whose they are */
	uint64_t idle;                /* number of the epoch + 1 when its other threads were found asleep */
	uint32_t flying[COUNTED_FDS]; /* of those: calls that were under way when the descriptor was closed */
	uint64_t made;                /* threads, as far as the log is read */
	uint64_t all_read, all_written; /* what the process's totals have beside those of its first thread */
	unsigned pipes;                 /* directions of which bytes went through pipes that nobody knows any more */
	bool lost, frozen, proved;
	struct own_pipe {
		uint64_t file; /* 0: not known yet */
		/* What waits until it is: read and written, by read and write or otherwise. */
		uint64_t calls[2][2], bytes[2][2];
	} own[OWN_PIPES];      /* the last ones that it has made */
	uint64_t nown;         /* ever */
	uint64_t given[GIVEN]; /* pipes that it began with, which are not those */
	unsigned ngiven;
	bool elsewhere; /* a descriptor was that of a file of which there was no access then */
};

/* The table's beginning. */
struct head {
	uint32_t owner, pos;
	uint64_t delta;
	uint32_t threads;
};
static_assert(offsetof(struct head, threads) == offsetof(struct counted_table, threads) &&
                  offsetof(struct head, pos) == offsetof(struct counted_table, pos),
              "what is read");

/* Is it the number of a descriptor for which there is a counter? */
static inline bool in_range(int64_t fd)
{
	return fd >= 0 && fd < COUNTED_FDS;
}

/* Notes that fd has been used: counters above the highest one are not looked at. */
static inline void raise_high(struct counted *c, int64_t fd)
{
	if (in_range(fd) && (unsigned)fd > c->high)
		c->high = (unsigned)fd;
}

/* Reads n bytes of the process's memory. False: not all of them could be read. */
static inline bool remote(pid_t pid, uint64_t at, void *p, size_t n)
{
	return remote_read(pid, at, p, n) == (ssize_t)n;
}

/* The pipe that it has made, if it is one. */
static inline struct own_pipe *own_pipe(struct counted *c, uint64_t file)
{
	return file >= OWN_PIPE(0) && file < OWN_PIPE(OWN_PIPES) ? &c->own[file - OWN_PIPE(0)] : NULL;
}

/* A pipe that it has made, and which one is not known. */
static inline bool is_unknown_pipe(struct counted *c, uint64_t file)
{
	const struct own_pipe *own = own_pipe(c, file);
	return file == A_PIPE || (own && !own->file);
}

/* The file's number, also of a pipe that it has made. */
static inline uint64_t number_of_pipe_or_file(struct counted *c, uint64_t file)
{
	const struct own_pipe *own = own_pipe(c, file);
	return own && own->file ? own->file : file;
}

/* ---- counted_files.c ---- */

/* A live access of p to that file; NULL none. */
struct access *counted_live(struct proc *p, uint64_t file, unsigned mode);
/* What a descriptor is, of a process that stands still: a file's number, NOT_A_FILE, 0 it is not open. */
uint64_t counted_look_up(struct sup *s, struct proc *p, unsigned fd);
/* The number of the file that the process has open there. The same of one that was looked at; *ret_elsewhere: it may
 * be of a file of which there is no access. */
uint64_t counted_what_is(struct sup *s, struct proc *p, const struct statx *st, bool *ret_elsewhere);
/* What has been counted of a descriptor since goes to what it is. */
void counted_attribute(struct sup *s, struct counted *c, struct proc *p, unsigned fd, const struct counted_row *now);
/* So many calls and bytes are the file's, of that api, and the process's. */
void counted_split(struct sup *s, struct counted *c, struct proc *p, uint64_t file, bool write, unsigned api,
                   uint64_t calls, uint64_t bytes);
/* A pipe was made: what it is called. Of the oldest one it will not be known any more which it was. */
uint64_t counted_next_own(struct counted *c);
/* Directions of which bytes may be this pipe's that went through one that it has made and nobody knows. */
unsigned counted_pipe_directions(const struct counted *c, const struct file *f);
/* One of them is that file: what waits is its. */
void counted_found(struct sup *s, struct proc *p, uint64_t own, uint64_t file);

/* ---- counted_log.c ---- */

/* Entries that were read; under the big lock. */
extern struct counted_entry counted_entries[COUNTED_LOG];
/* Reads the log and the rows. standing: the process is at a stop of its own. False: not now, or never (lost). */
bool counted_drain(struct sup *s, struct proc *p, bool standing);
/* Has a call of that thread been stopped that opens, and is not in the log? */
bool counted_is_opening(const struct counted *c, pid_t tid);

/* ---- counted_begin.c ---- */

/* Puts the counting code into the process that has been stopped for it, and lets it go on with go(arg). As struct
 * sup and struct feature have them. counted_confine: takes the counts out of the shared memory, which the process is
 * about to lose. */
void counted_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg);
void counted_confine(struct sup *s, struct proc *p);

/* ---- counted.c ---- */

/* In which directions (ACCESS_READ, ACCESS_WRITE) the process may have moved bytes of the access's pipe without
 * counting them. As struct byte_counter has it: also of pipes that the process has made. */
unsigned counted_unsaid(const struct access *a);
/* Forgets what a process has counted: p is another program now, or over. */
void counted_free(struct sup *s, struct proc *p);

/* ---- counted_child.c ---- */

/* Makes what is known of a process that counts for itself. NULL: no memory. */
struct counted *counted_new(const struct sup *s, uint64_t code, uint64_t table, uint64_t base,
                            const struct sites *sites);
/* A child p without an exec goes on with its parent's code; leaves: it is about to exec or to end. */
void counted_inherit(struct sup *s, struct proc *p, struct proc *parent, bool leaves);
/* Which pipes they are that p has made, which is at a stop of its own or perhaps waits. */
void counted_see_pipes(struct sup *s, struct proc *p, bool standing);
/* Has it one open that it has made, and which one it is is not known? */
bool counted_misses_pipes(struct counted *c);
/* ... that p and its ancestors have. */
void counted_pipes(struct sup *s, struct proc *p);
/* The process began with that descriptor. */
void counted_given(struct counted *c, const struct file *f);

#endif
