/* super.h - what the supervisor of one run knows: processes, files, live accesses, calls whose result is not yet seen.
 * Internal to capture.
 *
 * One big lock (sup->lock) guards all of it; worker threads take it from the receipt of a trap to just before the
 * answer, and leave it while they look at what the call's arguments mean (sup_leave). Budget per stopped open of a
 * known file: process_vm_readv, statx, one hash lookup, no allocation, 6-12 bytes of log; about 2 µs on top of the
 * transport's 9 µs. Memory: struct file about 200 bytes with its path, at most FILES_MAX kept without a live access;
 * struct access 240 bytes, swept when a process has gathered SWEEP_AT; struct proc at most 512. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_SUPER_H
#define STEMMA_CAPTURE_SUPERVISOR_SUPER_H

#include "base/buf.h"
#include "base/fileid.h"
#include "base/ulid.h"
#include "capture/seccomp/trap.h"
#include "capture/supervisor/channels/jobserver.h"
#include "capture/supervisor/feature.h"
#include "capture/supervisor/known.h"
#include "capture/supervisor/observer.h"
#include "capture/supervisor/paths/where.h"
#include "event/event.h"
#include "event/log_writer.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#define FILES_MAX 8192
#define SWEEP_AT 256
#define HASH_SIZE 4096
#define PAIRS 256
#define CLOCK_STEPS 1024
#define PIDS_GIVEN 64
#define PIDS_LEAST 32768
#define RIVALS 4
#define SOCKETS 1024

struct access;
struct called;
struct channel;
struct counted;
struct shield;
struct libraries;
struct logging;
struct opening;
struct openings;
struct opens_logs;
struct images;
struct inside;
struct io_row;
struct io_sum;
struct proc;
struct sites;
struct witness;
struct witnesses;
struct xattrs;

struct fingerprint {
	bool known;
	uint64_t size;
	int64_t mtime, ctime;
};

struct file {
	struct file *next; /* in its hash chain */
	uint64_t num;      /* number in the log */
	uint64_t dev, ino, gen;
	int64_t btime;
	unsigned kind; /* term kind */
	const struct fs_domain *domain;
	char *path;                /* last known name, in the initial mount namespace */
	struct access *live;       /* accesses not known to have ended */
	struct fingerprint stated; /* as the last state event says */
	char *alias;               /* another name it was given, should the first one go */
	char *told;                /* the name that the log gave it last; NULL: path; "": not known */
	bool far;                  /* its file system is another process's or host's (far.h) */
	bool hidden;               /* its path cannot be resolved from here (another mount namespace) */
	struct fingerprint last;   /* read through a descriptor at epoch number last_stop - 1 */
	uint64_t last_stop;
	uint64_t last_write;     /* seq of the last access that wrote it and has ended, in this session; 0 none */
	unsigned last_evidence;  /* ... what was told of that one */
	bool seen_since;         /* ... and somebody has found it as that left it */
	bool outside;            /* the command was given it */
	bool left;               /* somebody who had it has it no more */
	bool gone;               /* unlinked: out of the hash, kept while accessed */
	bool met;                /* somebody had an access to it */
	bool unsteady;           /* changed from outside while it was opened again and again */
	bool read;               /* somebody in the run could read it */
	unsigned pins;           /* pending calls that point here; 0 and no live access: may be forgotten */
	bool recent;             /* met since the last sweep of the table */
	bool untouched;          /* it had not changed since s->keeper began, when it was moved */
	bool kept;               /* what it held was given to s->keeper */
	struct witness *witness; /* of a pipe that is watched (witness.h) */
	int watch;               /* its number for inotify, 0 none (openings.h) */
	uint64_t heard;          /* number of the last event that told of its being opened */
	int held_at; /* 1 + the descriptor by which a process had it when last looked for: where to look first */
	/* What an exec needs to know of it, read once. */
	bool header_known, is_elf, is_elf32, has_caps;
	char *interpreter; /* of "#!", or the ELF PT_INTERP */
};

