/* The worker under --capture=safe: takes what the library's processes have written down, about every 10 ms or when they
 * ring, and buries the dead. It is a subreaper and nothing else to the job. */
#include "capture/preload/safe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 10
#define IDLE_MS 100
#define GRACE 2000000 /* ns by which what one process says may come after what another one says */
#define SCAN 250000000

struct ringer {
	struct safe_region *region;
	int wake; /* eventfd */
};

/* CLOCK_BOOTTIME, ns. */
static int64_t boot_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Waits for the bell, which a program rings when chunks get few. */
static void *wait_for_bell(void *arg)
{
	struct ringer *r = arg;
	for (;;) {
		uint32_t was = __atomic_load_n(&r->region->bell, __ATOMIC_ACQUIRE);
		if (syscall(SYS_futex, &r->region->bell, FUTEX_WAIT, was, NULL, NULL, 0) < 0 && errno != EAGAIN &&
		    errno != EINTR)
			return NULL;
		eventfd_write(r->wake, 1);
		usleep(500); /* programs that ring without end cost no more than that */
	}
}

/* Does the process run that program still? False only if it has surely ended. */
static bool is_image_alive(uint32_t pid, uint32_t image, void *arg)
{
	/* A number of another pid namespace says nothing here. */
	return safe_lives(arg, pid, image) || kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

/* Everything up to `until`. Returns how many events that was. */
static size_t record_events_until(struct safe *f, int64_t since, int64_t until)
{
	struct safe_seen x;
	size_t n = 0;
	if (!f->reader)
		return 0;
	safe_reader_gather(f->reader, since, boot_ns);
	while (safe_reader_next(f->reader, until, &x)) {
		safe_handle_event(f, &x);
		n++;
	}
	uint64_t lost = safe_reader_lost(f->reader);
	if (lost) {
		f->lost += lost;
		sup_gap(f->s, NULL, TERM_gap_lost, lost, "programs produced more events than fit into memory");
	}
	return n;
}

/* Which one, as *ret; it is not reaped. */
static bool has_ended_child(siginfo_t *ret)
{
	ret->si_pid = 0;
	return waitid(P_ALL, 0, ret, WEXITED | WNOHANG | WNOWAIT) == 0 && ret->si_pid;
}

/* The command, and orphans that came to us. All that they said is taken before. */
static void reap_children(struct worker *w, struct safe *f, int64_t since)
{
	struct sup *s = f->s;
	siginfo_t si = {0};
	if (waitid(P_PID, (id_t)s->root, &si, WSTOPPED | WNOHANG) == 0 && si.si_pid == s->root)
		worker_stop(w->control, w->keeper);
	while (has_ended_child(&si)) {
		int status = si.si_code == CLD_EXITED ? (si.si_status & 0xff) << 8 : si.si_status & 0x7f;
		record_events_until(f, since, boot_ns());
		safe_emit_status(f, si.si_pid, status);
		const struct proc *p = si.si_pid == s->root ? safe_proc(f, si.si_pid) : NULL;
		if (!worker_reap(w, &si, WNOHANG, &status))
			return;
		if (si.si_pid == s->root)
			worker_run_end(w, p, status);
	}
}

/* Is nobody left? No child at all, not even one that has ended and was not reaped. */
static bool nobody_left(void)
{
	siginfo_t si;
	return waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

/* Before waiting: writes out what is pending, and the end of the command if it came. */
static void emit_wait(struct worker *w, struct safe *f)
{
	if (log_writer_pending(f->s->log))
		sup_flush(f->s);
	if (__atomic_load_n(&w->control->ended, __ATOMIC_RELAXED))
		worker_emit_end(w);
}

/* The worker of the safe mode: reads the region until the command is over and nobody is left. place->map: NULL: there
 * is none. */
_Noreturn void worker_safe(struct worker *w, const struct safe_place *place, int64_t forked, const char *cwd)
{
	static struct safe f;
	struct sup *s = &w->sup;
	struct ringer r = {place->map, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	int64_t since = forked - s->clock_offset, scanned = 0;
	struct stat ns;
	pthread_t t;
	worker_signals(w);
	f.s = s;
	f.since = since;
	f.epoll = epoll_create1(EPOLL_CLOEXEC);
	f.reader = place->map ? safe_reader_new(place->map, place->size) : NULL;
	f.pidns = stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
	pthread_mutex_lock(&s->lock);
	safe_emit_root(&f, s->root, forked, cwd);
	if (f.reader) {
		safe_reader_protect(f.reader);
		worker_thread(w, wait_for_bell, &r, &t);
	}
	for (int wait = BUSY_MS;;) {
		struct pollfd p[2] = {{.fd = w->signals, .events = POLLIN}, {.fd = r.wake, .events = POLLIN}};
		eventfd_t rung;
		poll(p, 2, wait);
		eventfd_read(r.wake, &rung);
		worker_take_signals(w);
		/* Of those that are over everything has been said: it is taken before their end. The time is that after they
		 * were found, or what they said last would come too late to be believed. */
		struct safe_dead dead = {0};
		safe_find_dead(&f, &dead);
		int64_t now = boot_ns();
		size_t n = record_events_until(&f, since, dead.n ? now : now - GRACE);
		safe_emit_deaths(&f, &dead);
		reap_children(w, &f, since);
		worker_continue(w->control, w->keeper);
		feature_sweep(s, false);
		if (now - scanned > SCAN) {
			scanned = now;
			safe_emit_children(&f);
			if (f.reader)
				safe_reader_sweep(f.reader, is_image_alive, &f);
		}
		if (w->control->ended && nobody_left())
			break;
		emit_wait(w, &f);
		wait = n || safe_busy(&f) ? BUSY_MS : IDLE_MS;
	}
	record_events_until(&f, since, boot_ns());
	safe_emit_end(&f);
	worker_finish(w);
}
