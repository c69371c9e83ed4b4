/* p-beside CASE: moves bytes through files while other things happen beside it: libraries that are loaded, pipes and
 * sockets of its own, calls by syscall(). Says on descriptor 9, a line a file: CASE PATH READ WRITTEN, the sums of what
 * the calls returned. Stands in an empty folder. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name;
static char data[100000];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static long sum(long sofar, ssize_t n, const char *what)
{
	if (n < 0)
		die(what);
	return sofar + n;
}

static void tell(const char *path, long r, long w)
{
	dprintf(9, "%s %s %ld %ld\n", name, path, r, w);
}

static int make(const char *path, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) < 0)
		die(path);
	return fd;
}

static int fresh(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

/* ---- libraries ---- */

/* Every system has these, and the program is linked with none of them. */
static const char *const libraries[] = {"libm.so.6", "libresolv.so.2", "libanl.so.1", "libutil.so.1"};

static void load(unsigned i, int flags)
{
	void *l = dlopen(libraries[i % 4], flags);
	if (!l) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	if (i % 2)
		dlclose(l);
}

static void loaded(void)
{
	int a = make("in", 12345), b = fresh("out");
	long r = sum(0, read(a, data, 5000), "read"), w = 0;
	for (unsigned i = 0; i < 8; i++) {
		load(i, RTLD_NOW | RTLD_LOCAL);
		w = sum(w, write(b, data, 100 + i), "write");
	}
	r = sum(r, read(a, data, 100000), "read");
	if (dlopen("libabsent.so.1", RTLD_NOW))
		die("libabsent.so.1");
	int c = open("out", O_RDONLY);
	long back = sum(0, read(c, data, 300), "read");
	tell("in", r, 12345);
	tell("out", back, w);
}

/* With a C library of its own. */
static void elsewhere(void)
{
	int a = make("in", 3000);
	if (!dlmopen(LM_ID_NEWLM, libraries[0], RTLD_NOW))
		die(libraries[0]);
	tell("in", sum(0, read(a, data, 2000), "read"), 3000);
}

static volatile int over;

static void *loader(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 40; i++)
		load(i, RTLD_NOW | RTLD_LOCAL);
	over = 1;
	return NULL;
}

static void *worker(void *arg)
{
	long *n = arg;
	char room[64], path[16];
	snprintf(path, sizeof(path), "in%ld", n[0]);
	n[0] = 0;
	do {
		int fd = open(path, O_RDONLY);
		for (int i = 0; i < 20; i++)
			n[0] = sum(n[0], pread(fd, room, sizeof(room), 64L * i), "pread");
		close(fd);
	} while (!over);
	return NULL;
}

