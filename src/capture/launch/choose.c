#include "capture/launch/choose.h"
#include "base/io.h"
#include "capture/launch/room.h"
#include "capture/launch/run.h"
#include "capture/preload/safe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

struct reason {
	char text[160];
};

/* With the error's words where errnum is above 0. Always -1. */
static int refuse_with_reason(struct reason *r, int errnum, const char *text)
{
	if (errnum > 0)
		snprintf(r->text, sizeof(r->text), "%s: %s", text, strerror(errnum));
	else
		snprintf(r->text, sizeof(r->text), "%.159s", text);
	return -1;
}

/* Among the effective ones. */
static bool has_capability(unsigned cap)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0};
	return syscall(SYS_capget, &h, d) == 0 && (d[0].effective >> cap & 1);
}

/* What a file of one line says; 0 if it is not there. */
static int number_in(const char *file)
{
	char text[16];
	io_text(file, text, sizeof(text));
	return atoi(text);
}

int capture_yama(void)
{
	return number_in("/proc/sys/kernel/yama/ptrace_scope");
}

/* Does another process trace this one? */
static bool is_traced_itself(void)
{
	char text[2048], *at;
	io_text("/proc/self/status", text, sizeof(text));
	return (at = strstr(text, "\nTracerPid:")) && atoi(at + 11) != 0;
}

/* A child that no SIGCHLD tells of, so that it is ours to wait for whatever is done with that signal here. */
static pid_t fork_without_sigchld(void)
{
	pid_t parent = getpid(), pid = (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent) /* killed before that: nobody would end us, and the command's output is open here */
			_exit(0);
	}
	return pid;
}

/* Kills the child and waits for it. */
static void be_over(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* ---- seccomp user notification ---- */

enum { OLD_LISTENER = 1000, SAID };

/* Tries out the filter, in the child: under the filter, then waits to be killed. */
static _Noreturn void try_listener(const struct sock_fprog *prog, int say)
{
	int fd = notify_install(prog);
	if (fd == -EACCES) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		fd = notify_install(prog);
	}
	int rc = fd < 0 ? -fd : notify_can_continue(fd) ? 0 : OLD_LISTENER;
	(void)!write(say, &rc, sizeof(rc));
	for (;;)
		pause();
}

/* Really installs a filter with a listener, in a child, and reads the child's memory. 0; -1 with the reason.
 * *ret_outranked: another supervisor gets the calls. */
static int notify_trial(struct reason *r, bool *ret_outranked)
{
	static const char here[] = "read me";
	char there[sizeof(here)];
	struct sock_fprog prog;
	int pair[2], rc = -1;
	if (trap_filter(TRAP_TREE | TRAP_FILE, true, NULL, &prog) < 0)
		return refuse_with_reason(r, ENOMEM, "seccomp filter");
	if (pipe2(pair, O_CLOEXEC) < 0) {
		free(prog.filter);
		return 0; /* with so few descriptors nothing can be tried; the run says what becomes of it */
	}
	pid_t pid = fork_without_sigchld();
	if (pid == 0)
		try_listener(&prog, pair[1]);
	free(prog.filter);
	close(pair[1]);
	ssize_t n = 0;
	while (pid > 0 && (n = read(pair[0], &rc, sizeof(rc))) < 0 && errno == EINTR)
		;
	close(pair[0]);
	int ret = 0;
	if (pid < 0) {
		ret = 0; /* no process to be had: the run will see */
	} else if (n != (ssize_t)sizeof(rc)) {
		ret = refuse_with_reason(r, 0, "a test process ended when it used seccomp user notification");
	} else if (rc == EBUSY) {
		*ret_outranked = true;
		ret = refuse_with_reason(r, 0, "another program already uses seccomp user notification for this process");
	} else if (rc == OLD_LISTENER) {
		ret = refuse_with_reason(
		    r, 0, "the kernel is older than Linux 5.5: its seccomp user notification cannot continue a call");
	} else if (rc) {
		ret = refuse_with_reason(r, rc, "seccomp user notification");
	} else if ((n = remote_read(pid, (uint64_t)(uintptr_t)here, there, sizeof(there))) != (ssize_t)sizeof(there)) {
		ret = refuse_with_reason(r, n < 0 ? (int)-n : 0, "memory of other processes cannot be read");
	}
	if (pid > 0)
		be_over(pid);
	return ret;
}

