/* Processes: first sight, descriptor tables, end. Everything here is read from /proc while the process stands still in
 * a stopped call, or, after its death, from what is left of it. */
#include "base/fileid.h"
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/shield.h"
#include "capture/supervisor/super.h"
#include "capture/witness/witness.h"

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
static bool has_run_one_thread(struct proc *p)
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

static bool read_wchar(const struct proc *p, bool first_thread, uint64_t *ret)
{
	char text[512];
	return read_process_io(p, first_thread, text, sizeof(text)) && parse_named_figure(text, "wchar: ", ret);
}

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
		bool one = p->forks && has_run_one_thread(p);
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

/* From its first child on, its bytes are read without its children's. Until then the process's were, with those of
 * children that never stopped: the difference goes on being added, so that what was read then can be compared. */
static void begin_own_totals(struct proc *p)
{
	uint64_t before, own, after;
	if (p->forks)
		return;
	p->forks = true;
	if (!p->wchar_stop)
		return;
	if (has_run_one_thread(p) && read_wchar(p, false, &before) && read_wchar(p, true, &own) &&
	    read_wchar(p, false, &after) && before == after)
		p->wchar_unseen = after - own;
	else
		p->threads = true; /* the process's then */
}

/* ---- tables ---- */

struct proc *proc_by_pid(struct sup *s, pid_t pid)
{
	for (struct proc *p = s->procs[(unsigned)pid & (HASH_SIZE - 1)]; p; p = p->next)
		if (p->pid == pid)
			return p;
	return NULL;
}

struct task *task_known(struct sup *s, pid_t tid)
{
	for (struct task *t = *task_slot(s, tid); t; t = t->next)
		if (t->tid == tid)
			return t;
	return NULL;
}

static void task_forget(struct sup *s, struct task *t)
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
		p->wchar_exec = 0;                  /* a new process begins at 0 */
		p->uncounted |= parent->uring_said; /* a ring is the child's, too */
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
		sup_event(s, EVENT_process, now, p, &ev);
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
		sup_gap(s, p, TERM_gap_parent_unseen, 1, "its parent had ended before it was seen");
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

struct proc *proc_first_sight(struct sup *s, pid_t pid, bool walk)
{
	return first_sight(s, pid, walk, 0);
}

/* ---- what it holds ---- */

static bool is_stream_kind(const struct file *f)
{
	return f->kind != TERM_kind_regular && f->kind != TERM_kind_terminal;
}

/* A terminal is three descriptors to nearly every program there is: from the first it reads, to the second it writes,
 * and what is said on the third is no data (B14). */
static void hold_terminal(struct sup *s, struct proc *p, const struct held *h, int64_t time)
{
	unsigned mode = h->fd == 0 ? h->mode & ACCESS_READ : h->fd == 1 ? h->mode & ACCESS_WRITE : h->mode;
	unsigned via = h->fd == 2 ? TERM_via_sync : TERM_via_descriptor;
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file == h->file && (a->via != TERM_via_sync || h->fd == 2))
			mode &= ~a->mode;
	for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
		if (mode & bit)
			access_begin(s, p, h->file, bit, via, false, TERM_api_inherit, time, NULL);
}

static void hold_one(struct sup *s, struct proc *p, const struct held *h, int64_t time)
{
	/* A fork may have held it since its birth, whenever it is met: where that decides who moved bytes, it is taken to
	 * have. */
	if (h->file->witness && !p->execn && time > p->exec_start)
		time = p->exec_start;
	if (h->file->kind == TERM_kind_terminal) {
		hold_terminal(s, p, h, time);
		return;
	}
	for (struct access *a = p->live; a; a = a->proc_next)
		if (a->file == h->file && (a->mode & h->mode) == h->mode)
			return;
	if (p->pid == s->root && time == p->exec_start && p->execn <= 1) {
		h->file->outside = true;
		p->unix_peer |= h->file->kind == TERM_kind_socket;
	}
	const struct jobserver *j = &p->jobserver;
	bool sync = (h->file->kind == TERM_kind_pipe && j->pipe && h->file->ino == j->pipe) ||
	            (j->fifo && h->file->path && !strcmp(h->file->path, j->fifo));
	unsigned via = sync ? TERM_via_sync : h->file->kind == TERM_kind_socket ? TERM_via_socket : TERM_via_descriptor;
	/* A read-write descriptor is two accesses, so that each can be proved or dropped by itself. */
	for (unsigned bit = ACCESS_READ; bit <= ACCESS_WRITE; bit <<= 1)
		if (h->mode & bit)
			access_begin(s, p, h->file, bit, via, h->given && bit == ACCESS_READ, TERM_api_inherit, time,
			             h->print.known ? &h->print : NULL);
}