static void crowd(void)
{
	pthread_t t[3];
	long n[2] = {0, 1};
	for (int i = 0; i < 2; i++) {
		int fd = fresh(i ? "in1" : "in0");
		if (write(fd, data, 10000) != 10000)
			die("write");
		close(fd);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, i < 2 ? worker : loader, i < 2 ? &n[i] : NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	tell("in0", n[0], 10000);
	tell("in1", n[1], 10000);
}

/* Only after the fork. */
static void child(void)
{
	int a = make("in", 6000), status;
	pid_t pid = fork();
	if (pid == 0) {
		name = "child-child";
		load(0, RTLD_NOW);
		int b = fresh("out");
		long w = sum(0, write(b, data, 777), "write");
		load(1, RTLD_NOW);
		tell("out", 0, w);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
	load(2, RTLD_NOW);
	tell("in", sum(0, read(a, data, 1000), "read"), 6000);
}

/* ---- threads that stay, and a child ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int idle;

static void *stays(void *arg)
{
	long *n = arg;
	int fd = open("in", O_RDONLY);
	*n = sum(0, read(fd, (char[300]){0}, 300), "read");
	close(fd);
	pthread_mutex_lock(&lock);
	idle++;
	pthread_cond_broadcast(&change);
	while (idle >= 0)
		pthread_cond_wait(&change, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void pool(void)
{
	pthread_t t[3];
	long n[3], r = 0;
	int a = fresh("in"), status;
	if (write(a, data, 5000) != 5000)
		die("write");
	close(a);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, stays, &n[i]);
	pthread_mutex_lock(&lock);
	while (idle < 3)
		pthread_cond_wait(&change, &lock);
	pthread_mutex_unlock(&lock);
	pid_t pid = fork();
	if (pid == 0) {
		int b = open("in", O_RDONLY);
		_exit(read(b, data, 1234) != 1234);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
	a = open("in", O_RDONLY);
	for (int i = 0; i < 3; i++)
		r += n[i];
	r = sum(r, read(a, data, 77), "read");
	int b = fresh("out");
	long w = sum(0, write(b, data, 4444), "write");
	name = "pool-child";
	tell("in", 1234, 0);
	name = "pool";
	tell("in", r, 5000);
	tell("out", 0, w);
}

/* ---- descriptors of no file ---- */

/* A child's bytes come by a pipe that the program makes and closes itself; its numbers become files. */
static void piped(void)
{
	long w = 0, r = 0;
	for (int i = 0; i < 3; i++) {
		int p[2], status;
		if (i == 1 ? pipe2(p, O_CLOEXEC) : pipe(p))
			die("pipe");
		pid_t pid = fork();
		if (pid == 0) {
			(void)!write(p[1], data, 5000);
			_exit(0);
		}
		close(p[1]);
		int b = open("out", O_WRONLY | O_CREAT | O_APPEND, 0644);
		for (ssize_t n; (n = read(p[0], data, 700)) > 0;)
			w = sum(w, write(b, data, (size_t)n), "write");
		close(p[0]);
		if (waitpid(pid, &status, 0) != pid || status)
			die("child");
		close(b);
		int a = make("in", 300);
		r = sum(r, read(a, data, 200), "read");
		close(a);
	}
	tell("in", r, 900);
	tell("out", 0, w);
}

static void called(void)
{
	char line[100];
	long n = 0;
	FILE *f = popen("seq 1000", "r");
	while (f && fgets(line, sizeof(line), f))
		n += (long)strlen(line);
	if (!f || pclose(f) != 0)
		die("popen");
	int b = fresh("out");
	long w = sum(0, write(b, data, (size_t)n), "write");
	tell("out", 0, w);
}

/* Whatever goes to and from these is no file's. */
static void sockets(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(at);
	int s[2], a = make("in", 4000), b = fresh("out"), e = eventfd(0, 0);
	long r = 0, w = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0 || e < 0)
		die("socketpair");
	if (write(s[0], data, 1000) != 1000 || read(s[1], data, 600) != 600 || send(s[0], data, 10, 0) != 10)
		die("socketpair");
	if (write(e, data, 8) != 8)
		die("eventfd");
	close(s[0]);
	close(s[1]);
	close(e);
	int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
	if (l < 0 || bind(l, (void *)&at, n) < 0 || listen(l, 1) < 0 || getsockname(l, (void *)&at, &n) < 0 ||
	    connect(c, (void *)&at, n) < 0)
		die("listen");
	int d = accept(l, NULL, NULL);
	if (d < 0 || write(c, data, 3000) != 3000)
		die("accept");
	for (long left = 3000; left > 0;) {
		ssize_t got = read(d, data, (size_t)left);
		left -= sum(0, got, "read");
		w = sum(w, write(b, data, (size_t)got), "write");
	}
	close(l);
	close(c);
	close(d);
	r = sum(r, read(a, data, 3500), "read");
	tell("in", r, 4000);
	tell("out", 0, w);
}

/* Copies that fcntl makes. */
static void copies(void)
{
	int a = make("in", 9000), b = fcntl(a, F_DUPFD, 50), c = fcntl(a, F_DUPFD_CLOEXEC, 3);
	long r = sum(0, read(b, data, 1000), "read");
	close(b);
	r = sum(r, read(c, data, 500), "read");
	close(c);
	close(a);
	int d = fresh("out");
	b = fcntl(d, F_DUPFD, 50);
	long w = sum(0, write(b, data, 123), "write");
	close(b);
	tell("in", r, 9000);
	tell("out", 0, w);
}

/* ---- syscall() ---- */

static void raw(void)
{
	int a = make("in", 6000), p[2];
	long r = sum(0, syscall(SYS_read, a, data, 500L), "read");
	r = sum(r, syscall(SYS_pread64, a, data, 70L, 100L), "pread");
	int c = (int)syscall(SYS_dup, a);
	r = sum(r, syscall(SYS_read, c, data, 30L), "read");
	syscall(SYS_close, a);
	int d = (int)syscall(SYS_openat, AT_FDCWD, "out", O_WRONLY | O_CREAT, 0644); /* takes a's number */
	long w = sum(0, write(d, data, 111), "write");
	if (syscall(SYS_dup3, d, c, 0L) != c)
		die("dup3");
	w = sum(w, syscall(SYS_write, c, data, 222L), "write");
	int e = (int)syscall(SYS_fcntl, d, F_DUPFD_CLOEXEC, 40L);
	w = sum(w, write(e, data, 5), "write");
	syscall(SYS_close, e);
	if (syscall(SYS_pipe2, p, 0L) < 0 || write(p[1], data, 100) != 100 || read(p[0], data, 100) != 100)
		die("pipe2");
	syscall(SYS_close, p[0]);
	close(p[1]);
	errno = 0;
	if (syscall(SYS_read, -1, data, 1L) != -1 || errno != EBADF || syscall(SYS_getpid) != getpid() ||
	    syscall(SYS_close, 99) != -1)
		die("syscall");
	tell("in", r, 6000);
	tell("out", 0, w);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"loaded", loaded}, {"elsewhere", elsewhere}, {"crowd", crowd},     {"child", child},   {"pool", pool},
	             {"piped", piped},   {"called", called},       {"sockets", sockets}, {"copies", copies}, {"raw", raw}};
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			name = argv[1];
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		puts(cases[i].name);
	return argc > 1;
}
