/* store.h - the derived record: what the graph made of the logs, in SQLite, ready to be asked.
 *
 * Row ids (store_id) are this store's own and change with a rebuild; public ids (struct pubid) are functions of
 * identities and do not. Everything returned belongs to the caller or, where it says so, to the store until the next
 * call of the same function. Times: ns since 1970, TIME_NONE unknown, TIME_NEVER not ended. One thread at a time per
 * struct store; any number of processes per store.
 *
 * Budget of the hot calls (store_gens, store_uses, store_derived, store_readers): one prepared statement, one row, no
 * allocation but the caller's growing array; about 1 µs. */
#ifndef STEMMA_STORE_STORE_H
#define STEMMA_STORE_STORE_H

#include "base/err.h"
#include "base/str.h"
#include "event/event.h"

#include <stdint.h>

struct store;
typedef uint64_t store_id; /* 0: none */

/* 'f' file, 'v' version, 'x' execution, and 24 hex digits: the first 96 bits of XXH3-128 of the identity, as
 * doc/format/store.md defines. Runs are known by their ULID. */
struct pubid {
	char text[26];
};

enum store_flags {
	STORE_READ = 0,    /* only ask */
	STORE_WRITE = 1,   /* index, annotate; creates index.db where it is missing */
	STORE_REBUILD = 2, /* with WRITE: start from nothing */
	STORE_MEMORY = 4,  /* no index file: store_index makes it in memory (where nothing can be written) */
	STORE_MEND = 8,    /* with WRITE: also an index that is damaged is started from nothing */
};

/* The store's two places (architecture, section 1): home holds logs/; the index lies beside it when home is on a local
 * disk, else in a cache directory on local disk. `home` NULL: $STEMMA_HOME, else $XDG_DATA_HOME/stemma, else
 * ~/.local/share/stemma. ret_home and ret_index are malloc'ed paths (either may be NULL; what is not asked for is not
 * looked for, so it does not fail either). 0 or -errno: also where it cannot be told now which of its places the index
 * has, for another index would answer for another state of the record. */
int store_places(const char *home, struct err *err, char **ret_home, char **ret_index);
/* home as for store_places. -ENOENT: nothing was recorded here yet (with STORE_READ); -EPROTO: made by a newer stemma;
 * -ESTALE: by an older one (with STORE_WRITE it is made anew); -EACCES, -EROFS, -ENOSPC, -EBUSY, -ENOTRECOVERABLE
 * (damaged: hint says index --rebuild). */
int store_open(const char *home, unsigned flags, struct err *err, struct store **ret);
/* A store somebody handed over as an open file, which nobody writes any more. Takes over fd; only to be asked. -errno
 * with a sentence, and fd is closed. */
int store_open_fd(int fd, struct err *err, struct store **ret);
void store_close(struct store *s);
/* For who asks for long, beside others: at most so many KiB of pages are kept, in place of 64 MiB, and none is mapped.
 * 0 or -errno. */
int store_keep_small(struct store *s, unsigned kib, struct err *err);
const char *store_home(const struct store *s);
const char *store_index_path(const struct store *s);
/* Was what store_open found there of an older stemma, so that it is made anew? */
bool store_was_older(const struct store *s);

/* ---- bringing it up to date ---- */

struct store_index_stats {
	uint64_t segments, frames, events, new_executions;
	uint64_t
	    new_versions; /* that were not there before, by what they are known by; some that were may be there no more */
	uint64_t skipped_bytes, torn_bytes, newer_frames, bad_frames, unknown_refs; /* damage met */
};
/* Reads what the logs have gained since the last time (all of it after STORE_REBUILD); safe with several processes at
 * once (the second waits, then finds nothing to do). Whole sessions together, as long as they are not too many events,
 * and each such part in a transaction of its own: memory is that of a part, or of the largest session, and who is
 * killed leaves an index that the next goes on with. skew in ns (B4). lps: use LPS's overlap rule.
 */
struct store_index_options {
	int64_t skew;
	bool lps;
	const char *only_segment; /* NULL: all under home/logs */
	uint64_t events;          /* sessions with so many are indexed together, then the next; 0: INDEX_EVENTS */
	const char *system_extra; /* for what is counted of runs (base/system.h); NULL none */
};
/* Brings the index up to date. 0, -errno with a sentence. */
int store_index(struct store *s, const struct store_index_options *o, struct err *err, struct store_index_stats *ret);
/* Checks logs and index against each other; calls say(arg, line) for each finding. Returns how many, or -errno. */
int store_fsck(struct store *s, void (*say)(void *arg, const char *line), void *arg, struct err *err);

