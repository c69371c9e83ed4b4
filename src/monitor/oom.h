/* oom.h - was it the kernel that killed, for want of memory? A process that it kills looks like any that got SIGKILL.
 *
 * The kernel counts these kills: for each control group with the memory controller, and for the machine. A count that
 * rose while the task ran, and a process of it that died of SIGKILL which nobody here sent, are taken for the same; who
 * shares the group, or the machine, may have been the one. A task with a group of its own has the count for sure
 * (cgroup.h), but not with version 1: there a kill counts for the very group that the process was in, and not for those
 * above it, so that the count says nothing of who went into another one. Then the machine's count decides, too. */
#ifndef STEMMA_MONITOR_OOM_H
#define STEMMA_MONITOR_OOM_H

#include <stdbool.h>
#include <stdint.h>

struct oom {
	int64_t group, machine; /* kills so far; -1: not told */
	bool local;             /* the group's are of processes in it alone, and not of those in groups below */
};

/* Remembers the counts: 0.2 ms, and the same again for oom_rose. */
void oom_begin(struct oom *o);
/* Did the count of the own group rise? Or the machine's, where there is none for the group, or it is local. */
bool oom_rose(const struct oom *o);

#endif
