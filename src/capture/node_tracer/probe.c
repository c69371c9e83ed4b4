#include "capture/node_tracer/tracer_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <time.h>
#include <unistd.h>

/* Adds one ability of this machine to the list. cost: none yet. There is room. */
static struct tracer_cap *append_capability(struct tracer_caps *c, const char *name, bool works, const char *text)
{
	struct tracer_cap *cap = &c->cap[c->n++];
	*cap = (struct tracer_cap){.name = name, .works = works, .cost = -1};
	snprintf(cap->text, sizeof(cap->text), "%s", text);
	return cap;
}

/* Takes an event and does nothing with it. */
static void ignore_tracer_event(void *arg, const struct tracer_event *ev)
{
	(void)arg;
	(void)ev;
}

/* CLOCK_PROCESS_CPUTIME_ID, ns. */
static double cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* CPU time of one open and close of a file, and of one read: the least of five tries, beside noise. */
static double open_cost(void)
{
	double best = 1e18;
	for (int k = 0; k < 5; k++) {
		double a = cpu_ns();
		for (int i = 0; i < 2000; i++) {
			int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
			if (fd >= 0)
				close(fd);
		}
		double b = (cpu_ns() - a) / 2000;
		best = b < best ? b : best;
	}
	return best;
}

/* ns of one, the best of five rounds; -1: it cannot be read. */
static double read_cost(int fd)
{
	double best = 1e18;
	char c;
	for (int k = 0; k < 5; k++) {
		double a = cpu_ns();
		for (int i = 0; i < 20000; i++)
			if (pread(fd, &c, 1, 0) != 1)
				return -1;
		double b = (cpu_ns() - a) / 20000;
		best = b < best ? b : best;
	}
	return best;
}

/* Whether fanotify watches here, with everything or with less. */
static void probe_files(struct tracer_caps *c)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME_TARGET, O_RDONLY);
	bool target = fd >= 0;
	if (fd < 0 && errno == EINVAL)
		fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME | FAN_REPORT_FID,
		                   O_RDONLY);
	if (fd < 0) {
		int e = errno;
		char text[512];
		snprintf(text, sizeof(text), "no fanotify: %s; only processes are recorded",
		         e == EINVAL  ? "Linux 5.9 is needed"
		         : e == EPERM ? "CAP_SYS_ADMIN is missing"
		                      : strerror(e));
		append_capability(c, "files", false, text);
		return;
	}
	bool marks = fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN, AT_FDCWD, "/") == 0;
	append_capability(
	    c, "files", marks,
	    marks ? "fanotify on whole file systems: what happened between two reads, 10 ms apart"
	    : errno == EPERM
	        ? "fanotify on whole file systems: CAP_SYS_ADMIN is missing"
	        : "fanotify cannot watch the root file system: its files have no identity that the kernel can tell");
	append_capability(c, "renames", target,
	                  target ? "one event with both names"
	                         : "two events, and what is new by its name only: Linux 5.17 is needed for one");
	close(fd);
	fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_FID | FAN_REPORT_PIDFD, O_RDONLY);
	append_capability(
	    c, "pidfd", fd >= 0,
	    fd >= 0
	        ? "there, not used: pids are told apart by the kernel's own records of fork and exit"
	        : "not before Linux 5.15; not needed: pids are told apart by the kernel's own records of fork and exit");
	if (fd >= 0)
		close(fd);
}

int tracer_probe(bool measure, struct tracer_caps *ret)
{
	struct tracer_options o = {.no_files = true, .no_alive = true, .no_env = true, .ring_kb = 64};
	struct tracer *t = NULL;
	struct err err = {0};
	*ret = (struct tracer_caps){0};
	double off = measure ? open_cost() : 0;
	int r = tracer_open(&o, &t, &err);
	append_capability(ret, "processes", r == 0,
	                  r == 0 ? "fork, exec and exit by raw tracepoints, read in the kernel" : err.text);
	if (r == 0) {
		bool uring = programs_has_uring(t->programs);
		append_capability(ret, "io_uring", uring,
		                  uring ? "who makes one is told" : "the kernel has no tracepoint for it");
		append_capability(ret, "fentry", programs_has_fentry(),
		                  programs_has_fentry() ? "allowed, not used: files come from fanotify"
		                                        : "refused; not needed: files come from fanotify");
	}
	probe_files(ret);
	if (r == 0 && measure) {
		struct err why = {0};
		if (tracer_files(t, true, &why) == 0) {
			double with;
			t->own = 0; /* its own opening is what is measured */
			with = open_cost();
			for (unsigned i = 0; i < ret->n; i++)
				if (!strcmp(ret->cap[i].name, "files"))
					ret->cap[i].cost = with > off ? (with - off) / 2 : 0;
			tracer_drain(t, ignore_tracer_event, NULL, &why);
		}
	}
	if (r == 0) {
		struct err why = {0};
		int fd = measure ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
		double before = fd >= 0 ? read_cost(fd) : -1;
		bool works = tracer_set(t, TRACER_PID, (uint64_t)getpid(), true, &why) == 0;
		struct tracer_cap *cap = append_capability(
		    ret, "access", works,
		    works ? "reads and writes are counted in the kernel, while somebody asks for it" : why.text);
		if (works && fd >= 0) {
			access_programs_control(access_programs_of(t->access))->own = 0;
			double with = read_cost(fd);
			cap->cost = with > before ? with - before : 0;
		}
		if (fd >= 0)
			close(fd);
	}
	tracer_close(t);
	return 0;
}