/* The part of it that holds what is counted of runs against their rows. */
int store_check_counts(struct store *s, void (*say)(void *arg, const char *line), void *arg);

/* Was a damaged page, or one that SQLite makes no sense of, met by this process? */
bool store_met_damage(void);
/* Calls found, from within whatever asks, when one is met. NULL: nobody. */
void store_on_damage(void (*found)(void));
/* Was one met in this store since it was opened? Then what was read of it is not to be used, nor what follows. */
bool store_is_damaged(const struct store *s);
/* How many rows this process could not read, for another reason than damage, where whoever asked is not told why:
 * words, names and the like are empty then. An answer behind which this has grown may not be whole. */
uint64_t store_reads_failed(void);
/* How many times a read of this store has failed since it was opened. */
uint64_t store_reads_failed_in(const struct store *s);
/* Checks all pages of the index file. 0, -ENOTRECOVERABLE, -errno. */
int store_check_pages(struct store *s, struct err *err);
/* Removes the index of home (NULL: as store_open finds it); the next who asks makes it again. */
int store_drop(const char *home, struct err *err);

/* What is missing in the logs, as far as the index knows: places of segments that cannot be read, their bytes, and
 * sessions that lack frames. All 0: nothing. Executions and runs that it concerns have the gap `damaged`. */
struct store_damage {
	uint64_t places, bytes, sessions;
};
/* Finds how much of the record is damaged. */
int store_damage(struct store *s, struct store_damage *ret);

/* How much of a session the index has. */
struct store_session_state {
	uint64_t number;
	struct str host;   /* valid during the call */
	uint64_t events;   /* the highest number of an event in it */
	bool ended;        /* its end was read */
	bool lacks;        /* frames before its last one are missing */
	bool only_forgets; /* it was written by `forget`: tombstones, and nothing else */
};
/* Calls each for every session of the index, in no order, until it returns other than 0. 0, what each returned, or
 * -errno with a sentence. */
int store_each_session(struct store *s, int (*each)(void *arg, const struct store_session_state *state), void *arg,
                       struct err *err);
/* The same for every session that was forgotten: its number without the last bit, number >> 1. */
int store_each_forgotten(struct store *s, int (*each)(void *arg, uint64_t half), void *arg, struct err *err);

/* ---- what there is ---- */

struct run_info {
	store_id id;
	struct str ulid, outer, cwd, user, group, host, mode;
	struct strlist argv, hostinfo, labels; /* decode with strlist_next */
	int64_t start, end;                    /* end: TIME_NONE if it is not known */
	uint64_t ending, code;                 /* term ending */
	uint64_t inputs, outputs;              /* distinct versions used that the run did not make; versions it made */
	uint64_t executions;
	uint64_t gaps; /* bit 1<<reason (term gap) over all its executions and itself */
	uint64_t recorder_cpu, traps;
};
/* A version as a run, or an execution, touched it, for store_is_data. */
struct touched_version {
	uint64_t kind, via; /* terms, of its file and of the edge */
	bool program;       /* as a program, whenever it was read */
	bool observed;      /* it was seen being written */
};
/* Is it data, and not the machine's own? path: of its file; extra: the user's own prefixes (base/system.h). */
bool store_is_data(const struct touched_version *v, struct str path, const char *extra);
struct exec_info {
	store_id id, run, parent; /* parent: the execution it was forked or exec'ed from */
	struct pubid pub;
	uint64_t pid, n; /* n: execution number in its process; 0 = image before any exec */
	struct str boot; /* with pidns, pid and started the process's identity */
	uint64_t pidns;
	int64_t started;
	store_id exe, script; /* files, 0 unknown */
	struct strlist argv, env;
	struct str cwd, host, user, group, job, step, rank, ranks; /* job...: B11, "" if none */
	uint64_t uid, gid;
	int64_t start, end;
	uint64_t ending, code;
	uint64_t cpu, user_time, system_time, rss, rchar, wchar_, read_bytes, write_bytes; /* ns, bytes */
	uint64_t known; /* bits as in the exit event: 1<<1 cpu, 1<<2 user, ... */
	uint64_t gaps;  /* bit 1<<reason */
};
struct file_info {
	store_id id;
	struct pubid pub;
	uint64_t kind;   /* term kind */
	struct str path; /* the name it has, else the last it had */
	bool named;      /* it still has that name, as far as is known */
	struct str domain;
	uint64_t ino, gen;
	uint64_t versions;
	uint64_t flags;  /* bit 0: its domain is a network file system */
	store_id within; /* of an object of an HDF5 file: that file; 0: it is none */
};
enum origin { ORIGIN_OBSERVED, ORIGIN_UNOBSERVED, ORIGIN_EXTERNAL };
struct version_info {
	store_id id, file;
	struct pubid pub;
	uint64_t n; /* @{n}, from 1 */
	enum origin origin;
	bool has_size;
	uint64_t size;
	int64_t mtime; /* TIME_NONE unknown */
	int64_t start, end;
	/* The rest of its identity: the event that began its first write, or, of what was not seen being written, how many
	 * of the same size and mtime came before it. */
	bool by_event;
	uint64_t session, seq, k;
};

