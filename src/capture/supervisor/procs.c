/* Processes and their threads: what is known of them, and first sight. Everything here is read from /proc while the
 * process stands still in a stopped call. */
#include "base/fileid.h"
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/procs_int.h"
#include "capture/supervisor/shield/shield.h"
#include "capture/supervisor/super.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The head of its chain. */
static struct task **task_slot(struct sup *s, pid_t tid)
{
	return &s->tasks[(unsigned)tid & (HASH_SIZE - 1)];
}

bool proc_has_terminal(const struct proc *p)
{
	struct procfs st;
	return procfs_stat(p->pid, &st) == 0 && st.terminal;
}

bool proc_random(pid_t pid, unsigned char ret[16])
{
	char name[48];
	uint64_t v[64];
	snprintf(name, sizeof(name), "/proc/%d/auxv", pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, v, sizeof(v));
	if (fd >= 0)
		close(fd);
	/* Pairs of the process's own word size; a 32-bit process's pairs are read as its own words. */
	const uint32_t *w = (const uint32_t *)v;
	for (ssize_t i = 0; n > 0 && i + 1 < n / 8; i += 2)
		if (v[i] == AT_RANDOM)
			return remote_read(pid, v[i + 1], ret, 16) == 16;
	for (ssize_t i = 0; n > 0 && i + 1 < n / 4; i += 2)
		if (w[i] == AT_RANDOM)
			return remote_read(pid, w[i + 1], ret, 16) == 16;
	return false;
}

/* A figure of a "name: value" file. */
static bool parse_named_figure(const char *text, const char *name, uint64_t *ret)
{
	const char *at = strstr(text, name);
	if (!at)
		return false;
	*ret = strtoull(at + strlen(name), NULL, 10);
	return true;
}

/* The directory of threads has a link for each. */
bool proc_has_one_thread(const struct proc *p)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/task", p->pid);
	return stat(name, &st) == 0 && st.st_nlink == 3;
}

/* Has no thread but the first ever run in it? Then the processor time of the process is that of this thread, to the
 * nanosecond. The two cannot be read at once: while it runs, a few tries. */
bool proc_has_run_one_thread(struct proc *p)
{
	char name[64], text[128];
	clockid_t clock = (clockid_t)((~(unsigned)p->pid << 3) | 2); /* as clock_getcpuclockid makes it */
	for (int i = 0; i < 4 && !p->threads; i++) {
		struct timespec ts;
		snprintf(name, sizeof(name), "task/%d/schedstat", p->pid);
		if (clock_gettime(clock, &ts) < 0 || procfs_read(p->pid, name, text, sizeof(text)) <= 0)
			return false;
		uint64_t all = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec, own = strtoull(text, NULL, 10);
		if (own == all)
			return true;
		p->threads = own < all; /* though the thread was asked later */
	}
	return false;
}

/* /proc/PID/io counts reaped children and threads that ended, too; a thread's own file does not. */
static bool read_process_io(const struct proc *p, bool first_thread, char *text, size_t n)
{
	char file[32] = "io";
	if (first_thread)
		snprintf(file, sizeof(file), "task/%d/io", p->pid);
	return procfs_read(p->pid, file, text, n) > 0;
}

/* How many bytes the process has written, by the kernel's count (wchar). first_thread: of that alone. False: the
 * kernel does not tell. */
static bool read_wchar(const struct proc *p, bool first_thread, uint64_t *ret)
{
	char text[512];
	return read_process_io(p, first_thread, text, sizeof(text)) && parse_named_figure(text, "wchar: ", ret);
}

/* Reads the kernel's counts of bytes into p->wchar and p->rchar. */
static bool read_io_totals(struct proc *p, bool first_thread)
{
	char text[512];
	return read_process_io(p, first_thread, text, sizeof(text)) && parse_named_figure(text, "wchar: ", &p->wchar) &&
	       parse_named_figure(text, "rchar: ", &p->rchar);
}

uint64_t proc_wchar(struct sup *s, struct proc *p)
{
	if (p->wchar_stop != s->epoch + 1) {
		p->wchar_stop = s->epoch + 1;
		/* Of its first thread, and later perhaps of the process: that is not less, so where they are equal nobody
		 * wrote. */
		bool one = p->forks && proc_has_run_one_thread(p);
		p->rchar = UINT64_MAX;
		if (p->uncounted || !read_io_totals(p, one))
			p->wchar = p->rchar = UINT64_MAX;
		else if (one)
			p->wchar += p->wchar_unseen;
	}
	return p->wchar;
}

