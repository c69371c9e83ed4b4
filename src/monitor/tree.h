/* tree.h - the processes of one task: who is alive, what each had when it was last looked at, what those had that have
 * ended. Internal to monitor; the caller holds the monitor's lock. */
#ifndef STEMMA_MONITOR_TREE_H
#define STEMMA_MONITOR_TREE_H

#include "base/os/procfs.h"
#include "monitor/sets.h"

#include <stdbool.h>
#include <sys/resource.h>

#define TREE_HASH 1024
#define TREE_ENDING 1024
#define TREE_RECORDS 10000 /* processes whose record is kept */

/* Six counts of /proc/PID/io. */
struct tree_io {
	uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};

struct member {
	struct member *next; /* in its hash chain */
	uint64_t id;
	pid_t pid, ppid;
	uint64_t parent; /* its id; 0 unknown */
	int64_t start;
	uint64_t started; /* as the kernel tells it; tells a number given anew */
	char *exe;
	struct procfs last;           /* the last look at it; peaks never go down, but for those of another program */
	uint64_t height[SET_HEIGHTS]; /* of its present program */
	uint64_t resident_peak, virtual_peak, threads_peak; /* of all its programs */
	uint64_t mark, mark_before; /* of its present program, without huge pages; ... when all were looked at last */
	uint64_t huge_peak;         /* of its present program, when looked at */
	bool execed;                /* it has become a program since its birth */
	bool orphan;                /* alive when the command ended */
	bool found;                 /* by the sampler, not told by the recorder */
	bool looked;                /* its end was told; it is not alive any more */
	unsigned children_ended;
	bool ignores_children; /* it was seen to */
	int64_t born;
	/* Of its children that ended while it lived: their own and those that they waited for. Should it turn out that it
	 * ignores SIGCHLD, nobody has them. */
	uint64_t kids_cpu;
};

struct tree {
	struct member *hash[TREE_HASH];
	struct member **alive; /* in the order they were met */
	size_t nalive, cap;
	uint64_t next_id, total, ended;
	struct sets sets;
	/* Since everybody was looked at last: of whom a new mark was seen that, of others what they have now. */
	struct sets recent;
	uint64_t together; /* the most of that */
	uint64_t largest;  /* resident peak of one process */
	bool largest_known;
	uint64_t huge; /* the most huge pages that one process had when it was looked at */
	/* Of processes that nobody waits for: they are missing in what the kernel adds up. */
	uint64_t lost, lost_cpu, lost_user, lost_system, lost_minor, lost_major;
	struct tree_io lost_io;
	struct tree_io ended_io; /* own ones, of all that ended; but of so many they are not known: */
	uint64_t io_unknown;
	uint64_t lost_resident; /* what they had at most, one with the other */
	uint64_t threads_peak;  /* of one process */
	uint64_t ended_user, ended_system;
	uint64_t ended_cpu;  /* own CPU time of all that ended, as far as it was seen: never more than the truth */
	uint64_t at_most;    /* resident peak of a process of which no more is known; 0 none */
	uint64_t unseen;     /* by so much peaks may be higher than what was seen of them */
	uint64_t doubtful;   /* bytes by which the command may have been taken for one of its children */
	bool blind;          /* an end was not seen: a peak may be missing */
	uint64_t unmeasured; /* ... whose peak is only as the sampler saw it */
	struct tree_record *record;
	size_t nrecord, cap_record;
	uint64_t left_out;
	bool keep_records, failed;
	/* Who was told to be ending goes on for a while, to give its memory back: not to be taken for a new one. */
	struct {
		pid_t pid;
		int64_t end;
	} ending[TREE_ENDING];
	size_t next_ending;
};

/* Of one that ended. */
struct tree_record {
	pid_t pid, ppid;
	char *exe;
	int64_t start, end;
	struct procfs last;
	uint64_t resident_peak, virtual_peak, threads_peak;
	int status;
};

/* May be used again. */
void tree_release(struct tree *t);
/* The process with that number. May be used again. NULL: it is not in the tree. */
struct member *tree_by_pid(const struct tree *t, pid_t pid);
/* Adds a process to the tree. NULL: no memory. */
struct member *tree_born(struct tree *t, pid_t pid, pid_t parent, int64_t from, int64_t until, bool found);
/* It is about to become another program: what the old one had is looked at if that may have been much. */
void tree_leaving(struct tree *t, pid_t pid, int64_t now);
void tree_exec(struct tree *t, pid_t pid, const char *exe);
/* Between vfork and exec a child runs in its parent's memory: it has none of its own. */
bool tree_is_guest(const struct tree *t, const struct member *m);
void tree_without_memory(struct procfs *f);
void tree_add_io(struct tree_io *to, const struct procfs *f);
/* Was the end of this process told, which began then? */
bool tree_is_ending(const struct tree *t, pid_t pid, int64_t start);
/* A look at it: what is known of f is taken over. */
void tree_looked(struct tree *t, struct member *m, const struct procfs *f);
/* Everybody has been looked at. */
void tree_looked_at_all(struct tree *t, int64_t now);
/* What they seem to have had together at most: never less than at a look. It leaves out who came to his mark a second
 * time between two looks. */
uint64_t tree_together(const struct tree *t);
/* Its end. last NULL: it was gone; status -1: not known. */
void tree_exiting(struct tree *t, pid_t pid, const struct procfs *last, int status, int64_t now);
/* It was waited for. */
void tree_over(struct tree *t, pid_t pid, int status, const struct rusage *used, int64_t now);

#endif
