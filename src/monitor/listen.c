/* Process events of the kernel, where nothing of ours tells of processes: a monitor that would be blind hears. */
#include "base/clock.h"
#include "base/io.h"
#include "monitor/monitor_int.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STACK (256u << 10)
#define GATHER_US 5000        /* one wake for all that comes in this time; the kernel keeps it so long */
#define LATE_EXEC_NS 20000000 /* what lived so long before may have had memory that nobody looked at (tree.c) */

bool monitor_hears(const struct monitor *m)
{
	return m->events && !m->events_lost;
}

void monitor_listen(struct monitor *m)
{
	struct err err = {0};
	if (m->events || !m->o.thorough)
		return;
	if (procevents_open(&err, &m->events) < 0)
		m->events = NULL;
}

/* Where the kernel tells no figures of an end, what is left in /proc is taken. */
static bool look_at_zombie(pid_t pid, struct procfs *f)
{
	procfs_clear(f);
	if (procfs_stat(pid, f) < 0)
		return false;
	procfs_cpu(pid, f);
	return true;
}

/* tree_exec, with the path of the program as it is by now. A late exec counts as unmeasured. */
static void on_heard_exec(struct monitor *m, pid_t pid, int64_t time)
{
	char name[48], path[4096];
	struct member *p = tree_by_pid(&m->tree, pid);
	if (!p)
		return;
	if (time - p->start >= LATE_EXEC_NS)
		m->tree.unmeasured++;
	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	ssize_t n = readlink(name, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	tree_exec(&m->tree, pid, n > 0 ? path : p->exe);
}

void monitor_hear(struct monitor *m)
{
	struct procevent e;
	if (!m->events)
		return;
	int64_t offset = clock_now_ns(CLOCK_BOOTTIME) - clock_now_ns(CLOCK_MONOTONIC) + m->offset;
	while (procevents_next(m->events, &e)) {
		int64_t time = e.time + offset;
		const struct member *known = tree_by_pid(&m->tree, e.pid);
		if (e.kind == PROCEVENT_BORN && tree_by_pid(&m->tree, e.parent) && (!known || known->found)) {
			tree_born(&m->tree, e.pid, e.parent, time, time, false);
		} else if (e.kind == PROCEVENT_EXEC && known) {
			on_heard_exec(m, e.pid, time);
		} else if (e.kind == PROCEVENT_ENDED && known && (e.measured || m->attached || e.pid != m->root)) {
			/* Else it is waited for here, which tells more. */
			bool left = !e.measured && look_at_zombie(e.pid, &e.last);
			m->cut_threads += e.measured ? e.last.threads : 0;
			monitor_ended(m, e.pid, e.measured || left ? &e.last : NULL, e.status, time);
		}
	}
	m->events_lost |= procevents_overrun(m->events);
}

/* Until m->stop_fd can be read; gathers events for GATHER_US each time. */
static void *listener(void *arg)
{
	struct monitor *m = arg;
	struct pollfd p[2] = {{.fd = procevents_fd(m->events), .events = POLLIN}, {.fd = m->stop_fd, .events = POLLIN}};
	while (poll(p, 2, -1) >= 0 && !p[1].revents) {
		usleep(GATHER_US);
		pthread_mutex_lock(&m->lock);
		monitor_hear(m);
		pthread_mutex_unlock(&m->lock);
	}
	return NULL;
}

/* Begins the thread. Without events nothing. */
void monitor_listen_on(struct monitor *m)
{
	pthread_attr_t a;
	sigset_t all, before;
	if (!m->events || (m->stop_fd = eventfd(0, EFD_CLOEXEC)) < 0)
		return;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	m->listening = pthread_create(&m->listener, &a, listener, m) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&a);
}

/* Waits for the thread's end. It may be called twice. */
void monitor_listen_no_more(struct monitor *m)
{
	uint64_t one = 1;
	if (m->listening && write(m->stop_fd, &one, sizeof(one)) == (ssize_t)sizeof(one))
		pthread_join(m->listener, NULL);
	if (m->listening)
		close(m->stop_fd);
	m->listening = false;
}

/* What the threads that are alive have used: processor time and bytes of each. ns; false: something could not be read,
 * and sums lack it. */
static bool threads_now(pid_t pid, uint64_t *ret_cpu, struct tree_io *ret_io)
{
	char name[80], text[512];
	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	DIR *d = opendir(name);
	bool ok = d != NULL;
	*ret_cpu = 0;
	*ret_io = (struct tree_io){0};
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		for (int i = 0; i < 2; i++) {
			struct procfs f;
			procfs_clear(&f);
			snprintf(name, sizeof(name), "/proc/%d/task/%.12s/%s", pid, e->d_name, i ? "io" : "schedstat");
			ok &= io_text(name, text, sizeof(text)) > 0;
			if (i) {
				procfs_parse_io(text, &f);
				tree_add_io(ret_io, &f);
			} else {
				*ret_cpu += strtoull(text, NULL, 10);
			}
		}
	}
	if (d)
		closedir(d);
	return ok;
}

void monitor_hear_from(struct monitor *m)
{
	struct past *b = &m->past;
	monitor_hear(m);
	monitor_discover(m);
	b->known = monitor_hears(m);
	for (size_t i = 0; b->known && i < m->tree.nalive; i++) {
		struct procfs f;
		struct tree_io own;
		uint64_t cpu;
		pid_t pid = m->tree.alive[i]->pid;
		procfs_clear(&f);
		if (procfs_stat(pid, &f) < 0 || procfs_cpu(pid, &f) < 0 || procfs_io(pid, false, &f) < 0 ||
		    !threads_now(pid, &cpu, &own)) {
			b->known = false;
			break;
		}
		/* Read one after the other: what was done meanwhile is not of before. */
		b->cpu += f.cpu > cpu ? f.cpu - cpu : 0;
		b->waited += f.waited_cpu;
		b->children |= f.waited_minor > 0;
		struct tree_io whole = {0};
		tree_add_io(&whole, &f);
		const uint64_t *w = &whole.rchar, *o = &own.rchar;
		uint64_t *to = &b->io.rchar;
		for (size_t k = 0; k < sizeof(whole) / sizeof(uint64_t); k++)
			to[k] += w[k] > o[k] ? w[k] - o[k] : 0;
	}
}
