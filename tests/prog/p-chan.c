/* p-chan.c - channels between processes: pipes, FIFOs, sockets, shared memory, terminals. */
#include "truth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The parent says that data went from process a to process b through a channel of this kind. */
static void flow(pid_t a, const char *kind, pid_t b)
{
	truth_of(a, "flow", kind, num(b));
}

static void join(pid_t a, pid_t b)
{
	check(await(a) == 0);
	check(await(b) == 0);
}

CASE(c_pipe)
{
	int p[2];
	must(pipe(p));
	pid_t w = spawn();
	if (w == 0) {
		close(p[0]);
		put(p[1], "x");
		leave(0);
	}
	pid_t r = spawn();
	if (r == 0) {
		close(p[1]);
		check(get(p[0]) == 1);
		leave(0);
	}
	close(p[0]);
	close(p[1]);
	join(w, r);
	flow(w, "pipe", r);
	truth_of(r, "no-flow", "pipe", num(w));
}

CASE(c_end)
{
	/* argv: "r" or "w", or both, and the descriptor */
	int fd = atoi(argv[0] + 1);
	if (argv[0][0] == 'w')
		put(fd, "x");
	else
		check(get(fd) == 1);
}

/* As a shell does it: the ends become the standard streams of two programs. */
CASE(c_pipe_exec)
{
	int p[2];
	must(pipe2(p, O_CLOEXEC));
	pid_t w = spawn();
	if (w == 0) {
		must(dup2(p[1], 20));
		become("+end", "w20");
	}
	pid_t r = spawn();
	if (r == 0) {
		must(dup2(p[0], 21));
		become("+end", "r21");
	}
	close(p[0]);
	close(p[1]);
	join(w, r);
	flow(w, "pipe", r);
	truth_of(r, "no-flow", "pipe", num(w));
}

CASE(c_fifo)
{
	must(mkfifo(in_dir("fifo"), 0600));
	pid_t w = spawn();
	if (w == 0) {
		int fd = (int)must(open(in_dir("fifo"), O_WRONLY)); /* waits for the reader */
		put(fd, "x");
		leave(0);
	}
	pid_t r = spawn();
	if (r == 0) {
		usleep(50000);
		int fd = (int)must(open(in_dir("fifo"), O_RDONLY));
		check(get(fd) == 1);
		leave(0);
	}
	join(w, r);
	flow(w, "fifo", r);
	truth_of(r, "no-flow", "fifo", num(w));
}

/* Each closes its side before it is stopped again: that they met is sure all the same. */
CASE(c_fifo_closed)
{
	must(mkfifo(in_dir("fifo"), 0600));
	pid_t r = spawn();
	if (r == 0) {
		usleep(30000);
		int fd = (int)must(open(in_dir("fifo"), O_RDONLY));
		check(get(fd) == 1 && get(fd) == 0);
		close(fd);
		truth("read", in_dir("fifo"));
		leave(0);
	}
	int fd = (int)must(open(in_dir("fifo"), O_WRONLY)); /* waits for the reader */
	put(fd, "x");
	close(fd);
	check(await(r) == 0);
	flow(getpid(), "fifo", r);
}

/* The shell's way: the descriptor is a program's by the time that it is looked at. */
CASE(c_fifo_exec)
{
	must(mkfifo(in_dir("fifo"), 0600));
	pid_t w = spawn();
	if (w == 0) {
		must(dup2((int)must(open(in_dir("fifo"), O_WRONLY)), 20));
		become("+end", "w20");
	}
	pid_t r = spawn();
	if (r == 0) {
		must(dup2((int)must(open(in_dir("fifo"), O_RDONLY)), 21));
		become("+end", "r21");
	}
	join(w, r);
	flow(w, "fifo", r);
}

/* A signal comes while the opening waits. */
static void on_alarm(int sig)
{
	(void)sig;
}

/* Nobody came: whether the signal ended the call or the process, nothing was opened. */
CASE(c_fifo_in_vain)
{
	must(mkfifo(in_dir("fifo"), 0600));
	struct sigaction sa = {.sa_handler = on_alarm};
	must(sigaction(SIGALRM, &sa, NULL));
	for (int mode = O_RDONLY; mode <= O_WRONLY; mode++) {
		ualarm(50000, 0);
		check(open(in_dir("fifo"), mode) < 0 && errno == EINTR);
	}
	pid_t pid = spawn();
	if (pid == 0) {
		must(open(in_dir("fifo"), O_RDONLY));
		leave(1);
	}
	usleep(100000);
	must(kill(pid, SIGTERM));
	check(WIFSIGNALED(await(pid)));
	truth_of(pid, "not-read", in_dir("fifo"));
	truth_of(pid, "maybe-read", in_dir("fifo"));
	truth("not-read", in_dir("fifo"));
	truth("maybe-read", in_dir("fifo"));
	truth("maybe-write", in_dir("fifo"));
	truth("not-written", in_dir("fifo"));
}

