/* cgroup_where.h - the groups that this process is in, where their folders are, and whether one may be made below them.
 * Internal to src/monitor; reads /proc/self/mountinfo and /proc/self/cgroup. */
#ifndef STEMMA_MONITOR_CGROUP_WHERE_H
#define STEMMA_MONITOR_CGROUP_WHERE_H

#include <stdbool.h>

enum cgroup_place { PLACE_UNIFIED, PLACE_MEMORY, PLACE_CPUACCT, PLACE_PIDS, PLACE_FREEZER, CGROUP_PLACES };

struct cgroup_where {
	char *dir;     /* folder of the own group in that hierarchy; NULL: there is none, or it cannot be reached */
	char *group;   /* its name, from the hierarchy's root as seen from here */
	char why[256]; /* why no group may be made there; "" it may */
};

/* Fills in all of them. Release with cgroup_where_release. 0 or -ENOMEM. */
int cgroup_where(struct cgroup_where ret[CGROUP_PLACES]);
/* Finds this process's control groups by these two files, of the form of /proc/self/mountinfo and /proc/self/cgroup.
 * 0; -ENOMEM: nothing is to be released. What cannot be read is a reason in `why`. */
int cgroup_where_in(const char *mountinfo, const char *cgroup, struct cgroup_where ret[CGROUP_PLACES]);
void cgroup_where_release(struct cgroup_where w[CGROUP_PLACES]);
/* The name of the batch system that such a group belongs to, NULL if none is known. */
const char *cgroup_batch(const char *group);

#endif
