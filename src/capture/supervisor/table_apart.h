/* table_apart.h - tables of many descriptors, listed outside of the lock. Internal to the supervisor.
 *
 * To list a table costs 20 to 40 us a descriptor, so 20,000 of them would keep the stops of all others waiting for half
 * a second. At the stop of a process that has many, before that is handled, its table is listed without the lock; what
 * then walks the table at this stop (table.c, held.c) takes that list. An ancestor's is listed with it where an exec
 * would walk that, too, and it was seen to have many. A list belongs to the thread that made it, and to its stop. */
#ifndef STEMMA_CAPTURE_RUN_TABLE_APART_H
#define STEMMA_CAPTURE_RUN_TABLE_APART_H

#include "capture/supervisor/super.h"

#define TABLE_MANY 512    /* 20 ms, as long as another file system may keep others waiting (far.h) */
#define TABLE_MOST 100000 /* 30 MB; of a larger one the rest is read under the lock, all of it */

struct listed {
	int fd;
	uint8_t mode;     /* of the entry in /proc: S_IRUSR, S_IWUSR; 0 unknown, or O_PATH */
	bool cloexec;     /* where that was asked for */
	int handed_error; /* why it could not be read */
	struct statx st;
};

/* How many it has open; 0: that cannot be told. Asked of the kernel once a stop. */
uint64_t table_count(struct sup *s, const struct proc *p);
/* Lists descriptors at the stop of p, before anything of it is handled: lists what is to be listed. handed: a call
 * that hands descriptors on. False as of sup_back. *ret_left: the lock was left. */
bool table_list_apart(struct sup *s, struct proc *p, bool handed, bool *ret_left);
/* What was listed of p at this stop; handed: with what an exec closes. NULL: nothing. */
const struct listed *table_listed(const struct proc *p, bool handed, size_t *ret_n);
/* The stop is over. */
void table_drop(void);
/* Has a descriptor of the process FD_CLOEXEC? 0, 1, or -errno. */
int table_is_cloexec(pid_t pid, int fd);

#endif
