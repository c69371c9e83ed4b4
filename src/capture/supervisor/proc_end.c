/* The end of a process: what /proc has of it then, or what is left of it after its death. */
#include "base/fileid.h"
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/supervisor/openings.h"
#include "capture/supervisor/procs_int.h"
#include "capture/supervisor/ring/rings.h"
#include "capture/supervisor/shield/shield.h"
#include "capture/supervisor/super.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What /proc has of it at its end. */
static void read_figures(struct sup *s, struct proc *p, struct procfs *f, struct event_exit *ret)
{
	bool cpu = procfs_cpu(p->pid, f) == 0;
	/* The split comes in ticks of 10 ms: below that there is nothing to read. */
	if (!cpu || f->cpu >= 10000000)
		procfs_stat(p->pid, f);
	procfs_status(p->pid, f);
	/* Its own bytes, without its children's: not known where it had threads as well. */
	bool lone = p->forks && proc_has_run_one_thread(p);
	if (f->threads == 1)
		p->single_stop = s->epoch + 1;
	if (lone || !p->forks)
		procfs_io(p->pid, lone, f);
	const uint64_t from[] = {f->cpu,   f->user,  f->system,     f->resident_peak,
	                         f->rchar, f->wchar, f->read_bytes, f->write_bytes};
	uint64_t *const to[] = {&ret->cpu,   &ret->user,  &ret->system,     &ret->rss,
	                        &ret->rchar, &ret->wchar, &ret->read_bytes, &ret->write_bytes};
	/* What goes through a ring is in no total. */
	const unsigned first = 4, last = 5;
	for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		if (!(p->uring && i >= first && i <= last) && from[i] != PROCFS_UNKNOWN) {
			*to[i] = from[i];
			ret->known |= 2u << i;
		}
	if (!p->uncounted && f->wchar != PROCFS_UNKNOWN) {
		p->wchar = f->wchar + p->wchar_unseen; /* as proc_wchar would read it again, for the ends of its accesses */
		p->rchar = f->rchar;
		p->wchar_stop = s->epoch + 1;
	}
}

pid_t proc_last_given(const struct sup *s)
{
	char text[32];
	ssize_t n = s->last_pid >= 0 ? pread(s->last_pid, text, sizeof(text) - 1, 0) : -1;
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (pid_t)strtol(text, NULL, 10) : -1;
}

/* Has nobody been born after p, who stands still? Then p has no child and never had one. What asks the kernel for a
 * number of its own choice (clone3's set_tid, which restores a checkpoint) is not noticed; its parent was unseen then.
 */
static bool is_newest(const struct sup *s, const struct proc *p)
{
	return proc_last_given(s) == p->pid;
}

bool proc_waits_for_child(const struct proc *p)
{
	char name[48], line[256];
	if (p->threads || !proc_has_one_thread(p))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/syscall", p->pid);
	if (!io_text(name, line, sizeof(line)))
		return false;
	long nr = strtol(line, NULL, 10);
	const char *pc = strrchr(line, ' '); /* below 4 GiB: perhaps of the 32-bit interface, whose numbers are others */
	bool waits = nr == SYS_wait4 || nr == SYS_waitid || nr == SYS_clone || nr == SYS_clone3;
#ifdef SYS_vfork /* not of every architecture */
	waits |= nr == SYS_vfork;
#endif
	return waits && pc && strtoull(pc, NULL, 16) >> 32;
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

/* Told once, of the process that the run began with. */
static void run_ended(struct sup *s, struct proc *p, unsigned ending, unsigned code)
{
	if (!p->run_root)
		return;
	struct event ev = {.run_end = {.id = str_of(p->run), .ending = ending, .code = code}};
	sup_event(s, EVENT_run_end, sup_now(s), p, &ev);
	p->run_root = false;
}

/* Only the first time. code: the exit status or the signal, as ending says. */
void proc_exit(struct sup *s, struct proc *p, unsigned ending, unsigned code)
{
	if (p->exit_seen)
		return;
	p->exit_seen = true;
	int64_t now = sup_now(s);
	openings_end(s, p);
	exec_settle(s, p, 0);
	feature_pipe_listen(s);
	feature_pipe_leaves(s, p);
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
	struct proc *shell = p->execn && !s->tree_only ? proc_parent(s, p) : NULL;
	if (shell && shell->redirects && !shell->counted && !shell->exit_seen)
		access_note_spent(s, shell);
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
			sup_gap(s, p, TERM_gap_exit_unseen, 1, "its end was not observed");
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
	rings_end(s, p);
	feature_end(s, p);
	openings_gone(s, p);
	free(p->cwd);
	jobserver_release(&p->jobserver);
	free(p);
}
