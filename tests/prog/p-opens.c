/* p-opens - opens files to read, many of them, in the ways that the code which opens without a stop (doc/opens.md) has
 * to get right. p-opens CASE FOLDER: on descriptor 9 a line for each open, `PID INODE PATH`, INODE 0 where there was
 * none to open. The files are FOLDER/fN, made by who calls. Exits with 1 if a result is not what it is without a
 * recorder. */
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILES 400

static const char *folder;
extern char **environ;

static void fail(const char *what)
{
	dprintf(2, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

/* Opens, tells, closes. */
static void visit(const char *path)
{
	char line[4500];
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC), e = errno;
	if (fd >= 0 && fstat(fd, &st) < 0)
		fail("fstat");
	int n = snprintf(line, sizeof(line), "%d %llu %s\n", (int)getpid(), (unsigned long long)st.st_ino, path);
	if (write(9, line, (size_t)n) != n)
		fail("descriptor 9");
	if (fd >= 0)
		close(fd);
	errno = e;
}

static void visit_n(int i)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/f%d", folder, i % FILES);
	visit(path);
}

/* One that is not there: a name that is opened once, so that none can be missing unnoticed. */
static void visit_absent(const char *what, int i)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/absent-%s-%d", folder, what, i);
	visit(path);
}

static void many(void)
{
	char path[4200];
	for (int i = 0; i < 2 * FILES; i++) {
		visit_n(i);
		if (i % 3 == 0) {
			snprintf(path, sizeof(path), "%s/absent%d", folder, i);
			visit(path);
		}
	}
}

/* More than a log holds, without another stop. */
static void flood(void)
{
	for (int i = 0; i < 20000; i++)
		visit_n(i);
}

/* More files than are swept at once of a program that stops, in turn. */
static void again(void)
{
	enum { MANY = 1000, ROUNDS = 12 };
	char path[4200];
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "%s/a%d", folder, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0 || close(fd) < 0)
			fail(path);
	}
	for (int i = 0; i < MANY * ROUNDS; i++) {
		snprintf(path, sizeof(path), "%s/a%d", folder, i % MANY);
		visit(path);
	}
}

/* Holds what it writes while it reads, as a compiler does; and reads others when it has closed that. */
static void holds(void)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s/out", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	for (int i = 0; i < FILES - 50; i++)
		visit_n(i);
	if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) < 0)
		fail(path);
	usleep(50000);
	snprintf(path, sizeof(path), "%s/stop", folder); /* here the recorder sees what the clock of file times shows */
	if (mkdir(path, 0755) < 0)
		fail(path);
	for (int i = FILES - 50; i < FILES; i++)
		visit_n(i);
}

static void killed(void)
{
	for (int i = 0; i < FILES; i++)
		visit_n(i);
	raise(SIGKILL);
}

static void relative_killed(void)
{
	char name[32];
	if (chdir(folder) < 0)
		fail("chdir");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), i % 2 ? "f%d" : "./sub/../f%d", i);
		visit(name);
	}
	raise(SIGKILL);
}

/* The same name is another file after each chdir. */
static void moves(void)
{
	char path[4200];
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof(path), "%s/sub%d", folder, i % 4);
		if (chdir(path) < 0)
			fail("chdir");
		for (int k = 0; k < 5; k++)
			visit("same");
		if (i % 7 == 0) {
			int fd = open(folder, O_RDONLY | O_DIRECTORY);
			if (fd < 0 || fchdir(fd) < 0)
				fail("fchdir");
			close(fd);
			visit("f3");
		}
	}
}

static void forks(void)
{
	for (int i = 0; i < 100; i++)
		visit_n(i);
	for (int c = 0; c < 12; c++) {
		pid_t pid = c % 3 == 2 ? vfork() : fork();
		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			visit_n(100 + c);
			if (c % 3 == 0)
				for (int k = 0; k < 30; k++)
					visit_n(200 + 10 * c + k);
			_exit(0);
		}
		visit_n(c);
		if (c % 3 != 1 && waitpid(pid, NULL, 0) != pid)
			fail("waitpid");
		visit_n(c + 40);
	}
	while (wait(NULL) > 0)
		visit_n(399);
}

