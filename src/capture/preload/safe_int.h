/* safe_int.h - what the parts of the safe worker share: processes with their programs and open files. Internal to
 * safe_*.c.
 *
 * safe_proc.c has processes, programs and ends; safe_file.c what they have open; safe_events.c the events;
 * safe_kernel.c what only the kernel can tell. */
#ifndef STEMMA_CAPTURE_PRELOAD_SAFE_INT_H
#define STEMMA_CAPTURE_PRELOAD_SAFE_INT_H

#include "capture/preload/safe.h"

#define DONE_MAX 4096       /* closed files a process whose bytes may yet be proved */
#define IDS 64              /* hash of a process's open files */
#define OPEN_MAX_TOLD 65536 /* open files a process; more are a program that makes them up */
#define SOON 50000000       /* ns after which a new program has said something if it ever will */
#define TEXT_KEPT 262144
#define REMEMBER 5000000000 /* ns that an ended process is known, for children that come late */

/* What a program moved through an access, by one kind of call. */
struct sum {
	struct sum *next;
	struct safe_row row;
	uint64_t sizes[SIZE_CLASSES];
};

/* An access, and how many open files lead to it. */
struct use {
	struct use *next;
	struct access *a;
	unsigned refs;
	bool loaded, mapped, altered; /* mapped to be read; shared, and to be written */
	bool shot;                    /* print is the file as the program saw it last */
	bool flushes, may_flush;
	struct fingerprint print;
	struct sum *sums;
};

struct ident {
	struct ident *next;
	uint32_t oid;
	unsigned refs;      /* descriptors */
	struct use *use[2]; /* read, written; they may be one */
	struct fingerprint print;
};

/* An access whose bytes are claimed if the program's totals prove them. */
struct done {
	uint64_t seq, bytes[2], count;
	unsigned mode;
	bool loaded, mapped, altered, socket, held;
	/* A descriptor that came from elsewhere: used only perhaps, but for the bytes. */
	bool unsure;
	uint64_t file;
	unsigned via;
	int64_t start, until;
};

struct text {
	struct buf bytes; /* strings with their NULs */
	size_t count, piece;
	bool cut;
};

struct intent { /* an exec that was about to happen, or what a process is that has said nothing yet */
	bool set, alone;
	bool seen; /* by the kernel's word, not by its own */
	bool fork; /* it is still its parent's program, and has the library of it */
	uint64_t proved;
	int64_t time;
	char *path;
	struct buf argv;
	size_t argc;
};

struct sproc {
	struct sproc *next;
	struct proc *p;
	uint32_t pid, image;
	bool ours;   /* its pid is of our namespace */
	bool alive;  /* as far as is known */
	bool ended;  /* its exit is written */
	bool lone;   /* does not carry the library, or has not said anything yet */
	bool found;  /* among the children of another, and nothing is written yet of what it is */
	char *root;  /* where its paths begin; NULL: as ours */
	uint64_t ns; /* its mount namespace; 0 ours */
	uint64_t pidns;
	int64_t end, met;
	int64_t low, high; /* between which it began, by the clock of /proc/PID/stat */
	unsigned scans;
	struct ident *ids[IDS];
	size_t nids;
	struct use *uses;
	struct done *done;
	size_t ndone;
	/* Bytes in the rows that came, and in those that the program says there were; told: it has said so. */
	uint64_t summed[2], rows[2];
	bool told;
	bool done_full;
	bool starts; /* what it was started with is being told */
	struct text list[SAFE_LISTS];
	struct intent intent;
	struct buf given; /* what a script was asked for with, before the kernel put its interpreter there */
	size_t ngiven;
	int status; /* of wait, as its parent was told; -1 not known */
	/* A program that began, of which not all has been told. */
	struct {
		bool set;
		int64_t time;
		struct file *exe, *script;
		char *cwd;
		uint32_t uid, gid;
	} begins;
};

/* ---- strings and files (safe_file.c) ---- */