/* Reads a run. 1 found, 0 not, -errno. Strings stay valid until the next call of the same function on this store. */
int store_run(struct store *s, store_id id, struct run_info *ret);
/* What was told of the run itself: without inputs, outputs and executions, which are 0, and with the gaps of its
 * sessions only. It costs the same whatever the run did. As store_run. */
int store_run_told(struct store *s, store_id id, struct run_info *ret);
/* Where a recording that has no end was written. segment: of the last session of the run that has none, its path below
 * logs/; pidns, boot: of that session. last: nobody has written to the segment after it. */
struct run_recording {
	char *segment; /* free it */
	struct str boot;
	uint64_t pidns;
	bool last;
};
/* Finds where the log of a run goes on that is recorded now. 1; 0: each session of the run has its end, or there is
 * no such run; -errno. What *ret points to but for the segment is valid until the index is brought up to date. */
int store_run_recording(struct store *s, store_id run, struct run_recording *ret);
/* Where a session that tells of a run lies in the logs: for who has to read its events again. */
struct run_part {
	const char *segment; /* absolute path */
	uint64_t session;    /* its number: other sessions lie in between */
	uint64_t from, to;   /* of its first frame, and behind its last one; bytes */
};
/* Gives each of them to each, in the order in which they were written; what segment points to is valid until that
 * returns. 1; 0: there is no such run; what each returned where that is below 0; -errno. */
int store_run_parts(struct store *s, store_id run, int (*each)(void *arg, const struct run_part *part), void *arg);
/* Of its inputs and outputs those that are data. 0 or -errno. */
int store_run_data(struct store *s, store_id run, const char *extra, uint64_t *ret_used, uint64_t *ret_made);
/* Reads an execution. 1, 0: there is none, -errno. Texts of ret are valid until the next call. */
int store_exec(struct store *s, store_id id, struct exec_info *ret);

/* Reads a file. 1, 0: there is none, -errno. Texts of ret are valid until the next call. */
int store_file(struct store *s, store_id id, struct file_info *ret);
/* What is asked of every execution of a run: a third of what store_exec costs. 1, 0, -errno. */
struct exec_brief {
	store_id run, parent, exe, script; /* as in exec_info, and so are these */
	uint64_t n, gaps;
	struct strlist argv;
};
int store_exec_brief(struct store *s, store_id id, struct exec_brief *ret);
/* The run and the gaps of it alone. 1, 0: there is none; -errno. */
int store_exec_state(struct store *s, store_id id, store_id *ret_run, uint64_t *ret_gaps);
/* A little of a file, as in file_info. Texts are valid until the next call. 1, 0, -errno. */
struct file_brief {
	uint64_t kind; /* term kind */
	struct str path;
	store_id within;
};
/* Reads of a file what decides how it is shown. 1, 0: there is none; -errno. */
int store_file_brief(struct store *s, store_id id, struct file_brief *ret);
/* The file that a version is of, which may not be there any more: versions have numbers of their file's. */
store_id store_file_of_version(store_id id);
/* The file of a version that there is. 1, 0, -errno. */
int store_version_file(struct store *s, store_id id, store_id *ret);
/* The gaps that are of what the execution did in [lo, hi] (TIME_NONE: no bound), as exec_info's: its own, and of those
 * of a whole session what was then. 1, 0, -errno. */
