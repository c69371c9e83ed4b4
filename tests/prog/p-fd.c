/* p-fd.c - descriptors that reach their user by another way than open: dup, fork, exec, sockets. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static int create(const char *name)
{
	int fd = (int)must(open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
	truth_fd("create", in_dir(name), fd);
	truth_fd("write", in_dir(name), fd);
	return fd;
}

CASE(c_dup)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY));
	int two = (int)must(dup(fd));
	close(fd);
	put(two, "a");
	int three = (int)must(dup2(two, 50));
	close(two);
	put(three, "b");
	int four = (int)must(fcntl(three, F_DUPFD, 100));
	close(three);
	put(four, "c");
	int five = (int)must(fcntl(four, F_DUPFD_CLOEXEC, 200));
	close(four);
	put(five, "d");
	int six = (int)must(dup3(five, 7, O_CLOEXEC));
	close(five);
	put(six, "e");
	truth_fd("write", in_dir("in"), six);
}

/* Written only through a copy, after the number it was opened under went to another file. */
CASE(c_dup_reused)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY));
	int copy = (int)must(dup(fd));
	close(fd);
	check(open(in_dir("in2"), O_RDONLY) == fd);
	get(fd);
	truth_fd("read", in_dir("in2"), fd);
	put(copy, "late");
	truth_fd("write", in_dir("in"), copy);
	truth("not-written", in_dir("in2"));
}

CASE(c_fork_child_writes)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY | O_APPEND));
	pid_t pid = spawn();
	if (pid == 0) {
		put(fd, "from the child\n");
		truth_fd("may-write", in_dir("in"), fd);
		leave(0);
	}
	check(await(pid) == 0);
	truth_fd("may-write", in_dir("in"), fd);
}

/* exec: `+writer FD` of the same program, which writes to a number it was only told. */
static void start(const char *what, int fd)
{
	must(fcntl(fd, F_SETFD, 0));
	pid_t pid = (pid_t)must(fork());
	if (pid == 0)
		become(what, num(fd));
	check(await(pid) == 0);
	/* Only now: whoever holds the descriptor as well and writes meanwhile, to any file, may be this one's writer. */
	truth("fork", num(pid));
}

static const char *name_of(int fd)
{
	static char path[4097];
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = must(readlink(link, path, sizeof(path) - 1));
	path[n] = 0;
	return path;
}

CASE(c_writer)
{
	int fd = atoi(argv[0]);
	put(fd, "written\n");
	truth_fd("write", name_of(fd), fd);
}

CASE(c_idler)
{
	int fd = atoi(argv[0]);
	check(fcntl(fd, F_GETFD) >= 0);
	truth("no-write", name_of(fd));
}

CASE(c_reader)
{
	int fd = atoi(argv[0]);
	get(fd);
	truth_fd("may-read", name_of(fd), fd);
	truth("no-write", name_of(fd));
}

CASE(c_closed)
{
	int fd = atoi(argv[0]);
	check(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
	truth("no-access", in_dir("out"));
}

CASE(c_exec_writes)
{
	int fd = create("out");
	start("+writer", fd);
	truth("not-read", in_dir("out"));
}

/* Inherited, held, never used: the commonest descriptor of all. */
CASE(c_exec_idles)
{
	start("+idler", (int)must(open(in_dir("in"), O_WRONLY | O_APPEND)));
	truth("no-write", in_dir("in"));
}

CASE(c_exec_reads)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	truth_fd("read", in_dir("in"), fd);
	start("+reader", fd);
}

CASE(c_cloexec)
{
	int fd = create("out");
	pid_t pid = spawn();
	if (pid == 0)
		become("+closed", num(fd));
	check(await(pid) == 0);
}

/* The writer is two execs away; those between only hold the descriptor. */
CASE(c_hand_on)
{
	int fd = atoi(argv[0]);
	truth("not-written", name_of(fd));
	become("+writer", argv[0]);
}

CASE(c_exec_twice)
{
	start("+hand-on", create("out"));
}

