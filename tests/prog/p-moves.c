/* p-moves CASE: moves bytes between files, pipes, sockets and a terminal, by every call that can, and says on
 * descriptor 9, a line each: CASE NAME READ WRITTEN. The name is the path, what /proc/self/fd says of a pipe, a socket
 * or a terminal, or inet:ADDRESS:PORT; of two ends both names, parted by |. The figures are the sums of what the calls
 * returned to this process; CASE-child is said by a child. mapped-bytes NAME N: the length of mappings. Stands in an
 * empty folder. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { THINGS = 32 };
static const char *name;
static char data[100000];
/* By descriptor. */
static long taken[THINGS], given[THINGS];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static ssize_t moved(ssize_t n, int from, int to, const char *what)
{
	if (n < 0)
		die(what);
	if (from >= 0)
		taken[from] += n;
	if (to >= 0)
		given[to] += n;
	return n;
}

static void say(const char *what, int fd)
{
	dprintf(9, "%s %s %ld %ld\n", name, what, taken[fd], given[fd]);
	taken[fd] = given[fd] = 0;
}

static void name_of(int fd, char what[300])
{
	char link[32];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, what, 299);
	if (n < 0)
		die(link);
	what[n] = '\0';
}

static void tell(int fd)
{
	char what[300];
	name_of(fd, what);
	say(what, fd);
}

/* Two ends that are connected are one thing. */
static void tell_both(int a, int b)
{
	char what[601];
	name_of(a, what);
	strcat(what, "|");
	name_of(b, what + strlen(what));
	taken[a] += taken[b];
	given[a] += given[b];
	say(what, a);
}

static int file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static int filled(const char *path, size_t n)
{
	int fd = file(path);
	moved(write(fd, data, n), -1, fd, path);
	if (lseek(fd, 0, SEEK_SET) < 0)
		die(path);
	return fd;
}

static void two(int fd[2], int (*make)(int fd[2]))
{
	if (make(fd) < 0)
		die("pipe or socketpair");
}

static int stream(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM, 0, fd);
}

static int datagrams(int fd[2])
{
	return socketpair(AF_UNIX, SOCK_DGRAM, 0, fd);
}

/* ---- sockets ---- */

/* Each call that can send, and each that can receive: to and fro between two ends. */
static void talk(int a, int b)
{
	struct iovec v[3] = {{data, 100}, {data, 20}, {data, 3}};
	struct mmsghdr m[3];
	struct msghdr one = {.msg_iov = v, .msg_iovlen = 2};
	memset(m, 0, sizeof(m));
	for (int i = 0; i < 3; i++)
		m[i].msg_hdr = (struct msghdr){.msg_iov = &v[i], .msg_iovlen = 1};
	moved(write(a, data, 11), -1, a, "write");
	moved(read(b, data, 11), b, -1, "read");
	moved(writev(a, v, 2), -1, a, "writev");
	moved(readv(b, v, 2), b, -1, "readv");
	moved(send(a, data, 40, 0), -1, a, "send");
	moved(recv(b, data, 10, MSG_PEEK), b, -1, "recv"); /* and received again */
	moved(recv(b, data, 40, 0), b, -1, "recv");
	moved(sendmsg(a, &one, 0), -1, a, "sendmsg");
	moved(recvmsg(b, &one, 0), b, -1, "recvmsg");
	if (sendmmsg(a, m, 3, 0) != 3)
		die("sendmmsg");
	moved(123, -1, a, "sendmmsg");
	int got = recvmmsg(b, m, 3, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		moved(m[i].msg_len, b, -1, "recvmmsg");
}

static void pairs(void)
{
	int s[2], d[2];
	two(s, stream);
	two(d, datagrams);
	talk(s[0], s[1]);
	talk(s[1], s[0]);
	talk(d[0], d[1]);
	tell_both(s[0], s[1]);
	tell_both(d[0], d[1]);
}

/* One connection, two processes. */
static void tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(at);
	char address[64];
	int l = socket(AF_INET, SOCK_STREAM, 0), status;
	if (l < 0 || bind(l, (void *)&at, n) < 0 || listen(l, 1) < 0 || getsockname(l, (void *)&at, &n) < 0)
		die("listen");
	snprintf(address, sizeof(address), "inet:127.0.0.1:%u", ntohs(at.sin_port));
	pid_t pid = fork();
	if (pid == 0) {
		name = "tcp-child";
		close(l);
		int c = socket(AF_INET, SOCK_STREAM, 0);
		if (c < 0 || connect(c, (void *)&at, n) < 0)
			die("connect");
		for (int i = 0; i < 20; i++)
			moved(send(c, data, 1000, 0), -1, c, "send");
		shutdown(c, SHUT_WR);
		while (moved(recv(c, data, 777, 0), c, -1, "recv") > 0)
			;
		say(address, c);
		exit(0);
	}
	int c = accept(l, NULL, NULL);
	if (c < 0)
		die("accept");
	while (moved(read(c, data, 555), c, -1, "read") > 0)
		;
	moved(write(c, data, 3000), -1, c, "write");
	close(l);
	shutdown(c, SHUT_WR);
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
	say(address, c);
}

