#include "monitor/cgroup/cgroup_int.h"

#include "base/clock.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ms for a freezer to get hold of everybody; who stands in the kernel is not waited for longer */
#define FROZEN_WAIT 50
#define KILL_PAUSE 2000 /* us between two looks whether all are dead */

int cgroup_part_index(unsigned part)
{
	int i = 0;
	while (part > 1 && i < CGROUP_PARTS - 1) {
		part >>= 1;
		i++;
	}
	return i;
}

/* ---- files of a group ---- */

int cgroup_write_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	int rc = n < 0 ? -errno : 0;
	close(fd);
	return rc;
}

/* Writes a number to a file of the group's folder. 0, -errno. */
static int write_number(int dir, const char *name, int64_t v)
{
	char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)v);
	return cgroup_write_file(dir, name, text);
}

/* Reads a file from its begin. With a 0 behind it, cut to n; empty if that failed. */
static bool read_fd(int fd, char *ret, size_t n)
{
	ssize_t got = fd < 0 ? -1 : pread(fd, ret, n - 1, 0);
	ret[got > 0 ? got : 0] = '\0';
	return got >= 0;
}

bool cgroup_read_file(int dir, const char *name, char *ret, size_t n)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	bool ok = read_fd(fd, ret, n);
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Reads a number of a control group's file. -1: not there, or no number ("max"). */
static int64_t parse_cgroup_count(const char *text)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	return end == text || errno || v < 0 ? -1 : v;
}

/* Reads a number from a file of a control group. -1: not to be had, or no number. */
static int64_t read_cgroup_number(int dir, const char *name)
{
	char text[64];
	return cgroup_read_file(dir, name, text, sizeof(text)) ? parse_cgroup_count(text) : -1;
}

/* The number behind "key " at the beginning of a line. -1: there is none. */
static int64_t value_of_key(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = text; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, key, n) && at[n] == ' ')
			return parse_cgroup_count(at + n + 1);
	return -1;
}

/* ---- groups below a group ---- */

/* Calls each with the descriptors of the folders below dir, innermost first, then with dir. At most CGROUP_DEPTH deep.
 * The first result that is not 0 ends it and comes back. */
static int walk_groups(int dir, int depth, int (*each)(int dir, void *arg), void *arg)
{
	int rc = 0, copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d && copy >= 0)
		close(copy);
	for (struct dirent *e; d && rc == 0 && depth < CGROUP_DEPTH && (e = readdir(d));) {
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

int cgroup_add_members(int dir, void *arg)
{
	struct cgroup_members *p = arg;
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

/* It may be released twice. The group itself stays. */
void cgroup_hier_release(struct cgroup_hier *h)
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

/* CGROUP_ bits: what it has. */
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

/* The hierarchy that has one of the parts; NULL: none. */
static const struct cgroup_hier *hier_of(const struct cgroup *c, unsigned part)
{
	for (int i = 0; i < c->n; i++)
		if (c->h[i].parts & part)
			return &c->h[i];
	return NULL;
}

int64_t cgroup_charged(const struct cgroup *c)
{
	const struct cgroup_hier *h = hier_of(c, CGROUP_MEMORY);
	char text[64];
	return h && read_fd(h->charged, text, sizeof(text)) ? parse_cgroup_count(text) : -1;
}

/* The difference of two numbers. Not below 0. a where either is unknown (negative). */
static int64_t minus(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? a : a > b ? a - b : 0;
}

/* Figures that cannot be read are -1, or stay as they were. */
static void read_memory(const struct cgroup_hier *h, struct cgroup_usage *u)
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
	u->charged_peak = read_cgroup_number(h->dir, h->two ? "memory.peak" : "memory.max_usage_in_bytes");
	if (h->two) {
		u->swap = read_cgroup_number(h->dir, "memory.swap.current");
		if (cgroup_read_file(h->dir, "memory.events", small, sizeof(small))) {
			u->oom_kills = value_of_key(small, "oom_kill");
			u->memory_hits = value_of_key(small, "max");
		}
	} else {
		if (cgroup_read_file(h->dir, "memory.oom_control", small, sizeof(small)))
			u->oom_kills = value_of_key(small, "oom_kill");
		u->memory_hits = read_cgroup_number(h->dir, "memory.failcnt");
	}
}

/* Reads the processor time that the group has used, in nanoseconds; -1: not known. */
static void read_cpu(const struct cgroup_hier *h, struct cgroup_usage *u)
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
		u->cpu_user = read_cgroup_number(h->dir, "cpuacct.usage_user");
		u->cpu_system = read_cgroup_number(h->dir, "cpuacct.usage_sys");
	}
}

