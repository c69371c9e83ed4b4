/* record.h - what the programs in the kernel write and the reader reads: shared by both sides, so plain types only.
 *
 * Records of the ring buffers begin with struct rec_head. Times are CLOCK_MONOTONIC, ns; pids are the initial pid
 * namespace's, of the thread group. Sizes are fixed: without strings a record stays at 96 bytes at most. */
#ifndef STEMMA_CAPTURE_NODE_TRACER_RECORD_H
#define STEMMA_CAPTURE_NODE_TRACER_RECORD_H

#ifdef __bpf__
typedef __u16 rec16;
typedef __u32 rec32;
typedef __u64 rec64;
#else
#include <stdint.h>
typedef uint16_t rec16;
typedef uint32_t rec32;
typedef uint64_t rec64;
#endif

enum { REC_FORK = 1, REC_EXEC, REC_EXIT, REC_FDS, REC_URING, REC_COMPAT, REC_USER };

/* Of rec_head.flags. */
enum {
	REC_CUT_ARGS = 1,
	REC_CUT_ENV = 2,
	REC_CUT_PATH = 4,
	REC_UNREAD = 8,   /* arguments or environment could not be read */
	REC_NO_ROOM = 16, /* the ring had room for no strings */
	REC_AT_EXIT = 32, /* of REC_FDS */
	REC_CUT_FDS = 64,
	REC_IO = 128,   /* of REC_EXIT: the kernel counts bytes */
	REC_PART = 256, /* of REC_EXIT: threads may have died before anybody counted them */
	REC_CWD_GONE = 512,
	REC_UNSEEN = 1024, /* of REC_EXIT: the reader's own, for one that was lost */
};

struct rec_head {
	rec16 kind, flags;
	rec32 pid;
	rec64 time;
	rec64 start; /* CLOCK_BOOTTIME; with pid, the process */
};

struct rec_who {
	rec32 ppid, uid, gid, sid;
	rec64 cgroup;
};

struct rec_fork {
	struct rec_head head;
	struct rec_who who;
	char comm[16];
	rec32 mntns, pidns;
	rec32 exec_id; /* counts a process's execs, from whatever its parent had */
	rec32 tree;
};

/* Followed by name, exe, cwd, args, env, of these lengths. A path is its components from the last to the first, each
 * with a NUL. */
struct rec_exec {
	struct rec_head head;
	struct rec_who who;
	rec64 ino;
	rec32 dev, gen; /* dev as the kernel has it: major << 20 | minor */
	rec32 mntns, pidns;
	rec32 exec_id;
	rec32 args_all, env_all; /* what the process has */
	rec16 name, exe, cwd, args, env, pad;
};

struct rec_exit {
	struct rec_head head;
	rec16 status, threads;
	rec32 rss; /* pages */
	rec32 minor, major;
	rec64 cpu, user, system, rchar, wchar, read_bytes, write_bytes;
};

struct rec_fd {
	rec32 fd;
	rec16 mode, opened; /* S_IFMT bits; 1 read, 2 write */
	rec32 dev, gen;
	rec64 ino, pos;
};
#define REC_FDS_MAX 64

struct rec_fds {
	struct rec_head head;
	rec32 exec_id, n;
	struct rec_fd fd[];
};

struct rec_plain { /* REC_URING, REC_COMPAT */
	struct rec_head head;
};

struct rec_user { /* the reader's own (users.h): without head.start */
	struct rec_head head;
	rec32 uid, pad;
};

/* Strings of a REC_EXEC at most. Arguments of 16 KB are those of the longest link lines of large builds; all beyond
 * that is read from /proc if the process is still there. */
#define REC_ARGS_MAX 16383
#define REC_ENV_MAX 16383
#define REC_PATH_PARTS 40
#define REC_PART_MAX 255

/* Shared by all programs of the first object: what the reader sets and what it reads. */
struct rec_control {
	rec32 own; /* pid that nothing is told of */
	rec32 no_env;
	rec32 wake;   /* bytes waiting in a ring that wake the reader */
	rec64 opened; /* CLOCK_BOOTTIME when the tracer began */
	/* Counters, added to atomically. */
	rec64 forks, execs, exits, urings;
	rec64 lost, lost_first, lost_last; /* records; between when */
	rec64 no_strings;
	rec64
	    uncounted; /* when the youngest process began whose threads ended and had no room in the map, CLOCK_BOOTTIME */
};

/* Granularity access: of each pid, whether its calls are counted. */
enum {
	REC_COUNTED = 1, /* by what was asked for when it began or became another program */
	REC_IN_TREE = 2, /* ... because a process above it was asked for: what it starts is counted too */
};
#define REC_PIDS 64 /* an element of the map of pids has so many */

struct rec_total_key {
	rec64 ino;
	rec32 dev, gen;
	rec32 pid, exec_id;
};

struct rec_side {
	rec64 count, bytes, first, last;
};

struct rec_total {
	rec64 start;
	rec32 fd, uid;
	rec32 mode, pad;
	struct rec_side read, write;
};

#define REC_TOTALS_MAX 16384

struct rec_access_control {
	rec32 active;              /* which of the two maps is written to */
	rec32 node, users, groups; /* asked for: everybody; how many of each */
	rec32 own;
	rec32 untree;  /* the iterator forgets who was in a tree */
	rec32 changed; /* it changed a mark */
	rec32 pad;
	rec64 filled[2]; /* keys in each map */
	rec64 lost, lost_first, lost_last;
	rec64 compat; /* calls of 32-bit programs, which are not counted */
};

#ifndef __bpf__
_Static_assert(sizeof(struct rec_fork) == 80 && sizeof(struct rec_exec) == 96 && sizeof(struct rec_exit) == 96 &&
                   sizeof(struct rec_fd) == 32 && sizeof(struct rec_fds) == 32,
               "records are what the programs in the kernel write");
#endif

#endif
