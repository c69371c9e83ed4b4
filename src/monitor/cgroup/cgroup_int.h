/* cgroup_int.h - a control group as its files share it: cgroup_make.c makes it, cgroup.c reads it, limits it and ends
 * it. Not for others: they include cgroup.h. */
#ifndef STEMMA_MONITOR_CGROUP_INT_H
#define STEMMA_MONITOR_CGROUP_INT_H

#include "monitor/cgroup/cgroup.h"
#include "monitor/cgroup/cgroup_where.h"

#define CGROUP_DEPTH 8 /* of groups below groups that are looked into */
#define CGROUP_PARTS 4

/* Our group in one hierarchy. */
struct cgroup_hier {
	bool two;
	unsigned parts;
	char *parent, *name;
	int dir, procs, parent_dir;
	int charged, stat, cpu; /* figures that are read often stay open; -1: not of this hierarchy */
};

struct cgroup {
	struct cgroup_hier h[CGROUP_PLACES];
	int n;
	unsigned parts;
	char lacks[CGROUP_PARTS][300];
};

/* The place of a part, which is one bit. */
int cgroup_part_index(unsigned part);
void cgroup_hier_release(struct cgroup_hier *h);

/* Writes a text to a file of the group; 0 or -errno. */
int cgroup_write_file(int dir, const char *name, const char *text);
/* Reads what fits; ret is a text in any case. False: it cannot be read. */
bool cgroup_read_file(int dir, const char *name, char *ret, size_t n);

/* v: malloc'ed. */
struct cgroup_members {
	pid_t *v;
	size_t n, cap;
};
/* Adds the processes of one group to arg, a struct cgroup_members. 0 or -ENOMEM. */
int cgroup_add_members(int dir, void *arg);

/* Takes away the groups below `parent` that runs have left: those that nobody has locked and nobody is in. */
void cgroup_remove_old(int parent);

#endif