void cgroup_read(const struct cgroup *c, unsigned parts, struct cgroup_usage *ret)
{
	const struct cgroup_hier *h;
	char text[256];
	*ret = (struct cgroup_usage){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
	if ((parts & CGROUP_MEMORY) && (h = hier_of(c, CGROUP_MEMORY)))
		read_memory(h, ret);
	if ((parts & CGROUP_CPU) && (h = hier_of(c, CGROUP_CPU)))
		read_cpu(h, ret);
	if ((parts & CGROUP_TASKS) && (h = hier_of(c, CGROUP_TASKS))) {
		ret->tasks = read_cgroup_number(h->dir, "pids.current");
		ret->tasks_peak = read_cgroup_number(h->dir, "pids.peak");
		if (cgroup_read_file(h->dir, "pids.events", text, sizeof(text)))
			ret->task_hits = value_of_key(text, "max");
	}
}

/* ---- limits ---- */

/* Sets the limit of swap. Both in bytes, negative: no limit. 0 also where version 1 cannot limit it; -errno. */
static int limit_swap(const struct cgroup_hier *h, int64_t memory, int64_t swap)
{
	if (h->two)
		return write_number(h->dir, "memory.swap.max", swap);
	/* Version 1 limits memory and swap together, and only where swap is counted. */
	int64_t sum = memory >= 0 && swap <= INT64_MAX - memory ? memory + swap : -1;
	return sum < 0 ? 0 : write_number(h->dir, "memory.memsw.limit_in_bytes", sum);
}

int cgroup_backstop(struct cgroup *c, int64_t memory, int64_t swap, int64_t tasks, struct err *err)
{
	const struct cgroup_hier *h = hier_of(c, CGROUP_MEMORY);
	int rc;
	if (memory >= 0) {
		if (!h)
			return err_set(err, ENOTSUP, "no memory limit can be set");
		rc = write_number(h->dir, h->two ? "memory.max" : "memory.limit_in_bytes", memory);
		if (rc < 0)
			return err_set(err, -rc, "cannot set the memory limit of the control group");
	}
	if (swap >= 0 && h) {
		rc = limit_swap(h, memory, swap);
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
static const struct cgroup_hier *any_hier(const struct cgroup *c)
{
	const struct cgroup_hier *h = hier_of(c, CGROUP_KILL);
	return h ? h : &c->h[0];
}

int cgroup_pids(const struct cgroup *c, pid_t **ret, size_t *ret_n)
{
	struct cgroup_members p = {0};
	int rc = walk_groups(any_hier(c)->dir, 0, cgroup_add_members, &p);
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
	const struct cgroup_hier *h = any_hier(c);
	char text[256];
	if (h->two && cgroup_read_file(h->dir, "cgroup.events", text, sizeof(text)))
		return value_of_key(text, "populated") == 0;
	struct cgroup_members p = {0};
	bool ret = walk_groups(h->dir, 0, cgroup_add_members, &p) == 0 && p.n == 0;
	free(p.v);
	return ret;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
	return (x > y) - (x < y);
}

/* Signals those of v that are in the group again: whoever is held by a pidfd has had its number all the while, so it
 * was that process, and no other that got the number of one that had ended. -errno of the last that failed; 0. */
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

/* A signal to every process inside. Not to this process itself. -errno of the last that failed. */
static int cgroup_signal(const struct cgroup *c, int sig)
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

/* Stops or continues all processes of a control group: stops everybody where they stand, so that nobody is born
 * while the signals go out; and lets them go, to die. */
static void freeze(const struct cgroup_hier *h, bool on)
{
	char text[64];
	if (h->two) {
		cgroup_write_file(h->dir, "cgroup.freeze", on ? "1" : "0");
		return;
	}
	cgroup_write_file(h->dir, "freezer.state", on ? "FROZEN" : "THAWED");
	for (int64_t until = clock_now_ms(CLOCK_MONOTONIC) + FROZEN_WAIT; on && clock_now_ms(CLOCK_MONOTONIC) < until;
	     usleep(500))
		if (!cgroup_read_file(h->dir, "freezer.state", text, sizeof(text)) || !strncmp(text, "FROZEN", 6))
			break;
}

int cgroup_kill(const struct cgroup *c, int patience)
{
	const struct cgroup_hier *h = hier_of(c, CGROUP_KILL);
	int64_t until = clock_now_ms(CLOCK_MONOTONIC) + patience;
	bool killed = h && h->two && cgroup_write_file(h->dir, "cgroup.kill", "1") == 0;
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
		cgroup_hier_release(&c->h[i]);
	free(c);
}

int cgroup_remove(struct cgroup *c)
{
	int rc = 0;
	for (int i = 0; i < c->n; i++) {
		const struct cgroup_hier *h = &c->h[i];
		/* Groups that a run inside left behind keep ours from going. */
		cgroup_remove_old(h->dir);
		if (unlinkat(h->parent_dir, h->name, AT_REMOVEDIR) < 0 && errno != ENOENT && rc == 0)
			rc = -errno;
	}
	return rc;
}
