/* tracer.h - what every process of this node does, told by the kernel: for the daemon, with privileges.
 *
 * Processes come from BPF programs on raw tracepoints (fork, exec, exit), files from fanotify, bytes and first and last
 * calls, only for those asked for, from one BPF program at the end of system calls. Nobody is ever stopped or made to
 * wait: no permission events, nothing pinned; when this process ends, however it ends, the kernel takes all of it away.
 *
 * Memory is bounded: ring buffers of at most 512 KB a processor together, fanotify's own queue, tables of fixed size.
 * What did not fit is counted where it was lost, and told as TRACER_LOST with its interval. Nothing is dropped
 * silently.
 *
 * Pull, not push: the kernel does not wake the reader at each event, it is drained by time (tracer_fd turns readable
 * every 10 ms while something goes on; else every 100 ms, and on the first event). One thread at a time;
 * no threads of its own. Strings and lists of an event live until the callback returns. Functions return 0 or -errno.
 */
#ifndef STEMMA_CAPTURE_NODE_TRACER_TRACER_H
#define STEMMA_CAPTURE_NODE_TRACER_TRACER_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tracer;
struct fs_domain;

enum tracer_kind {
	TRACER_ALIVE = 1, /* process, exec: it ran before the tracer did; told once, by tracer_open's first drain */
	TRACER_FORK,      /* process: there is a new process, a copy of ev->ppid. Threads are not told */
	TRACER_EXEC,      /* exec: it became another program */
	TRACER_EXIT,      /* exit: its last thread ended */
	TRACER_FDS,       /* fds: what its descriptors led to, just after an exec or just before its end */
	TRACER_FILE,      /* file: ops were done to a file */
	TRACER_RENAME,    /* file (as it is called now), file.old_path: a name was changed */
	TRACER_ACCESS,    /* access: totals of one execution and one file or channel (granularity access) */
	TRACER_URING,     /* it made an io_uring: what it does through it is not in its access totals */
	TRACER_LOST,      /* lost: events are missing */
	TRACER_WATCH,     /* watch: a file system is watched from now on, or cannot be, or was unmounted */
	TRACER_CLOCK,     /* clock: the clock was set; times after this event are by the new one */
	TRACER_USER,      /* it goes on as another user (uid), without having executed anything */
};

/* Of ev->flags. */
enum tracer_flag {
	TRACER_CUT = 1 << 0,     /* a string or list was longer than what was kept of it */
	TRACER_UNREAD = 1 << 1,  /* strings could not be read (swapped out, no room in the ring) */
	TRACER_NO_PATH = 1 << 2, /* the file's path cannot be told; file.why says why. Identity may still be known */
	TRACER_NO_ID = 1 << 3,   /* the file was gone when it was looked at and the kernel gave no identity */
	/* Equal events of a process and a file are merged by the kernel. It executed another program after hi, before
	 * until: the same may have been done again by that program. */
	TRACER_AGAIN = 1 << 4,
	/* It cannot be said which of the process's programs between lo and hi it was, */
	TRACER_SPANS_EXEC = 1 << 5,
	/* ... or which of two processes that had this pid between lo and hi. */
	TRACER_SPANS_PID = 1 << 6,
	TRACER_LATE = 1 << 7,    /* an event of a process whose exit has been told (a close that took long) */
	TRACER_UNKNOWN = 1 << 8, /* of a process that was never told: only the pid is known */
	TRACER_ALIAS =
	    1 << 9, /* a path in another mount namespace: path is what this process calls it, or that namespace's */
	TRACER_UNSEEN =
	    1 << 10, /* an exit that was lost: by hi the process was gone; how, when and its usage is not known */
};

/* Of file.ops and of the mask in the options: what fanotify tells. One event may have several, in any order in time. */
enum tracer_op {
	TRACER_OPENED = 1 << 0,       /* for what is not told */
	TRACER_EXECUTED = 1 << 1,     /* opened to be executed: the program, its script, its loader */
	TRACER_CLOSED_WRITE = 1 << 2, /* last close, and last unmapping, of an opening for writing */
	TRACER_CLOSED_READ = 1 << 3,  /* ... of one for reading only */
	TRACER_CREATED = 1 << 4,      /* the name is new: file, directory, link, node */
	TRACER_DELETED = 1 << 5,      /* the name is gone */
	TRACER_MOVED_FROM = 1 << 6,   /* half of a rename: only before Linux 5.17, or where the other half is elsewhere */
	TRACER_MOVED_TO = 1 << 7,
};

#define TRACER_COMM 16

