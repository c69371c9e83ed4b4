/* node_bench [-r ROUNDS] [-w WORK] [-s] DIR - what watching the whole node costs those who work on it, as Markdown.
 *
 * Each round does each piece of work under each condition, one after the other, in a process of its own whose CPU time
 * is taken; the reader is this process. A ratio is made within its round, the middle of the rounds is shown with
 * quartiles. DIR: where files are made; a tmpfs for the work that is to be on one is /dev/shm. */
#include "capture/node_tracer/tracer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX 31

static const char *dir = "/dev/shm";
static char buffer[65536];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void do_opens(int n)
{
	for (int i = 0; i < n; i++) {
		int fd = open("one", O_RDONLY | O_CREAT, 0600);
		if (fd < 0)
			fail("open");
		close(fd);
	}
}

static void writes(int n, size_t size)
{
	int fd = open("/dev/shm/stemma-bench", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; i < n; i++)
		if (pwrite(fd, buffer, size, (off_t)(i % 16) * (off_t)size) != (ssize_t)size)
			fail("write");
	close(fd);
	unlink("/dev/shm/stemma-bench");
}

static void do_writes_1(int n)
{
	writes(n, 1);
}

static void do_writes_4k(int n)
{
	writes(n, 4096);
}

static void do_writes_64k(int n)
{
	writes(n, 65536);
}

/* As mdtest: make, stat, read and remove files in a tree of directories. */
static void do_metadata(int n)
{
	char name[64];
	struct stat st;
	for (int i = 0; i < n; i++) {
		if (i % 32 == 0) {
			snprintf(name, sizeof(name), "d%d", i / 32);
			if (mkdir(name, 0700) < 0 && errno != EEXIST)
				fail(name);
		}
		snprintf(name, sizeof(name), "d%d/f%d", i / 32, i);
		int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, buffer, 3901) != 3901)
			fail(name);
		close(fd);
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i / 32, i);
		if (stat(name, &st) < 0)
			fail(name);
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i / 32, i);
		int fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, buffer, sizeof(buffer)) != 3901)
			fail(name);
		close(fd);
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i / 32, i);
		unlink(name);
		if (i % 32 == 31 || i == n - 1) {
			snprintf(name, sizeof(name), "d%d", i / 32);
			rmdir(name);
		}
	}
}

static void do_programs(int n)
{
	for (volatile int i = 0; i < n; i++) { /* over vfork */
		pid_t pid = vfork();
		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
}

/* As HPCG: mostly computing, now and then a checkpoint. */
static void do_compute(int n)
{
	static double a[1 << 15];
	for (int k = 0; k < n; k++) {
		for (int turn = 0; turn < 200; turn++)
			for (size_t i = 1; i + 1 < sizeof(a) / sizeof(a[0]); i++)
				a[i] = 0.25 * (a[i - 1] + 2 * a[i] + a[i + 1]) + 1e-9 * (double)k;
		int fd = open("checkpoint", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, a, sizeof(a)) != (ssize_t)sizeof(a))
			fail("checkpoint");
		close(fd);
	}
	unlink("checkpoint");
}

static void do_calls(int n)
{
	for (int i = 0; i < n; i++)
		syscall(SYS_getppid);
}

enum { NOTHING, LISTENER, OPEN, EMPTY, BYSTANDER, ACCESS, CONDITIONS };
static const char *const conditions[] = {"nothing",       "empty listener",      "`open`",
                                         "empty program", "`access` of another", "`access`"};

static const struct work {
	const char *name;
	void (*run)(int n);
	int n;
	const char *unit;
	unsigned under; /* conditions */
} works[] = {
    {"compute with checkpoints", do_compute, 60, "checkpoint", 1 << NOTHING | 1 << OPEN | 1 << ACCESS},
    {"write 64 KiB on tmpfs", do_writes_64k, 20000, "call", 1 << NOTHING | 1 << OPEN | 1 << ACCESS},
    {"write 4 KiB on tmpfs", do_writes_4k, 200000, "call",
     1 << NOTHING | 1 << OPEN | 1 << EMPTY | 1 << BYSTANDER | 1 << ACCESS},
    {"write 1 byte on tmpfs", do_writes_1, 300000, "call",
     1 << NOTHING | 1 << OPEN | 1 << EMPTY | 1 << BYSTANDER | 1 << ACCESS},
    {"a call that moves nothing", do_calls, 1000000, "call",
     1 << NOTHING | 1 << OPEN | 1 << EMPTY | 1 << BYSTANDER | 1 << ACCESS},
    {"open, close", do_opens, 60000, "pair", 1 << NOTHING | 1 << LISTENER | 1 << OPEN},
    {"mdtest-like: make, stat, read, remove", do_metadata, 4000, "file", 1 << NOTHING | 1 << LISTENER | 1 << OPEN},
    {"start /bin/true", do_programs, 400, "program", 1 << NOTHING | 1 << LISTENER | 1 << OPEN | 1 << ACCESS},
};
#define NWORKS (sizeof(works) / sizeof(works[0]))