int store_exec_gaps(struct store *s, store_id id, int64_t lo, int64_t hi, uint64_t *ret);
/* The script an execution ran (0: none), without the rest of what store_exec makes. 1, 0, -errno. */
int store_exec_script(struct store *s, store_id id, store_id *ret);
/* An execution's public id alone. 1, 0, -errno. */
int store_exec_pub(struct store *s, store_id id, struct pubid *ret);
/* What a walk asks of each execution: numbers in the place of texts, so that what is told of one of them holds for all
 * that have it. `text` is valid until the next call. 1, 0, -errno. */
struct exec_sort {
	unsigned n;       /* of its process; 0: no program was executed */
	uint64_t env;     /* its environment; 0: none is recorded */
	uint64_t command; /* the name that it was called by; 0: it has no number, and `text` is it */
	struct str text;
};
int store_exec_sort(struct store *s, store_id id, struct exec_sort *ret);
/* The name that x was called by; valid until the next call. 0 or -errno. */
int store_command(struct store *s, const struct exec_sort *x, struct str *ret);
/* One view of the record for many calls: nothing that others index in between shows, and each call costs a tenth. Views
 * nest, and the outermost counts; store_index ends them all. The end is quiet where there was no beginning. 0 or
 * -errno. blocks: how much it remembers, in blocks of 16 files or processes, about 1 KiB each; VIEW_WALK where it is
 * asked for in any order, VIEW_PASS where nearly all come one after the other. */
#define VIEW_WALK 8192
#define VIEW_PASS 256
/* Begins a view: until it ends, all questions see one state of the index, and rows are kept in memory. 0; -EBUSY:
 * another transaction is open. May be nested; each needs its store_view_end. */
int store_view_begin(struct store *s, unsigned blocks);

void store_view_end(struct store *s);
/* Reads a version. 1, 0: there is none, -errno. */
int store_version(struct store *s, store_id id, struct version_info *ret);
/* What a walk asks of each version, without the rest of what store_version and store_file make. 1, 0, -errno. */
struct version_sort {
	store_id file;
	enum origin origin;
	uint64_t kind;   /* term kind */
	struct str path; /* as in file_info */
	store_id within; /* as there */
	bool hollow;     /* somebody wrote it, and its size is known to be 0 */
	int64_t end;     /* as in version_info */
};
int store_version_sort(struct store *s, store_id id, struct version_sort *ret);

/* What a version is to a walk. */
enum version_class {
	VERSION_DATA,
	VERSION_SYSTEM, /* of the machine (base/os/system.h) */
	VERSION_NAMED,  /* data for an execution that was given it by name */
	VERSION_ABSENT,
	VERSION_ENGINE, /* what a workflow system keeps of what it did (base/os/engine_paths.h) */
	VERSION_SCRIPT, /* a workflow system's copy of a script (base/os/engine_paths.h) */
	VERSION_CLASSES
};
/* By the kind and path of the file; extra: the user's own prefixes (base/os/system.h), NULL none. */
enum version_class store_version_class(uint64_t kind, struct str path, const char *extra);
/* The same as store_version_sort tells, with the path judged in the place of told: a tenth of the cost where the edges
 * lie apart. 1, 0, -errno. */
struct version_judged {
	store_id file;
	enum origin origin;
	uint64_t kind; /* term kind */
	enum version_class class;
	bool hollow;
	int64_t end; /* where hollow */
};
/* Reads of a version what decides whether it is shown. */
int store_version_judged(struct store *s, store_id id, const char *extra, struct version_judged *ret);

/* ---- finding a place to start ---- */

/* A file by identity. 1, 0, -errno. */
int store_file_by_identity(struct store *s, struct str domain, uint64_t ino, uint64_t gen, store_id *ret);
/* Files that have or had the name, the present holder first, then by when they last had it. How many, max at most;
 * -errno. */