struct access {
	struct access *file_next, **file_at, *proc_next, **proc_at; /* in both lists; *_at: what points here */
	struct file *file;
	struct proc *proc;
	uint64_t seq; /* its event */
	int64_t start;
	unsigned mode, via;
	uint64_t count;
	struct fingerprint before;
	int64_t stamp; /* any change from its start on has a file time of this or later; INT64_MIN not known */
	/* Others that could write the file at the same time (B7): each is excluded if its wchar does not move. */
	struct {
		struct proc *proc; /* NULL: none, or it is over and did not write */
		uint64_t wchar;    /* when it was met */
	} rival[RIVALS];
	bool crowded;                        /* more than that, or one that wrote */
	bool mapped, sure, failed, doubtful; /* all its connects failed; it may be of another file (races.h) */
	bool redirected; /* ... and these are what its process had moved when it was begun, read and written */
	uint64_t base[2];
	bool spent; /* ... and by then all had been read of it, of so many bytes, by a program that the shell started */
	uint64_t spent_size;
	int64_t seen_ctime, seen_at; /* what it writes had this ctime, and when it was first found so; 0 never looked at */
	bool timed;                  /* its process has set the file's times meanwhile */
	bool filled;                 /* a pipe, whose bytes are surely its process's */
	bool own_writing;            /* a regular file, written by what the process has opened or mapped itself */
	/* Under --exact: what was counted; it changed by other calls than those that move bytes; it is mapped to be read.
	 */
	struct io_sum *io;
	bool altered, loaded;
	unsigned partial; /* directions of which bytes may have moved before they were counted (counted.h) */
	unsigned beside;  /* ... of which another access of the process to that file was given what was counted */
	unsigned looks;   /* files that were opened to be read meanwhile, as proc_end_closed was told */
	pid_t tid; /* thread whose stopped call begins it, and how often that thread had been stopped then; 0: begun */
	uint64_t stop;
	bool settled;     /* it had begun before the descriptors were looked at */
	uint64_t sockets; /* that were given, or may have been connected to, this address (connects.h) */
};

enum pending_op {
	PENDING_CREATE,
	PENDING_RENAME,
	PENDING_LINK,
	PENDING_UNLINK,
	PENDING_MAKE,
	PENDING_TRUNCATE,
	PENDING_TIMES,
	PENDING_BIND,
	PENDING_FIFO,
	PENDING_OPEN /* of what is there, through an io_uring */
};

/* What became of a call that was submitted to an io_uring: no result yet; it succeeded; it failed; that cannot be told.
 */
enum ring_outcome { RING_WAITS, RING_DONE, RING_FAILED, RING_UNKNOWN };

/* A call that was let go on and whose result has not been seen. Settled at the thread's next trap, exec or exit, or
 * when another process comes near. */
struct pending {
	struct pending *next;
	enum pending_op op;
	pid_t tid;
	struct proc *proc;
	int64_t time;
	unsigned mode;    /* for create: access mode */
	uint64_t base[2]; /* ... of a shell: what it had moved by then, read and written; UINT64_MAX not known */
	unsigned tries;
	uint64_t id; /* its own, of all */
	struct {     /* what there was at a and b when its own thread stopped next, where far */
		bool known;
		int rc;
		struct statx st;
	} told[2];
	uint64_t far; /* the device, where that may keep us waiting who ask what became of it; 0: it does not */
	bool exchange;
	struct file *file;   /* rename, link, unlink, truncate: what the old path named */
	struct file *victim; /* rename: what the new path named; exchange: the other */
	struct fingerprint before;
	bool last;            /* unlink: it was the last name */
	bool excl, contested; /* create: with O_EXCL; another has the same path pending */
	int fd;               /* bind: the socket; of a ring: the result */
	uint64_t call;        /* through a ring: which one's result tells (rings.h); 0: its thread's next stop does */
	enum ring_outcome outcome;
	bool direct;           /* ... its result is no descriptor */
	unsigned flags;        /* open: the call's */
	struct where *a, *b;   /* malloc'ed; b only for two-path calls */
	char *name_a, *name_b; /* absolute names */
};

/* An inherited descriptor as a walk found it. */
struct held {
	struct file *file;
	unsigned mode; /* ACCESS_READ | ACCESS_WRITE */
	int fd;
	struct fingerprint print; /* of a regular file, then */
	bool given;               /* as its standard input, for which a shell has opened it */
};

/* The numbers of a process's descriptors, if they are few and nobody notices that one is looked at (table.c); n 0: not
 * known. */
#define NUMBERS_MAX 12
struct numbers {
	uint16_t n, fd[NUMBERS_MAX];
};

struct exec_pending {
	int64_t time;
	pid_t tid;
	struct file *exe, *script; /* exe: what will be mapped; script: NULL if none */
	uint64_t old_exe_dev, old_exe_ino;
	unsigned char old_random[16]; /* of the old image, where old and new program are the same file */
	struct buf argv, env;         /* NUL-separated, already redacted */
	size_t argc, envc;
	char *cwd;
	struct held *held;
	size_t nheld;
	uint64_t wchar;                     /* before it ran */
	bool moved;                         /* these are wanted: */
	uint64_t moved_read, moved_written; /* by then; UINT64_MAX not known */
	bool compat, cut, set_id, privilege_lost;
	struct jobserver jobserver;
};