/* The writing end of a pipe goes to the child by a socket. */
static void passed(void)
{
	int s[2], p[2], status;
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	char c = 'x';
	struct iovec v = {&c, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	two(s, stream);
	pid_t pid = fork();
	if (pid == 0) {
		int fd;
		name = "passed-child";
		moved(recvmsg(s[0], &m, 0), s[0], -1, "recvmsg");
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		moved(write(fd, data, 4321), -1, fd, "write");
		tell(fd);
		tell_both(s[0], s[1]);
		exit(0);
	}
	two(p, pipe);
	u.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&u.h), &p[1], sizeof(p[1]));
	moved(sendmsg(s[1], &m, 0), -1, s[1], "sendmsg");
	close(p[1]);
	while (moved(read(p[0], data, 1000), p[0], -1, "read") > 0)
		;
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
	tell(p[0]);
	tell_both(s[0], s[1]);
}

/* ---- the kernel's own copies ---- */

static void sendfiles(void)
{
	int in = filled("in", 30000), out = file("out"), p[2], s[2];
	two(p, pipe);
	two(s, stream);
	moved(sendfile(out, in, NULL, 7000), in, out, "sendfile to a file");
	moved(sendfile(p[1], in, NULL, 3000), in, p[1], "sendfile to a pipe");
	moved(sendfile(s[1], in, NULL, 2000), in, s[1], "sendfile to a socket");
	moved(copy_file_range(in, NULL, out, NULL, 5000, 0), in, out, "copy_file_range");
	given[p[0]] = given[p[1]]; /* both ends are one pipe */
	tell(in);
	tell(out);
	tell(p[0]);
	tell_both(s[0], s[1]);
}

static void splices(void)
{
	int in = filled("in", 30000), out = file("out"), p[2], q[2], s[2];
	two(p, pipe);
	two(q, pipe);
	two(s, stream);
	moved(splice(in, NULL, p[1], NULL, 3000, 0), in, p[1], "splice to a pipe");
	moved(splice(p[0], NULL, out, NULL, 1000, 0), p[0], out, "splice to a file");
	moved(splice(p[0], NULL, s[1], NULL, 500, 0), p[0], s[1], "splice to a socket");
	moved(splice(p[0], NULL, q[1], NULL, 400, 0), p[0], q[1], "splice to another pipe");
	moved(splice(s[0], NULL, q[1], NULL, 500, 0), s[0], q[1], "splice from a socket");
	given[p[0]] = given[p[1]];
	given[q[0]] = given[q[1]];
	tell(in);
	tell(out);
	tell(p[0]);
	tell(q[0]);
	tell_both(s[0], s[1]);
}

static void memory(void)
{
	static char room[8192];
	int out = file("out"), p[2], q[2];
	struct iovec v[2] = {{room, 1000}, {room + 4096, 200}};
	two(p, pipe);
	two(q, pipe);
	moved(vmsplice(p[1], v, 2, 0), -1, p[1], "vmsplice into a pipe");
	moved(tee(p[0], q[1], 700, 0), p[0], q[1], "tee");
	moved(vmsplice(p[0], v, 1, 0), p[0], -1, "vmsplice from a pipe");
	moved(splice(q[0], NULL, out, NULL, 700, 0), q[0], out, "splice");
	given[p[0]] = given[p[1]];
	given[q[0]] = given[q[1]];
	tell(out);
	tell(p[0]);
	tell(q[0]);
}

/* ---- the rest ---- */

static void terminal(void)
{
	struct termios t;
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		die("posix_openpt");
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || tcgetattr(slave, &t) < 0)
		die("pts");
	cfmakeraw(&t);
	tcsetattr(slave, TCSANOW, &t);
	moved(write(slave, data, 300), -1, slave, "write");
	if (write(master, data, 50) != 50)
		die("write");
	moved(read(slave, data, 50), slave, -1, "read");
	tell(slave);
}

static void mapped(void)
{
	int in = filled("in", 20000), out = filled("out", 8192);
	char *a = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE, in, 4096);
	char *b = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
	if (a == MAP_FAILED || b == MAP_FAILED)
		die("mmap");
	memcpy(b, a, 8192);
	dprintf(9, "mapped in ? 20000\nmapped out ? ?\nmapped-bytes in 12288\nmapped-bytes out 8192\n");
}

/* One pipe by several numbers, two processes. */
static void copies(void)
{
	int p[2], status;
	two(p, pipe);
	int a = dup(p[1]), b = fcntl(p[1], F_DUPFD, 20);
	pid_t pid = fork();
	if (pid == 0) {
		name = "copies-child";
		moved(write(a, data, 100), -1, p[1], "write");
		moved(write(b, data, 30), -1, p[1], "write");
		if (dup2(p[1], 25) != 25)
			die("dup2");
		moved(write(25, data, 7), -1, p[1], "write");
		tell(p[1]);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
	moved(write(b, data, 5), -1, p[0], "write");
	moved(read(p[0], data, 1000), p[0], -1, "read");
	tell(p[0]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"pairs", pairs},         {"tcp", tcp},         {"passed", passed},
	             {"sendfiles", sendfiles}, {"splices", splices}, {"memory", memory},
	             {"terminal", terminal},   {"mapped", mapped},   {"copies", copies}};
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