struct proc *proc_parent(struct sup *s, const struct proc *p)
{
	struct proc *q = p->parent_num ? proc_by_pid(s, p->ppid) : NULL;
	return q && q->num == p->parent_num ? q : NULL;
}

/* Are there bytes in a pipe, and nobody has its writing end any more? The reader stands still meanwhile, so that one
 * more goes unnoticed. */
static bool is_left_full(const struct proc *p, int fd)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", p->pid, fd);
	struct pollfd pf = {.fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC), .events = POLLIN};
	bool full = pf.fd >= 0 && poll(&pf, 1, 0) == 1 && (pf.revents & POLLIN) && (pf.revents & POLLHUP);
	if (pf.fd >= 0)
		close(pf.fd);
	return full;
}

static bool has_written(struct sup *s, struct proc *p)
{
	uint64_t w = proc_wchar(s, p);
	return w == UINT64_MAX || w != p->wchar_exec;
}

/* A pipe that nobody was seen writing to, and that nobody can write to any more: a here-document. A shell writes it
 * before it forks, or the fork does, which knows what the shell knew. */
static bool fill_here_document(struct sup *s, struct proc *p, struct file *pipe, int64_t time)
{
	struct proc *q = p;
	for (unsigned up = 0; up < 64 && q && !q->execn && !has_written(s, q); up++)
		q = proc_parent(s, q);
	if (q)
		access_begin(s, q, pipe, ACCESS_WRITE, TERM_via_descriptor, false, TERM_api_inherit,
		             q == p ? p->exec_start : time, NULL);
	return q;
}

void proc_nameless(struct sup *s, struct proc *p)
{
	struct held *held;
	size_t n = proc_walk(s, p, false, &held);
	for (size_t i = 0; i < n; i++) {
		struct file *f = held[i].file;
		if (f->kind == TERM_kind_regular && f->gone && !f->met && (held[i].mode & ACCESS_WRITE))
			access_begin(s, p, f, held[i].mode | ACCESS_CREATE, TERM_via_data, true, TERM_api_open, p->tmpfile, NULL);
	}
	held_free(held, n);
}

/* What q is found to hold, and may have held since it began. Where that decides who moved bytes, it is taken to have.
 */
static void hold_found(struct sup *s, struct proc *q, const struct held *h)
{
	bool watched = h->file->witness && witness_asks(h->file, q);
	hold_one(s, q, h, watched ? q->exec_start : sup_now(s));
	if (watched)
		witness_met(s, h->file, q);
}

/* A shell's child that starts others, and has not been stopped itself, may hold the pipe that they are given. */
static void meet_parent(struct sup *s, const struct proc *p, struct file *pipe)
{
	struct proc *q = proc_parent(s, p);
	struct held *held;
	if (!q || q->exit_seen || !witness_asks(pipe, q))
		return;
	size_t n = proc_walk(s, q, false, &held);
	for (size_t i = 0; i < n; i++)
		if (held[i].file == pipe)
			hold_one(s, q, &held[i], q->exec_start);
	held_free(held, n);
	witness_met(s, pipe, q);
}

bool proc_meet(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time)
{
	bool walked = false, filled = false;
	for (size_t i = 0; i < n; i++) {
		struct file *f = h[i].file;
		struct proc *maker = f->kind == TERM_kind_regular && f->gone && !f->met ? p : NULL;
		for (unsigned up = 0; maker && (maker = proc_parent(s, maker)) && up < 64; up++)
			if (maker->tmpfile_tid)
				proc_nameless(s, maker);
		if (!is_stream_kind(f) || f->live) {
			if (f->kind == TERM_kind_pipe) {
				witness_arm(s, p, f, h[i].fd);
				meet_parent(s, p, f);
			}
			continue;
		}
		bool fresh = !f->met;
		/* Whoever made it is an ancestor, and may hold the other end without ever being stopped again (x=$(cat f) in a
		 * shell). */
		struct proc *q = walked ? NULL : p;
		for (unsigned up = 0; q && (q = proc_parent(s, q)) && up < 64; up++) {
			struct held *theirs;
			size_t m = proc_walk(s, q, false, &theirs);
			for (size_t k = 0; k < m; k++)
				if (is_stream_kind(theirs[k].file))
					hold_found(s, q, &theirs[k]);
			held_free(theirs, m);
		}
		walked = true;
		witness_arm(s, p, f, h[i].fd);
		if (fresh && f->kind == TERM_kind_pipe && (h[i].mode & ACCESS_READ) && proc_parent(s, p) &&
		    is_left_full(p, h[i].fd))
			filled |= fill_here_document(s, p, f, time);
	}
	return filled;
}