/* Is the kernel older than this version? False if the version is not known. */
static bool kernel_before(int major, int minor)
{
	struct utsname un;
	int a = 0, b = 0;
	return uname(&un) == 0 && sscanf(un.release, "%d.%d", &a, &b) == 2 && (a < major || (a == major && b < minor));
}

/* Can this process use seccomp user notification? 0; -1 with the reason. */
static int notify_works(struct reason *r, bool *ret_outranked)
{
	/* No filter there: what comes back is how far the kernel got. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, NULL) < 0 && errno != EFAULT)
		return refuse_with_reason(r, errno == EINVAL ? 0 : errno,
		                          errno == EINVAL ? "the kernel has no seccomp user notification"
		                                          : "seccomp user notification");
	int yama = capture_yama();
	if (yama >= 2 && !has_capability(CAP_SYS_PTRACE)) {
		snprintf(r->text, sizeof(r->text), "Yama's ptrace_scope is %d", yama);
		return -1;
	}
	/* Only under another filter can there be more against it. */
	return prctl(PR_GET_SECCOMP) == 0 && !kernel_before(5, 5) ? 0 : notify_trial(r, ret_outranked);
}

/* ---- ptrace ---- */

/* Can this process trace another one by ptrace? exact: also of every call. 0; -1 with the reason. */
static int ptrace_works(struct reason *r, bool exact)
{
	pid_t pid = fork_without_sigchld();
	if (pid == 0)
		for (;;)
			pause();
	if (pid < 0)
		return 0;
	int rc = trace_try(pid, exact), yama;
	be_over(pid);
	if (rc >= 0)
		return 0;
	if (rc == -ENOTSUP)
		return refuse_with_reason(r, 0, "the kernel is older than Linux 5.3: its ptrace does not report system calls");
	if ((yama = capture_yama()) >= 2)
		snprintf(r->text, sizeof(r->text), "ptrace: Yama's ptrace_scope is %d", yama);
	else if (is_traced_itself())
		refuse_with_reason(r, 0, "ptrace: another tracer has this process");
	else
		refuse_with_reason(r, -rc, "ptrace");
	return -1;
}

/* Whether ptrace can see every call here: 0; -1 with the reason. */
static int exact_works(struct reason *r, bool *ret_outranked)
{
	(void)ret_outranked;
	return ptrace_works(r, true);
}

/* Can this process use ptrace together with a seccomp filter? 0; -1 with the reason. */
static int trace_works(struct reason *r, bool *ret_outranked)
{
	(void)ret_outranked;
	int rc = ptrace_works(r, false);
	if (rc < 0)
		return rc;
	rc = trace_install(NULL);
	return rc == -EFAULT ? 0 : refuse_with_reason(r, -rc, "seccomp filters");
}

/* Can a library be preloaded, and does the shared memory for it work? 0; else -1 with the reason. */
static int safe_works(struct reason *r, bool *ret_outranked)
{
	(void)ret_outranked;
	struct err err = {0};
	return safe_probe(&err) == 0 ? 0 : refuse_with_reason(r, 0, err.text);
}

/* Can processes be found through /proc, without stopping them? 0; else -1 with the reason. */
static int proc_works(struct reason *r, bool *ret_outranked)
{
	(void)ret_outranked;
	char name[64];
	snprintf(name, sizeof(name), "/proc/self/task/%d/children", getpid());
	return access(name, R_OK) == 0 ? 0 : refuse_with_reason(r, errno, "/proc does not list children of processes");
}

/* ---- the choice ---- */

enum { FOR_EXACT = 1, FOR_COMPLETE = 2, FOR_SAFE = 4, FOR_TREE = 8 };

