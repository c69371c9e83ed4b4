/* node_int.h - the tables of the aggregator. Internal to src/node. */
#ifndef STEMMA_NODE_NODE_INT_H
#define STEMMA_NODE_NODE_INT_H

#include "node/node.h"

#define HASH 4096
#define HELD_BACK 64 /* accesses of an undecided process, ... */
#define HELD_BACK_ALL 4096
#define JOB_MAX 64
#define GLANCES 64            /* accesses looked at for one that may be continued */
#define DORMANT_NS 2000000000 /* so long an access that has ended is kept */

struct naccess;
struct nproc;
struct nprogram;

/* The log of one user, as the session that is being written. */
struct book {
	struct book *next;
	uint32_t uid;
	uint64_t session; /* counts up; numbers of an older one are nobody's any more */
	uint64_t next_file, next_proc;
	uint64_t procs;      /* live ones that belong here */
	bool live;           /* the next gap is told here */
	uint64_t domains[4]; /* bit set: told */
	/* What this user takes of the tables, and what found no room there since the last gap that says so. */
	unsigned accesses, processes;
	uint64_t short_of_room;
	uint64_t events; /* of files, since node_busiest was called */
};

/* What a book knows of a file. */
struct emitted {
	struct emitted *next;
	const struct book *book;
	uint64_t session, num;
	uint64_t path; /* hash of the path it was told with */
	bool stated;
	uint64_t size;
	int64_t mtime;
	int64_t written; /* the file's, when that was stated */
};

struct nfile {
	struct nfile *next, *path_next; /* in their hash chains */
	struct nfile *newer, *older;    /* by when room was made, or they were new */
	uint64_t dev, ino, gen, channel;
	uint32_t i_gen;
	unsigned kind;
	const struct fs_domain *domain;
	char *path;
	int64_t path_time; /* a moment at which it had that name */
	struct emitted *emitted;
	struct naccess *accesses;
	unsigned pins; /* accesses and exes that point here */
	unsigned n_accesses;
	/* The last look at it. */
	bool known;
	uint64_t size;
	int64_t mtime, seen;
	int64_t written;  /* the latest moment at which a write may have been going on */
	uint32_t writers; /* accesses live that may write */
	/* In the order of all that happens (struct node's turns), 0 never: when several processes had such accesses for the
	 * last time; who began the latest of them and when, and when the latest was begun by anybody else. */
	uint64_t crowded, disturbed, disturbed_else;
	const struct nproc *disturber; /* to be compared, never followed */
	uint64_t unlooked;             /* what ended before was looked at too late; where too many were there to tell */
	pid_t maker;                   /* who made the name, and when that one began; 0: it is known who opened it then */
	uint64_t maker_start;
	int64_t made;
	uint64_t born;   /* 1 + the losses by when its making was seen; 0: it was not */
	bool gone, used; /* used: since room was made */
	/* Of a channel: who reads and writes was seen. */
	bool has_reader, has_writer;
	struct {
		pid_t by, to;
	} lent; /* of a pipe: who was seen last with the end to read, and who forked that one */
};

enum nstate { UNDECIDED, OWN, FOLDED };

struct nproc {
	struct nproc *next;
	pid_t pid;
	uint64_t start;
	uint32_t uid, gid;
	struct book *payer; /* whose part of the tables it is of; NULL: not counted */
	unsigned refs;      /* who points here, and 1 while it is in the table */
	bool alive, gone;   /* gone: out of the table; who was forked by it still points here */
	enum nstate state;
	enum rule_class class; /* of the program that it is, or is a fork of */
	enum rule_class under; /* of what it was forked from */
	struct nproc *above;   /* who it would count to, until it was told; held */
	struct nproc *rep;     /* whom it counts to: itself if it is OWN; NULL while undecided; held if another */
	uint32_t part,
	    parts; /* its number among those that count to rep, 0 not given yet; how many were given to its own */
	struct nproc *dead_next; /* it is over, and its last closes may still come */
	unsigned drains;         /* since then */
	int64_t exit_time;
	struct book *book; /* of an OWN one, once it was told */
	uint64_t session, num;
	uint64_t execn, nexec; /* in the log; the tracer's count */
	int64_t forked, forked_hi, exec_time;
	uint32_t uid_before; /* of the program before this one */
	int64_t user_time;   /* when it became another user without an exec; 0: it has not, since the last */
	struct {
		const struct book *book;
		uint64_t session, execn, num;
	} alias; /* the last that was given out */
	char run[27];
	bool run_root;
	bool became;     /* its run began when it became another user's, and it has executed nothing since */
	bool answers;    /* it answers a question about the node */
	bool ran;        /* it has executed something */
	bool counting;   /* granularity `access` is on for it */
	int64_t ordered; /* where its latest event of a file stands, see struct node */
	struct nproc *maker_of_channels; /* who forked it; held while both live */
	char *job;                       /* NULL: none */
	struct naccess *accesses;
	unsigned n_accesses;
	unsigned sweep_at;    /* so many accesses it has when dormant ones are looked for again */
	struct nprogram *now; /* kept to be told again in another session; NULL: it has executed none that is told */
};