struct tracer_usage {
	uint64_t cpu, user, system;       /* ns, of all its threads; user + system are sampled, cpu is exact */
	uint64_t rss;                     /* peak, bytes */
	uint64_t rchar, wchar;            /* bytes given to reads and writes */
	uint64_t read_bytes, write_bytes; /* storage */
	uint64_t minor, major;            /* page faults */
	bool io_known;                    /* the kernel counts bytes; only threads since the tracer's start, see `whole` */
	bool whole;                       /* false: figures of threads that ended before it may lack */
};

/* A file as base/fileid.h names it. */
struct tracer_fileid {
	uint64_t dev; /* major << 32 | minor */
	uint64_t ino;
	uint64_t gen;   /* as struct fileid's: hash of the file handle; 0 unknown */
	uint32_t i_gen; /* the inode's generation, where the kernel programs told it (exe, access, fds); else 0 */
	uint32_t mode;  /* S_IFMT bits; 0 unknown */
};

struct tracer_fd {
	uint32_t fd;
	uint32_t opened; /* 1: for reading, 2: for writing, 3: both */
	uint64_t pos;    /* its position in a regular file */
	struct tracer_fileid file;
};

struct tracer_side {
	uint64_t count, bytes; /* calls that moved something, and how much */
	int64_t first, last;   /* ns since 1970: the first of them ended, the last ended */
};

struct tracer_event {
	enum tracer_kind kind;
	uint32_t flags;
	/* It happened between lo and hi, ns since 1970. Exact (lo == hi) for all but TRACER_FILE and TRACER_RENAME, whose
	 * source has no time stamps, TRACER_ACCESS and TRACER_LOST. until: with TRACER_AGAIN. */
	int64_t lo, hi, until;
	/* Who. 0 = not known. pids are the initial pid namespace's; of a thread group. */
	pid_t pid, ppid;
	uint64_t
	    start; /* ns since boot (CLOCK_BOOTTIME): with pid, the process's identity. /proc/PID/stat has it in ticks */
	uint32_t nexec; /* how often it has executed a program since the tracer knows it: 0, 1, ... */
	uint32_t uid, gid;
	uint64_t cgroup; /* id in the version 2 hierarchy */
	uint32_t mntns, pidns;
	uint64_t tree; /* of tracer_set, 0 none */
	char comm[TRACER_COMM];
	union {
		struct {
			struct tracer_fileid exe; /* what runs: the interpreter of a script */
			struct str exe_path;
			struct str name; /* what was asked for: the script, or the program as it was called */
			struct str cwd;
			struct str argv, env; /* NUL-terminated strings, one after the other; env is whole: the reader filters it */
			uint32_t argv_bytes, env_bytes; /* of the process; more than argv.n with TRACER_CUT */
		} exec;
		struct {
			int status; /* as of wait(2) */
			struct tracer_usage usage;
			uint32_t threads; /* that it had in all */
		} exit;
		struct {
			bool at_exit;
			const struct tracer_fd *fd;
			size_t n;
			bool cut; /* it had more */
		} fds;
		struct {
			uint32_t ops;
			struct tracer_fileid id, dir;   /* dir: of the directory that holds the name */
			const struct fs_domain *domain; /* of base/fileid.h; NULL unknown */
			struct str path, name;          /* as at hi; name is its last part */
			struct str old_path;
			struct tracer_fileid old_dir;
			const char *why; /* with TRACER_NO_PATH */
			/* Content fingerprint when the event was read, for regular files opened or closed after writing. */
			bool have_state;
			uint64_t size;
			int64_t mtime;
			int64_t looked; /* until when that was found out; not after hi: by then */
			bool directory;
		} file;
		struct {
			struct tracer_fileid id;
			uint32_t fd; /* one of those it went through */
			uint32_t nexec;
			struct tracer_side read, write;
			bool final; /* the execution ended, or the granularity was switched off: no more of it comes */
		} access;
		struct {
			enum { TRACER_LOST_PROCESS, TRACER_LOST_FILE, TRACER_LOST_ACCESS } what;
			uint64_t count; /* 0: not known how many (fanotify does not say) */
			const char *text;
		} lost;
		struct {
			const struct fs_domain *domain;
			uint64_t dev;
			struct str mount, type;
			bool watched;
			const char *why; /* why not, or what is missing */
		} watch;
		struct {
			int64_t by; /* ns, new minus old */
		} clock;
	};
};

typedef void tracer_each(void *arg, const struct tracer_event *ev);

/* What works here, and why not what does not; found by trying. */
struct tracer_cap {
	const char *name; /* "processes", "files", "file identity", "renames", "access", "io_uring", "fentry" */
	bool works;
	char text[512]; /* how, or why not and what is done without it */
	double cost;    /* ns a time, measured; < 0 not measured */
};
#define TRACER_CAPS 10
struct tracer_caps {
	unsigned n;
	struct tracer_cap cap[TRACER_CAPS];
};