CASE(c_fifo_interrupted)
{
	must(mkfifo(in_dir("fifo"), 0600));
	struct sigaction sa = {.sa_handler = on_alarm};
	must(sigaction(SIGALRM, &sa, NULL));
	alarm(1);
	check(open(in_dir("fifo"), O_RDONLY) < 0 && errno == EINTR);
	/* With SA_RESTART the call goes on, and succeeds when the writer comes. */
	sa.sa_flags = SA_RESTART;
	must(sigaction(SIGALRM, &sa, NULL));
	pid_t w = spawn();
	if (w == 0) {
		usleep(300000);
		int fd = (int)must(open(in_dir("fifo"), O_WRONLY));
		put(fd, "x");
		leave(0);
	}
	ualarm(50000, 0);
	int fd = (int)must(open(in_dir("fifo"), O_RDONLY));
	check(get(fd) == 1);
	check(await(w) == 0);
	flow(w, "fifo", getpid());
}

CASE(c_fifo_nonblock)
{
	must(mkfifo(in_dir("fifo"), 0600));
	check(open(in_dir("fifo"), O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO);
	int r = (int)must(open(in_dir("fifo"), O_RDONLY | O_NONBLOCK));
	int w = (int)must(open(in_dir("fifo"), O_WRONLY));
	put(w, "x");
	check(get(r) == 1);
}

CASE(c_socketpair)
{
	int s[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid_t a = spawn();
	if (a == 0) {
		close(s[0]);
		put(s[1], "x");
		check(get(s[1]) == 1);
		leave(0);
	}
	pid_t b = spawn();
	if (b == 0) {
		close(s[1]);
		check(get(s[0]) == 1);
		put(s[0], "y");
		leave(0);
	}
	close(s[0]);
	close(s[1]);
	join(a, b);
	flow(a, "socket", b);
	flow(b, "socket", a);
}

/* ---- addresses ------------------------------------------------------------------------------------------------- */

/* One process binds and answers, the other connects and asks. */
static void server_client(int family, int type, const struct sockaddr *addr, socklen_t len)
{
	int ready[2];
	must(pipe(ready));
	pid_t server = spawn();
	if (server == 0) {
		int s = (int)must(socket(family, type, 0));
		int on = 1;
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		must(bind(s, addr, len));
		struct sockaddr_storage got = {0};
		socklen_t got_len = sizeof(got);
		must(getsockname(s, (struct sockaddr *)&got, &got_len));
		if (type == SOCK_STREAM)
			must(listen(s, 5));
		check(write(ready[1], &got_len, sizeof(got_len)) > 0 && write(ready[1], &got, sizeof(got)) > 0);
		if (type == SOCK_STREAM) {
			int c = (int)must(accept(s, NULL, NULL));
			check(get(c) == 1);
			put(c, "answer");
		} else {
			check(get(s) == 1);
		}
		leave(0);
	}
	pid_t client = spawn();
	if (client == 0) {
		struct sockaddr_storage got;
		socklen_t got_len;
		check(read(ready[0], &got_len, sizeof(got_len)) > 0 && read(ready[0], &got, sizeof(got)) > 0);
		int s = (int)must(socket(family, type, 0));
		must(connect(s, (struct sockaddr *)&got, got_len));
		put(s, "q");
		if (type == SOCK_STREAM)
			check(get(s) == 6);
		leave(0);
	}
	join(client, server);
	flow(client, "socket", server);
	if (type == SOCK_STREAM)
		flow(server, "socket", client);
}

static void unix_address(struct sockaddr_un *a, const char *name)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	/* A relative name: the directory may be deeper than an address is long. */
	must(chdir(dir));
	strcpy(a->sun_path, name);
}

CASE(c_unix_stream)
{
	struct sockaddr_un a;
	unix_address(&a, "sock");
	server_client(AF_UNIX, SOCK_STREAM, (struct sockaddr *)&a, sizeof(a));
}

CASE(c_unix_datagram)
{
	struct sockaddr_un a;
	unix_address(&a, "sock");
	server_client(AF_UNIX, SOCK_DGRAM, (struct sockaddr *)&a, sizeof(a));
}

CASE(c_unix_abstract)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "stemma-test-%d", getpid());
	server_client(AF_UNIX, SOCK_STREAM, (struct sockaddr *)&a,
	              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
}

CASE(c_tcp)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	server_client(AF_INET, SOCK_STREAM, (struct sockaddr *)&a, sizeof(a));
}

CASE(c_tcp6)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int s = socket(AF_INET6, SOCK_STREAM, 0);
	if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) < 0)
		skip("no IPv6 here");
	server_client(AF_INET6, SOCK_STREAM, (struct sockaddr *)&a, sizeof(a));
}