void proc_handed(struct proc *p, const struct held *h, size_t n)
{
	struct jobserver *j = &p->jobserver;
	const struct held *end[2] = {NULL, NULL};
	for (size_t i = 0; i < n; i++)
		for (int e = 0; e < 2; e++)
			if (h[i].fd == j->fds[e] && h[i].file->kind == TERM_kind_pipe &&
			    h[i].mode == (e ? ACCESS_WRITE : ACCESS_READ))
				end[e] = &h[i];
	j->pipe = end[0] && end[1] && end[0]->file == end[1]->file ? end[0]->file->ino : 0;
}

void proc_hold_met(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time)
{
	for (size_t i = 0; i < n; i++)
		hold_one(s, p, &h[i], time);
}

void proc_hold(struct sup *s, struct proc *p, const struct held *h, size_t n, int64_t time)
{
	proc_meet(s, p, h, n, time);
	proc_hold_met(s, p, h, n, time);
}

static int mapped_cmp(const void *pa, const void *pb)
{
	const struct mapped *a = pa, *b = pb;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

/* The files behind its descriptors, in order: malloc'ed. False when that cannot be told. */
static bool list_descriptor_files(struct sup *s, const struct proc *p, struct mapped **ret, size_t *ret_n)
{
	struct procfs_fds fds;
	size_t n = 0, cap = 0;
	struct mapped *v = NULL;
	*ret = NULL;
	*ret_n = 0;
	if (procfs_fds_open(p->pid, &fds) < 0)
		return false;
	bool ok = true;
	for (const char *name; ok && (name = procfs_fds_next(&fds));) {
		struct statx st;
		if (fileid_statx_cached(fds.dir, name, 0, STATX_INO, &st) < 0)
			continue;
		if (n % 64 == 0)
			sup_goes_on(s);
		if (n == cap) {
			cap = cap ? 2 * cap : 32;
			struct mapped *more = realloc(v, cap * sizeof(*v));
			ok = more != NULL;
			v = ok ? more : v;
		}
		if (ok)
			v[n++] = (struct mapped){fileid_dev(&st), st.stx_ino};
	}
	procfs_fds_close(&fds);
	if (ok && n)
		qsort(v, n, sizeof(*v), mapped_cmp);
	*ret = v;
	*ret_n = n;
	return ok;
}

static bool descriptors_have(const struct mapped *v, size_t n, const struct file *f)
{
	const struct mapped key = {f->dev, f->ino};
	return n && bsearch(&key, v, n, sizeof(*v), mapped_cmp);
}

bool proc_writes_lately(const struct proc *p)
{
	enum { PASSED = 8 };
	for (const struct access *a = p->nwriting ? p->live : NULL; a; a = a->proc_next)
		if (a->own_writing && (a->looks < PASSED || p->counted))
			return true;
	return false;
}

void proc_end_closed(struct sup *s, struct proc *p, unsigned opens)
{
	enum { SHARE = 32 }; /* descriptors looked at for each file opened, on average */
	bool due = false;
	p->opens += opens;
	if (p->opens < p->ndescs / SHARE)
		return;
	for (struct access *a = p->nwriting ? p->live : NULL; a; a = a->proc_next)
		if (a->own_writing) {
			unsigned before = a->looks;
			a->looks += opens;
			due |= (before ^ a->looks) > before; /* past a power of two */
		}
	if (!due)
		return;
	accesses_settle(s, p);
	struct mapped *v;
	size_t n;
	struct access *next;
	bool known = list_descriptor_files(s, p, &v, &n);
	p->opens = 0;
	p->ndescs = n;
	for (struct access *a = known && !feature_bytes_wait(s, p) ? p->live : NULL; a; a = next) {
		next = a->proc_next;
		if (a->own_writing && a->settled && !descriptors_have(v, n, a->file))
			access_end(s, a, sup_now(s));
	}
	free(v);
}

/* Not zsh, ksh and busybox, which may map what they read. */
bool proc_is_shell(const char *path)
{
	static const char *const names[] = {"sh", "bash", "dash", "ash", "mksh"};
	const char *slash = strrchr(path, '/');
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(slash ? slash + 1 : path, names[i]))
			return true;
	return false;
}