/* Two children take turns on one descriptor, as in { a; b; } > y. */
CASE(c_turns)
{
	int fd = (int)must(open(in_dir("in"), O_WRONLY | O_APPEND));
	truth_fd("may-write", in_dir("in"), fd);
	start("+writer", fd);
	/* File times have the grain of the kernel's tick: a write of the same tick leaves none. */
	usleep(30000);
	start("+idler", fd);
	start("+writer", fd);
}

/* ---- passed through a socket ----------------------------------------------------------------------------------- */

static void send_fd(int s, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	must(sendmsg(s, &m, 0));
}

static int receive_fd(int s)
{
	char control[CMSG_SPACE(sizeof(int))] = {0}, byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	must(recvmsg(s, &m, 0));
	int fd;
	check(CMSG_FIRSTHDR(&m) != NULL);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static void passed(const char *file, int flags, bool sender_stays)
{
	int s[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid_t receiver = spawn();
	if (receiver == 0) {
		close(s[0]);
		int fd = receive_fd(s[1]);
		if (!sender_stays)
			usleep(100 * 1000); /* the sender has gone by now */
		if (flags == O_RDONLY) {
			get(fd);
			truth_fd("may-read", in_dir(file), fd);
		} else {
			put(fd, "passed\n");
			truth_fd("may-write", in_dir(file), fd);
		}
		leave(0);
	}
	close(s[1]);
	pid_t sender = spawn();
	if (sender == 0) {
		int fd = (int)must(open(in_dir(file), flags, 0644));
		if (flags == O_RDONLY)
			truth_fd("read", in_dir(file), fd);
		else
			truth_fd("may-write", in_dir(file), fd);
		if (flags & O_CREAT)
			truth_fd("create", in_dir(file), fd);
		send_fd(s[0], fd);
		close(fd);
		if (sender_stays)
			get(s[0]); /* until the receiver has ended */
		leave(0);
	}
	close(s[0]);
	check(await(receiver) == 0);
	check(await(sender) == 0);
}

CASE(c_passed_write)
{
	passed("out", O_WRONLY | O_CREAT, true);
}

CASE(c_passed_read)
{
	passed("in", O_RDONLY, true);
}

CASE(c_passed_sender_gone)
{
	passed("out", O_WRONLY | O_CREAT, false);
}

CASE(c_passed_existing)
{
	passed("in", O_WRONLY, true);
}

CASE(c_getfd)
{
	int up[2];
	must(pipe(up));
	pid_t pid = spawn();
	if (pid == 0) {
		int fd = create("out");
		char byte = (char)fd;
		check(write(up[1], &byte, 1) == 1);
		for (;;)
			pause();
	}
	char byte;
	check(read(up[0], &byte, 1) == 1);
	int p = (int)syscall(SYS_pidfd_open, pid, 0);
	int fd = p < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, p, byte, 0);
	int e = errno;
	if (fd >= 0) {
		put(fd, "taken\n");
		truth_fd("may-write", in_dir("out"), fd);
	}
	must(kill(pid, SIGKILL));
	await(pid);
	truth_of(pid, "signal", "9");
	if (fd < 0 && (e == EPERM || e == ENOSYS))
		skip("pidfd_getfd is not allowed");
	check(fd >= 0);
}

/* ---- the same numbers, and other files behind them ------------------------------------------------------------- */

/* Children of one parent that begin and end with the same numbers; the last has put another file in the place of one of
 * them by a call that opens nothing. */
static void swapped(const char *how)
{
	int s[2], fd = (int)must(open(in_dir("in"), O_RDONLY | O_CLOEXEC));
	truth_fd("read", in_dir("in"), fd);
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s));
	send_fd(s[0], fd);
	for (int i = 0; i < 3; i++)
		start(i < 2 ? "+as-it-was" : how, s[1]);
}

CASE(c_as_it_was)
{
	check(fcntl(atoi(argv[0]), F_GETFD) >= 0);
	truth("no-access", in_dir("in"));
}

static void put_in_place(int fd, int number)
{
	check(dup2(fd, number) == number);
	close(fd);
	get(number);
	truth_fd("may-read", in_dir("in"), number);
}