struct proc {
	struct proc *next; /* in its hash chain */
	pid_t pid;
	uint64_t num;
	pid_t ppid; /* its recorded parent, valid if that process still has number parent_num */
	uint64_t parent_num;
	int pidfd;
	int64_t started, seen;
	uint64_t execn;
	int64_t exec_start;
	struct task *tasks;
	struct access *live;
	unsigned nlive, nsince; /* since the last sweep */
	unsigned nwriting;      /* of the live ones, those that are own_writing */
	struct exec_pending *exec;
	char *cwd;          /* canonical, NULL: read it again */
	bool fs_per_thread; /* CLONE_FS was unshared: cwd differs between threads */
	bool foreign;       /* another root or mount namespace */
	uint64_t ns;        /* its mount namespace's inode, if another than ours, else 0 */
	bool own_creds;     /* credentials differ from ours: look at them */
	uint32_t uid, gid;
	bool exit_seen; /* exit event written */
	bool uncounted; /* it has written by ways that wchar does not count: splice, io_uring */
	bool io_unseen; /* under --exact: bytes were moved by calls that are not counted */
	bool uring, ring_files,
	    ring_said; /* it has used an io_uring; files by numbers of the ring's own; the gap was said */
	bool unreadable_said, foreign_said, x32_said;
	bool catches_child,
	    catches; /* it has a handler without SA_RESTART: for SIGCHLD; for others that come by themselves */
	bool shielded, unshielded; /* see shield.h; unshielded: it was tried, or was let go */
	bool forks;                /* a child of it was seen */
	bool becoming;             /* its exec is being recorded: what it ends is of the program before */
	bool redirects;            /* a shell, or a fork of one: it opens files for others and does not map them */
	bool unix_peer;            /* it, or who made it, has a socket by which descriptors may come and go */
	bool crowded;              /* its program had several threads at a stop, or has made a process in its memory */
	int task_folder;           /* /proc/PID/task, -1: not open; and how often it was asked before (openings.c) */
	unsigned task_asked;
	bool shares_memory;          /* some of its memory may be written by another process */
	bool has_guest;              /* ... which runs in it, and is no child of vfork */
	bool threads;                /* another thread than the first has run in it, or that cannot be told */
	uint64_t exe_dev, exe_ino;   /* its program; 0 unknown */
	int64_t moved;               /* when it last changed its directory */
	size_t opens, ndescs;        /* files opened to be read since proc_end_closed looked; descriptors there were then */
	bool walked;                 /* its descriptors were looked at since it was first seen */
	struct numbers numbers;      /* of its descriptors, when they were listed last */
	bool shares_table;           /* with a parent or a child */
	bool many;                   /* it had very many descriptors (table_apart.h) */
	uint64_t single_stop;        /* it had one thread at epoch number single_stop - 1 */
	struct numbers begun, ended; /* ... and of its child's that was about to exec, or ended, last */
	uint64_t image;              /* what is seen in /proc of the program it runs, where nothing is stopped (scan.c) */
	bool anon_shm;               /* it has memory that its children share */
	unsigned stale;              /* enum stale bits: looked at again at its next stop */
	int64_t tmpfile;             /* when it last asked for a nameless file */
	int handed_error;            /* why it is not known which descriptors its exec hands on, 0 it is */
	pid_t tmpfile_tid;           /* the thread that did, until it stops again; 0 none */
	uint64_t wchar, wchar_stop;  /* read at epoch number wchar_stop - 1 */
	uint64_t rchar;              /* ... too; UINT64_MAX not known */
	uint64_t wchar_unseen;       /* of children that were not seen; added since one was */
	uint64_t wchar_exec;         /* wchar when the execution began; UINT64_MAX unknown */
	struct counted *counted;     /* what the injected code tells of it; NULL: it has none */
	unsigned counting_tries;
	struct logging *logging; /* it logs what it opens by itself; NULL: it does not */
	unsigned open_stops, inject_tries;
	unsigned other_stops; /* opens by neither its C library nor its loader */
	uint64_t loader;      /* where its loader lies; 0 not looked, 1 nowhere */
	bool confined; /* it has changed its user, root or namespaces, or confined itself: no memory is shared with it */
	struct jobserver jobserver;
	char run[ULID_LEN + 1]; /* nested run it belongs to, or "" */
	bool run_root;          /* the nested run ends with it */
	bool old_code;          /* it has code and logs of a worker that was killed: features leave it alone */
};

_Static_assert(sizeof(struct proc) <= 512, "one for each process: what its budget above says");