struct fingerprint safe_print(const struct safe_stat *t);
/* The name that a path of the process has here; st: what is at it, NULL nothing. safe_statx: what is not known is 0. */
void sproc_path(const struct sproc *p, struct str told, const struct statx *st, char *ret, size_t n);
struct statx safe_statx(const struct safe_stat *t);
/* The file that was told of; NULL: there is none. */
struct file *sproc_file(struct safe *f, const struct sproc *p, const struct safe_stat *t, struct str path);
/* Bytes as a string in room, cut to n. */
const char *sproc_text(struct str s, char *room, size_t n);

/* ---- open files (safe_file.c) ---- */

/* Counts what a row says to the access. Times that are not of the run are put into it. */
void use_add(const struct safe *f, struct use *u, const struct safe_row *row);
/* The accesses that this open file is, for reading and for writing; they may be one, or NULL. */
void ident_uses(struct sproc *p, struct ident *i, struct access *r, struct access *w);
/* Removes an open file, of which no descriptor is left, from p and frees i; ends at `time` (ns since 1970) the
 * accesses that nothing else of p refers to. */
void ident_end(struct safe *f, struct sproc *p, struct ident *i, int64_t time);
/* Gives the open file of that number, a new one if there was none; it is p's. NULL: oid is 0, p has OPEN_MAX_TOLD
 * open files already, or no memory. */
struct ident *ident_add(struct sproc *p, uint32_t oid);
/* The program is over: by exec or with its process. proved: SAFE_PROVED_* bits. */
void sproc_image_end(struct safe *f, struct sproc *p, int64_t time, uint64_t proved);
struct ident *ident_of(struct sproc *p, uint32_t oid); /* NULL: not known */
/* Its live access to the file that has one of these bits; sync: as coordination, if there is one. */
struct access *sproc_live(const struct sproc *p, const struct file *file, unsigned bit, bool sync);

/* Its chunks are given back, what they count counted. How often it was killed while it wrote. */
unsigned sproc_chunks_back(struct safe *f, struct sproc *p);

/* ---- processes (safe_proc.c) ---- */

/* A process that is met: in the log, too. ticks: when it started, by the kernel; 0 not known; pidns 0: ours. */
struct sproc *sproc_add(struct safe *f, uint32_t pid, uint32_t image, struct sproc *parent, int64_t time,
                        int64_t forked, uint64_t ticks, uint64_t pidns);
struct sproc *sproc_by_pid_of(const struct safe *f, uint32_t pid, uint64_t pidns); /* NULL: not known */
/* The latest with this number; of our pid namespace. */
struct sproc *sproc_by_pid(const struct safe *f, uint32_t pid);
/* May it be the one that the kernel says began at this tick? */
bool sproc_began(const struct safe *f, const struct sproc *p, uint64_t ticks);
/* Has its number not been given to another: it lives, or its parent has not waited for it yet. */
bool sproc_is_still(const struct safe *f, const struct sproc *p);
struct sproc *sproc_by_image(const struct safe *f, uint32_t pid, uint32_t image); /* NULL: not known */

/* ---- programs and ends (safe_proc.c) ---- */

void sproc_intent_drop(struct sproc *p);
void text_reset(struct text *t);
/* It has, and the program does not speak for itself. */
void sproc_intent_commit(struct safe *f, struct sproc *p);
/* Notes that a process is about to exec, with the arguments that were told (args). */
void sproc_intent(struct sproc *p, const struct safe_seen *x);
void sproc_intent_args(struct sproc *from, struct sproc *p);
/* A piece of a list's string. */
void text_add(struct text *t, struct str s, bool last);
/* Its record ends. x: what it said of itself, NULL nothing. */
void sproc_end(struct safe *f, struct sproc *p, int64_t time, unsigned ending, unsigned code,
               const struct safe_figures *x, uint64_t proved);
/* A program that does is known whole: its exec is written. */
void sproc_begins(struct safe *f, struct sproc *p);
void sproc_forget(struct safe *f, struct sproc *p);
/* The kernel says that it is over, or that another has its number. */
void sproc_dead(struct safe *f, struct sproc *p);

#endif