void proc_end_redirected(struct sup *s, struct proc *p, int64_t until)
{
	struct mapped *v = NULL;
	size_t n = 0;
	bool any = false;
	struct access *next;
	for (const struct access *a = p->live; a; a = a->proc_next)
		any |= a->redirected;
	if (!any)
		return;
	accesses_settle(s, p);
	bool known = list_descriptor_files(s, p, &v, &n);
	for (struct access *a = known && !feature_bytes_wait(s, p) ? p->live : NULL; a; a = next) {
		next = a->proc_next;
		if (a->redirected && a->settled && !descriptors_have(v, n, a->file))
			access_end(s, a, until);
	}
	free(v);
}

/* ---- end ---- */

/* What /proc has of it at its end. */
static void read_figures(struct sup *s, struct proc *p, struct procfs *f, struct event_exit *ret)
{
	bool cpu = procfs_cpu(p->pid, f) == 0;
	/* The split comes in ticks of 10 ms: below that there is nothing to read. */
	if (!cpu || f->cpu >= 10000000)
		procfs_stat(p->pid, f);
	procfs_status(p->pid, f);
	/* Its own bytes, without its children's: not known where it had threads as well. */
	bool lone = p->forks && has_run_one_thread(p);
	if (f->threads == 1)
		p->single_stop = s->epoch + 1;
	if (lone || !p->forks)
		procfs_io(p->pid, lone, f);
	const uint64_t from[] = {f->cpu,   f->user,  f->system,     f->resident_peak,
	                         f->rchar, f->wchar, f->read_bytes, f->write_bytes};
	uint64_t *const to[] = {&ret->cpu,   &ret->user,  &ret->system,     &ret->rss,
	                        &ret->rchar, &ret->wchar, &ret->read_bytes, &ret->write_bytes};
	for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		if (from[i] != PROCFS_UNKNOWN) {
			*to[i] = from[i];
			ret->known |= 2u << i;
		}
	if (!p->uncounted && f->wchar != PROCFS_UNKNOWN) {
		p->wchar = f->wchar + p->wchar_unseen; /* as proc_wchar would read it again, for the ends of its accesses */
		p->rchar = f->rchar;
		p->wchar_stop = s->epoch + 1;
	}
}

/* Has nobody been born after p, who stands still? Then p has no child and never had one. What asks the kernel for a
 * number of its own choice (clone3's set_tid, which restores a checkpoint) is not noticed; its parent was unseen then.
 */
static bool is_newest(const struct sup *s, const struct proc *p)
{
	char text[32];
	ssize_t n = s->last_pid >= 0 ? pread(s->last_pid, text, sizeof(text) - 1, 0) : -1;
	text[n > 0 ? n : 0] = '\0';
	return n > 0 && strtol(text, NULL, 10) == p->pid;
}

/* Children that have not been stopped yet would lose their parent with it. one: it has one thread. */
static void see_children(struct sup *s, struct proc *p, bool one)
{
	char name[64], text[16384];
	if (one && is_newest(s, p)) /* 1 us; the file takes 12 */
		return;
	snprintf(name, sizeof(name), "/proc/%d/task", p->pid);
	DIR *d = one ? NULL : opendir(name);
	for (struct dirent *e; one || (d && (e = readdir(d)));) {
		if (!one && e->d_name[0] == '.')
			continue;
		if (one)
			snprintf(name, sizeof(name), "/proc/%d/task/%d/children", p->pid, p->pid);
		else
			snprintf(name, sizeof(name), "/proc/%d/task/%.12s/children", p->pid, e->d_name);
		one = false; /* once */
		if (io_read_text(name, text, sizeof(text)) <= 0)
			continue;
		for (char *at = text, *end; *at; at = end) {
			pid_t pid = (pid_t)strtol(at, &end, 10);
			if (end == at)
				break;
			struct procfs child;
			if (!proc_by_pid(s, pid) && procfs_stat(pid, &child) == 0 && child.state != 'Z')
				proc_first_sight(s, pid, true);
		}
	}
	if (d)
		closedir(d);
}