enum stale { STALE_CREDS = 1, STALE_ROOT = 2, STALE_CWD = 4 };

/* How far a socket goes: no further than this machine, or none of the internet; to another; that cannot be told. */
enum reach { REACH_NOT, REACH_OUT, REACH_UNKNOWN };

struct task {
	struct task *next, *sibling; /* in its hash chain; of the same process */
	pid_t tid;
	struct proc *proc;
	uint64_t stops;
	struct trap last;
	struct opening *opening; /* of which the kernel is to tell; NULL none (openings.h) */
	bool can_block;          /* ... can be interrupted where it runs, too */
	/* Under --exact, the call it is in, if that moves bytes: accesses read from and written to, 0 none (io.c). */
	const struct io_row *io;
	uint64_t io_seq[2], io_bytes, io_args[6];
	int64_t io_start;
	enum reach io_reach[2]; /* of what it reads from and writes to, if that is a socket */
};

struct sup {
	pthread_mutex_t lock;
	struct log_writer *log;
	int listener;
	struct notify_page *page;
	int epoll;
	pid_t root; /* the command */
	char run[ULID_LEN + 1];
	struct channel *channel; /* NULL: none; of what programs tell of themselves */
	int64_t clock_offset;    /* realtime - boottime */
	struct clock_step {      /* the coarse clock's values, as a ring, and when each was seen first */
		int64_t stamp, at;
	} steps[CLOCK_STEPS];
	uint64_t nsteps; /* ever */
	int64_t tick;    /* ns of the kernel's coarse clock */
	long hz;
	uint32_t euid, egid;
	uint64_t root_dev, root_ino, mnt_ns, root_mnt; /* root_mnt: its mount's number, 0 not known (before Linux 5.8) */
	pid_t self;
	int last_pid; /* which process number was given out last; -1 the kernel does not tell */
	/* Which number that was when a file was opened to be read, as a ring: what a process is forked before or after. */
	struct pid_given {
		int64_t time;
		uint64_t reader; /* number of the process that opened the file */
		pid_t pid;
	} given[PIDS_GIVEN];
	uint64_t ngiven;     /* since the numbers began again */
	bool given_in_order; /* and there are so many that they do not begin again within a tick */
	bool tree_only;
	bool scans;            /* nothing is stopped: processes are looked for in /proc (scan.c) */
	bool preloads;         /* a library in the programs tells (--capture=safe) */
	bool exact;            /* the calls that move bytes are seen, and their results */
	bool narrow;           /* an access lasts from the first byte moved to the last */
	bool slow_fs;          /* somebody may serve the file systems that are looked at, and keep who looks waiting */
	bool far;              /* files were met that are told of each close: see table.c */
	int64_t unseen_until;  /* ... until then calls went by: what began before may have moved bytes */
	bool nnp;              /* no_new_privs was set: set-id programs lose their privilege */
	struct shield *shield; /* NULL: none */
	const struct run_observer *observer; /* NULL: none */
	const struct run_keeper *keeper;     /* NULL: none */
	enum run_orphans orphans;
	bool in_memory;     /* a file in memory was made or written */
	bool shielding;     /* processes are, or were, shielded */
	bool plain;         /* the open being handled is one that never waits long */
	char *const *argv;  /* the command's */
	char *user, *group; /* the names of who started it */
	uint64_t unlooked;  /* stops of processes that could not be looked at, not yet told of */
	bool few;           /* descriptors had run out */
	unsigned untold;    /* CHANNEL_UNTOLD_* (capture/app/channel.h): programs had no library to tell of themselves by */
	bool no_pidfd;      /* there are none here: the dead are looked for */
	unsigned gaps;      /* 1 << reason of those that were said */
	int log_error;      /* errno of the last write that failed */
	int refuse;         /* errno for the stop being handled, 0: it goes on */
	int answer;         /* a descriptor that is the result of the stop being handled, who answers closes it; -1 none */
	/* How the thread that takes the stops leaves the lock while it looks, and comes back; NULL: it keeps it. */
	void (*leave)(struct sup *s);
	bool (*back)(struct sup *s); /* false: who waited for the stop has been killed, or has given up */
	uint64_t visits;             /* times that the lock was taken for something else than to come back */
	bool late;                   /* the call being handled was let go on before */
	bool serves;                 /* a process of the run may serve file systems */
	bool gone;                   /* whose stop was being handled ended while the lock was left */
	struct file *files[HASH_SIZE];
	size_t nfiles;
	struct proc *procs[HASH_SIZE];
	struct task *tasks[HASH_SIZE];
	size_t nprocs;                 /* alive */
	struct connecting *connecting; /* calls of connect that may have failed; copies: sockets that are held */
	size_t copies, npending;
	struct pending *pending;
	uint64_t pendings;     /* ever */
	bool unread_rings;     /* they are not asked for */
	struct rings *rings;   /* NULL: nobody has made one (rings.h) */
	uint64_t ring_call;    /* the call of a ring that is being handled; 0 none */
	bool ring_direct;      /* ... which opens into the ring's own table */
	size_t ring_waits;     /* pending ones that wait for a result */
	struct attach *attach; /* NULL: no library is loaded with another one (capture/attach) */
	struct known *known;   /* numbers given out, and the processes that live; in memory that outlives this process */
	bool adopted;          /* this is not the first worker: another was killed */
	uint64_t traps;
	uint64_t epoch;       /* number of the stop, death or tick being handled: what was read in an earlier one is old */
	int64_t since;        /* when the server took up the stop it is at, or last got on with it; 0: none */
	struct task *current; /* whose stop is being handled */
	bool leaves_long;     /* the next sup_leave is for work that lasts: another one receives at once */
	const uint64_t *begun_with; /* of an access that is begun later than its call: what its process had moved then */
	uint64_t pairs[PAIRS][2];   /* socket pairs met, smaller inode first */
	unsigned next_pair;
	uint64_t sockets[SOCKETS][2]; /* under --exact: inodes of sockets with an address, and its file's number */
	unsigned next_socket;
	struct { /* ... whose reach is known, by inode */
		uint64_t ino;
		enum reach reach;
	} reach[SOCKETS];
	bool domain_said[4097];
	uint64_t passes;                              /* stops ever that were answered without being looked at */
	const struct feature *features[FEATURES_MAX]; /* in the order of their list (feature.h) */
	unsigned nfeatures;
	const struct byte_counter *bytes; /* of one of them; NULL: no bytes are counted but what is seen under --exact */
	const struct pipe_watcher *pipes; /* of one of them; NULL: who has moved a pipe's bytes is not found out */
	pid_t inject_pid, inject_tid;     /* one that is to begin when it goes on; 0 none */
	uint64_t inject_base;
	const struct sites *inject_sites;
	/* How that is put into it: slot is its stop, which has not been answered; go(arg) does that, once, when the process
	 * is sure to stop again right behind the call, or if that cannot be. */
	void (*inject)(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg);
	bool inject_opens;                        /* ... to open files by itself (inline_open.h) */
	bool inject_threads;                      /* ... and has several threads */
	uint64_t inject_at_code, inject_at_table; /* of what counts in it; 0 nothing */
	bool injects;                             /* programs may */
	unsigned inject_after;                    /* stops to open a file to read */
	bool any_confined;        /* a process has confined itself; then one whose parent is not known may be its child */
	struct opens_logs *opens; /* NULL: none does */
	bool reading_opens;
	struct libraries *libraries; /* NULL: none met */
	struct images *images;       /* NULL: nobody asks for them */
	struct inside *inside;       /* NULL: nobody asks which programs have HDF5 inside */
	struct called *called;       /* NULL: no calls are traced */
	struct openings *openings;   /* NULL: none was needed */
	bool openings_said;
	unsigned task_folders;
	struct xattrs *xattrs;       /* NULL: nobody asks for them */
	struct witnesses *witnesses; /* of pipes; NULL: none is watched */
	bool unwitnessed;            /* ... and it was tried */
};