int store_files_by_path(struct store *s, struct str path, store_id *ret, size_t max);
/* All files that show the path, but for objects of HDF5 files (FILE//...): in order of row, malloc'ed. 0 or -errno. */
int store_files_showing(struct store *s, struct str path, store_id **ret, size_t *ret_n);
/* Whether the file had the name at t. 1, 0, -errno. */
int store_named_at(struct store *s, store_id file, struct str path, int64_t t);
/* The name that the file had at t, appended to ret; of several one of them. 1; 0: it had none; -errno. */
int store_name_at(struct store *s, store_id file, int64_t t, struct buf *ret);
/* The name by which an execution first opened a file that had several names then, and shows another one (hard links;
 * doc/graph.md, "Names"): appended to ret. 1; 2: but it has that name no more; 0: it has one name, or shows that one,
 * or what the execution opened is not told; -errno. Texts of store_file stay. */
int store_opened_name(struct store *s, store_id exec, store_id file, struct buf *ret);
/* When it last got the name, in place of another that the record has. 1, 0 (it never had it, or no other), -errno. */
int store_named_since(struct store *s, store_id file, struct str path, int64_t *ret);
/* Are there objects of HDF5 files? 1, 0, -errno. */
int store_has_objects(struct store *s);
/* The objects of a file that are, or were, called `inner` in it (//group/dataset, //group@attribute), whatever the file
 * was called; the present holder first. How many, max at most; -errno. */
int store_objects_by_name(struct store *s, store_id file, struct str inner, store_id *ret, size_t max);
/* Until when the object was called `inner` in its file, whatever the file was called: the last of the times that it
 * was; TIME_NEVER: it is. *ret_other: then, or since then if it goes on, it has another name. 1, 0 (never), -errno. */
int store_object_named_until(struct store *s, store_id object, struct str inner, int64_t *ret, bool *ret_other);
/* What the object was first called in its file, as for store_objects_by_name: in place of what ret has. 1; 0: it has no
 * name; -errno. */
int store_object_first_name(struct store *s, store_id object, struct buf *ret);
/* Of a link in an HDF5 file to another one: what it leads to, FILE//PATH, as far as that is known. 1, 0, -errno. */
int store_link_target(struct store *s, store_id link, struct buf *ret);
/* n > 0: version n; 0: the latest. 1 found, 0 not. */
int store_version_of(struct store *s, store_id file, uint64_t n, store_id *ret);
/* By public id or a unique prefix of it (at least 4 characters after the letter). 1, 0, or -ENOTUNIQ. */
int store_by_pubid(struct store *s, const char *text, char *ret_kind, store_id *ret);
/* "@", "@~2", a ULID or a unique prefix or suffix of one (at least 4). 1, 0, or -ENOTUNIQ. */
int store_find_run(struct store *s, const char *text, store_id *ret);
/* Executions of a run, in start order; runs, latest first. The array is malloc'ed. 0, -errno. */
int store_run_execs(struct store *s, store_id run, store_id **ret, size_t *ret_n);
/* max 0: all. *ret is the caller's. 0, -errno. */
int store_runs(struct store *s, uint64_t max, store_id **ret, size_t *ret_n);

/* ---- notes ---- */

enum notes_of { NOTES_ALL, NOTES_RUN, NOTES_FILE };
struct note_info {
	int64_t time;
	store_id run, file; /* one of them */
	uint64_t version;   /* n of the version of the file that is meant; 0: not known any more */
	struct str text, user, host;
};
struct notes {
	struct note_info *v; /* in order of time */
	size_t n;
	char *text; /* the strings' */
};
/* All notes, those on a run, or those on a file. Release ret in any case. 0 or -errno. Where there are none at all it
 * costs one statement. */
int store_notes(struct store *s, enum notes_of of, store_id id, struct notes *ret);
void notes_release(struct notes *n);

/* ---- edges ---- */

struct edge {
	store_id to; /* gens, informed: execution; uses, derived: version; readers, outputs: see the call */
	bool sure, has_bytes;
	uint8_t via;     /* term via */
	uint8_t api;     /* term api of the access, uses and gens only */
	uint8_t reading; /* term reading: the strongest of its accesses; uses and readers only */
	uint16_t mode;   /* ACCESS_* bits, or-ed over its accesses, uses and gens only */
	int64_t lo, hi;
	/* Which of the processes that count to the execution did it, 0 its own; only where edges.parts asks for it. */
	uint32_t part;
	bool folded;    /* a walk's: it leads on only by way of another part of the execution */
	bool computed;  /* a walk's: sure, but for that it leads from an object of an HDF5 file to another one */
	bool bears;     /* a walk's: to an HDF5 file beside its objects, which are what was used of it */
	int64_t over;   /* gens and outputs only: the earliest moment at which it may have ended; hi where that is known */
	uint64_t count; /* times */
	uint64_t bytes;
};
/* Is e, by which a socket was generated or used, a client's? Then it wrote to the server, and not to other clients. */
bool edge_is_client(const struct edge *e);

