/* inject.h - puts code into a process that is stopped, and traced by the calling thread. Internal to
 * capture. Reads and writes nothing but /proc/PID. */
#ifndef STEMMA_CAPTURE_INJECT_INJECT_H
#define STEMMA_CAPTURE_INJECT_INJECT_H

#include "capture/inject/sites.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define INJECTION_HELD 64
#define TABLE_SIZE ((sizeof(struct counted_table) + 4095) & ~4095ul)

struct regs;
struct injection {
	const struct sites *sites;
	uint64_t base; /* where the library is loaded, as supposed: its bytes are compared */
	/* The dynamic loader and where it is, whose reads are counted as well; NULL: it is left as it is, as it is if its
	 * bytes are not those. Its places are only known to be free of threads while the library's are. */
	const struct sites *loader;
	uint64_t loader_base;
	/* Not the counting code, but another's, which puts it in: with the stubs that count there already, NULL none, and
	 * room for its own. As inject_code; *signal as there (inject_int.h). NULL: the counting code. */
	int (*put)(pid_t pid, struct injection *g, const struct stubs *counted, const struct regs *was, int *signal,
	           struct stubs *stubs);
	bool log_only; /* a forked child, which has its parent's code: only a log of its own is mapped */
	pid_t pid;     /* the process of the thread that is stopped */
	bool threads;  /* it may have others: all of them are stopped */
	bool ready;    /* it is sure to stop, as far as is known (shield.h) */
	int fd; /* the process's descriptor of the log's memory, which is closed; of the counting code that of a table, or
	           -1 */
	/* ... into a process that has the counting code, which lies there; 0 if it has not. */
	uint64_t counted_code, counted_table;
	/* Found out: */
	uint64_t code, table;          /* addresses in the process; a table of the counting code alone */
	bool shared;                   /* what it counts is in the memory of fd */
	uint64_t rchar, wchar;         /* of its first thread, before it goes on */
	uint64_t rchar_all, wchar_all; /* of the process: with threads and children that are no more */
	struct injection_held {
		int fd;
		struct statx st;
	} held[INJECTION_HELD]; /* its descriptors, then */
	size_t nheld;
};

/* One thread, no filter but the recorder's, no locked memory (ours would count against its limit) and, unless handlers
 * are told not to matter, none for a signal. Nothing is put into others. */
bool inject_is_plain(pid_t pid, bool handlers);
/* A descriptor's number that the process does not use, high up, another one for each of its tries; -1: none is known.
 */
int inject_free_number(pid_t pid, unsigned tries);
/* Whether the process has the bytes of all the sites as the file has them. */
bool inject_has_sites(pid_t pid, const struct sites *sites, uint64_t base);
/* Of the process of thread tid. 0; or -errno, and the process is as it was: it has threads, a filter of its own (a call
 * made in its name might kill it), another library, no room. Signals that came meanwhile are in *ret_signal, one at
 * most, to be delivered by the caller when it lets the process go on; 0 none. -ESRCH: it is gone. Three calls are made
 * in its name (mmap, mprotect, madvise), eight for the code that opens, four of them with log_only; measured 0.4 ms.
 */
int inject_code(pid_t tid, struct injection *g, int *ret_signal);

#endif