int64_t sup_now(struct sup *s);
/* The clock of file times is coarse, and stands still for longer than its step where the machine is busy: what it
 * showed is remembered with the moments at which it was looked at (each sup_now does). sup_stamp: what it showed at t
 * or before, INT64_MIN not known. sup_passed: a moment by which it had passed a file time, so that what has that time
 * was over; INT64_MAX not known. */
int64_t sup_stamp(const struct sup *s, int64_t t);
int64_t sup_passed(const struct sup *s, int64_t stamp);
/* Writes an event about proc (NULL: none). sup_flush: writes what has gathered, and remembers if that failed. */
uint64_t sup_event(struct sup *s, uint64_t kind, int64_t time, const struct proc *p, struct event *ev);
void sup_flush(struct sup *s);
/* What a stopped call's arguments mean is looked at outside of the lock, for a file system, or who is to fill a page of
 * the caller's memory, may take for ever: between sup_leave and sup_back the thread has its own stop and nothing of
 * this struct, processes, files and tasks included. Other stops may be handled meanwhile, so what was found before is
 * looked up again after it. sup_back false: the process or thread has ended; the handler returns at once. Only of the
 * handler of the stop itself (s->current), before it has changed anything. */
struct left {
	struct task *task;
	struct proc *proc;
	pid_t tid, pid;
	uint64_t num, visits, ring_call;
	bool ring_direct;
	enum call call;
};
void sup_leave(struct sup *s, struct left *ret);
bool sup_back(struct sup *s, const struct left *l);
/* What is being done for a stop takes long, and goes on. */
void sup_goes_on(struct sup *s);
/* From now on as s->slow_fs says, if that is so. Set by whichever thread finds out. */
static inline void sup_set_slow_fs(struct sup *s, bool waits)
{
	if (waits)
		__atomic_store_n(&s->slow_fs, true, __ATOMIC_RELAXED);
}
static inline bool sup_far(const struct sup *s)
{
	return __atomic_load_n(&s->slow_fs, __ATOMIC_RELAXED);
}
/* From now on as s->serves says, if that is so. */
static inline void sup_serves(struct sup *s, bool serves)
{
	sup_set_slow_fs(s, serves);
	if (serves)
		__atomic_store_n(&s->serves, true, __ATOMIC_RELEASE);
}
void sup_gap(struct sup *s, const struct proc *p, unsigned reason, uint64_t count, const char *text);
/* A gap of p (NULL: of who is stopped now) if error is one that says nothing of what was looked at: the disk, memory or
 * descriptors failed. */