bool proc_moved_none(struct sup *s, struct proc *p, bool write)
{
	uint64_t w = proc_wchar(s, p);
	return write ? w != UINT64_MAX && w == p->wchar_exec : w != UINT64_MAX && !p->execn && p->rchar == 0;
}

/* Begins to count a process's own bytes. From its first child on, its bytes are read without its children's. Until
 * then the process's were, with those of children that never stopped: the difference goes on being added, so that
 * what was read then can be compared. */
static void begin_own_totals(struct proc *p)
{
	uint64_t before, own, after;
	if (p->forks)
		return;
	p->forks = true;
	if (!p->wchar_stop)
		return;
	if (proc_has_run_one_thread(p) && read_wchar(p, false, &before) && read_wchar(p, true, &own) &&
	    read_wchar(p, false, &after) && before == after)
		p->wchar_unseen = after - own;
	else
		p->threads = true; /* the process's then */
}

/* ---- tables ---- */

/* NULL: it is not known. An ended one is found until it is forgotten. */
struct proc *proc_by_pid(struct sup *s, pid_t pid)
{
	for (struct proc *p = s->procs[(unsigned)pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid)
			return p;
	return NULL;
}

/* NULL: it is not known. Nothing is made. */
struct task *task_known(struct sup *s, pid_t tid)
{
	for (struct task *t = *task_slot(s, tid); t; t = t->next)
		if (t->tid == tid)
			return t;
	return NULL;
}

void task_forget(struct sup *s, struct task *t)
{
	struct task **at = task_slot(s, t->tid);
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	at = &t->proc->tasks;
	while (*at != t)
		at = &(*at)->sibling;
	*at = t->sibling;
	if (s->current == t)
		s->current = NULL;
	free(t);
}

/* The process that the thread is of; -1: it is gone. */
static pid_t tgid_of(pid_t tid)
{
	char text[1024];
	uint64_t tgid;
	return procfs_read(tid, "status", text, sizeof(text)) > 0 && parse_named_figure(text, "\nTgid:", &tgid)
	           ? (pid_t)tgid
	           : -1;
}

struct task *task_of(struct sup *s, pid_t tid)
{
	struct task *t = task_known(s, tid);
	if (t && t->proc->exit_seen) {
		/* Its end was recorded. Another thread on its way out, or another process with its number? */
		if (proc_over(t->proc)) {
			proc_dead(s, t->proc);
			t = NULL;
		}
	}
	if (t && t->proc->pid != tid && syscall(SYS_tgkill, t->proc->pid, tid, 0) < 0) {
		task_forget(s, t); /* the thread ended and its number went to another process */
		t = NULL;
	}
	if (t)
		return t;
	struct proc *p = proc_by_pid(s, tid);
	if (!p)
		p = proc_first_sight(s, tid, false); /* only a process's first thread can be opened as a process */
	if (!p) {
		pid_t tgid = tgid_of(tid);
		if (tgid < 0 || tgid == tid)
			return NULL;
		p = proc_by_pid(s, tgid);
		if (!p)
			p = proc_first_sight(s, tgid, false);
	}
	t = p ? calloc(1, sizeof(*t)) : NULL;
	if (!t)
		return NULL;
	p->threads |= tid != p->pid;
	t->tid = tid;
	t->proc = p;
	t->next = *task_slot(s, tid);
	*task_slot(s, tid) = t;
	t->sibling = p->tasks;
	p->tasks = t;
	return t;
}

/* ---- roots and credentials ---- */

/* The inode of its mount namespace; where that cannot be told, as if it were ours. */
static uint64_t mount_ns(const struct sup *s, pid_t pid)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", pid);
	return stat(name, &st) == 0 ? st.st_ino : s->mnt_ns;
}

/* Is its root ours, on the same mount? Then it is in our mount namespace: none shares a mount with another. One look
 * for two. */
static bool has_our_root(const struct sup *s, pid_t pid)
{
	char name[48];
	struct statx sx;
	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	return s->root_mnt && statx(AT_FDCWD, name, 0, STATX_INO | STATX_MNT_ID, &sx) == 0 &&
	       (sx.stx_mask & STATX_MNT_ID) && sx.stx_mnt_id == s->root_mnt && sx.stx_ino == s->root_ino &&
	       fileid_dev(&sx) == s->root_dev;
}