/* A spawned child opens a file before it is another program, in memory that is its parent's. */
static void spawns(void)
{
	char path[4200], name[] = "true", *argv[] = {name, NULL};
	for (int i = 0; i < 50; i++)
		visit_n(i);
	for (int c = 0; c < 20; c++) {
		posix_spawn_file_actions_t a;
		pid_t pid;
		snprintf(path, sizeof(path), "%s/f%d", folder, 300 + c);
		posix_spawn_file_actions_init(&a);
		posix_spawn_file_actions_addopen(&a, 0, path, O_RDONLY, 0);
		if (posix_spawn(&pid, "/bin/true", &a, NULL, argv, environ))
			fail("posix_spawn");
		posix_spawn_file_actions_destroy(&a);
		struct stat st;
		stat(path, &st);
		dprintf(9, "%d %llu %s\n", (int)pid, (unsigned long long)st.st_ino, path);
		visit_n(60 + c);
		waitpid(pid, NULL, 0);
		visit_n(100 + c);
	}
}

static void *visitor(void *arg)
{
	for (int i = 0; i < 150; i++)
		visit_n(*(int *)arg + i);
	return NULL;
}

static void threads(void)
{
	pthread_t t[2];
	int from[2] = {100, 250};
	for (int i = 0; i < 100; i++)
		visit_n(i);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			if (pthread_create(&t[i], NULL, visitor, &from[i]))
				fail("pthread_create");
		for (int i = 0; i < 50; i++)
			visit_n(i);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		for (int i = 50; i < 100; i++)
			visit_n(i);
	}
}

static volatile int handled;

static void handler(int sig)
{
	int e = errno;
	(void)sig;
	visit_absent("handled", handled++);
	errno = e;
}

static void signals(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 200}, {0, 200}};
	sigaction(SIGALRM, &sa, NULL);
	for (int i = 0; i < 100; i++)
		visit_n(i);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; handled < 500 && i < 200000; i++)
		visit_n(i % 200);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

/* What it writes comes from what it had read by then. */
static void writes(void)
{
	char path[4200];
	for (int i = 0; i < 100; i++)
		visit_n(i);
	for (int i = 0; i < 20; i++) {
		visit_n(100 + i);
		snprintf(path, sizeof(path), "%s/out%d", folder, i);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || write(fd, "x", 1) != 1)
			fail(path);
		close(fd);
	}
}

/* Results that show: errno, the lowest number, a path that cannot be read, one at the end of its page. */
static void results(void)
{
	char path[4200], *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 50; i++)
		visit_n(i);
	int lowest = dup(0);
	close(lowest);
	if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE) < 0)
		fail("mmap");
	snprintf(path, sizeof(path), "%s/f7", folder);
	size_t n = strlen(path) + 1;
	memcpy(page + 4096 - n, path, n);
	for (int i = 0; i < 50; i++) {
		visit(page + 4096 - n);
		int fd = open(path, O_RDONLY);
		if (fd != lowest)
			fail("not the lowest number");
		close(fd);
		if (open((char *)8, O_RDONLY) >= 0 || errno != EFAULT)
			fail("EFAULT");
		if (open(page + 4096, O_RDONLY) >= 0 || errno != EFAULT)
			fail("EFAULT on a page");
		memset(page, 'a', 4096);
		if (open(page + 96, O_RDONLY) >= 0 || errno != EFAULT)
			fail("EFAULT beyond a page");
		memcpy(page + 4096 - n, path, n);
		memset(path + n - 1, 'a', sizeof(path) - n);
		path[sizeof(path) - 1] = 0;
		if (open(path, O_RDONLY) >= 0 || errno != ENAMETOOLONG)
			fail("ENAMETOOLONG");
		snprintf(path, sizeof(path), "%s/f7", folder);
		if (open("", O_RDONLY) >= 0 || errno != ENOENT)
			fail("ENOENT of nothing");
		char below[4300];
		snprintf(below, sizeof(below), "%s/below", path);
		if (open(below, O_RDONLY) >= 0 || errno != ENOTDIR)
			fail("ENOTDIR");
	}
	struct rlimit rl, few;
	getrlimit(RLIMIT_NOFILE, &rl);
	few = rl;
	few.rlim_cur = (rlim_t)lowest;
	setrlimit(RLIMIT_NOFILE, &few);
	if (open(path, O_RDONLY) >= 0 || errno != EMFILE)
		fail("EMFILE");
	setrlimit(RLIMIT_NOFILE, &rl);
}