void sup_unread(struct sup *s, const struct proc *p, int error, const char *text);

/* As where.h has it. p NULL: as seen from here. */
static inline struct rooted proc_rooted(const struct proc *p)
{
	return (struct rooted){.foreign = p && p->foreign, .table = -1, .ns = p ? p->ns : 0};
}

/* ---- files and accesses (files.c) ---- */

struct fingerprint fingerprint_of(const struct statx *st);
/* The file at w, st already taken; made and written to the log when new. NULL: not one that is recorded, or no memory.
 */
struct file *file_get(struct sup *s, struct where *w, bool follow, const struct statx *st);
/* The log has given the file this name, beside others that it may have. */
void file_told(struct file *f, const char *path);
/* As file_get, for who opens it or executes it: a file of several names is told of by the one that it is opened by, if
 * that is not the one that the log gave it last. p may be NULL. */
struct file *file_get_opened(struct sup *s, struct proc *p, struct where *w, bool follow, const struct statx *st);
struct file *file_known(struct sup *s, const struct statx *st);
/* ioctl(FICLONE), which moves bytes, is not seen where a program is not stopped for it. Does the file's kind, or the
 * type of its file system, exclude it? False: it may be possible. */
bool file_cannot_be_cloned(const struct file *f);
/* fp was its fingerprint at that time: would any later change show in a later one, and does nobody of the run write it?
 */
bool file_is_steady(const struct file *f, const struct fingerprint *fp, int64_t time);
/* Has anybody of the run got it open to write? */
bool file_is_written(const struct file *f);
/* The same from what was told of it, for a file that may have gone: gen is the hash of its handle if has_gen. */
struct file *file_emitted(struct sup *s, const struct statx *st, bool has_gen, uint64_t gen, const char *path);
/* Tells of an object that lies in a file; its number in the log. */
uint64_t file_within(struct sup *s, const struct file *f, unsigned kind, uint64_t gen, int64_t time);
/* A channel or absent path by address: kind, domain name, address. */
struct file *file_address(struct sup *s, unsigned kind, const char *domain, const char *address);
/* Its last name is gone. It is kept while somebody may have it open; file_drop lets go of it then. */
void file_gone(struct sup *s, struct file *f);
void file_drop(struct sup *s, struct file *f);
void file_rename(struct sup *s, struct file *f, const char *path);
/* A terminal, as programs on it have it; a pseudo-terminal's other side. */
bool file_is_terminal(const struct statx *st);
bool file_is_master(const struct statx *st);
bool file_is_fuse(const struct statx *st);
/* Does nobody notice where a copy of a descriptor of it is closed? type: of its file system. */
bool descriptor_is_near(const struct statx *st, const char *type);
/* The same where the type is known from other files of that file system. */
bool descriptor_is_known_near(const struct statx *st);
/* Writes a state event if what is known differs. */
void file_state(struct sup *s, struct file *f, const struct fingerprint *fp);
/* Begins an access of p's current execution (or counts it to a live one). Ends the accesses it conflicts with. */
struct access *access_begin(struct sup *s, struct proc *p, struct file *f, unsigned mode, unsigned via, bool sure,
                            unsigned api, int64_t time, const struct fingerprint *before);