/* Looks whether its root or mounts are others now; if so, that is a gap, once. */
void proc_refresh_root(struct sup *s, struct proc *p)
{
	char name[48];
	bool foreign = false;
	snprintf(name, sizeof(name), "/proc/%d/root", p->pid);
	struct statx sx;
	if (statx(AT_FDCWD, name, 0, STATX_INO, &sx) == 0)
		foreign = sx.stx_ino != s->root_ino || fileid_dev(&sx) != s->root_dev;
	uint64_t ns = mount_ns(s, p->pid);
	bool other = ns != s->mnt_ns;
	p->foreign = foreign || other;
	p->ns = other ? ns : 0;
	sup_set_slow_fs(s, other); /* where anything may be mounted */
	if (other && !p->foreign_said) {
		p->foreign_said = true;
		sup_gap(s, p, TERM_gap_namespace, 0, "paths of another mount namespace");
	}
}

/* "" where it cannot be read. It holds until the folder changes. */
const char *proc_cwd(struct sup *s, struct proc *p, pid_t tid)
{
	(void)s;
	char name[48], path[4096];
	if (p->cwd && !p->fs_per_thread)
		return p->cwd;
	snprintf(name, sizeof(name), "/proc/%d/cwd", tid);
	ssize_t n = readlink(name, path, sizeof(path) - 1);
	if (n < 0)
		return "";
	path[n] = '\0';
	free(p->cwd);
	p->cwd = strdup(path);
	return p->cwd ? p->cwd : "";
}

/* What cannot be read stays as it was. */
static void read_creds(struct proc *p)
{
	char text[2048];
	unsigned u[4], g[4];
	if (procfs_read(p->pid, "status", text, sizeof(text)) <= 0)
		return;
	char *at = strstr(text, "\nUid:");
	if (at && sscanf(at, "\nUid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4)
		p->uid = u[3]; /* the file-system uid decides */
	at = strstr(text, "\nGid:");
	if (at && sscanf(at, "\nGid: %u %u %u %u", &g[0], &g[1], &g[2], &g[3]) == 4)
		p->gid = g[3];
}

/* Does this call ask for the user or the group that the process is already, in all four of its numbers? Programs that
 * are often set-user-id (busybox) make it each time. */
static bool keeps_id(const unsigned is[4], const struct trap *t, unsigned nargs)
{
	if (is[0] != is[1] || is[0] != is[2] || is[0] != is[3])
		return false;
	for (unsigned i = 0; i < nargs; i++)
		if ((uint32_t)t->args[i] != is[0] && (uint32_t)t->args[i] != UINT32_MAX)
			return false;
	return true;
}

bool proc_keeps_creds(const struct trap *t)
{
	static const struct {
		long nr;
		bool group;
		unsigned nargs;
	} calls[] = {{SYS_setuid, false, 1}, {SYS_setreuid, false, 2}, {SYS_setresuid, false, 3}, {SYS_setfsuid, false, 1},
	             {SYS_setgid, true, 1},  {SYS_setregid, true, 2},  {SYS_setresgid, true, 3},  {SYS_setfsgid, true, 1}};
	char text[2048];
	unsigned is[4];
	if (t->compat || procfs_read(t->tid, "status", text, sizeof(text)) <= 0)
		return false;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const char *at = strstr(text, calls[i].group ? "\nGid:" : "\nUid:");
		if (t->nr == calls[i].nr && at && sscanf(at + 5, "%u %u %u %u", &is[0], &is[1], &is[2], &is[3]) == 4)
			return keeps_id(is, t, calls[i].nargs);
	}
	return false;
}

/* Reads user and group anew. */
void proc_refresh_creds(struct sup *s, struct proc *p)
{
	/* The directory belongs to its effective user: cheaper than reading status, and enough where nothing differs. */
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "/proc/%d", p->pid);
	if (stat(name, &st) == 0 && st.st_uid == s->euid && st.st_gid == s->egid) {
		p->uid = s->euid;
		p->gid = s->egid;
		p->own_creds = false;
		return;
	}
	read_creds(p);
	p->own_creds = p->uid != s->euid;
}

void proc_shield(struct sup *s, struct proc *p)
{
	if (!s->shield || p->shielded || p->unshielded || !(p->catches || (p->catches_child && p->forks)))
		return;
	for (struct task *k = p->tasks; k; k = k->sibling)
		shield_note(s->shield, p->pid, &k->last, k->can_block, true);
	p->shielded = shield_watch(s->shield, p->pid);
	p->unshielded = !p->shielded;
	s->shielding |= p->shielded;
}

