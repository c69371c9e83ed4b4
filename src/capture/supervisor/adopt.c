#include "capture/supervisor/adopt.h"
#include "base/fileid.h"

#include "capture/supervisor/shield/shield.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct pids {
	pid_t *v;
	size_t n, cap;
};

/* Adds a process to the list. Without memory it is left out, and met later. */
static void add_pid(void *arg, pid_t pid)
{
	struct pids *l = arg;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 256;
		pid_t *v = realloc(l->v, cap * sizeof(*v));
		if (!v)
			return;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = pid;
}

/* The signals that it handles, as the kernel tells: the flags of a handler it does not. So each counts as one that
 * shows in a stopped call (shield.h). */
static void read_handlers(struct proc *p)
{
	char name[48], text[4096];
	snprintf(name, sizeof(name), "/proc/%d/status", p->pid);
	FILE *f = fopen(name, "re");
	unsigned long long caught = 0;
	while (f && fgets(text, sizeof(text), f))
		if (sscanf(text, "SigCgt: %llx", &caught) == 1)
			break;
	if (f)
		fclose(f);
	static const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGUSR1, SIGUSR2};
	p->catches_child = caught & 1ull << (SIGCHLD - 1);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		p->catches |= (caught & 1ull << (signals[i] - 1)) != 0;
}

/* The file of one line of /proc/PID/maps, found by its address or by its name, which is cut off at its end. NULL: it
 * cannot be found. */
static struct file *mapped_file(struct sup *s, struct proc *p, char *line, unsigned long long from,
                                unsigned long long to, unsigned long long ino)
{
	char link[96], *path = strchr(line, '/');
	struct where w;
	struct statx st;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", p->pid, from, to);
	if (path)
		path[strcspn(path, "\n")] = '\0';
	/* The link needs a privilege; by its path it may be another file by now, which the inode tells. */
	if (where_path(proc_rooted(NULL), p->pid, AT_FDCWD, link, true, &w) < 0)
		return NULL;
	bool found = where_statx(&w, true, &st) == 0;
	if (!found && path) {
		where_release(&w);
		if (where_path(proc_rooted(p), p->pid, AT_FDCWD, path, true, &w) < 0)
			return NULL;
		found = where_statx(&w, true, &st) == 0;
	}
	struct file *file = found && st.stx_ino == ino ? file_get(s, &w, true, &st) : NULL;
	where_release(&w);
	return file;
}

/* What a line of /proc/PID/maps says of memory that others may write, too. */
static void hold_mapping(struct sup *s, struct proc *p, char *line)
{
	unsigned long long from, to, ino;
	char perms[8];
	if (sscanf(line, "%llx-%llx %7s %*s %*s %llu", &from, &to, perms, &ino) != 4 || !ino || perms[1] != 'w' ||
	    perms[3] != 's')
		return;
	if (strstr(line, "/dev/zero (deleted)")) {
		p->anon_shm = p->shares_memory = true;
		return;
	}
	struct file *file = strstr(line, "/memfd:stemma") ? NULL : mapped_file(s, p, line, from, to, ino);
	if (file)
		access_begin(s, p, file, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, TERM_via_descriptor, false, TERM_api_mmap,
		             sup_now(s), NULL);
}

/* Files that it has mapped to write and to share: no descriptor need be left of them. */
static void hold_mappings(struct sup *s, struct proc *p)
{
	char name[48], *line = NULL;
	size_t room = 0;
	snprintf(name, sizeof(name), "/proc/%d/maps", p->pid);
	FILE *f = fopen(name, "re");
	while (f && getline(&line, &room, f) > 0)
		hold_mapping(s, p, line);
	free(line);
	if (f)
		fclose(f);
}

/* Does it run the program that it was known by? Where that is not known it counts as the same: one execution too few
 * joins what two did, and no dependency is missing. */
bool adopt_is_other(const struct proc *p)
{
	char name[48];
	struct statx st;
	snprintf(name, sizeof(name), "/proc/%d/exe", p->pid);
	return p->exe_ino && fileid_statx_cached(AT_FDCWD, name, 0, STATX_INO, &st) == 0 &&
	       (st.stx_ino != p->exe_ino || fileid_dev(&st) != p->exe_dev);
}

/* A process of the run whose recorder was killed: from now on it is ours, with what it has open. One that has ended, or
 * is known, is left. */