struct edges {
	struct edge *v;
	size_t n, cap;
	bool parts; /* asked for: uses, outputs, gens and readers of several parts of one execution stand one behind the
	               other */
};
void edges_release(struct edges *e);
/* 0, -ENOMEM. */
/* Appends a copy of an edge. 0 or -ENOMEM. */
int edges_add(struct edges *e, const struct edge *one);
/* Makes one edge of two between the same things (doc/graph.md, rules 5 and 7). */
void edge_fold(struct edge *to, const struct edge *from);

/* Each fills e anew (e->n = 0 first) and returns 0 or -errno. */
int store_gens(struct store *s, store_id version, struct edges *e);        /* executions that generated it */
int store_uses(struct store *s, store_id exec, struct edges *e);           /* versions it used */
int store_derived(struct store *s, store_id version, struct edges *e);     /* versions it was derived from */
int store_informed(struct store *s, store_id exec, struct edges *e);       /* executions that informed it */
int store_outputs(struct store *s, store_id exec, struct edges *e);        /* versions it generated */
int store_readers(struct store *s, store_id version, struct edges *e);     /* executions that used it */
int store_derivatives(struct store *s, store_id version, struct edges *e); /* versions derived from it */
int store_informs(struct store *s, store_id exec, struct edges *e);        /* executions it informed */

/* A version, or an execution, is asked for soon: what is looked at for it is on its way into the processor meanwhile.
 * Said twice, first and then (next) when it is a few calls away. */
void store_expect(struct store *s, store_id id, bool exec, bool next);

/* ---- bytes, calls and times
 * ---------------------------------------------------------------------------------------------- */

#define IO_SIZES 10 /* calls of up to 100 bytes, 1 KB, 10 KB, 100 KB, 1 MB, 4 MB, 10 MB, 100 MB, 1 GB, more */
/* By one kind of call, one way, in one access; there only where a run counted them. */
struct io_info {
	store_id exec, file;      /* file: what was accessed */
	store_id target;          /* the file that this counts to, mostly the same */
	store_id generated, used; /* the version that the access made; the one it used: 0 none, or several */
	uint64_t session, seq;    /* the access: session's number, and seq */
	unsigned api;             /* term ioapi */
	bool write;
	uint64_t calls, failed, bytes, largest, spent; /* largest: most bytes of a call; spent: ns */
	uint64_t size[IO_SIZES];
	int64_t first, last; /* TIME_NONE: not known */
};
struct ios {
	struct io_info *v;
	size_t n, cap;
};
void ios_release(struct ios *l);
/* What an execution moved, anew (ret->n = 0 first). 0 or -errno. */
int store_io(struct store *s, store_id exec, struct ios *ret);
/* Is there anything that it could tell of, of any execution? 1, 0, -errno. */
int store_has_io(struct store *s);

/* ---- what tasks used ---- */

struct summary_figure {
	bool known, bounded,
	    complete; /* as in struct figure (summary/summary.h); low and high are value where not bounded */
	int64_t value, low, high;
	uint64_t note; /* for store_summary_note: the method, or why it is absent; 0 nothing was said */
};
/* One summary event. Strings are valid until the callback returns. */
struct summary_info {
	store_id id, run;      /* run: 0 it is of no run of this record */
	uint64_t session, seq; /* session's number: with seq its identity */
	int64_t time;          /* of the event */
	uint64_t hash;         /* of its text */
	struct str ulid;       /* the run as the event says, "" none */
	struct str source, set, user, cwd;
	struct str node;               /* the host whose recorder measured it, "" it was told by another */
	struct strlist argv;           /* count 0: not known */
	struct strlist host, labels;   /* key=value */
	struct strlist limits, beyond; /* name=limit, name=peak/limit of those exceeded, in the limit's own unit */
	struct strlist escaped;
	unsigned exit_type; /* enum exit_type */
	int status, signal; /* -1: none */
	bool oom;
	const struct summary_figure *figure; /* by enum figure_name */
};
/* Gives each summary (run 0), or those of one run, to each; stops where that does not return 0, and returns what it
 * did. each may not call it again. About 2 µs a summary. */