/* ---- first sight ---- */

static struct proc *first_sight(struct sup *s, pid_t pid, bool walk, unsigned depth);

/* The parent of a process, which is added if it is one of the run and not known yet. NULL: it is none of the run's,
 * it is gone, or the walk goes up too far. */
static struct proc *find_or_add_parent(struct sup *s, pid_t ppid, unsigned depth)
{
	if (ppid <= 1 || ppid == s->self || depth > 256)
		return NULL;
	struct proc *p = proc_by_pid(s, ppid);
	return p ? p : first_sight(s, ppid, false, depth + 1);
}

/* Files that the parent has mapped to write are mapped in the child too, with no descriptor to show for it. */
static void inherit_mappings(struct sup *s, struct proc *p, struct proc *parent)
{
	struct access *next;
	for (struct access *a = parent->live; a; a = next) {
		next = a->proc_next;
		if (a->mapped)
			access_begin(s, p, a->file, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, TERM_via_descriptor, false,
			             TERM_api_mmap, p->exec_start, NULL);
	}
}

void proc_note_given(struct sup *s, const struct proc *p, int64_t time)
{
	pid_t pid = s->given_in_order ? proc_last_given(s) : -1;
	if (pid < 0)
		return;
	if (s->ngiven && pid < s->given[(s->ngiven - 1) % PIDS_GIVEN].pid)
		s->ngiven = 0; /* they begin again from the lowest */
	s->given[s->ngiven++ % PIDS_GIVEN] = (struct pid_given){.time = time, .reader = p->num, .pid = pid};
}

/* When p, met now, was forked: from *from (ns) on, until *until. The kernel gives the tick of 10 ms that it began in,
 * and process numbers in their order: by these it is known whether a file that was opened within the tick was before
 * it. */
static void narrow_fork(const struct sup *s, const struct proc *p, int64_t *from, int64_t *until)
{
	enum { NEAR = PIDS_LEAST / 4 }; /* so many are not used up in a tick */
	int64_t tick_over = s->clock_offset + p->started + 1000000000LL / s->hz;
	if (*until > tick_over)
		*until = tick_over > *from ? tick_over : *from;
	for (uint64_t i = s->ngiven; i && s->ngiven - i < PIDS_GIVEN; i--) {
		const struct pid_given *g = &s->given[(i - 1) % PIDS_GIVEN];
		if (g->time <= *from || labs((long)g->pid - p->pid) > NEAR)
			return;
		if (g->time > *until)
			continue;
		if (g->pid < p->pid) {
			*from = g->time;
			return;
		}
		/* Who opened it stood still meanwhile, so what has a number by now was forked before it read. */
		if (g->reader == p->parent_num)
			*until = g->time - 1;
	}
}

/* Makes the process known, and those above it, as the log is to tell it. walk: looks at what it has open. NULL: it is
 * gone, or no memory. */
