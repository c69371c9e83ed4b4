/* p-io CASE: moves bytes in one way and says on descriptor 9, a line a file: CASE PATH READ WRITTEN, "?" where no call
 * can tell. The figures are the sums of what the calls returned to this program. Stands in an empty folder. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
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
	char rt[24], wt[24];
	snprintf(rt, sizeof(rt), r < 0 ? "?" : "%ld", r);
	snprintf(wt, sizeof(wt), w < 0 ? "?" : "%ld", w);
	dprintf(9, "%s %s %s %s\n", name, path, rt, wt);
}

static int make(const char *path, size_t n)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) < 0)
		die(path);
	return fd;
}

static void plain(void)
{
	int a = make("in", 12345), b = open("out", O_WRONLY | O_CREAT, 0644);
	long r = 0, w = 0;
	ssize_t n;
	while ((n = read(a, data, 1000)) > 0) {
		r += n;
		w = sum(w, write(b, data, (size_t)n), "write");
	}
	(void)!read(-1, data, 1);
	(void)!write(a, NULL, 0);
	tell("in", r, 12345);
	tell("out", 0, w);
}

static void placed(void)
{
	int a = make("in", 5000), b = open("out", O_WRONLY | O_CREAT, 0644);
	struct iovec v[2] = {{data, 10}, {data + 10, 300}};
	long r = 0, w = 0;
	r = sum(r, pread(a, data, 100, 4950), "pread"); /* 50 */
	r = sum(r, readv(a, v, 2), "readv");
	r = sum(r, preadv(a, v, 2, 20), "preadv");
	r = sum(r, syscall(SYS_preadv2, a, v, 2L, 30L, 0L, 0L), "preadv2");
	w = sum(w, pwrite(b, data, 77, 5), "pwrite");
	w = sum(w, writev(b, v, 2), "writev");
	w = sum(w, pwritev(b, v, 2, 20), "pwritev");
	w = sum(w, syscall(SYS_pwritev2, b, v, 2L, 30L, 0L, 0L), "pwritev2");
	tell("in", r, 5000);
	tell("out", 0, w);
}

static void kernel(void)
{
	int a = make("in", 30000), b = open("out", O_WRONLY | O_CREAT, 0644), p[2], q[2];
	long r = 0, w = 0, n;
	off_t at = 0;
	if (pipe(p) < 0 || pipe(q) < 0)
		die("pipe");
	n = sum(0, sendfile(b, a, &at, 7000), "sendfile");
	r += n, w += n;
	n = sum(0, copy_file_range(a, NULL, b, NULL, 5000, 0), "copy_file_range");
	r += n, w += n;
	n = sum(0, splice(a, NULL, p[1], NULL, 3000, 0), "splice");
	r += n;
	n = sum(0, tee(p[0], q[1], 3000, 0), "tee");
	w = sum(w, splice(p[0], NULL, b, NULL, 3000, 0), "splice");
	w = sum(w, splice(q[0], NULL, b, NULL, 2000, 0), "splice");
	tell("in", r, 30000);
	tell("out", 0, w);
}

static void clone_range(void)
{
	int a = make("in", 65536), b = open("out", O_RDWR | O_CREAT, 0644);
	struct file_clone_range range = {.src_fd = a};
	int whole = ioctl(b, FICLONE, a), part = ioctl(b, FICLONERANGE, &range);
	long n = (whole == 0 ? 65536 : 0) + (part == 0 ? 65536 : 0);
	tell("in", n, 65536);
	tell("out", 0, n);
}

static void copies(void)
{
	int a = make("in", 9000), b = dup(a), c = fcntl(a, F_DUPFD, 200); /* a number that no other call names */
	long r = 0;
	r = sum(r, read(a, data, 1000), "read");
	r = sum(r, read(b, data, 1000), "read");
	r = sum(r, read(c, data, 1000), "read");
	close(a);
	int d = open("other", O_WRONLY | O_CREAT, 0644); /* takes a's number */
	long w = sum(0, write(d, data, 123), "write");
	dup2(d, b);
	w = sum(w, write(b, data, 77), "write");
	tell("in", r, 9000);
	tell("other", 0, w);
}

static void *thread(void *arg)
{
	long *n = arg;
	int fd = open("in", O_RDONLY);
	for (int i = 0; i < 50; i++)
		*n = sum(*n, pread(fd, (char[64]){0}, 64, 64L * i), "pread");
	close(fd);
	return NULL;
}