struct nprogram {
	uint64_t n; /* the execution */
	struct nfile *exe, *script;
	char *argv, *env, *cwd; /* lists, packed as the log has them */
	size_t argv_n, env_n;
};

/* What was counted of an access: read, written. */
struct ncounted {
	uint64_t bytes[2], calls[2];
	int64_t first[2], last[2];
};

/* One access, by the process that did it. Untold: seq 0. */
struct naccess {
	struct naccess *file_next, **file_at, *proc_next, **proc_at;
	struct nfile *file;
	struct nproc *proc, *owner;
	struct book *book; /* that it was told in, as number num */
	uint64_t session, seq, num;
	int64_t lo, hi; /* it started at lo or later, and was last heard of at hi */
	int64_t place;  /* where among its process's accesses that started at lo: ns, to be added to that */
	int64_t ended;  /* latest moment of its end; TIME_NEVER: it goes on */
	int64_t over;   /* its earliest, where events of files told of it; 0: it is the latest */
	unsigned mode;  /* 0: not known yet */
	uint32_t uid;   /* who did it: an execution before may have been another user's */
	unsigned via, api;
	uint64_t count;
	uint64_t execn; /* the execution of its process that it is of */
	bool sure;
	bool seen_mode;     /* mode is what a descriptor's table said */
	bool opened_before; /* inherited; the opening by the program before was told */
	bool empty;         /* ... and the file was new then */
	bool guess;         /* of a channel: nobody was seen to have this end */
	bool shrunk;        /* emptied at its start */
	bool was_empty;     /* it had nothing in it then; seen_empty: or soon after */
	bool seen_empty;
	uint64_t turn, ended_turn; /* when it began and ended, in the order of all */
	bool shared;               /* several processes could write the file before it ended */
	bool before, after;        /* fingerprints are known */
	uint64_t size, after_size;
	int64_t mtime, after_mtime;
	int64_t after_looked; /* until when `after` was found out */
	/* Granularity `access`: read, written. */
	bool moved[2], counted_from, counted, whole; /* from its start on; at its end; nothing can have moved unseen */
	struct ncounted *by;                         /* malloc'ed; there where one of moved is */
};

struct node {
	struct node_world world;
	struct node_options o;
	struct nproc *procs[HASH], *dead;
	struct nfile *files[HASH], *paths[HASH];
	struct nfile *newest, *oldest;
	struct book *books;
	struct saved {
		pid_t pid;
		uint64_t start, execn;
		char run[27];
		bool root;
	} * saved;
	size_t n_saved;
	unsigned n_procs, n_files, n_accesses, n_undecided, n_rep, n_held;
	int64_t now, named; /* named: when the latest name changed */
	uint64_t turns;     /* counts what begins and ends */
	uint64_t losses;    /* how often some of what happened was lost */
	/* Of the event of a file that is being taken: the earliest moment that is told of it, and one that keeps the order
	 * of its process's events. All between two drains have the same two times, and come in the order in which each was
	 * first there: what a process does to a file later the kernel puts to what waits there of the two. So the starts of
	 * accesses are known in order, and the ends are not. */
	struct {
		int64_t lo, at;
	} taken;
	int64_t short_since;
	uint64_t files_short; /* files that found no room since then */
	struct node_stats stats;
	struct buf room;
};

/* ---- emitting (emit.c) ---- */

struct book *book_of(struct node *n, uint32_t uid);
/* The book of p's user, to whom p and its accesses are counted; NULL: no memory. */
struct book *book_paying(struct node *n, struct nproc *p);
/* p is in no table any more. */
void book_unpay(struct nproc *p);
/* Something of that user's found no room. */
void book_short(struct node *n, uint32_t uid);
/* May a user have one more in a table of `max`, in which all have `all` and this one has `own`? As long as it is no
 * more than four times what is free: one user gets four fifths of the table, two get four ninths each, and something is
 * free for the next. */