int store_summaries(struct store *s, store_id run, int (*each)(void *arg, const struct summary_info *), void *arg);
/* Valid until the next call that reads a word. */
struct str store_summary_note(struct store *s, uint64_t note);

/* ---- what was told of runs: properties, results, digests, seals ---- */

struct reported_event {
	uint64_t session; /* its number: with the event's seq its identity */
	store_id run;     /* 0: of no run of this record */
	store_id file;   /* the object that an h5_object, h5_part or h5_copy event is of; 0: it has only the event's path */
	struct event ev; /* its strings are reported_list's */
};
struct reported_list {
	struct reported_event *v; /* in order of time, then of session and seq: whatever log came first */
	size_t n;
	char *bytes;
};
/* Events of one kind: of one run, or (run 0) all. 0 or -errno. Release ret in any case. About 2 us an event. */
int store_reported(struct store *s, store_id run, uint64_t kind, struct reported_list *ret);
/* Digest events with that identity and fingerprint. */
int store_digests(struct store *s, const struct event_digest *like, struct reported_list *ret);
/* Digest events with that digest, "sha256:...". 0, -errno; ret is to be released in any case. */
int store_digests_of(struct store *s, struct str digest, struct reported_list *ret);
void reported_list_release(struct reported_list *l);
/* What the object of an h5_object or h5_part event is called now; empty: nothing. Valid until the next call. 0, -errno.
 */
int store_reported_path(struct store *s, const struct reported_event *t, struct str *ret);
/* The execution that was current at t of the process that this session (its number) knew by pid and start. 1, 0,
 * -errno.
 */
int store_exec_at(struct store *s, uint64_t session, uint64_t pid, int64_t started, int64_t t, store_id *ret);
/* ---- compilers' commands ---- */

struct store_build_file {
	unsigned role; /* term role */
	uint64_t size;
	int64_t mtime;
	struct str path, digest, build_id, detail; /* digest: SHA-256, 32 bytes, or empty; build_id: bytes */
};
struct store_build {
	store_id id;
	struct pubid pub;      /* b and 24 hex digits */
	struct pubid exec;     /* the execution of stemma cc, where a run recorded it; "" not known */
	uint64_t session, seq; /* session's number: with seq its identity */
	int64_t time, began;   /* it ended; it began */
	uint64_t pid, started, uid, ending, code, tree; /* terms ending, tree */
	uint64_t expected;                    /* so many files were to follow; more than nfiles: the log ends before */
	struct str note;                      /* what its ELF note holds, "" none */
	struct strlist argv, args, gaps, env; /* args: count 0, as argv */
	struct str cwd, compiler, version, target, user, host, commit;
	const struct store_build_file *files;
	size_t nfiles;
};
/* Gives the build to each, whose strings are valid until that returns; what it returned, 0 where there is no such
 * build, or -errno. About 1 us a file. */
int store_builds(struct store *s, store_id **ret, size_t *ret_n); /* all, in order of row; malloc'ed */
/* Tells `each` of a build, event by event. 0 also where there is none; -errno. */
int store_build(struct store *s, store_id id, int (*each)(void *arg, const struct store_build *), void *arg);
/* Those that made a file with this digest (32 bytes), this build-id or this note, each may be empty; in order of row.
 * Different bytes may be among them, by accident of a hash: look. The array is malloc'ed. 0, -errno. */
int store_builds_of(struct store *s, struct str digest, struct str build_id, struct str note, store_id **ret,
                    size_t *ret_n);
/* Finds the builds that made a file of this size that was last written at mtime (ns): for versions that are gone.
 * *ret is the caller's. 0, -errno. */
int store_builds_stamped(struct store *s, uint64_t size, int64_t mtime, store_id **ret, size_t *ret_n);
/* By public id or a unique prefix of it. 1, 0, -ENOTUNIQ, -errno. */
int store_build_by_pubid(struct store *s, const char *text, store_id *ret);

/* The raw handle, read-only use, for `stemma sql` and `find` over the documented views (doc/format/store.md). */
struct sqlite3;
struct sqlite3 *store_sqlite(struct store *s);

#endif