static uint64_t told, lost;
static bool no_state;
static pid_t idle; /* a process that does nothing */

static void on_event(void *arg, const struct tracer_event *ev)
{
	(void)arg;
	told++;
	lost += ev->kind == TRACER_LOST;
}

/* The least listener there can be: the same marks, events read and thrown away. */
static int listen_only(void)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME_TARGET, O_RDONLY);
	uint64_t mask = FAN_OPEN | FAN_OPEN_EXEC | FAN_CLOSE | FAN_CREATE | FAN_DELETE | FAN_RENAME | FAN_ONDIR;
	if (fd < 0 || fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, AT_FDCWD, dir) < 0 ||
	    fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, mask, AT_FDCWD, "/bin/true") < 0)
		fail("fanotify");
	return fd;
}

/* A program of two instructions at the end of all calls. */
static int empty_program(void)
{
	struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr a = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	                    .insns = (uint64_t)(uintptr_t)code,
	                    .insn_cnt = 2,
	                    .license = (uint64_t)(uintptr_t) "GPL"};
	int prog = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof(a));
	union bpf_attr b = {.raw_tracepoint = {.name = (uint64_t)(uintptr_t) "sys_exit", .prog_fd = (uint32_t)prog}};
	int link = prog < 0 ? -1 : (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &b, sizeof(b));
	if (prog >= 0)
		close(prog);
	if (link < 0)
		fail("bpf");
	return link;
}

struct result {
	double cpu, reader; /* s */
	uint64_t events;
};

