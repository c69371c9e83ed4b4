#include "cmd/bench/bench_once.h"

#include "base/child.h"
#include "base/io.h"
#include "base/os/memfile.h"
#include "cc/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUT_MAX (64u << 20) /* bytes of what it prints that are looked through */

/* What the child that records tells: fixed, and then the segment's path. */
struct told {
	int rc, status;
	char run[27];
	uint64_t session, from;
	char segment[4096];
	char text[512];
};

/* ---- signals ---- */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
#define N_ENDING (sizeof(ending) / sizeof(ending[0]))
static struct sigaction was[N_ENDING];
static struct group_ear ear;
static volatile sig_atomic_t stopped;
static volatile pid_t recorder; /* it hands on what comes to it alone */
static bool watching;

/* A signal's handler: notes it, and hands it to the recorder if it was sent to this process alone. Keeps errno. */
static void pass_signal_to_recorder(int sig, siginfo_t *si, void *context)
{
	int e = errno;
	(void)context;
	bool all = si->si_code != SI_USER || group_received(&ear, sig);
	stopped = sig;
	if (!all && recorder > 0)
		child_signal(recorder, sig);
	errno = e;
}

void bench_stop_begin(void)
{
	struct sigaction act = {.sa_sigaction = pass_signal_to_recorder, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t all, mask;
	stopped = 0;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	group_listen(&ear, ending, N_ENDING);
	for (size_t i = 0; i < N_ENDING; i++) {
		sigaction(ending[i], NULL, &was[i]);
		if (was[i].sa_handler != SIG_IGN) /* nohup */
			sigaction(ending[i], &act, NULL);
	}
	watching = true;
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* The signal that came, 0: none. */
int bench_stopped(void)
{
	return stopped;
}

/* The signals do what they did before. Gives the one that came, 0: none. */
int bench_stop_end(void)
{
	for (size_t i = 0; i < N_ENDING; i++)
		sigaction(ending[i], &was[i], NULL);
	watching = false;
	group_end(&ear);
	return stopped;
}

/* In the child: records the command with its output in `out`, tells over `to` how it went, and ends. */
static _Noreturn void exec_bench_command(const struct run_trust *t, const char *home, const char *no_home,
                                         const char *const *labels, bool record, int out, int to, const sigset_t *mask)
{
	struct told told = {0};
	struct err err = {0};
	const char *note = NULL;
	struct run_place place = {0};
	for (size_t i = 0; watching && i < N_ENDING; i++)
		sigaction(ending[i], &was[i], NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	struct run_options o = {.argv = t->argv,
	                        .home = home,
	                        .no_home = no_home,
	                        .labels = labels,
	                        .confine = t->confine,
	                        .confine_arg = t->confine_arg,
	                        .received = t->received,
	                        .keeper = record && t->early.folder ? &t->early.keeper : NULL,
	                        .mode = record ? CAPTURE_COMPLETE : CAPTURE_OFF,
	                        .place = record ? &place : NULL,
	                        .say = t->quiet || !record ? NULL : report_line};
	/* Not for reading: else it would look as if the command might have read what it printed. */
	char link[40];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", out);
	int only = open(link, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (dup2(only >= 0 ? only : out, STDOUT_FILENO) < 0)
		_exit(STATUS_SELF);
	if (record) {
		told.rc = capture_run(&o, &err, &told.status, &note);
	} else {
		/* A warm-up leaves nothing behind. */
		execvp(t->argv[0], t->argv);
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (note && !t->quiet)
		report("%s", note);
	memcpy(told.run, place.run, sizeof(told.run));
	told.session = place.session;
	told.from = place.from;
	if (place.segment)
		snprintf(told.segment, sizeof(told.segment), "%s", place.segment);
	snprintf(told.text, sizeof(told.text), "%s", err.text);
	io_write(to, &told, sizeof(told), NULL);
	_exit(0);
}

/* The time in seconds. */
static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* The first OUT_MAX bytes of the file fd, with a NUL behind them; *ret_n: how many. The caller frees it. NULL, with
 * *ret_n 0: it cannot be read, or there is no memory. */
static char *printed(int fd, size_t *ret_n)
{
	struct stat st;
	*ret_n = 0;
	if (fstat(fd, &st) < 0)
		return NULL;
	size_t n = st.st_size < OUT_MAX ? (size_t)st.st_size : OUT_MAX;
	char *p = malloc(n + 1);
	ssize_t k = p ? io_pread(fd, p, n, 0) : -1;
	if (k < 0) {
		free(p);
		return NULL;
	}
	p[k] = '\0';
	*ret_n = (size_t)k;
	return p;
}

/* All of fd to standard output, as far as that takes it. */
static void copy_out(int fd)
{
	char room[65536];
	ssize_t k;
	fflush(stdout);
	for (uint64_t at = 0; (k = io_pread(fd, room, sizeof(room), at)) > 0; at += (uint64_t)k)
		if (io_write(STDOUT_FILENO, room, (size_t)k, NULL) < 0)
			break;
}

/* A file without a name: it may be larger than memory has room for. A descriptor, which the caller closes; -1 or
 * -errno: there is none. */
static int open_out(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : memfile_new("stemma-bench");
}

/* What the recorder tells before it ends; the bytes of it that came. */
static size_t read_recorder_report(int fd, struct told *ret)
{
	size_t got = 0;
	while (got < sizeof(*ret)) {
		ssize_t k = read(fd, (char *)ret + got, sizeof(*ret) - got);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			break;
		got += (size_t)k;
	}
	return got;
}

/* The results of a run that was recorded, with the figures of its command alone where they are known. out: what it
 * printed. */
static void keep_recorded(struct run_trust *t, const struct told *told, int out, struct bench_once *ret)
{
	size_t n;
	char *text = printed(out, &n);
	memcpy(t->place.run, told->run, sizeof(told->run));
	memcpy(ret->run, told->run, sizeof(ret->run));
	t->place.session = told->session;
	t->place.from = told->from;
	t->place.segment = *told->segment ? strdup(told->segment) : NULL;
	uint64_t own = (uint64_t)(ret->cpu * 1e9);
	run_trust_finish(t, text, n);
	if (t->files.began != TIME_NONE && t->files.ended != TIME_NONE)
		ret->wall = (double)(t->files.ended - t->files.began) / 1e9;
	if (t->files.cpu)
		ret->cpu = (double)t->files.cpu / 1e9;
	if (t->machine)
		machine_noise(&t->before, &t->after, own, &ret->others, &ret->stolen);
	ret->places[ret->n_places++] = t->place;
	ret->places[ret->n_places++] = t->kept;
	t->place.segment = t->kept.segment = NULL;
	ret->results = t->results;
	ret->n_results = t->n_results;
	t->results = NULL;
	t->n_results = 0;
	free(text);
}

/* The command's child while it runs, and what it took. */
struct attempt {
	int tube[2]; /* by which the child tells, if it records */
	pid_t pid;
	int status;  /* of the child */
	size_t told; /* bytes that it told */
	double wall, cpu;
};

/* Waits for the child, and takes its time: from the moment `from`, and what its kind had used `before`. */
static void await_child(struct attempt *x, struct told *told, const struct timespec *from, const struct rusage *before)
{
	struct rusage after;
	struct timespec to;
	close(x->tube[1]);
	x->told = x->pid > 0 ? read_recorder_report(x->tube[0], told) : 0;
	close(x->tube[0]);
	recorder = 0;
	while (x->pid > 0 && waitpid(x->pid, &x->status, 0) < 0 && errno == EINTR)
		;
	clock_gettime(CLOCK_MONOTONIC, &to);
	getrusage(RUSAGE_CHILDREN, &after);
	x->wall = (double)(to.tv_sec - from->tv_sec) + (double)(to.tv_nsec - from->tv_nsec) / 1e9;
	x->cpu = seconds(after.ru_utime) + seconds(after.ru_stime) - seconds(before->ru_utime) - seconds(before->ru_stime);
}

/* Was all told that a child tells which records, and did that go well? 0 or -errno. */
static int check_told(const struct attempt *x, const struct told *told, struct err *err)
{
	if (x->told < sizeof(*told))
		return err_set(err, WIFSIGNALED(x->status) ? EINTR : EIO, "the recorder ended before the command");
	return told->rc < 0 ? (err_set(err, 0, "%s", told->text), -EIO) : 0;
}

int bench_once(struct run_trust *t, const char *home, const char *index, const char *no_home, const char *const *labels,
               bool record, bool show, struct err *err, struct bench_once *ret)
{
	struct told told = {0};
	struct attempt x = {.pid = -1};
	struct rusage before;
	struct timespec from;
	int out = open_out();
	*ret = (struct bench_once){.others = -1, .stolen = -1};
	if (out < 0 || pipe2(x.tube, O_CLOEXEC) < 0) {
		if (out >= 0)
			close(out);
		return err_set(err, errno, "cannot store the output of the command");
	}
	run_trust_begin(t, home, index);
	fflush(NULL);
	getrusage(RUSAGE_CHILDREN, &before);
	clock_gettime(CLOCK_MONOTONIC, &from);
	/* What comes before the child has the handlers that were, and we its number, waits. */
	sigset_t all, mask;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	x.pid = fork();
	if (x.pid == 0)
		exec_bench_command(t, home, no_home, labels, record, out, x.tube[1], &mask);
	int rc = x.pid < 0 ? err_set(err, errno, "cannot start the command") : 0;
	recorder = x.pid;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	await_child(&x, &told, &from, &before);
	ret->wall = x.wall;
	ret->cpu = x.cpu;
	if (rc == 0 && record)
		rc = check_told(&x, &told, err);
	ret->status = record ? told.status : x.status;
	if (rc == 0 && record)
		keep_recorded(t, &told, out, ret);
	if (rc == 0 && show)
		copy_out(out);
	ret->has_printed = true;
	ret->printed = out;
	run_trust_release(t);
	return rc;
}

/* Closes what it printed, too; o is empty then. */
void bench_once_release(struct bench_once *o)
{
	for (size_t i = 0; i < o->n_results; i++) {
		elements_release(&o->results[i].values);
		elements_release(&o->results[i].missing);
		free(o->results[i].source);
	}
	free(o->results);
	for (size_t i = 0; i < o->n_places; i++)
		free(o->places[i].segment);
	if (o->has_printed)
		close(o->printed);
	*o = (struct bench_once){0};
}