/* In the order in which they are tried. Another mechanism is another row. */
static const struct row {
	const char *name, *title, *options;
	int (*works)(struct reason *r, bool *ret_outranked);
	enum backend backend;
	enum capture_transport transport; /* that asks for it; TRANSPORT_AUTO: none does */
	unsigned serves;
	bool no_new_privs, tracer; /* what it takes from set-id programs: unless privileged itself */
} rows[] = {
    {"exact", "bytes per file", "--exact", exact_works, BACKEND_EXACT, TRANSPORT_AUTO, FOR_EXACT, false, true},
    {"notify", "user notification", "--transport=notify", notify_works, BACKEND_NOTIFY, TRANSPORT_NOTIFY,
     FOR_COMPLETE | FOR_TREE, true, false},
    {"trace", "ptrace", "--transport=trace", trace_works, BACKEND_TRACE, TRANSPORT_TRACE, FOR_COMPLETE | FOR_TREE, true,
     true},
    {"preload", "library", "--capture=safe", safe_works, BACKEND_SAFE, TRANSPORT_AUTO, FOR_SAFE, false, false},
    {"proc", "processes", "--transport=proc", proc_works, BACKEND_PROC, TRANSPORT_PROC, FOR_TREE, false, false},
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* Whether the mode needs what this process may not do, so that it would have to give up privileges. */
static bool takes_privilege(const struct row *row)
{
	return (row->no_new_privs && !has_capability(CAP_SYS_ADMIN)) || (row->tracer && !has_capability(CAP_SYS_PTRACE));
}

struct search {
	const struct run_options *o;
	struct choice *c;
	bool tried[NROWS];
	char program[64]; /* that would lose its privilege */
	size_t why_n;
};

/* Adds a reason to c->why after "; ", cut where it is too long. */
static void add_why(struct search *s, const char *text)
{
	int n = snprintf(s->c->why + s->why_n, sizeof(s->c->why) - s->why_n, "%s%s", s->why_n ? "; " : "", text);
	if (n > 0)
		s->why_n += (size_t)n;
	if (s->why_n >= sizeof(s->c->why))
		s->why_n = sizeof(s->c->why) - 1;
}

/* The first row that does for `wanted` and works; `only`: none but that one. */
static const struct row *find_capture_row(struct search *s, unsigned wanted, enum capture_transport only)
{
	for (size_t i = 0; i < NROWS; i++) {
		const struct row *row = &rows[i];
		struct reason r = {""};
		if (!(row->serves & wanted) || s->tried[i] || (only != TRANSPORT_AUTO && row->transport != only))
			continue;
		if (s->c->privileged && takes_privilege(row))
			continue;
		if (row->works(&r, &s->c->outranked) == 0)
			return row;
		s->tried[i] = true;
		add_why(s, r.text);
	}
	return NULL;
}

/* What a run lacks that is recorded in a lesser way. */
enum { LACKS_BYTES, LACKS_OTHERS, LACKS_FILES, LACKS_ALL };
static const char *const lacks[] = {
    [LACKS_BYTES] = "bytes per file are not counted",
    [LACKS_OTHERS] = "only what goes through the C library is recorded",
    [LACKS_FILES] = "only processes are recorded",
    [LACKS_ALL] = "only the run itself is recorded",
};

/* One FOR_ bit: what the options ask for. */
static unsigned what_is_wanted(const struct run_options *o)
{
	if (o->mode == CAPTURE_TREE || o->transport == TRANSPORT_PROC)
		return FOR_TREE;
	return o->mode == CAPTURE_SAFE ? FOR_SAFE : o->exact ? FOR_EXACT : FOR_COMPLETE;
}

/* Does the way of recording take nothing from anybody, such as a place under a tracer? */
static bool is_meek(const struct row *row)
{
	return row->backend == BACKEND_PROC || row->backend == BACKEND_SAFE;
}

/* The way that was asked for, or else the best that works for that or, after it, for less; *ret_for, for what. NULL:
 * none. */
static const struct row *find_any_row(struct search *s, unsigned wanted, unsigned *ret_for)
{
	const struct run_options *o = s->o;
	const struct row *row =
	    o->transport != TRANSPORT_AUTO && !o->exact ? find_capture_row(s, wanted, o->transport) : NULL;
	*ret_for = wanted;
	for (; !row && *ret_for <= FOR_TREE; *ret_for <<= 1)
		if ((row = find_capture_row(s, *ret_for, TRANSPORT_AUTO)))
			break;
	return row;
}

/* What the user should know of a way that records less than was wanted. */
static void tell_less(struct search *s, const struct row *row, unsigned wanted, unsigned got)
{
	struct choice *c = s->c;
	/* Every call by ptrace needs no filter; what it costs is for the user to say. */
	const bool exact = is_meek(row) && wanted == FOR_COMPLETE && !c->privileged && !s->tried[0] &&
	                   rows[0].works(&(struct reason){""}, &c->outranked) == 0;
	const char *less = lacks[got == FOR_TREE ? LACKS_FILES : got == FOR_SAFE ? LACKS_OTHERS : LACKS_BYTES];
	if (got > wanted)
		snprintf(c->line, sizeof(c->line), "%s: %s%s", less, c->why,
		         exact ? "; --exact would record files (slow)" : "");
	else if (s->o->count && row->backend == BACKEND_TRACE)
		snprintf(c->line, sizeof(c->line), "%s: %s", lacks[LACKS_BYTES], c->why);
}

/* Fills in s->c by the row; wanted and got are FOR_ bits, and what lacks is told. */
static void take_row(struct search *s, const struct row *row, unsigned wanted, unsigned got)
{
	struct choice *c = s->c;
	c->backend = row->backend;
	c->tree_only = got == FOR_TREE;
	c->loses = takes_privilege(row);
	snprintf(c->mode, sizeof(c->mode), "%s/%s",
	         c->tree_only                   ? "tree"
	         : row->backend == BACKEND_SAFE ? "safe"
	                                        : "complete",
	         row->name);
	c->privileged &= is_meek(row);
	tell_less(s, row, wanted, got);
}

/* Is /proc of this PID namespace? */
static bool has_own_proc(void)
{
	char self[24] = "";
	(void)!readlink("/proc/self", self, sizeof(self) - 1);
	return atoi(self) == getpid();
}

/* The way that is taken; NULL: none works. */
static const struct row *search_rows(struct search *s, unsigned wanted, unsigned *ret_for)
{
	struct choice *c = s->c;
	if (!has_own_proc()) {
		add_why(s, "/proc is not mounted or belongs to another namespace");
		return NULL;
	}
	c->privileged = privileged_program(s->o->argv, s->program, sizeof(s->program));
	const struct row *row = find_any_row(s, wanted, ret_for);
	if (row && is_meek(row) && c->privileged && s->o->transport != TRANSPORT_PROC && wanted != FOR_SAFE) {
		char text[128];
		snprintf(text, sizeof(text), "'%s' is set-user-ID and would run without its privilege", s->program);
		add_why(s, text);
	}
	return row;
}

void capture_choose(const struct run_options *o, struct choice *ret)
{
	*ret = (struct choice){.backend = BACKEND_NONE, .mode = "off"};
	struct search s = {.o = o, .c = ret};
	const unsigned wanted = what_is_wanted(o);
	unsigned got;
	if (o->mode == CAPTURE_OFF)
		return;
	if ((ret->crowded = room_is_little(ret->why, sizeof(ret->why)))) {
		snprintf(ret->line, sizeof(ret->line), "%s: %s", lacks[LACKS_ALL], ret->why);
		return;
	}
	const struct row *row = search_rows(&s, wanted, &got);
	if (row)
		take_row(&s, row, wanted, got);
	else
		snprintf(ret->line, sizeof(ret->line), "%s: %s", lacks[LACKS_ALL], ret->why);
	if (ret->backend != BACKEND_TRACE)
		ret->outranked = false;
}

/* -1 behind the last row; else the backend, and in *ret whether it works and why not. */
int choose_row(unsigned i, struct backend_state *ret)
{
	struct reason r = {""};
	bool outranked = false;
	if (i >= NROWS)
		return -1;
	*ret = (struct backend_state){.title = rows[i].title, .options = rows[i].options, .call = -1, .program = -1};
	ret->works = rows[i].works(&r, &outranked) == 0;
	snprintf(ret->why, sizeof(ret->why), "%s", r.text);
	return (int)rows[i].backend;
}

void capture_would(char mode[32], char why[256])
{
	static char name[] = "true";
	struct choice c;
	capture_choose(&(struct run_options){.argv = (char *[]){name, NULL}}, &c);
	memcpy(mode, c.mode, sizeof(c.mode));
	memcpy(why, c.why, sizeof(c.why));
}