/* One piece of work under one condition. */
static struct result measure(const struct work *w, int condition)
{
	struct tracer_options o = {.no_alive = true, .no_state = no_state};
	struct tracer *t = NULL;
	struct err err = {0};
	struct result r = {0};
	int fd = -1, go[2];
	bool traced = condition == OPEN || condition == BYSTANDER || condition == ACCESS;
	if (pipe(go) < 0)
		fail("pipe");
	pid_t pid = fork();
	if (pid == 0) {
		char c;
		close(go[1]);
		if (read(go[0], &c, 1) < 0)
			_exit(1);
		w->run(w->n);
		_exit(0);
	}
	close(go[0]);
	if (traced && tracer_open(&o, &t, &err) < 0) {
		fprintf(stderr, "node_bench: %s\n", err.text);
		exit(77);
	}
	if (condition == LISTENER)
		fd = listen_only();
	if (condition == EMPTY)
		fd = empty_program();
	if (t) {
		tracer_drain(t, on_event, NULL, &err);
		/* Of the work, or of a process that does nothing. */
		uint64_t whom = (uint64_t)(condition == ACCESS ? pid : idle);
		if (condition != OPEN && tracer_set(t, TRACER_PID, whom, true, &err) < 0) {
			fprintf(stderr, "node_bench: %s\n", err.text);
			exit(77);
		}
	}
	struct tracer_stats before = {0}, after = {0};
	if (t)
		tracer_stats(t, &before);
	close(go[1]);
	struct rusage u;
	int status;
	while (wait4(pid, &status, WNOHANG, &u) == 0)
		if (t)
			tracer_poll(t, 10, on_event, NULL, &err);
		else {
			poll(NULL, 0, 10);
			while (condition == LISTENER && read(fd, buffer, sizeof(buffer)) > 0)
				;
		}
	if (status != 0)
		exit(1);
	r.cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
	if (t) {
		tracer_stats(t, &after);
		r.reader = (double)(after.cpu - before.cpu) / 1e9;
		r.events = after.files - before.files +
		           (after.forks + after.execs + after.exits - before.forks - before.execs - before.exits);
	}
	if (fd >= 0)
		close(fd);
	tracer_close(t);
	return r;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double middle(double *v, int n, double where)
{
	qsort(v, (size_t)n, sizeof(*v), by_value);
	return v[(int)((double)(n - 1) * where + 0.5)];
}

/* How many events a second can be told on one processor: eight workers' worth of opens and closes of many files. */
static void sustained(int seconds)
{
	struct tracer_options o = {.no_alive = true};
	struct tracer *t;
	struct err err = {0};
	struct tracer_stats before, after;
	pid_t pids[2];
	if (tracer_open(&o, &t, &err) < 0)
		return;
	tracer_drain(t, on_event, NULL, &err);
	told = lost = 0;
	tracer_stats(t, &before);
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int k = 0; k < 2; k++) {
		pids[k] = fork();
		if (pids[k] == 0)
			for (unsigned i = 0;; i++) {
				char name[64];
				snprintf(name, sizeof(name), "/dev/shm/stemma-bench.%d.%u", k, i % 4096);
				int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
				if (fd >= 0)
					close(fd);
			}
	}
	do {
		tracer_poll(t, 10, on_event, NULL, &err);
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while (b.tv_sec - a.tv_sec < seconds);
	tracer_stats(t, &after);
	double wall = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	double cpu = (double)(after.cpu - before.cpu) / 1e9;
	double n = (double)(after.files - before.files);
	for (int k = 0; k < 2; k++) {
		kill(pids[k], SIGKILL);
		waitpid(pids[k], NULL, 0);
	}
	tracer_close(t);
	for (int k = 0; k < 2; k++)
		for (unsigned i = 0; i < 4096; i++) {
			char name[64];
			snprintf(name, sizeof(name), "/dev/shm/stemma-bench.%d.%u", k, i);
			unlink(name);
		}
	printf("\nTwo programs that open and close as fast as they can for %.1f s: %.0f events a second, of which %.2f us "
	       "CPU time "
	       "of the reader each (%.0f a second and processor, %.1f %% of one at 5,000 a second); %llu gaps. Memory %.1f "
	       "MB.\n",
	       wall, n / wall, 1e6 * cpu / n, n / cpu, 100 * 5000 * cpu / n, (unsigned long long)lost,
	       (double)after.memory / 1e6);
}

int main(int argc, char **argv)
{
	int rounds = 7, opt;
	const char *only = NULL;
	while ((opt = getopt(argc, argv, "r:w:s")) != -1)
		if (opt == 'r')
			rounds = atoi(optarg);
		else if (opt == 'w')
			only = optarg;
		else if (opt == 's')
			no_state = true;
	rounds = rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds < 1 ? 1 : rounds;
	if (optind < argc)
		dir = argv[optind];
	char *place = NULL;
	if (asprintf(&place, "%s/stemma-bench.XXXXXX", dir) < 0 || !mkdtemp(place) || chdir(place) < 0)
		fail(dir);
	idle = fork();
	if (idle == 0)
		for (;;)
			pause();
	printf("| work | nothing, each |");
	for (int c = 1; c < CONDITIONS; c++)
		printf(" %s |", conditions[c]);
	printf(" reader, an event |\n|---|---|---|---|---|---|---|---|\n");
	for (size_t k = 0; k < NWORKS; k++) {
		const struct work *w = &works[k];
		if (only && strncmp(w->name, only, strlen(only)) != 0)
			continue;
		double ratio[CONDITIONS][ROUNDS_MAX], more[CONDITIONS][ROUNDS_MAX], base[ROUNDS_MAX], reader[ROUNDS_MAX];
		for (int i = 0; i < rounds; i++) {
			struct result none = measure(w, NOTHING);
			base[i] = none.cpu / w->n * 1e9;
			for (int c = 1; c < CONDITIONS; c++) {
				if (!(w->under & 1u << c))
					continue;
				struct result r = measure(w, c);
				ratio[c][i] = r.cpu / none.cpu;
				more[c][i] = (r.cpu - none.cpu) / w->n * 1e9;
				if (c == OPEN)
					reader[i] = r.events ? r.reader / (double)r.events * 1e6 : 0;
			}
		}
		printf("| %s | %.0f ns a %s |", w->name, middle(base, rounds, 0.5), w->unit);
		for (int c = 1; c < CONDITIONS; c++)
			if (w->under & 1u << c)
				printf(" %.2f (%.2f … %.2f) %+.0f ns |", middle(ratio[c], rounds, 0.5), middle(ratio[c], rounds, 0.25),
				       middle(ratio[c], rounds, 0.75), middle(more[c], rounds, 0.5));
			else
				printf(" |");
		printf(" %.1f us |\n", middle(reader, rounds, 0.5));
		fflush(stdout);
	}
	if (!only)
		sustained(4);
	kill(idle, SIGKILL);
	waitpid(idle, NULL, 0);
	unlink("one");
	if (chdir("/") == 0)
		rmdir(place);
	free(place);
	return 0;
}