static void adopt_one(struct sup *s, pid_t pid)
{
	struct procfs st;
	if (proc_by_pid(s, pid) || procfs_stat(pid, &st) < 0 || st.state == 'Z' || st.state == 'X')
		return;
	bool known = known_find(s->known, pid, (int64_t)st.started) != NULL;
	s->epoch++;
	struct proc *p = proc_first_sight(s, pid, false);
	if (!p)
		return;
	p->threads = !proc_has_one_thread(p);
	proc_refresh_creds(s, p);
	if (adopt_is_other(p) || (!known && !p->parent_num))
		proc_became(s, p);
	read_handlers(p);
	feature_adopted(s, p);
	p->walked = true;
	if (!s->tree_only) {
		struct held *held;
		size_t n = proc_walk(s, p, false, &held);
		proc_hold(s, p, held, n, sup_now(s));
		held_free(held, n);
		hold_mappings(s, p);
	}
	proc_shield(s, p);
}

/* Tells of processes that are over: who was known and is over: when exactly, and how, nobody saw. The command's own
 * end the keeper tells. */
static void reap_known(struct sup *s)
{
	for (unsigned i = 0; i < KNOWN_MAX; i++) {
		struct known_proc *k = &s->known->v[i];
		struct procfs st;
		if (k->pid <= 0 || k->pid == s->root || proc_by_pid(s, k->pid))
			continue;
		if (procfs_stat(k->pid, &st) == 0 && (int64_t)st.started == k->started && st.state != 'Z' && st.state != 'X')
			continue;
		struct proc gone = {.pid = k->pid, .num = k->num};
		struct event ev = {.exit = {.ending = TERM_ending_unknown}};
		sup_gap(s, &gone, TERM_gap_exit_unseen, 1, "it ended while no recorder was running");
		sup_event(s, EVENT_exit, sup_now(s), &gone, &ev);
		k->pid = 0;
	}
}

uint64_t adopt_root(const struct sup *s)
{
	for (unsigned i = 0; i < KNOWN_NEAR; i++) {
		const struct known_proc *k = &s->known->v[((unsigned)s->root + i) % KNOWN_MAX];
		if (k->pid == s->root)
			return k->num;
	}
	return 0;
}

/* Takes over the processes all of the run: what is below the keeper, parents first, and what else the dead worker
 * had met. */
static void adopt_all(struct worker *w)
{
	struct sup *s = &w->sup;
	struct pids l = {0};
	procfs_children(w->keeper, false, add_pid, &l);
	for (size_t i = 0; i < l.n; i++) {
		pid_t pid = l.v[i];
		if (pid == s->self || pid == __atomic_load_n(&w->control->standby, __ATOMIC_ACQUIRE))
			continue;
		adopt_one(s, pid);
		procfs_children(pid, false, add_pid, &l);
	}
	free(l.v);
	for (unsigned i = 0; i < KNOWN_MAX; i++) {
		const struct known_proc *k = &s->known->v[i];
		struct procfs st;
		if (k->pid > 0 && procfs_stat(k->pid, &st) == 0 && (int64_t)st.started == k->started)
			adopt_one(s, k->pid);
	}
	reap_known(s);
}

/* A thread, which never returns: the process must not end with it. */
static void *serve_as_adopter(void *arg)
{
	worker_serve(arg);
	for (;;)
		pause();
	return NULL;
}

/* A worker that takes a dead one's place (died: when) with its listener. What happened meanwhile is a gap. */
_Noreturn void worker_adopt(struct worker *w, int listener, int64_t died)
{
	struct sup *s = &w->sup;
	pthread_t t;
	prctl(PR_SET_NAME, "stemma-worker");
	mallopt(M_ARENA_MAX, 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	(void)!chdir("/");
	umask(077);
	s->self = getpid();
	log_writer_quiet(s->log, false);
	s->listener = listener;
	s->root = w->control->root;
	s->observer = NULL;
	s->adopted = true;
	/* Which processes had confined themselves is not known any more, and a Landlock domain does not show in /proc: so
	 * each that lives, and what it forks, counts as one that has, and shares no memory with this process. */
	s->any_confined = true;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->shield = shield_new(w->control, w->keeper);
	w->stood[0] = w->stood[1] = __atomic_load_n(&w->control->passed, __ATOMIC_ACQUIRE);
	worker_signals(w);
	adopt_all(w);
	struct event ev = {.gap = {.reason = TERM_gap_recorder_died,
	                           .from = died,
	                           .text = str_of("what happened until a new recorder took over was not observed")}};
	sup_event(s, EVENT_gap, sup_now(s), NULL, &ev);
	s->gaps |= 1u << TERM_gap_recorder_died;
	sup_flush(s);
	notify_tune(listener);
	if (worker_thread(w, serve_as_adopter, w, &t) < 0)
		_exit(1);
	__atomic_store_n(&w->control->taken, 1, __ATOMIC_RELEASE);
	worker_main(w);
}
