#include "monitor/cgroup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "monitor/cgroup_where.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "stemma-"
#define DEPTH 8  /* of groups below groups that are looked into */
#define TRIES 20 /* to make a group that nobody sweeps away before it is locked */
#define FROZEN_WAIT                                                                                                    \
	50 /* ms for a freezer to get hold of everybody; who stands in the kernel is not waited for longer */
#define KILL_PAUSE 2000 /* us between two looks whether all are dead */
#define PARTS 4

/* Our group in one hierarchy. */
struct hier {
	bool two;
	unsigned parts;
	char *parent, *name;
	int dir, procs, parent_dir;
	int charged, stat, cpu; /* figures that are read often stay open; -1: not of this hierarchy */
};

struct cgroup {
	struct hier h[CGROUP_PLACES];
	int n;
	unsigned parts;
	char lacks[PARTS][300];
};

static int part_index(unsigned part)
{
	int i = 0;
	while (part > 1 && i < PARTS - 1) {
		part >>= 1;
		i++;
	}
	return i;
}

/* ---- files of a group ---- */

static int write_control_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	int rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int write_number(int dir, const char *name, int64_t v)
{
	char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return write_control_file(dir, name, text);
}

static bool read_fd(int fd, char *ret, size_t n)
{
	ssize_t got = fd < 0 ? -1 : pread(fd, ret, n - 1, 0);
	ret[got > 0 ? got : 0] = '\0';
	return got >= 0;
}

static bool read_control_file(int dir, const char *name, char *ret, size_t n)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	bool ok = read_fd(fd, ret, n);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* -1: not there, or no number ("max"). */
static int64_t parse_cgroup_count(const char *text)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	return end == text || errno || v < 0 ? -1 : v;
}

static int64_t read_number(int dir, const char *name)
{
	char text[64];
	return read_control_file(dir, name, text, sizeof(text)) ? parse_cgroup_count(text) : -1;
}

/* The number behind "key " at the beginning of a line. */
static int64_t value_of_key(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, key, n) && at[n] == ' ')
			return parse_cgroup_count(at + n + 1);
	return -1;
}

static bool has_controller(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; *at; at += strcspn(at, " \n"), at += strspn(at, " \n"))
		if (strcspn(at, " \n") == n && !strncmp(at, word, n))
			return true;
	return false;
}

/* ---- groups below a group ---- */

/* Calls each with the descriptors of the folders below dir, innermost first, then with dir. */
static int walk_groups(int dir, int depth, int (*each)(int dir, void *arg), void *arg)
{
	int rc = 0, copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d && copy >= 0)
		close(copy);
	for (struct dirent *e; d && rc == 0 && depth < DEPTH && (e = readdir(d));) {
		if (e->d_type != DT_DIR || !strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		int below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below >= 0) {
			rc = walk_groups(below, depth + 1, each, arg);
			close(below);
		}
	}
	if (d)
		closedir(d);
	return rc ? rc : each(dir, arg);
}

struct pids {
	pid_t *v;
	size_t n, cap;
};

static int add_pids(int dir, void *arg)
{
	struct pids *p = arg;
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC), rc = 0;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[32];
	if (!f && fd >= 0)
		close(fd);
	/* A group that is gone, or of threads only, has none to tell. A 0 is a process that cannot be seen from here. */
	while (f && rc == 0 && fgets(line, sizeof(line), f)) {
		pid_t pid = (pid_t)atoi(line);
		if (pid <= 0)
			continue;
		if (!vec_has_room(p->v, p->n, p->cap)) {
			rc = -ENOMEM;
			break;
		}
		p->v[p->n++] = pid;
	}
	if (f)
		fclose(f);
	return rc;
}

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
		for (struct dirent *e; d && depth < DEPTH && (e = readdir(d));)
			if (e->d_type == DT_DIR && !strncmp(e->d_name, PREFIX, strlen(PREFIX)))
				remove_old_group(dir, e->d_name, depth + 1);
		if (d)
			closedir(d);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	close(dir);
}

static void remove_old_groups(int parent)
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