static void threads(void)
{
	pthread_t t[4];
	long n[4] = {0}, all = 0;
	close(make("in", 10000));
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, &n[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		all += n[i];
	}
	tell("in", all, 10000);
}

static void mapped(void)
{
	int a = make("in", 8192), b = make("out", 8192);
	char *m = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, a, 0);
	char *o = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
	if (m == MAP_FAILED || o == MAP_FAILED)
		die("mmap");
	memcpy(o, m, 8192);
	tell("in", -1, 8192);
	tell("out", -1, -1);
}

static int talk(int sock, int fd)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	char c = 'x';
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	if (fd >= 0) {
		u.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
		return sendmsg(sock, &m, 0) == 1 ? 0 : -1;
	}
	if (recvmsg(sock, &m, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* The parent opens, the child reads. */
static void passed(void)
{
	int s[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		die("socketpair");
	pid_t pid = fork();
	if (pid == 0) {
		int fd = talk(s[0], -1);
		name = "passed-child";
		long r = sum(0, read(fd, data, 4321), "read");
		tell("in", r, 0);
		_exit(0);
	}
	int fd = make("in", 6000);
	if (talk(s[1], fd) < 0)
		die("sendmsg");
	waitpid(pid, NULL, 0);
	tell("in", 0, 6000);
}

static void inherited(void)
{
	int fd = make("in", 6000);
	pid_t pid = fork();
	if (pid == 0) {
		name = "inherited-child";
		long r = sum(0, read(fd, data, 1000), "read");
		tell("in", r, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	long r = sum(0, read(fd, data, 100), "read");
	tell("in", r, 6000);
}

/* Before any other call of its own. */
static void standard_input(void)
{
	long r = 0;
	ssize_t n;
	while ((n = read(0, data, 1000)) > 0)
		r += n;
	tell("given", r, 0);
}

static void raw(void)
{
	int fd = make("in", 6000);
	long r = sum(0, syscall(SYS_read, fd, data, 500), "read");
	tell("in", r, 6000);
}

static void socket_pair(void)
{
	int s[2];
	struct iovec v[3] = {{data, 100}, {data, 20}, {data, 3}};
	struct mmsghdr m[3];
	memset(m, 0, sizeof(m));
	for (int i = 0; i < 3; i++)
		m[i].msg_hdr = (struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1};
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) < 0)
		die("socketpair");
	int fd = make("in", 10);
	close(fd);
	long w = 0, r = 0;
	w = sum(w, send(s[0], data, 40, 0), "send");
	if (sendmmsg(s[0], m, 3, 0) != 3)
		die("sendmmsg");
	r = sum(r, recv(s[1], data, 1000, 0), "recv");
	if (recvmmsg(s[1], m, 3, 0, NULL) != 3)
		die("recvmmsg");
	tell("in", 0, 10);
	(void)r, (void)w;
}

static void killed(void)
{
	int fd = make("in", 6000);
	long r = sum(0, read(fd, data, 2000), "read");
	tell("in", r, 6000);
	kill(getpid(), SIGKILL);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A read that a signal interrupts and that is made again. */
static void interrupted(void)
{
	int p[2];
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &act, NULL);
	if (pipe(p) < 0)
		die("pipe");
	int fd = make("in", 6000);
	pid_t pid = fork();
	if (pid == 0) {
		usleep(300000);
		(void)!write(p[1], data, 10);
		_exit(0);
	}
	ualarm(50000, 50000);
	long n = read(p[0], data, 100);
	ualarm(0, 0);
	if (n != 10)
		die("read");
	waitpid(pid, NULL, 0);
	long r = sum(0, read(fd, data, 10), "read");
	tell("in", r, 6000);
}

/* ---- many opens ---- */

#define MANY 20
static long given[MANY], taken[MANY];

static const char *nth(int i)
{
	static char path[16];
	snprintf(path, sizeof(path), "f%d", i);
	return path;
}

static void make_many(void)
{
	for (int i = 0; i < MANY; i++) {
		given[i] = 37L * i + 1;
		int fd = open(nth(i), O_WRONLY | O_CREAT, 0644);
		if (fd < 0 || write(fd, data, (size_t)given[i]) != given[i] || close(fd) < 0)
			die(nth(i));
	}
}

static void tell_many(int made)
{
	for (int i = 0; i < MANY; i++)
		tell(nth(i), taken[i], made ? given[i] : 0);
}

/* Some are read through a copy, some much later, some not at all, some were never there. */
static void visit_many(int n)
{
	int kept[8], of[8];
	memset(kept, -1, sizeof(kept));
	for (int i = 0; i < n; i++) {
		int k = i * 7 % MANY, fd = open(nth(k), O_RDONLY | (i % 2 ? O_CLOEXEC : 0));
		if (fd < 0)
			die(nth(k));
		if (i % 5 == 0 && (open("absent", O_RDONLY) >= 0 || errno != ENOENT))
			die("absent");
		if (i % 6 == 1) {
			int copy = dup(fd);
			taken[k] = sum(taken[k], read(fd, data, 3), "read");
			close(fd);
			fd = copy;
		}
		if (i % 9 == 2) {
			if (kept[i % 8] >= 0) {
				taken[of[i % 8]] = sum(taken[of[i % 8]], pread(kept[i % 8], data, 11, 0), "pread");
				close(kept[i % 8]);
			}
			kept[i % 8] = fd;
			of[i % 8] = k;
			continue;
		}
		if (i % 4)
			taken[k] = sum(taken[k], read(fd, data, (size_t)i % 50), "read");
		close(fd);
	}
	for (int i = 0; i < 8; i++)
		if (kept[i] >= 0)
			taken[of[i]] = sum(taken[of[i]], read(kept[i], data, 5), "read");
}

static void many(void)
{
	make_many();
	visit_many(3000);
	tell_many(1);
}

static void many_killed(void)
{
	make_many();
	visit_many(3000);
	tell_many(1);
	raise(SIGKILL);
}

static void many_forked(void)
{
	make_many();
	visit_many(300);
	pid_t pid = fork();
	if (pid == 0) {
		name = "many-forked-child";
		memset(taken, 0, sizeof(taken));
		visit_many(900);
		tell_many(0);
		_exit(0);
	}
	visit_many(700);
	waitpid(pid, NULL, 0);
	tell_many(1);
}

/* A handler opens and reads in the middle of everything. */
static volatile long by_handler;

static void on_timer(int sig)
{
	char room[20];
	int e = errno, fd = open("f3", O_RDONLY);
	(void)sig;
	ssize_t n = fd < 0 ? -1 : read(fd, room, sizeof(room));
	if (n > 0)
		by_handler += n;
	if (fd >= 0)
		close(fd);
	errno = e;
}

static void many_handled(void)
{
	struct sigaction act = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	make_many();
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	visit_many(3000);
	setitimer(ITIMER_REAL, &never, NULL);
	taken[3] += by_handler;
	tell_many(1);
}

static long long clock_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Files that are open all the time: when the first and the last byte of each is moved. PATH FROM TO, in ns. */
static void moments(void)
{
	int b = open("given", O_RDONLY), o = open("out", O_WRONLY | O_CREAT, 0644), t;
	long long at[6], cut;
	at[0] = clock_now();
	if (write(o, data, 10) != 10)
		die("out");
	at[1] = clock_now();
	t = open("cut", O_WRONLY | O_CREAT, 0644);
	cut = clock_now();
	if (t < 0 || write(t, data, 10) != 10)
		die("cut");
	usleep(300000);
	at[2] = clock_now();
	if (read(b, data, 100) != 100)
		die("given");
	at[3] = clock_now();
	usleep(100000);
	at[4] = clock_now();
	if (ftruncate(t, 5) < 0)
		die("cut");
	at[5] = clock_now();
	usleep(300000);
	dprintf(9, "out %lld %lld\ngiven %lld %lld\ncut %lld %lld\n", at[0], at[1], at[2], at[3], cut, at[5]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"plain", plain},
	             {"placed", placed},
	             {"kernel", kernel},
	             {"clone", clone_range},
	             {"copies", copies},
	             {"threads", threads},
	             {"mapped", mapped},
	             {"passed", passed},
	             {"inherited", inherited},
	             {"raw", raw},
	             {"stdin", standard_input},
	             {"sockets", socket_pair},
	             {"killed", killed},
	             {"interrupted", interrupted},
	             {"many", many},
	             {"+many-killed", many_killed},
	             {"+moments", moments},
	             {"many-forked", many_forked},
	             {"many-handled", many_handled}};
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			name = argv[1];
			cases[i].run();
			return 0;
		}
	for (size_t i = 0; argc == 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (cases[i].name[0] != '+')
			puts(cases[i].name);
	return argc > 1;
}