CASE(c_udp)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	server_client(AF_INET, SOCK_DGRAM, (struct sockaddr *)&a, sizeof(a));
}

CASE(c_refused)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int s = (int)must(socket(AF_INET, SOCK_STREAM, 0));
	must(bind(s, (struct sockaddr *)&a, sizeof(a)));
	socklen_t n = sizeof(a);
	must(getsockname(s, (struct sockaddr *)&a, &n));
	int c = (int)must(socket(AF_INET, SOCK_STREAM, 0));
	check(connect(c, (struct sockaddr *)&a, n) < 0 && errno == ECONNREFUSED);
	struct sockaddr_un u;
	unix_address(&u, "none");
	c = (int)must(socket(AF_UNIX, SOCK_STREAM, 0));
	check(connect(c, (struct sockaddr *)&u, sizeof(u)) < 0 && errno == ENOENT);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

CASE(c_sysv)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	if (id < 0)
		skip("no System V shared memory here");
	pid_t w = spawn();
	if (w == 0) {
		char *p = shmat(id, NULL, 0);
		check(p != (char *)-1);
		p[0] = 'x';
		leave(0);
	}
	check(await(w) == 0);
	pid_t r = spawn();
	if (r == 0) {
		const char *p = shmat(id, NULL, SHM_RDONLY);
		check(p != (char *)-1 && p[0] == 'x');
		leave(0);
	}
	check(await(r) == 0);
	must(shmctl(id, IPC_RMID, NULL));
	flow(w, "shm", r);
}

CASE(c_posix_shm)
{
	char name[64] = "/dev/shm/stemma-test-";
	strcat(name, num(getpid()));
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		skip("no /dev/shm here");
	truth_fd("create", name, fd);
	truth_fd("write", name, fd);
	must(ftruncate(fd, 4096));
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(p != MAP_FAILED);
	truth_fd("mapped", name, fd);
	p[0] = 'x';
	pid_t r = spawn();
	if (r == 0) {
		int in = (int)must(open(name, O_RDONLY));
		check(get(in) > 0);
		truth_fd("read", name, in);
		leave(0);
	}
	check(await(r) == 0);
	must(unlink(name));
	truth("unlink", name);
}

CASE(c_memfd)
{
	int m = (int)must(memfd_create("between", 0));
	pid_t w = spawn();
	if (w == 0) {
		put(m, "x");
		leave(0);
	}
	check(await(w) == 0);
	pid_t r = spawn();
	if (r == 0) {
		check(pread(m, (char[1]){0}, 1, 0) == 1);
		leave(0);
	}
	check(await(r) == 0);
	flow(w, "shm", r);
}

/* ---- terminals and the rest ------------------------------------------------------------------------------------ */

/* Terminals give no edges; what runs on one works. */
CASE(c_pty)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY);
	if (m < 0 || grantpt(m) < 0 || unlockpt(m) < 0)
		skip("no pseudo-terminals here");
	char slave[64];
	check(ptsname_r(m, slave, sizeof(slave)) == 0);
	pid_t w = spawn();
	if (w == 0) {
		int s = (int)must(open(slave, O_RDWR | O_NOCTTY));
		put(s, "line\n");
		usleep(50000);
		leave(0);
	}
	check(get(m) > 0);
	check(await(w) == 0);
}

/* Coordination only: nothing may break, and no file comes of it. */
CASE(c_eventfd)
{
	int e = (int)must(eventfd(0, 0));
	pid_t w = spawn();
	if (w == 0) {
		must(eventfd_write(e, 1));
		leave(0);
	}
	eventfd_t v;
	must(eventfd_read(e, &v));
	check(await(w) == 0);
}

const struct tcase cases[] = {
    {"pipe", c_pipe},
    {"pipe-exec", c_pipe_exec},
    {"fifo", c_fifo},
    {"fifo-closed", c_fifo_closed},
    {"fifo-exec", c_fifo_exec},
    {"fifo-in-vain", c_fifo_in_vain},
    {"fifo-interrupted", c_fifo_interrupted},
    {"fifo-nonblock", c_fifo_nonblock},
    {"socketpair", c_socketpair},
    {"unix-stream", c_unix_stream},
    {"unix-datagram", c_unix_datagram},
    {"unix-abstract", c_unix_abstract},
    {"tcp", c_tcp},
    {"tcp6", c_tcp6},
    {"udp", c_udp},
    {"refused", c_refused},
    {"sysv", c_sysv},
    {"posix-shm", c_posix_shm},
    {"memfd", c_memfd},
    {"pty", c_pty},
    {"eventfd", c_eventfd},
    {"+end", c_end},
    {0},
};