/* p set the times of f, which nobody writes, since `start`: the content is what it was `before`. Told as the last
 * write's own, where nobody has looked at the file since; else by an access that neither reads nor writes. */
void file_times_set(struct sup *s, struct file *f, struct proc *p, int64_t start, const struct fingerprint *before,
                    const struct fingerprint *now);
/* Notes which of p's had begun by now: only of those a missing descriptor says that they are over. access_conflicts:
 * before p begins an access of f in that mode, ends those, by anyone, that can no longer be under way (B2). */
void accesses_settle(struct sup *s, struct proc *p);
void access_conflicts(struct sup *s, struct proc *p, struct file *f, unsigned mode);
/* Ends it: for writers, with what shows that they wrote. Frees it. proc_end_accesses: all of them, at that time. */
void access_end(struct sup *s, struct access *a, int64_t until);
void proc_end_accesses(struct sup *s, struct proc *p, int64_t until);
/* The call that a thread waits in. 0; -EAGAIN: it runs; -ESRCH: that cannot be told. */
int task_call(pid_t tid, enum call *ret);
/* The call that begins it was let go on; has it come back? While that cannot be told, the access is live. */
bool access_begun(struct sup *s, const struct access *a);
/* Ends what p wrote and has closed, before it reads something that would else seem to be an input of that: a loop over
 * files is faster than the clock of file times. Descriptors are looked at once for all, when an access has been passed
 * 1, 2, 4, ... times; many put it off, so that it is 32 of them an open on average at most, 1 us each. */
void proc_end_closed(struct sup *s, struct proc *p, unsigned opens);
/* Has it a regular file open that it opened itself to write, as far as is known, and not for long: eight files that
 * were opened to be read have not passed that by? Of who counts its bytes, any. */
bool proc_writes_lately(const struct proc *p);
/* The same if that was put off while what it opened was read. */
void proc_sweep_late(struct sup *s, struct proc *p);

/* ---- bytes, counts and times: --exact (io.c) ---- */

/* The thread enters a call, and comes back from it. Not only of those that move bytes: others are passed over.
 * io_leave: rval as the kernel has it: -errno for an error. */
void io_enter(struct sup *s, const struct trap *t);
void io_leave(struct sup *s, pid_t tid, int64_t rval);
/* The process's socket has the address that is f. */
void io_socket(struct sup *s, struct proc *p, int fd, const struct file *f);
/* Adds what was counted elsewhere, between these moments; TIME_NONE: that is not asked for. False: no memory. */
bool io_count(struct sup *s, struct access *a, unsigned api, bool write, uint64_t calls, uint64_t bytes, int64_t since,
              int64_t until);
struct io_known {
	bool read, written; /* the bytes are known */
	bool idle;          /* ... for nothing was moved that way, as is shown by totals and not by the calls */
	uint64_t bytes_read, bytes_written;
	int64_t first, last; /* TIME_NONE: no byte was moved; where the program counted it was not before, and not after */
};
struct io_known io_known(struct sup *s, const struct access *a);
/* Writes the io events of an access. */
void io_emit(struct sup *s, const struct access *a);
void io_free(struct access *a);

/* ---- processes (procs.c) ---- */

/* The thread's, made where it is new. NULL: it has gone, or no memory. */
struct task *task_of(struct sup *s, pid_t tid);
struct task *task_known(struct sup *s, pid_t tid);
struct proc *proc_by_pid(struct sup *s, pid_t pid);
/* Its recorded parent, if that is still there. */
struct proc *proc_parent(struct sup *s, const struct proc *p);
struct proc *proc_first_sight(struct sup *s, pid_t pid, bool walk);
bool proc_has_one_thread(const struct proc *p);
/* Reads the descriptor table: malloc'ed array, its files pinned; held_free lets go. skip_cloexec: leave out what an
 * exec closes. */
size_t proc_walk(struct sup *s, struct proc *p, bool skip_cloexec, struct held **ret);
void held_free(struct held *v, size_t n);
/* The files that it has had no name for from the beginning (O_TMPFILE), which only its descriptors show. */
void proc_nameless(struct sup *s, struct proc *p);
/* Of channels among them that are met for the first time: who else had them before p was given them. proc_hold does it
 * first; before an exec it is done while those still have them. True if somebody filled a pipe and is through. */
bool proc_meet(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time);
void proc_hold(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time);
/* What the program was started with: is the pipe of make's tokens among it? To be asked before it is told. */
void proc_handed(struct proc *p, const struct held *h, size_t n);
/* The same for what proc_meet has seen. */
void proc_hold_met(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time);
/* Does it still have the file, by a descriptor or a mapping? True when that cannot be told. */
bool proc_holds(struct proc *p, struct file *f);
/* The files it has mapped: malloc'ed. False when that cannot be told. proc_maps: true, too, where the process has gone;
 * then there are none. */