static void hier_release(struct hier *h)
{
	int *fds[] = {&h->dir, &h->procs, &h->parent_dir, &h->charged, &h->stat, &h->cpu};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	free(h->parent);
	free(h->name);
	h->parent = h->name = NULL;
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
	struct pids p = {0};
	bool ret = add_pids(dir, &p) == 0 && p.n == 1 && p.v[0] == getpid();
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
static void switch_on(struct hier *h, const char *run, const char *controller, char *why, size_t n)
{
	char text[1024], name[128], word[32];
	*why = '\0';
	snprintf(word, sizeof(word), "+%s", controller);
	if (read_control_file(h->parent_dir, "cgroup.subtree_control", text, sizeof(text)) &&
	    has_controller(text, controller))
		return;
	if (!read_control_file(h->parent_dir, "cgroup.controllers", text, sizeof(text)) ||
	    !has_controller(text, controller)) {
		snprintf(why, n, "the control group has no %s controller to hand on", controller);
		return;
	}
	if (has_foreign_children(h->parent_dir)) {
		snprintf(why, n, "other groups stand beside ours, and the %s controller would be switched on for them too",
		         controller);
		return;
	}
	int rc = write_control_file(h->parent_dir, "cgroup.subtree_control", word);
	if (rc == -EBUSY && alone_in(h->parent_dir)) {
		snprintf(name, sizeof(name), PREFIX "self-%s", run);
		int self = make_locked(h->parent_dir, name);
		if (self >= 0 && write_control_file(self, "cgroup.procs", "0") == 0) {
			rc = write_control_file(h->parent_dir, "cgroup.subtree_control", word);
			if (rc < 0)
				write_control_file(h->parent_dir, "cgroup.procs", "0");
		}
		if (self >= 0)
			close(self);
		if (rc < 0)
			unlinkat(h->parent_dir, name, AT_REMOVEDIR);
	}
	if (rc == -EBUSY)
		snprintf(why, n,
		         "other processes are in the control group itself, which keeps the %s controller from its children",
		         controller);
	else if (rc < 0)
		snprintf(why, n, "the %s controller cannot be switched on: %s", controller, strerror(-rc));
}

/* Makes our group in one hierarchy. 0 or -errno with a sentence in why. */
static int hier_make(struct hier *h, const struct cgroup_where *w, const char *run, char *why, size_t n)
{
	*h = (struct hier){.dir = -1, .procs = -1, .parent_dir = -1, .charged = -1, .stat = -1, .cpu = -1};
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
	remove_old_groups(h->parent_dir);
	h->dir = make_locked(h->parent_dir, h->name);
	if (h->dir < 0) {
		rc = h->dir;
		goto out;
	}
	h->procs = openat(h->dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (h->procs < 0)
		rc = -errno;
	/* Below a group of threads nothing but threads may be. */
	else if (read_control_file(h->dir, "cgroup.type", text, sizeof(text)) && strncmp(text, "domain", 6))
		rc = -EOPNOTSUPP;
out:
	if (rc < 0) {
		snprintf(why, n, "no control group can be made in %.150s: %s", w->dir, strerror(-rc));
		if (h->dir >= 0)
			unlinkat(h->parent_dir, h->name, AT_REMOVEDIR);
		hier_release(h);
	}
	return rc;
}

static void lacks(struct cgroup *c, unsigned part, const char *why)
{
	snprintf(c->lacks[part_index(part)], sizeof(c->lacks[0]), "%s", why);
}

static void lacks_not(struct cgroup *c, unsigned part)
{
	c->lacks[part_index(part)][0] = '\0';
}

/* Version 2: one group for all. */
static void make_unified(struct cgroup *c, const struct cgroup_where *w, const char *run, unsigned wanted)
{
	struct hier *h = &c->h[c->n];
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
	if (wanted & CGROUP_MEMORY) {
		switch_on(h, run, "memory", why, sizeof(why));
		if (!why[0])
			h->parts |= CGROUP_MEMORY;
		else
			lacks(c, CGROUP_MEMORY, why);
	}
	if (wanted & CGROUP_TASKS) {
		switch_on(h, run, "pids", why, sizeof(why));
		if (!why[0])
			h->parts |= CGROUP_TASKS;
		else
			lacks(c, CGROUP_TASKS, why);
	}
	if (!h->parts) {
		unlinkat(h->parent_dir, h->name, AT_REMOVEDIR);
		hier_release(h);
		return;
	}
	c->parts |= h->parts;
	c->n++;
}

/* Version 1: what is still missing, from a hierarchy of its own each; two controllers may share one. */
static void make_old(struct cgroup *c, const struct cgroup_where *w, const char *run, unsigned part)
{
	char why[300];
	if (!w->dir && c->lacks[part_index(part)][0])
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

static void open_figures(struct hier *h)
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
	static const enum cgroup_place old[PARTS] = {PLACE_MEMORY, PLACE_CPUACCT, PLACE_PIDS, PLACE_FREEZER};
	struct cgroup_where where[CGROUP_PLACES];
	struct cgroup *c = calloc(1, sizeof(*c));
	int rc = c ? cgroup_where(where) : -ENOMEM;
	if (rc < 0) {
		free(c);
		return err_set(err, -rc, "cannot make a control group");
	}
	make_unified(c, &where[PLACE_UNIFIED], run, wanted);
	for (int i = 0; i < PARTS; i++)
		if (wanted & ~c->parts & (1u << i))
			make_old(c, &where[old[i]], run, 1u << i);
	cgroup_where_release(where);
	if (!c->parts) {
		rc = err_set(err, 0, "%s", c->lacks[part_index(wanted & CGROUP_MEMORY ? CGROUP_MEMORY : wanted & -wanted)]);
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

unsigned cgroup_parts(const struct cgroup *c)
{
	return c->parts;
}

/* ---- going in ---- */

int cgroup_enter(const struct cgroup *c)
{
	int rc = 0;
	for (int i = 0; i < c->n; i++)
		if (write(c->h[i].procs, "0", 1) != 1 && rc == 0)
			rc = -errno;
	return rc;
}

/* ---- figures ---- */

static const struct hier *hier_of(const struct cgroup *c, unsigned part)
{
	for (int i = 0; i < c->n; i++)
		if (c->h[i].parts & part)
			return &c->h[i];
	return NULL;
}

int64_t cgroup_charged(const struct cgroup *c)
{
	const struct hier *h = hier_of(c, CGROUP_MEMORY);
	char text[64];
	return h && read_fd(h->charged, text, sizeof(text)) ? parse_cgroup_count(text) : -1;
}

static int64_t minus(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? a : a > b ? a - b : 0;
}

static void read_memory(const struct hier *h, struct cgroup_usage *u)
{
	char text[8192], small[512];
	if (read_fd(h->stat, text, sizeof(text))) {
		/* Version 1 counts a group alone, and with those below it under "total_". */
		u->anonymous = value_of_key(text, h->two ? "anon" : "total_rss");
		u->shared = value_of_key(text, h->two ? "shmem" : "total_shmem");
		u->file = minus(value_of_key(text, h->two ? "file" : "total_cache"), u->shared);
		if (!h->two)
			u->swap = value_of_key(text, "total_swap");
	}
	if (read_fd(h->charged, small, sizeof(small)))
		u->charged = parse_cgroup_count(small);
	u->charged_peak = read_number(h->dir, h->two ? "memory.peak" : "memory.max_usage_in_bytes");
	if (h->two) {
		u->swap = read_number(h->dir, "memory.swap.current");
		if (read_control_file(h->dir, "memory.events", small, sizeof(small))) {
			u->oom_kills = value_of_key(small, "oom_kill");
			u->memory_hits = value_of_key(small, "max");
		}
	} else {
		if (read_control_file(h->dir, "memory.oom_control", small, sizeof(small)))
			u->oom_kills = value_of_key(small, "oom_kill");
		u->memory_hits = read_number(h->dir, "memory.failcnt");
	}
}

static void read_cpu(const struct hier *h, struct cgroup_usage *u)
{
	char text[1024];
	if (!read_fd(h->cpu, text, sizeof(text)))
		return;
	if (h->two) {
		int64_t all = value_of_key(text, "usage_usec"), user = value_of_key(text, "user_usec"),
		        system = value_of_key(text, "system_usec");
		u->cpu = all < 0 ? -1 : all * 1000;
		u->cpu_user = user < 0 ? -1 : user * 1000;
		u->cpu_system = system < 0 ? -1 : system * 1000;
	} else {
		u->cpu = parse_cgroup_count(text);
		u->cpu_user = read_number(h->dir, "cpuacct.usage_user");
		u->cpu_system = read_number(h->dir, "cpuacct.usage_sys");
	}
}

void cgroup_read(const struct cgroup *c, unsigned parts, struct cgroup_usage *ret)
{
	const struct hier *h;
	char text[256];
	*ret = (struct cgroup_usage){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
	if ((parts & CGROUP_MEMORY) && (h = hier_of(c, CGROUP_MEMORY)))
		read_memory(h, ret);
	if ((parts & CGROUP_CPU) && (h = hier_of(c, CGROUP_CPU)))
		read_cpu(h, ret);
	if ((parts & CGROUP_TASKS) && (h = hier_of(c, CGROUP_TASKS))) {
		ret->tasks = read_number(h->dir, "pids.current");
		ret->tasks_peak = read_number(h->dir, "pids.peak");
		if (read_control_file(h->dir, "pids.events", text, sizeof(text)))
			ret->task_hits = value_of_key(text, "max");
	}
}

/* ---- limits ---- */

int cgroup_backstop(struct cgroup *c, int64_t memory, int64_t swap, int64_t tasks, struct err *err)
{
	const struct hier *h = hier_of(c, CGROUP_MEMORY);
	int rc;
	if (memory >= 0) {
		if (!h)
			return err_set(err, ENOTSUP, "no memory limit can be set");
		rc = write_number(h->dir, h->two ? "memory.max" : "memory.limit_in_bytes", memory);
		if (rc < 0)
			return err_set(err, -rc, "cannot set the memory limit of the control group");
	}
	if (swap >= 0 && h) {
		/* Version 1 limits memory and swap together, and only where swap is counted. */
		int64_t sum = memory >= 0 && swap <= INT64_MAX - memory ? memory + swap : -1;
		rc = h->two    ? write_number(h->dir, "memory.swap.max", swap)
		     : sum < 0 ? 0
		               : write_number(h->dir, "memory.memsw.limit_in_bytes", sum);
		if (rc < 0 && rc != -ENOENT)
			return err_set(err, -rc, "cannot set the swap limit of the control group");
	}
	if (tasks >= 0) {
		h = hier_of(c, CGROUP_TASKS);
		rc = h ? write_number(h->dir, "pids.max", tasks) : -ENOTSUP;
		if (rc < 0)
			return err_set(err, -rc, "cannot set the limit of the control group's tasks");
	}
	return 0;
}

/* ---- who is inside, and their end ---- */

/* The hierarchy whose list of processes is believed: a process that goes somewhere else in one of them does so mostly
 * in all. */
static const struct hier *any_hier(const struct cgroup *c)
{
	const struct hier *h = hier_of(c, CGROUP_KILL);
	return h ? h : &c->h[0];
}

int cgroup_pids(const struct cgroup *c, pid_t **ret, size_t *ret_n)
{
	struct pids p = {0};
	int rc = walk_groups(any_hier(c)->dir, 0, add_pids, &p);
	if (rc < 0) {
		free(p.v);
		return rc;
	}
	*ret = p.v;
	*ret_n = p.n;
	return 0;
}

bool cgroup_empty(const struct cgroup *c)
{
	const struct hier *h = any_hier(c);
	char text[256];
	if (h->two && read_control_file(h->dir, "cgroup.events", text, sizeof(text)))
		return value_of_key(text, "populated") == 0;
	struct pids p = {0};
	bool ret = walk_groups(h->dir, 0, add_pids, &p) == 0 && p.n == 0;
	free(p.v);
	return ret;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* Signals those of v that are in the group again: whoever is held by a pidfd has had its number all the while, so it
 * was that process, and no other that got the number of one that had ended. */
static int signal_held(const struct cgroup *c, const pid_t *v, int *fds, size_t n, int sig)
{
	pid_t *again = NULL;
	size_t nagain = 0;
	int rc = cgroup_pids(c, &again, &nagain);
	if (nagain)
		qsort(again, nagain, sizeof(*again), compare_pids);
	for (size_t i = 0; i < n; i++) {
		bool still = fds[i] >= 0 && syscall(SYS_pidfd_send_signal, fds[i], 0, NULL, 0) == 0 && nagain &&
		             bsearch(&v[i], again, nagain, sizeof(*again), compare_pids);
		if (still && syscall(SYS_pidfd_send_signal, fds[i], sig, NULL, 0) < 0 && errno != ESRCH)
			rc = -errno;
	}
	free(again);
	return rc;
}

int cgroup_signal(const struct cgroup *c, int sig)
{
	enum { AT_ONCE = 256 }; /* descriptors */
	pid_t *v = NULL;
	size_t n = 0;
	int fds[AT_ONCE], rc = cgroup_pids(c, &v, &n);
	for (size_t at = 0; at < n; at += AT_ONCE) {
		size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
		for (size_t i = 0; i < some; i++) {
			fds[i] = v[at + i] == getpid() ? -1 : (int)syscall(SYS_pidfd_open, v[at + i], 0);
			/* Without pidfds (before Linux 5.3), or without room for one, there is only the number. */
			if (fds[i] < 0 && v[at + i] != getpid() && errno != ESRCH && errno != EINVAL && errno != ENOENT &&
			    kill(v[at + i], sig) < 0 && errno != ESRCH)
				rc = -errno;
		}
		int r = signal_held(c, v + at, fds, some, sig);
		rc = r < 0 ? r : rc;
		for (size_t i = 0; i < some; i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	free(v);
	return rc;
}

/* Stops everybody where they stand, so that nobody is born while the signals go out; and lets them go, to die. */
static void freeze(const struct hier *h, bool on)
{
	char text[64];
	if (h->two) {
		write_control_file(h->dir, "cgroup.freeze", on ? "1" : "0");
		return;
	}
	write_control_file(h->dir, "freezer.state", on ? "FROZEN" : "THAWED");
	for (int64_t until = clock_now_ms(CLOCK_MONOTONIC) + FROZEN_WAIT; on && clock_now_ms(CLOCK_MONOTONIC) < until;
	     usleep(500))
		if (!read_control_file(h->dir, "freezer.state", text, sizeof(text)) || !strncmp(text, "FROZEN", 6))
			break;
}

int cgroup_kill(const struct cgroup *c, int patience)
{
	const struct hier *h = hier_of(c, CGROUP_KILL);
	int64_t until = clock_now_ms(CLOCK_MONOTONIC) + patience;
	bool killed = h && h->two && write_control_file(h->dir, "cgroup.kill", "1") == 0;
	for (int pass = 0;; pass++) {
		/* What is not killed at one stroke may have children while it is counted: again, until there is nobody. */
		if (!killed || pass % 50 == 49) {
			if (h)
				freeze(h, true);
			cgroup_signal(c, SIGKILL);
			if (h)
				freeze(h, false);
		}
		if (cgroup_empty(c))
			return 0;
		if (clock_now_ms(CLOCK_MONOTONIC) >= until)
			return -EAGAIN;
		usleep(KILL_PAUSE);
	}
}

/* ---- the end ---- */

void cgroup_close(struct cgroup *c)
{
	if (!c)
		return;
	for (int i = 0; i < c->n; i++)
		hier_release(&c->h[i]);
	free(c);
}

int cgroup_remove(struct cgroup *c)
{
	int rc = 0;
	for (int i = 0; i < c->n; i++) {
		const struct hier *h = &c->h[i];
		/* Groups that a run inside left behind keep ours from going. */
		remove_old_groups(h->dir);
		if (unlinkat(h->parent_dir, h->name, AT_REMOVEDIR) < 0 && errno != ENOENT && rc == 0)
			rc = -errno;
	}
	return rc;
}