static inline bool book_may(unsigned own, unsigned all, unsigned max)
{
	return all < max && own < 4 * (max - all);
}
uint64_t node_emit(struct node *n, struct book *b, uint64_t proc, uint64_t kind, int64_t time, struct event *ev);
/* The number of a file in a book; told if it was not. 0: no memory. */
uint64_t node_emit_file(struct node *n, struct book *b, struct nfile *f);
/* Only if it differs from what was told last. */
void node_emit_state(struct node *n, struct book *b, struct nfile *f, uint64_t size, int64_t mtime);
/* Tells what a file is like as process num found it at that time, or later, as node_emit_state does; where only its
 * times can have been set since it was stated last, that is told, too: the version stays. */
void node_emit_found(struct node *n, struct book *b, struct nfile *f, uint64_t num, int64_t time, uint64_t size,
                     int64_t mtime);
/* The number of an OWN process in its book. */
uint64_t node_emit_proc(struct node *n, struct nproc *p);
/* A gap of an OWN process in its book: reason is of term gap, count how many, 0 not known; times in ns. */
void node_emit_gap(struct node *n, struct nproc *p, unsigned reason, uint64_t count, int64_t from, int64_t until,
                   const char *text);
/* A number under which what is told counts to execution n of the process, which was that user's, whatever it is now. */
uint64_t node_emit_alias(struct node *n, struct nproc *p, uint64_t execn, uint32_t uid, struct book **ret);
/* Strings that lie one behind the other, each with its NUL, as an array; malloc'ed. */
struct str *node_unpack_words(const char *packed, size_t size, size_t *ret_n);
/* Tells that a process became another program. time: when it began. Without memory it counts as lost. */
void node_emit_exec(struct node *n, struct nproc *p, int64_t time);
/* A name of a file, changed by p (NULL: found so), in the books that know the file, and in p's. */
void node_emit_name(struct node *n, struct nproc *p, unsigned op, struct nfile *f, const char *path, const char *old,
                    int64_t time);

/* ---- files (files.c) ---- */

/* Finds a file by its identity. NULL: nothing was heard of it yet. */
struct nfile *nfile_find(struct node *n, const struct tracer_fileid *id);
/* The file of an event, made if it is new. NULL: not one that is recorded. */
struct nfile *nfile_met(struct node *n, const struct tracer_fileid *id, const struct fs_domain *domain, unsigned kind,
                        struct str path);
/* Finds or adds a file as nfile_met does, by what the world was asked of it. */
struct nfile *nfile_found(struct node *n, const struct tracer_fileid *id, const struct node_found *found);
/* The file that has this name now, as far as events told; NULL. */
struct nfile *nfile_at_path(struct node *n, struct str path);
/* Its name from now on, copied; "": it has none. Without memory it keeps the old one, which is counted as lost. */
void nfile_named(struct node *n, struct nfile *f, struct str path);
void nfiles_free(struct node *n);

/* ---- accesses (access.c, access_open.c, access_fds.c) ---- */

/* Is the file a stream: a FIFO, pipe, socket, shared memory or terminal? */
static inline bool nfile_is_stream(const struct nfile *f)
{
	return f->kind == TERM_kind_pipe || f->kind == TERM_kind_fifo || f->kind == TERM_kind_socket ||
	       f->kind == TERM_kind_shm || f->kind == TERM_kind_terminal;
}
/* May the access have written? An unknown mode may. */
static inline bool naccess_may_write(const struct naccess *a)
{
	return a->mode == 0 || (a->mode & ACCESS_WRITE);
}
/* Has the access no end yet? */
static inline bool naccess_is_live(const struct naccess *a)
{
	return a->ended == TIME_NEVER;
}
/* One of p to f, in both lists and with nothing known of it. NULL: no memory, or no room for this user, which is
 * counted. */
struct naccess *naccess_new(struct node *n, struct nproc *p, struct nfile *f);
/* The accesses of p to f, one after the other, from NULL on; by the shorter of the two lists. */
struct naccess *naccess_next(struct nproc *p, struct nfile *f, struct naccess *a);
/* Could nobody else write the file from its start to its end? */
bool naccess_is_sole_writer(const struct naccess *a);
/* May somebody else have written the file since it ended? Then what comes is another access. */
bool naccess_is_superseded(const struct naccess *a);
/* Notes the end of an access. when: ns. Nothing if it ended before and somebody else may have written the file
 * since. */
void naccess_set_ended(struct node *n, struct naccess *a, int64_t when);
/* Where a, which writes, began before an earlier access was looked at, what was seen then may be what a wrote: that is
 * not known to be how the earlier one left the file. */
void naccess_drop_late_looks(struct node *n, const struct naccess *a);
/* How it was opened is known now. */
void naccess_set_mode(struct node *n, struct naccess *a, unsigned mode);
/* Tells how it ended, and frees it. */
void naccess_finish(struct node *n, struct naccess *a);
/* What the program before had opened, nobody knows how; NULL. */
struct naccess *naccess_before_exec(struct nproc *p, struct nfile *f);
/* lo, hi: between these it was opened. NULL: no memory. */
struct naccess *naccess_start(struct node *n, struct nproc *p, struct nfile *f, unsigned mode, unsigned via,
                              unsigned api, bool sure, int64_t lo, int64_t hi);
