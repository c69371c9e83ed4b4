/* cgroup_make.c - makes the control groups of a run, and takes away those that killed runs have left. */
#include "monitor/cgroup/cgroup_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "stemma-"
#define TRIES 20 /* to make a group that nobody sweeps away before it is locked */

/* ---- what was left ---- */

/* Takes away a group that nobody has locked, and such groups below it. */
static void remove_old_group(int parent, const char *name, int depth)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return;
	if (flock(dir, LOCK_EX | LOCK_NB) == 0) {
		int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *d = copy < 0 ? NULL : fdopendir(copy);
		if (!d && copy >= 0)
			close(copy);
		for (struct dirent *e; d && depth < CGROUP_DEPTH && (e = readdir(d));)
			if (e->d_type == DT_DIR && !strncmp(e->d_name, PREFIX, strlen(PREFIX)))
				remove_old_group(dir, e->d_name, depth + 1);
		if (d)
			closedir(d);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	close(dir);
}

void cgroup_remove_old(int parent)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d && copy >= 0)
		close(copy);
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_type == DT_DIR && !strncmp(e->d_name, PREFIX, strlen(PREFIX)))
			remove_old_group(parent, e->d_name, 0);
	if (d)
		closedir(d);
}

/* ---- making ---- */

/* Is the controller in the list? list: words between blanks or newlines. */
static bool has_controller(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, " \n"), at += strspn(at, " \n"))
		if (strcspn(at, " \n") == n && !strncmp(at, word, n))
			return true;
	return false;
}

/* A folder of this name, locked: another's sweep may come between its making and its lock. The descriptor, or -errno.
 */
static int make_locked(int parent, const char *name)
{
	for (int i = 0; i < TRIES; i++) {
		if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST) /* nobody else has this name */
			return -errno;
		int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct stat st, now;
		if (dir >= 0 && flock(dir, LOCK_SH) == 0 && fstat(dir, &st) == 0 &&
		    fstatat(parent, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == now.st_ino)
			return dir;
		int e = errno;
		if (dir >= 0)
			close(dir);
		else if (e != ENOENT)
			return -e;
	}
	return -EBUSY;
}

/* Nobody but this process is in the group? */
static bool alone_in(int dir)
{
	struct cgroup_members p = {0};
	bool ret = cgroup_add_members(dir, &p) == 0 && p.n == 1 && p.v[0] == getpid();
	free(p.v);
	return ret;
}

/* Are there groups below it that are not ours? What is switched on for one child is switched on for all. */
static bool has_foreign_children(int dir)
{
	bool ret = false;
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d && copy >= 0)
		close(copy);
	for (struct dirent *e; d && !ret && (e = readdir(d));)
		ret = e->d_type == DT_DIR && e->d_name[0] != '.' && strncmp(e->d_name, PREFIX, strlen(PREFIX));
	if (d)
		closedir(d);
	return ret;
}

/* Version 2 gives controllers to a group's children only when no process is in the group itself. Where that is this
 * process alone (a service or scope of its own, with Delegate=yes), it steps into a child first. Why it could not be
 * done in why, "" if it could. */
static void switch_on(struct cgroup_hier *h, const char *run, const char *controller, char *why, size_t n)
{
	char text[1024], name[128], word[32];
	*why = '\0';
	snprintf(word, sizeof(word), "+%s", controller);
	if (cgroup_read_file(h->parent_dir, "cgroup.subtree_control", text, sizeof(text)) &&
	    has_controller(text, controller))
		return;
	if (!cgroup_read_file(h->parent_dir, "cgroup.controllers", text, sizeof(text)) ||
	    !has_controller(text, controller)) {
		snprintf(why, n, "the control group does not offer the %s controller", controller);
		return;
	}
	if (has_foreign_children(h->parent_dir)) {
		snprintf(why, n, "the %s controller is not enabled, because this would affect other control groups",
		         controller);
		return;
	}
	int rc = cgroup_write_file(h->parent_dir, "cgroup.subtree_control", word);
	if (rc == -EBUSY && alone_in(h->parent_dir)) {
		snprintf(name, sizeof(name), PREFIX "self-%s", run);
		int self = make_locked(h->parent_dir, name);
		if (self >= 0 && cgroup_write_file(self, "cgroup.procs", "0") == 0) {
			rc = cgroup_write_file(h->parent_dir, "cgroup.subtree_control", word);
			if (rc < 0)
				cgroup_write_file(h->parent_dir, "cgroup.procs", "0");
		}
		if (self >= 0)
			close(self);
		if (rc < 0)
			unlinkat(h->parent_dir, name, AT_REMOVEDIR);
	}
	if (rc == -EBUSY)
		snprintf(why, n, "the %s controller cannot be enabled, because other processes are in the control group itself",
		         controller);
	else if (rc < 0)
		snprintf(why, n, "the %s controller cannot be enabled: %s", controller, strerror(-rc));
}

