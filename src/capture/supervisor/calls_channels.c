/* Calls by which processes come to be, share memory, or reach into each other's. */
#include "capture/supervisor/calls.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

void calls_note_memory(struct sup *s)
{
	s->in_memory = true;
	if (s->observer && s->observer->in_memory)
		s->observer->in_memory(s->observer->arg, true);
}

/* Memory that processes share, and files that are mapped for writing. calls_handle_shmat and _process_vm: the same by
 * other ways. */
void calls_handle_mmap(struct sup *s, struct proc *p, const struct trap *t)
{
	int fd = (int)t->args[4];
	p->shares_memory = true;
	struct stat link;
	if ((t->args[3] & MAP_ANONYMOUS) || fd < 0) {
		p->anon_shm = true;
		calls_note_memory(s);
		return;
	}
	struct where w;
	struct statx st;
	where_fd(t->tid, fd, &w);
	if (where_statx(&w, true, &st) < 0 || !S_ISREG(st.stx_mode))
		return;
	/* A descriptor that is not open for both gives no such mapping. */
	if (fstatat(AT_FDCWD, w.path, &link, AT_SYMLINK_NOFOLLOW) < 0 || (link.st_mode & 0600) != 0600)
		return;
	struct file *f = file_get(s, &w, true, &st);
	if (!f || f->kind == TERM_kind_pseudo)
		return;
	struct fingerprint fp = fingerprint_of(&st);
	unsigned via = f->kind == TERM_kind_regular ? TERM_via_data : TERM_via_shm;
	if (f->live)
		access_conflicts(s, p, f, ACCESS_WRITE);
	access_begin(s, p, f, ACCESS_READ | ACCESS_WRITE | ACCESS_MAPPED, via, true, TERM_api_mmap, sup_now(s),
	             f->kind == TERM_kind_regular ? &fp : NULL);
}

/* The process attached a segment: an access for as long as it has it. */
void calls_handle_shmat(struct sup *s, struct proc *p, const struct trap *t)
{
	char address[64], domain[100];
	p->shares_memory = true;
	calls_note_memory(s);
	snprintf(address, sizeof(address), "sysv:%d", (int)t->args[0]);
	snprintf(domain, sizeof(domain), "boot:%s:ipc", host_boot_id());
	struct file *f = file_address(s, TERM_kind_shm, domain, address);
	unsigned mode = ACCESS_READ | (t->args[2] & SHM_RDONLY ? 0u : ACCESS_WRITE);
	if (f)
		access_begin(s, p, f, mode, TERM_via_shm, true, TERM_api_shm, sup_now(s), NULL);
}

/* Who reads another's memory, or writes it, is linked to it. */
void calls_handle_process_vm(struct sup *s, struct proc *p, const struct trap *t)
{
	struct proc *other = proc_by_pid(s, (pid_t)t->args[0]);
	if (!other || other == p)
		return;
	other->shares_memory = true;
	struct event ev = {.link = {.other = other->num, .via = TERM_via_shm}};
	sup_event(s, EVENT_link, sup_now(s), p, &ev);
}

/* Does it make a process, and no thread? Of clone3 that is read from its memory, which another thread of a hostile
 * program may change until the call is made: such a process is met when it is counted the next time. */
static bool makes_process(struct sup *s, const struct trap *t)
{
	uint64_t flags = t->call == CALL_share ? t->args[0] : 0;
	struct left left;
	bool read = true;
	if (t->call == CALL_clone3) {
		sup_leave(s, &left);
		read = remote_read(t->tid, t->args[0], &flags, sizeof(flags)) == sizeof(flags);
		if (!sup_back(s, &left))
			return false;
	}
	return read && !(flags & CLONE_THREAD);
}

void calls_handle_fork(struct sup *s, struct proc *p, const struct trap *t)
{
	const struct run_observer *o = s->observer;
	struct left left;
	int rc = -1;
	(void)p;
	if (!o || !o->forks || !makes_process(s, t))
		return;
	for (unsigned tries = 0; rc < 0; tries++) {
		rc = o->forks(o->arg, t->tid, tries);
		if (rc >= 0)
			break;
		sup_leave(s, &left);
		usleep(1000);
		if (!sup_back(s, &left))
			return;
	}
	s->refuse = rc;
}