CASE(c_takes)
{
	int number = atoi(argv[0]);
	put_in_place(receive_fd(number), number);
}

/* Into the table that it shares. */
static int take_for_both(void *arg)
{
	int number = *(int *)arg, fd = receive_fd(number);
	check(dup2(fd, number) == number);
	close(fd);
	return 0;
}

CASE(c_is_given)
{
	static char stack[65536] __attribute__((aligned(16)));
	int number = atoi(argv[0]);
	pid_t pid = (pid_t)must(clone(take_for_both, stack + sizeof(stack), CLONE_FILES | SIGCHLD, &number));
	check(await(pid) == 0);
	get(number);
	truth_fd("may-read", in_dir("in"), number);
}

/* A pipe of its own in the place of what it was given, with the file in it. */
CASE(c_takes_twice)
{
	int number = atoi(argv[0]), fd = receive_fd(number), two[2];
	must(pipe(two));
	check(dup2(two[0], number) == number);
	close(two[0]);
	close(two[1]);
	check(dup2(fd, 0) == 0);
	close(fd);
	get(0);
	truth_fd("may-read", in_dir("in"), 0);
}

CASE(c_swapped)
{
	swapped("+takes");
}

CASE(c_swapped_shared)
{
	swapped("+is-given");
}

CASE(c_swapped_pipe)
{
	swapped("+takes-twice");
}

/* ---- while another thread changes the table --------------------------------------------------------------------- */

enum { GIVEN = 20, OTHER = 21, ROUNDS = 100 };

static void *open_and_close(void *arg __attribute__((unused)))
{
	for (;;) {
		dup2(0, OTHER);
		close(OTHER);
	}
	return NULL;
}

/* Reads and closes what it was given, so that nothing shows it at the end; and whatever the other thread left. */
CASE(c_reads_and_closes)
{
	get(GIVEN);
	truth_fd("may-read", in_dir("in"), GIVEN);
	close(GIVEN);
	close(OTHER);
}

CASE(c_has_other)
{
	check(fcntl(GIVEN, F_GETFD) < 0);
	truth("no-access", in_dir("in"));
}

/* Children of one parent, in turn with one number, and with another while the first comes and goes. */
CASE(c_swapped_racing)
{
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	truth_fd("read", in_dir("in"), fd);
	check(dup2(fd, GIVEN) == GIVEN);
	close(fd);
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = (pid_t)must(fork());
		if (pid == 0) {
			pthread_t t;
			if (i % 2 == 0) {
				close(GIVEN);
				check(dup2(0, OTHER) == OTHER);
				become("+has-other", "");
			}
			check(pthread_create(&t, NULL, open_and_close, NULL) == 0);
			usleep(1000);
			become("+reads-and-closes", "");
		}
		check(await(pid) == 0);
		truth("fork", num(pid));
	}
}

const struct tcase cases[] = {
    {"dup", c_dup},
    {"dup-reused", c_dup_reused},
    {"fork-child-writes", c_fork_child_writes},
    {"exec-writes", c_exec_writes},
    {"exec-idles", c_exec_idles},
    {"exec-reads", c_exec_reads},
    {"cloexec", c_cloexec},
    {"exec-twice", c_exec_twice},
    {"turns", c_turns},
    {"passed-write", c_passed_write},
    {"passed-read", c_passed_read},
    {"passed-sender-gone", c_passed_sender_gone},
    {"passed-existing", c_passed_existing},
    {"getfd", c_getfd},
    {"swapped", c_swapped},
    {"swapped-shared", c_swapped_shared},
    {"swapped-pipe", c_swapped_pipe},
    {"swapped-racing", c_swapped_racing},
    {"+has-other", c_has_other},
    {"+reads-and-closes", c_reads_and_closes},
    {"+as-it-was", c_as_it_was},
    {"+takes", c_takes},
    {"+is-given", c_is_given},
    {"+takes-twice", c_takes_twice},
    {"+writer", c_writer},
    {"+idler", c_idler},
    {"+reader", c_reader},
    {"+closed", c_closed},
    {"+hand-on", c_hand_on},
    {0},
};