struct tracer_options {
	unsigned ring_kb;          /* a processor; 0: 512. All rings together */
	uint32_t ops;              /* 0: all */
	bool no_files;             /* processes only: what overload control steps down to; tracer_files changes it */
	bool no_env;               /* the environment is not read */
	bool no_state;             /* fingerprints are not read */
	const char *const *mounts; /* NULL-terminated mount points to watch; NULL: all that are local */
	const char *const *ignore; /* NULL-terminated path prefixes that are not told */
	bool network;              /* network file systems too */
	bool no_alive;             /* TRACER_ALIVE is not told */
	struct helper *helper;     /* who looks at handles and at /proc; NULL: this process itself. Outlives the tracer */
};

/* Tries each thing and lets go of it again. measure: also what it costs (about a second). For `stemma doctor`. Always
 * 0; what does not work is in ret with the reason. */
int tracer_probe(bool measure, struct tracer_caps *ret);

/* Says that there is no tracer. Opens the tracer. ret is to be closed. 0; -errno with a sentence. That users'
 * changes cannot be seen is no error. */
int tracer_open(const struct tracer_options *options, struct tracer **ret, struct err *err);

void tracer_close(struct tracer *t);
/* What this tracer could get; as tracer_probe, without costs. */
const struct tracer_caps *tracer_has(const struct tracer *t);

/* A descriptor for epoll: readable when tracer_drain has something to do. */
int tracer_fd(const struct tracer *t);
/* Tells all that is there. Order: a process's fork, execs and exit by time; a file event after the fork and exec that
 * come before it and before the exit, as far as that can be known. Each drain costs about 10 us when there is nothing.
 * The number of events, or -errno. */
int tracer_drain(struct tracer *t, tracer_each *each, void *arg, struct err *err);
/* Waits for at most timeout_ms (-1: for ever), then drains. */
int tracer_poll(struct tracer *t, int timeout_ms, tracer_each *each, void *arg, struct err *err);

/* Whose reads and writes are counted. TRACER_PID: that process and all it starts from now on, as tree `tree`. */
enum tracer_who { TRACER_NODE, TRACER_UID, TRACER_CGROUP, TRACER_PID };
/* Switches the granularity `access` on or off; the program is attached only while it is on for somebody. -ENOTSUP where
 * the kernel cannot. Totals so far are told (final) when it goes off. */
int tracer_set(struct tracer *t, enum tracer_who who, uint64_t id, bool on, struct err *err);
/* Takes all that was set back. 0; -errno with a sentence. */
int tracer_set_none(struct tracer *t, struct err *err);
/* Openings and closes by this user's processes are counted and not told, or are told again: of TRACER_PASS users at
 * most. That names are made, changed and removed is told still, for others know the files, too. False: no more users.
 * tracer_pass: false only with `on`. */
enum { TRACER_PASS = 8 };
bool tracer_pass(struct tracer *t, uint32_t uid, bool on);
/* How many were not told of this user, since then. */
uint64_t tracer_passed(const struct tracer *t, uint32_t uid);
/* Files on or off (overload). 0; -errno with a sentence. */
int tracer_files(struct tracer *t, bool on, struct err *err);
/* Tells totals of access so far even if nothing ended: about once a minute. */
int tracer_totals(struct tracer *t, tracer_each *each, void *arg, struct err *err);

/* Since tracer_open. */
struct tracer_stats {
	uint64_t forks, execs, exits, files, accesses, urings; /* events as they fired */
	uint64_t calls;                                        /* reads and writes that were counted in access */
	uint64_t files_passed;                                 /* of `files`, not told: tracer_pass */
	uint64_t calls_passed; /* system calls that the access program looked at for nothing */
	uint64_t lost_process, lost_file_times, lost_access;
	uint64_t ring_bytes, ring_size; /* waiting now, and room, in all rings */
	uint64_t queue_bytes;           /* waiting now for fanotify's reader */
	uint64_t cpu;                   /* ns that this thread spent in tracer_drain */
	uint64_t memory;                /* bytes: rings, maps, tables */
	uint64_t processes;             /* known now */
};
void tracer_stats(struct tracer *t, struct tracer_stats *ret);
/* How many events each process tree caused since the last call (by root pid; trees: session leaders' descendants as far
 * as known), those with most first, at most n. The number. */
struct tracer_rate {
	pid_t pid;
	uint32_t uid;
	uint64_t events, calls;
};
/* The rates of events of processes, those with most events first; how many there are, n at most. */
size_t tracer_rates(struct tracer *t, struct tracer_rate *ret, size_t n);

#endif