/* cur is another file every time, put in place by a rename while another process opens it. */
static void renames(void)
{
	char cur[4200], next[4200];
	snprintf(cur, sizeof(cur), "%s/cur", folder);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 300; i++) {
			snprintf(next, sizeof(next), "%s/next%d", folder, i);
			int fd = open(next, O_WRONLY | O_CREAT, 0644);
			if (fd < 0 || write(fd, next, 10) != 10)
				fail(next);
			close(fd);
			if (rename(next, cur) < 0)
				fail("rename");
		}
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0)
		for (int i = 0; i < 20; i++)
			visit(cur);
	visit(cur);
}

/* One that waits in an open while names change. */
static void waits(void)
{
	char fifo[4200], path[4200], other[4200];
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	if (mkfifo(fifo, 0600) < 0)
		fail("mkfifo");
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 20; i++)
			visit_n(i);
		for (int i = 0; i < 5; i++)
			visit(fifo);
		_exit(0);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		usleep(5000);
		for (int k = 0; k < 10; k++) {
			snprintf(path, sizeof(path), "%s/f%d", folder, 100 + k);
			snprintf(other, sizeof(other), "%s/g%d", folder, 100 + k);
			if (rename(path, other) < 0 || rename(other, path) < 0)
				fail("rename");
		}
		int fd = open(fifo, O_WRONLY | O_NONBLOCK);
		usleep(1000);
		if (fd >= 0)
			close(fd);
	}
}

/* Links to what the process has: looked at later than they were opened. */
static void links(void)
{
	char target[64], path[4200];
	for (int i = 0; i < 60; i++)
		visit_n(i);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/f%d", folder, 200 + i);
		int fd = open(path, O_PATH);
		snprintf(target, sizeof(target), i % 2 ? "/dev/fd/%d" : "/proc/self/fd/%d", fd);
		snprintf(path, sizeof(path), "%s/l%d", folder, i);
		if (fd < 0 || symlink(target, path) < 0)
			fail(path);
		visit(path);
		visit_n(i);
	}
}

/* Others than the run give the working directory another name, and its name to another one: who calls does when there
 * is FOLDER/ready, and makes FOLDER/go. */
static void moved(void)
{
	char path[4200], name[32];
	snprintf(path, sizeof(path), "%s/sub0", folder);
	if (chdir(path) < 0)
		fail("chdir");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		int fd = open(name, O_WRONLY | O_CREAT, 0644);
		if (fd < 0)
			fail(name);
		close(fd);
	}
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < FILES; i++) {
			snprintf(name, sizeof(name), "s%d", i);
			visit(name);
		}
		snprintf(path, sizeof(path), "%s/ready", folder);
		if (!round && mkdir(path, 0755) < 0)
			fail(path);
		snprintf(path, sizeof(path), "%s/go", folder);
		for (int ms = 0; access(path, F_OK) < 0; ms += 10) {
			if (ms > 10000)
				fail(path);
			usleep(10000);
		}
	}
}

static void only_interrupts(int sig)
{
	(void)sig;
	handled++;
}

