/* procfs.h - what /proc tells of one process: the figures of its stat, status and io files and of its CPU clock.
 *
 * A figure that was not read is PROCFS_UNKNOWN, never 0. Times are ns, sizes bytes. No state: safe for threads; no
 * allocation but in procfs_children. Costs 20 to 45 us a file. Figures are of the whole process with all its threads,
 * and of nobody else, but where it is said. */
#ifndef STEMMA_BASE_OS_PROCFS_H
#define STEMMA_BASE_OS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCFS_UNKNOWN UINT64_MAX

struct procfs {
	/* stat */
	char state; /* R S D Z T ...; 0 unknown */
	pid_t ppid;
	int terminal;                        /* its controlling terminal, 0 none */
	int exit_code;                       /* wait status, of a zombie */
	uint64_t started;                    /* since boot, in ns, of the clock tick's resolution */
	uint64_t user, system;               /* ... of the tick's resolution; their sum is exact but for that */
	uint64_t waited_cpu;                 /* CPU time of children that it waited for, and of theirs; likewise */
	uint64_t minor, major;               /* page faults */
	uint64_t waited_minor, waited_major; /* ... of children that it waited for */
	uint64_t threads;                    /* now */
	uint64_t virtual, resident;          /* now; resident may be off by procfs_resident_slack */
	/* the CPU clock */
	uint64_t cpu; /* exact */
	/* status */
	uint64_t resident_peak, virtual_peak;   /* since its last exec */
	uint64_t anonymous, file, shared, swap; /* now */
	uint64_t huge;                          /* pages of the machine's pool (MAP_HUGETLB), now; in no other figure */
	bool ignores_children;                  /* SIGCHLD is ignored: its children are waited for by nobody */
	/* io: with children that it waited for, and theirs, where io_whole; else of its first thread alone */
	bool io_whole;
	uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};

/* A text file of a process, by its name below /proc/PID; bytes with a NUL behind, or -errno with "" in ret. */
ssize_t procfs_read(pid_t pid, const char *file, char *ret, size_t size);

/* Has a user (map "uid_map") or group ("gid_map") of this process a number in the user namespace of pid? True, too,
 * where that cannot be read. */
bool procfs_id_mapped(pid_t pid, const char *map, unsigned id);

void procfs_clear(struct procfs *p); /* all unknown */
/* Each reads one source into *p and leaves the rest as it is. 0 or -errno. procfs_io: first_thread: of that thread
 * alone, and io_whole is false. */
int procfs_stat(pid_t pid, struct procfs *p);
int procfs_status(pid_t pid, struct procfs *p);
int procfs_cpu(pid_t pid, struct procfs *p);
int procfs_io(pid_t pid, bool first_thread, struct procfs *p);
/* Takes what the kernel says of a process from the text of /proc/PID/stat. 0; -EINVAL: it is no such text, and p is
 * as it was. Numbers that lack are 0. */
int procfs_parse_stat(const char *text, struct procfs *p);
/* The same from the text of /proc/PID/status. What the text does not have stays as it was. Bytes. */
void procfs_parse_status(const char *text, struct procfs *p);
/* The same from the text of /proc/PID/io. Nothing changes where one of the six numbers lacks. */
void procfs_parse_io(const char *text, struct procfs *p);

/* The wait status of a process that has been waited for (Linux 6.15). 0 or -errno. */
int procfs_ended(int pidfd, int *ret_status);

/* What its pages weigh where a shared page counts to each holder by its share; anonymous ones among them. Takes 14 ms a
 * GB. 0 or -errno. */
int procfs_pss(pid_t pid, uint64_t *ret_pss, uint64_t *ret_anonymous);
/* Context switches of all threads that are alive. 0 or -errno. */
int procfs_switches(pid_t pid, uint64_t *ret_voluntary, uint64_t *ret_involuntary);
/* Calls each(arg, child) for every child of the process, whichever of its threads made it; one_thread: only the first
 * is asked. 0 or -errno (-ENOENT also where the kernel does not tell). */
int procfs_children(pid_t pid, bool one_thread, void (*each)(void *arg, pid_t child), void *arg);
/* The numbers of a process's descriptors, as text, one after the other; without an allocation, since a table is read
 * twice in a short program's life. `dir` is their folder, for who looks at them. 0 or -errno; at the end NULL, also
 * where the process has gone. procfs_fds_next: the text holds until the next call. */
struct procfs_fds {
	int dir;
	size_t at, have;
	_Alignas(8) char room[8192];
};
int procfs_fds_open(pid_t pid, struct procfs_fds *ret);
const char *procfs_fds_next(struct procfs_fds *f);
void procfs_fds_close(struct procfs_fds *f);
/* How far resident and resident_peak may be off, either way: since Linux 6.2 each processor keeps some pages of each of
 * the three kinds to itself before it adds them to the sum; before that each thread did. */
uint64_t procfs_resident_slack(void);

#endif