/* What a file's event says of p's accesses to it. */
void naccess_file(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f);
/* What the counting of reads and writes has of p and the file, from the start on. */
void naccess_totals(struct node *n, struct nproc *p, const struct tracer_event *ev, struct nfile *f);
/* What p has open, as its table of descriptors says. */
void naccess_fds(struct node *n, struct nproc *p, const struct tracer_event *ev);
/* All of p's end by then: it executes another program, or is over. */
void naccess_end_all(struct node *n, struct nproc *p, int64_t until, bool exec);
/* Those that were held back are told: it is decided whose they are. */
void naccess_emit_held(struct node *n, struct nproc *p);
void naccess_finish_dormant(struct node *n, bool all);
/* Another session begins for the book: before, and after. */
void naccess_end_session(struct node *n, struct book *b, int64_t now);
/* Only what goes on is told in the new session. */
void naccess_begin_session(struct node *n, struct book *b);
/* Of channels whose other end nobody was seen to have: its maker may have. Before p is over. */
void naccess_channels(struct node *n, struct nproc *p);
/* ... such an access ends some time after those at the other end have. */
void naccess_guesses(struct node *n, struct nproc *p);
/* Takes it out of all lists. */
void naccess_free(struct node *n, struct naccess *a);

/* ---- processes (procs.c) ---- */

/* Does what is started from a program of this class count to none? */
static inline bool is_passing_class(enum rule_class class)
{
	return class == RULE_pass || class == RULE_told || class == RULE_job;
}
/* What p is, or is about to be, by its program. */
enum rule_class nproc_class(const struct node *n, const struct nproc *p, const struct tracer_event *ev);
/* start 0: whichever lives with that number. NULL: none. */
struct nproc *nproc_find(struct node *n, pid_t pid, uint64_t start);
/* A new one in the table; NULL without memory, or where its user has no share left. */
struct nproc *nproc_new(struct node *n, pid_t pid, uint64_t start, uint32_t uid);
/* p, which may be NULL, is held until nproc_unref. */
struct nproc *nproc_ref(struct nproc *p);
/* p must not be NULL; without holders it is freed, and may free those above it. */
void nproc_unref(struct node *n, struct nproc *p);
/* now may be NULL. */
void nprogram_free(struct nprogram *now);
/* Whom it counts to, by who forked it. above: that process, NULL not known. */
void nproc_inherit(struct node *n, struct nproc *p, struct nproc *above);
/* Decides that a process is told as one of its own, as nproc_decide, without an event. */
void nproc_set_own(struct node *n, struct nproc *p);
/* Notes that a process is over and all its ends are known. Nothing more will come of it. */
void nproc_over(struct node *n, struct nproc *p);
/* It leaves the table. */
void nproc_gone(struct node *n, struct nproc *p);
/* Decides that a process counts for itself from now on: it executed a program, or too much of it is held back. */
void nproc_decide(struct node *n, struct nproc *p);
/* Was it done, or may it have been, before p became its present user? What is not sure is told to the user before, for
 * the new one may have fewer rights; to root, if that is the new one. */
static inline bool before_user(const struct nproc *p, const struct tracer_event *ev)
{
	return p->user_time && ev->lo < p->user_time && (p->uid || ev->hi < p->user_time);
}
/* Did the process make the file? */
static inline bool is_maker(const struct nfile *f, const struct nproc *p)
{
	return f->maker == p->pid && f->maker_start == p->start;
}
/* Whose the accesses of p are: an OWN process. NULL: not decided. */
static inline struct nproc *owner_of(struct nproc *p)
{
	return p->state == UNDECIDED ? NULL : p->rep;
}

/* ---- what processes run (programs.c) ---- */

/* Whose it is, if the event knows. */
void nproc_set_ids(struct nproc *p, const struct tracer_event *ev);
/* What the event says that p runs is what it runs now. */
void node_take_program(struct node *n, struct nproc *p, const struct tracer_event *ev);
void node_take_exec(struct node *n, struct nproc *p, const struct tracer_event *ev);
/* It goes on as another user, with the same program: in the log of that one, as another execution. */
void node_take_user(struct node *n, struct nproc *p, const struct tracer_event *ev);

/* ---- names of files (file_names.c) ---- */

/* Something was done to a file, or to a name. */
void node_take_file(struct node *n, struct nproc *p, const struct tracer_event *ev);

#endif