/* An open that waits is interrupted by a handler without SA_RESTART. */
static void interrupted(void)
{
	char fifo[4200];
	struct sigaction sa = {.sa_handler = only_interrupts};
	struct itimerval soon = {{0, 0}, {0, 20000}};
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	if (mkfifo(fifo, 0600) < 0 || sigaction(SIGALRM, &sa, NULL) < 0)
		fail("mkfifo");
	for (int i = 0; i < 400; i++)
		visit_n(i);
	for (int i = 0; i < 5; i++) {
		setitimer(ITIMER_REAL, &soon, NULL);
		if (open(fifo, O_RDONLY) >= 0 || errno != EINTR || handled != i + 1)
			fail("EINTR");
		visit_n(i);
	}
}

/* After computing, as most programs do: the flags of that stay what they are. */
static void computes(void)
{
	volatile double third = 3;
	feclearexcept(FE_ALL_EXCEPT);
	third = 1 / third;
	for (int i = 0; i < 10000; i++)
		visit_n(i % 400);
	if (fetestexcept(FE_ALL_EXCEPT) != FE_INEXACT)
		fail("the flags of floating point");
}

/* The only thread there is is to be cancelled, and is, where it opens the next file: nothing is opened then. */
static void cancelled(void)
{
	char path[4200];
	for (int i = 0; i < FILES; i++)
		visit_n(i);
	snprintf(path, sizeof(path), "%s/f0", folder);
	pthread_cancel(pthread_self());
	int fd = open(path, O_RDONLY);
	(void)fd;
	_exit(1);
}

/* Forbids itself the call by which the C library does not open; musl opens by open, glibc by openat. */
static void forbid(bool old)
{
#if defined(__GLIBC__) && defined(SYS_open)
	enum { NOT_USED = SYS_open };
#else
	enum { NOT_USED = SYS_openat };
#endif
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NOT_USED, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	for (int i = 0; i < FILES / 2; i++)
		visit_n(i);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    (old ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
	         : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) < 0)
		fail("seccomp");
	for (int i = FILES / 2; i < FILES; i++) {
		visit_n(i);
		if (i == FILES / 2 + 100 && fork() == 0) { /* and so it is with its children */
			for (i = 0; i < FILES / 2; i++) {
				visit_n(i);
				if (errno == EPERM)
					fail("an open after the filter");
			}
			_exit(0);
		}
		if (errno == EPERM)
			fail("an open after the filter");
	}
	int status;
	if (wait(&status) < 0 || status)
		fail("the child");
}

static void forbids(void)
{
	forbid(false);
}

static void forbids_by_prctl(void)
{
	forbid(true);
}

/* A wild pointer, or worse: the log is anything. What is opened is opened. */
static void garbles(void)
{
	unsigned char *logs = (unsigned char *)0x2f7374652000, in[8];
	for (int i = 0; i < 200; i++)
		visit_n(i);
	int null[2], ok = pipe(null) == 0 ? (int)write(null[1], logs, 1) : -1; /* is it there? */
	srand(7);
	for (int round = 0; ok == 1 && round < 50; round++) {
		for (int i = 0; i < 20; i++)
			logs[(unsigned)rand() % (round % 2 ? 64 : 4096)] = (unsigned char)rand();
		visit_n(round);
		int fd = open("/dev/zero", O_RDONLY);
		if (fd < 0 || read(fd, in, sizeof(in)) != sizeof(in))
			fail("/dev/zero");
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
	    {"many", many},         {"flood", flood},         {"killed", killed},         {"relative", relative_killed},
	    {"moves", moves},       {"forks", forks},         {"spawns", spawns},         {"threads", threads},
	    {"signals", signals},   {"writes", writes},       {"results", results},       {"renames", renames},
	    {"waits", waits},       {"cancelled", cancelled}, {"garbles", garbles},       {"interrupted", interrupted},
	    {"computes", computes}, {"links", links},         {"moved", moved},           {"again", again},
	    {"holds", holds},       {"forbids", forbids},     {"prctl", forbids_by_prctl}};
	if (argc != 3) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			puts(cases[i].name);
		return argc != 1;
	}
	folder = argv[2];
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			return 0;
		}
	return 2;
}