/* Makes our group in one hierarchy. 0 or -errno with a sentence in why. */
static int hier_make(struct cgroup_hier *h, const struct cgroup_where *w, const char *run, char *why, size_t n)
{
	*h = (struct cgroup_hier){.dir = -1, .procs = -1, .parent_dir = -1, .charged = -1, .stat = -1, .cpu = -1};
	char text[64];
	int rc = 0;
	h->parent = strdup(w->dir);
	if (asprintf(&h->name, PREFIX "%s", run) < 0)
		h->name = NULL;
	if (!h->parent || !h->name) {
		rc = -ENOMEM;
		goto out;
	}
	h->parent_dir = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (h->parent_dir < 0) {
		rc = -errno;
		goto out;
	}
	cgroup_remove_old(h->parent_dir);
	h->dir = make_locked(h->parent_dir, h->name);
	if (h->dir < 0) {
		rc = h->dir;
		goto out;
	}
	h->procs = openat(h->dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (h->procs < 0)
		rc = -errno;
	/* Below a group of threads nothing but threads may be. */
	else if (cgroup_read_file(h->dir, "cgroup.type", text, sizeof(text)) && strncmp(text, "domain", 6))
		rc = -EOPNOTSUPP;
out:
	if (rc < 0) {
		snprintf(why, n, "no control group can be made in %.150s: %s", w->dir, strerror(-rc));
		if (h->dir >= 0)
			unlinkat(h->parent_dir, h->name, AT_REMOVEDIR);
		cgroup_hier_release(h);
	}
	return rc;
}

/* Notes why the part cannot be had from a control group. */
static void lacks(struct cgroup *c, unsigned part, const char *why)
{
	snprintf(c->lacks[cgroup_part_index(part)], sizeof(c->lacks[0]), "%s", why);
}

/* Notes that the part can be had from a control group. Nothing is in the way of it any more. */
static void lacks_not(struct cgroup *c, unsigned part)
{
	c->lacks[cgroup_part_index(part)][0] = '\0';
}

/* Switches a controller on, and notes why if that fails. */
static void add_controller(struct cgroup *c, struct cgroup_hier *h, const char *run, unsigned part, const char *name)
{
	char why[300];
	switch_on(h, run, name, why, sizeof(why));
	if (!why[0])
		h->parts |= part;
	else
		lacks(c, part, why);
}

/* Version 2: one group for all. */
static void make_unified(struct cgroup *c, const struct cgroup_where *w, const char *run, unsigned wanted)
{
	struct cgroup_hier *h = &c->h[c->n];
	char why[300];
	if (w->why[0] || hier_make(h, w, run, why, sizeof(why)) < 0) {
		for (unsigned part = 1; part <= CGROUP_KILL; part *= 2)
			if (wanted & part)
				lacks(c, part, w->why[0] ? w->why : why);
		return;
	}
	h->two = true;
	if (faccessat(h->dir, "cpu.stat", R_OK, 0) == 0)
		h->parts |= wanted & CGROUP_CPU;
	else if (wanted & CGROUP_CPU)
		lacks(c, CGROUP_CPU, "this kernel counts no CPU time for control groups");
	if (faccessat(h->dir, "cgroup.kill", W_OK, AT_EACCESS) == 0 ||
	    faccessat(h->dir, "cgroup.freeze", W_OK, AT_EACCESS) == 0)
		h->parts |= wanted & CGROUP_KILL;
	else if (wanted & CGROUP_KILL)
		lacks(c, CGROUP_KILL, "this kernel can neither kill nor freeze a control group");
	if (wanted & CGROUP_MEMORY)
		add_controller(c, h, run, CGROUP_MEMORY, "memory");
	if (wanted & CGROUP_TASKS)
		add_controller(c, h, run, CGROUP_TASKS, "pids");
	if (!h->parts) {
		unlinkat(h->parent_dir, h->name, AT_REMOVEDIR);
		cgroup_hier_release(h);
		return;
	}
	c->parts |= h->parts;
	c->n++;
}

/* Version 1: what is still missing, from a hierarchy of its own each; two controllers may share one. */
static void make_old(struct cgroup *c, const struct cgroup_where *w, const char *run, unsigned part)
{
	char why[300];
	if (!w->dir && c->lacks[cgroup_part_index(part)][0])
		return; /* version 2's reason says more */
	if (w->why[0]) {
		lacks(c, part, w->why);
		return;
	}
	for (int i = 0; i < c->n; i++)
		if (!strcmp(c->h[i].parent, w->dir)) {
			c->h[i].parts |= part;
			c->parts |= part;
			lacks_not(c, part);
			return;
		}
	if (hier_make(&c->h[c->n], w, run, why, sizeof(why)) < 0) {
		lacks(c, part, why);
		return;
	}
	c->h[c->n++].parts = part;
	c->parts |= part;
	lacks_not(c, part);
}

/* Opens what is read in each sample. What cannot be opened is -1. */
static void open_figures(struct cgroup_hier *h)
{
	int flags = O_RDONLY | O_CLOEXEC;
	if (h->parts & CGROUP_MEMORY) {
		h->charged = openat(h->dir, h->two ? "memory.current" : "memory.usage_in_bytes", flags);
		h->stat = openat(h->dir, "memory.stat", flags);
	}
	if (h->parts & CGROUP_CPU)
		h->cpu = openat(h->dir, h->two ? "cpu.stat" : "cpuacct.usage", flags);
}

int cgroup_make(const char *run, unsigned wanted, struct err *err, struct cgroup **ret)
{
	static const enum cgroup_place old[CGROUP_PARTS] = {PLACE_MEMORY, PLACE_CPUACCT, PLACE_PIDS, PLACE_FREEZER};
	struct cgroup_where where[CGROUP_PLACES];
	struct cgroup *c = calloc(1, sizeof(*c));
	int rc = c ? cgroup_where(where) : -ENOMEM;
	if (rc < 0) {
		free(c);
		return err_set(err, -rc, "cannot make a control group");
	}
	make_unified(c, &where[PLACE_UNIFIED], run, wanted);
	for (int i = 0; i < CGROUP_PARTS; i++)
		if (wanted & ~c->parts & (1u << i))
			make_old(c, &where[old[i]], run, 1u << i);
	cgroup_where_release(where);
	if (!c->parts) {
		rc = err_set(err, 0, "%s",
		             c->lacks[cgroup_part_index(wanted & CGROUP_MEMORY ? CGROUP_MEMORY : wanted & -wanted)]);
		cgroup_close(c);
		return rc ? rc : -EPERM;
	}
	for (int i = 0; i < c->n; i++)
		open_figures(&c->h[i]);
	*ret = c;
	return 0;
}

int cgroup_probe(struct err *err, unsigned *ret_parts)
{
	struct cgroup *c;
	char name[64];
	snprintf(name, sizeof(name), "probe-%d-%lx", getpid(), (unsigned long)time(NULL));
	int rc = cgroup_make(name, CGROUP_ALL, err, &c);
	if (rc < 0)
		return rc;
	*ret_parts = c->parts;
	cgroup_remove(c);
	cgroup_close(c);
	return 0;
}