static void run_ended(struct sup *s, struct proc *p, unsigned ending, unsigned code)
{
	if (!p->run_root)
		return;
	struct event ev = {.run_end = {.id = str_of(p->run), .ending = ending, .code = code}};
	sup_event(s, EVENT_run_end, sup_now(s), p, &ev);
	p->run_root = false;
}

void proc_exit(struct sup *s, struct proc *p, unsigned ending, unsigned code)
{
	if (p->exit_seen)
		return;
	p->exit_seen = true;
	int64_t now = sup_now(s);
	openings_end(s, p);
	exec_settle(s, p, 0);
	witness_listen(s);
	witness_leave(s, p);
	if (p->pid == s->root && !p->execn && (s->scans || (ending == TERM_ending_exited && (code == 126 || code == 127))))
		exec_unstarted(s, p);
	struct event ev = {.exit = {.ending = ending, .code = code}};
	struct procfs last;
	procfs_clear(&last);
	read_figures(s, p, &last, &ev.exit); /* which tell how many threads it has, too */
	if (!s->tree_only) {
		struct held *held;
		size_t n = proc_walk(s, p, false, &held);
		for (size_t i = 0; i < n; i++)
			if (held[i].print.known) {
				held[i].file->last = held[i].print;
				held[i].file->last_stop = s->epoch + 1;
			}
		proc_hold(s, p, held, n, p->exec_start);
		held_free(held, n);
	}
	see_children(s, p, last.threads == 1);
	if (s->observer && s->observer->moved && s->exact && p->io_unseen)
		s->observer->moved(s->observer->arg, false, false, UINT64_MAX);
	if (s->observer && s->observer->exiting) {
		int status = ending == TERM_ending_exited ? (int)(code << 8) : ending == TERM_ending_signaled ? (int)code : -1;
		s->observer->exiting(s->observer->arg, p->pid, ev.exit.known ? &last : NULL, status, now);
	}
	proc_end_accesses(s, p, now);
	sup_event(s, EVENT_exit, now, p, &ev);
	run_ended(s, p, ending, code);
}

bool proc_how_ended(struct proc *p, int *ret_status)
{
	struct procfs st;
	if (procfs_stat(p->pid, &st) == 0 && st.state == 'Z') {
		*ret_status = st.exit_code;
		return true;
	}
	return procfs_ended(p->pidfd, ret_status) == 0;
}

void proc_status(struct sup *s, struct proc *p, int status)
{
	feature_over(s, p);
	s->epoch++; /* since the last stop it has gone on */
	if ((status & 0x7f) == 0)
		proc_exit(s, p, TERM_ending_exited, (unsigned)(status >> 8) & 0xff);
	else
		proc_exit(s, p, TERM_ending_signaled, (unsigned)status & 0x7f);
}

bool proc_over(const struct proc *p)
{
	struct procfs st;
	struct pollfd pf = {.fd = p->pidfd, .events = POLLIN};
	if (p->pidfd >= 0)
		return poll(&pf, 1, 0) == 1;
	/* A first thread that has ended is a zombie as long as others live; so it is while one of them execs. */
	procfs_clear(&st);
	return procfs_stat(p->pid, &st) < 0 || p->started != (int64_t)st.started ||
	       (st.state == 'Z' && !(st.threads != PROCFS_UNKNOWN && st.threads > 1));
}

void proc_dead(struct sup *s, struct proc *p)
{
	int status;
	feature_over(s, p);
	s->epoch++;
	pending_drop(s, p);
	if (!p->exit_seen) {
		if (proc_how_ended(p, &status)) {
			proc_status(s, p, status);
		} else {
			sup_gap(s, p, TERM_gap_exit_unseen, 1, "how it ended could not be seen");
			proc_exit(s, p, TERM_ending_unknown, 0);
		}
	}
	proc_end_accesses(s, p, sup_now(s));
	known_forget(s->known, p);
	struct proc **at = &s->procs[(unsigned)p->pid & (HASH_SIZE - 1)];
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	s->nprocs--;
	while (p->tasks)
		task_forget(s, p->tasks);
	if (p->shielded || p->unshielded)
		shield_forget(s->shield, p->pid);
	if (p->pidfd >= 0)
		close(p->pidfd);
	exec_pending_free(p->exec);
	feature_end(s, p);
	openings_gone(s, p);
	free(p->cwd);
	jobserver_release(&p->jobserver);
	free(p);
}