static struct proc *first_sight(struct sup *s, pid_t pid, bool walk, unsigned depth)
{
	struct procfs st;
	int64_t now = sup_now(s);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool none = pidfd < 0 && (errno == ENOSYS || errno == EPERM); /* before Linux 5.3, or refused */
	if (none && tgid_of(pid) != pid)
		return NULL; /* a thread: the kernel would have said so */
	s->no_pidfd |= none;
	if ((pidfd < 0 && !none) || procfs_stat(pid, &st) < 0) {
		s->few |= errno == EMFILE || errno == ENFILE;
		if (pidfd >= 0)
			close(pidfd);
		return NULL;
	}
	struct proc *parent = pid == s->root ? NULL : find_or_add_parent(s, st.ppid, depth);
	if (depth && !parent && pid != s->root) { /* an ancestor outside the run */
		close(pidfd);
		return NULL;
	}
	struct proc *p = calloc(1, sizeof(*p));
	if (!p) {
		close(pidfd);
		return NULL;
	}
	p->pid = pid;
	p->pidfd = pidfd;
	p->task_folder = -1;
	p->started = (int64_t)st.started;
	const struct known_proc *was = s->adopted ? known_find(s->known, pid, p->started) : NULL;
	p->num = was ? was->num : ++s->known->procs;
	p->seen = now;
	p->ppid = parent ? parent->pid : 0;
	p->parent_num = parent ? parent->num : 0;
	if (st.threads == 1)
		p->single_stop = s->epoch + 1;
	p->wchar_exec = UINT64_MAX;
	p->uid = s->euid;
	p->gid = s->egid;
	p->jobserver = JOBSERVER_NONE;
	int64_t forked = s->clock_offset + p->started; /* or up to a tick later */
	p->io_unseen = forked <= s->unseen_until;
	p->confined = parent ? parent->confined : s->any_confined;
	if (parent) {
		begin_own_totals(parent);
		proc_shield(s, parent); /* before this child's death can be signalled: its end is a stop */
		/* What it has from its parent, unless that changed meanwhile: every such change is a stop. */
		p->uid = parent->uid;
		p->gid = parent->gid;
		p->own_creds = parent->own_creds;
		p->stale = parent->stale;
		p->ns = parent->ns;
		bool later = parent->exec || forked < parent->exec_start; /* its parent has another program by now */
		p->exe_dev = later ? 0 : parent->exe_dev;
		p->exe_ino = later ? 0 : parent->exe_ino;
		memcpy(p->run, parent->run, sizeof(p->run));
		p->catches = parent->catches;
		p->catches_child = parent->catches_child;
		p->wchar_exec = 0;             /* a new process begins at 0 */
		p->uncounted |= parent->uring; /* a ring is the child's, too */
		p->old_code = parent->old_code;
		p->jobserver = jobserver_copy(&parent->jobserver);
	}
	if (was) { /* by the worker before this one */
		forked = now;
		p->execn = was->execn;
		p->exe_dev = was->exe_dev;
		p->exe_ino = was->exe_ino;
		memcpy(p->run, was->run, sizeof(p->run));
		p->run_root = was->run_root;
		p->wchar_exec = UINT64_MAX;
		p->uncounted = true;
	}
	if (parent && !was && forked < parent->seen)
		forked = parent->seen;
	if (parent && parent->cwd && !parent->fs_per_thread && !(parent->stale & STALE_CWD) && parent->moved < forked)
		p->cwd = strdup(parent->cwd);
	if (forked > now)
		forked = now;
	int64_t until = now;
	if (!was)
		narrow_fork(s, p, &forked, &until);
	p->exec_start = forked;
	p->next = s->procs[(unsigned)pid & (HASH_SIZE - 1)];
	s->procs[(unsigned)pid & (HASH_SIZE - 1)] = p;
	s->nprocs++;
	struct epoll_event ee = {.events = EPOLLIN, .data.u64 = (uint64_t)pid};
	epoll_ctl(s->epoll, EPOLL_CTL_ADD, pidfd, &ee);
	if (parent && parent->exec)
		exec_settle(s, parent, -1); /* whatever it does now, it forked before */
	struct event ev = {
	    .process = {.pid = (uint64_t)pid, .started = p->started, .parent = p->parent_num, .forked = forked}};
	if (!was)
		sup_event(s, EVENT_process, until, p, &ev);
	known_note(s->known, p);
	if (s->observer && s->observer->born)
		s->observer->born(s->observer->arg, pid, p->ppid, forked, now);
	p->shares_memory |= parent && parent->shares_memory;
	p->unix_peer = parent && parent->unix_peer;
	p->redirects = parent && parent->redirects;
	if (parent && parent->anon_shm) {
		p->anon_shm = true;
		struct event lv = {.link = {.other = parent->num, .via = TERM_via_shm}};
		sup_event(s, EVENT_link, now, p, &lv);
	}
	if (!parent && !was && pid != s->root)
		sup_gap(s, p, TERM_gap_parent_unseen, 1, "its parent ended before it was observed");
	if (parent && parent->foreign)
		p->foreign = true;
	/* A child may begin in a mount namespace of its own (clone); its root is its parent's until it calls chroot. */
	if (p->foreign || p->ns ? !parent || p->foreign || mount_ns(s, pid) != p->ns : !has_our_root(s, pid))
		proc_refresh_root(s, p);
	if (!parent && s->euid == 0)
		proc_refresh_creds(s, p);
	if (parent)
		inherit_mappings(s, p, parent);
	if ((walk || depth) && !s->tree_only) {
		p->walked = true;
		struct held *held;
		size_t n = proc_walk(s, p, false, &held);
		proc_hold(s, p, held, n, depth ? now : p->exec_start);
		held_free(held, n);
	}
	return p;
}

/* Makes the process known, and those above it. walk: looks at what it has open. NULL: it is gone, or no memory. */
struct proc *proc_first_sight(struct sup *s, pid_t pid, bool walk)
{
	return first_sight(s, pid, walk, 0);
}