struct mapped {
	uint64_t dev, ino;
};
bool proc_maps(struct proc *p, struct mapped **ret, size_t *ret_n);
bool mapped_has(const struct mapped *v, size_t n, const struct file *f);
/* Does it have the file by a descriptor? True when that cannot be told. */
bool proc_has_open(struct sup *s, struct proc *p, const struct file *f);
/* Bytes it has given to writes; UINT64_MAX unknown. Read at most once a stop. */
uint64_t proc_wchar(struct sup *s, struct proc *p);
/* Does the kernel say that it has moved no byte that way: written since its execution began, or read since it was
 * forked? That counts all but splice, io_uring, clones of files, sockets' own calls and mapped memory. */
bool proc_moved_none(struct sup *s, struct proc *p, bool write);
/* The kernel's random bytes on an image's stack: other ones after each exec. False if they cannot be read. */
bool proc_random(pid_t pid, unsigned char ret[16]);
/* Has it a controlling terminal, which is what it gets when it opens /dev/tty? */
bool proc_has_terminal(const struct proc *p);
/* This call, which sets a user or a group, changes nothing. False also where it cannot be read. proc_refresh_creds:
 * reads user and group anew. */
bool proc_keeps_creds(const struct trap *t);
void proc_refresh_creds(struct sup *s, struct proc *p);
/* The wait status of a process that ended. proc_exit: only once; code: the exit status or the signal, as `ending` says.
 * proc_refresh_root: its root directory and mount namespace may have changed. */
void proc_status(struct sup *s, struct proc *p, int status);
void proc_refresh_root(struct sup *s, struct proc *p);
void proc_exit(struct sup *s, struct proc *p, unsigned ending, unsigned code);
/* Its wait status, from its zombie or, from Linux 6.15 on, from its pidfd. proc_became: it runs another program than
 * when it was looked at last: what /proc says of that one (scan.c). */
bool proc_how_ended(struct proc *p, int *ret_status);
void proc_became(struct sup *s, struct proc *p);
/* Is it over? Of processes without a pidfd; how it ended may still be there to be read. proc_dead: the pidfd says it is
 * over. proc_cwd: "" where it cannot be read. Holds until it changes. */
bool proc_over(const struct proc *p);
void proc_dead(struct sup *s, struct proc *p);
const char *proc_cwd(struct sup *s, struct proc *p, pid_t tid);

/* ---- extended attributes (xattr.c) ---- */

int xattr_start(struct sup *s);
/* A stop, of any call. xattr_end: p's execution is over. */
void xattr_trap(struct sup *s, struct proc *p, const struct trap *t);
void xattr_end(struct sup *s, struct proc *p);
/* Has it shielded if a signal could show in its stopped calls. */
void proc_shield(struct sup *s, struct proc *p);

/* ---- handlers (calls.c, calls_*.c, exec.c) ---- */

/* A path that only stemma opens, and names its run in: the errno of the answer; 0: it is no such path (nested.c). Where
 * only programs are recorded it comes as a program to exec. */
int nested_begins(struct sup *s, struct proc *p, const struct where *w);
bool nested_by_exec(struct sup *s, struct proc *p, const struct trap *t);
/* Handles one stop. Returns 0 to let the call go on, else the errno it is to fail with (marker calls only).
 * pending_settle: all: those of other threads too; p: its own are looked at, NULL none's. pending_drop: those of a
 * process that is over; what cannot be told is a gap. */
int sup_trap(struct sup *s, const struct trap *t);
void pending_settle(struct sup *s, const struct proc *p, pid_t tid, bool all);
void pending_drop(struct sup *s, struct proc *p);
void exec_trap(struct sup *s, struct proc *p, const struct trap *t, bool first_stop);
/* Finds out whether a pending exec happened. tid: who trapped now; 0: the process is ending. */
void exec_settle(struct sup *s, struct proc *p, pid_t tid);
void exec_pending_free(struct exec_pending *e);
/* The command could not be started: what it would have been. */
void exec_unstarted(struct sup *s, struct proc *p);
/* A process's vector of strings, redacted: NUL-terminated, one behind the other; *ret_n of them. 0 or -errno.
 * exec_split: these as an array; malloc'ed, NULL if there is no memory. */
int exec_words(pid_t tid, uint64_t addr, struct buf *ret, size_t *ret_n);
struct str *exec_split(const struct buf *b, size_t count);

#endif
