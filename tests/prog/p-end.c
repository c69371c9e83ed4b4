/* p-end.c - every way to end, and what runs on after it. */
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void no_core(void)
{
	struct rlimit none = {0, 0};
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 1);
}

CASE(c_status)
{
	leave(atoi(argv[0]));
}

/* Dies of the signal, as a whole program run by itself. */
CASE(c_signal)
{
	int sig = atoi(argv[0]);
	no_core();
	make_file(in_dir("out"));
	truth("signal", num(sig));
	signal(sig, SIG_DFL);
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), sig);
	for (;;)
		pause();
}

CASE(c_statuses)
{
	for (int i = 0; i < 256; i++) {
		pid_t pid = spawn();
		if (pid == 0)
			leave(i);
		int s = await(pid);
		check(WIFEXITED(s) && WEXITSTATUS(s) == i);
	}
}

CASE(c_signals)
{
	no_core();
	for (int sig = 1; sig <= 64; sig++) {
		/* Those that do not end a process, and the two that the C library keeps for itself. */
		if (sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH || sig == SIGSTOP || sig == SIGTSTP ||
		    sig == SIGTTIN || sig == SIGTTOU || sig == 32 || sig == 33)
			continue;
		pid_t pid = spawn();
		if (pid == 0) {
			/* A child that never makes a call of interest and is killed may stay unknown. */
			must(open(in_dir("in"), O_RDONLY));
			truth("read", in_dir("in"));
			signal(sig, SIG_DFL);
			truth("signal", num(sig));
			kill(getpid(), sig);
			for (;;)
				pause();
		}
		int s = await(pid);
		check(WIFSIGNALED(s) && WTERMSIG(s) == sig);
	}
}

CASE(c_segv)
{
	no_core();
	make_file(in_dir("out"));
	truth("signal", num(SIGSEGV));
	*(volatile int *)8 = 1;
}

CASE(c_abort)
{
	no_core();
	truth("signal", num(SIGABRT));
	abort();
}

/* Killed right after the call that mattered. */
CASE(c_kill_after_open)
{
	int fd = (int)must(open(in_dir("out"), O_WRONLY | O_CREAT, 0644));
	truth_fd("create", in_dir("out"), fd);
	truth_fd("write", in_dir("out"), fd);
	truth("signal", "9");
	truth("maybe-read", in_dir("in"));
	fd = open(in_dir("in"), O_RDONLY);
	kill(getpid(), SIGKILL);
}

/* The last call of the process is the open itself: its result is settled by nothing that follows. */
CASE(c_exit_after_open)
{
	pid_t pid = spawn();
	if (pid == 0) {
		truth("read", in_dir("in"));
		truth("exit", "0");
		if (open(in_dir("in"), O_RDONLY) >= 0)
			_exit(0);
		_exit(99);
	}
	check(await(pid) == 0);
	pid = spawn();
	if (pid == 0) {
		truth("absent", in_dir("none"));
		truth("exit", "0");
		if (open(in_dir("none"), O_RDONLY) < 0)
			_exit(0);
		_exit(99);
	}
	check(await(pid) == 0);
}

static void *end_thread(void *arg)
{
	(void)arg;
	usleep(30000);
	make_file(in_dir("out"));
	truth("exit", "0");
	return NULL;
}

/* The first thread ends first; the last one ends the process. */
CASE(c_last_thread)
{
	pthread_t t;
	check(pthread_create(&t, NULL, end_thread, NULL) == 0);
	pthread_exit(NULL);
}

static void *group_thread(void *arg)
{
	(void)arg;
	make_file(in_dir("out"));
	leave(9);
}

CASE(c_exit_in_thread)
{
	pthread_t t;
	check(pthread_create(&t, NULL, group_thread, NULL) == 0);
	pthread_join(t, NULL);
}

/* The first thread is gone; another one opens files and becomes a program. */
static void *exec_thread(void *arg)
{
	(void)arg;
	usleep(30000);
	make_file(in_dir("before"));
	become("+made", "after");
}

CASE(c_made)
{
	make_file(in_dir(argv[0]));
}

CASE(c_exec_without_first)
{
	pthread_t t;
	check(pthread_create(&t, NULL, exec_thread, NULL) == 0);
	syscall(SYS_exit, 0);
}

CASE(c_kill_child)
{
	int p[2];
	must(pipe(p));
	pid_t pid = spawn();
	if (pid == 0) {
		make_file(in_dir("out"));
		put(p[1], "x");
		for (;;)
			pause();
	}
	get(p[0]);
	truth_of(pid, "signal", "9");
	must(kill(pid, SIGKILL));
	await(pid);
}

/* Killed by its own child, or by one that it does not know. */
CASE(c_killed_by_child)
{
	make_file(in_dir("out"));
	truth("signal", "9");
	/* The child may be met only when its parent has gone. */
	truth("allow-gap", "parent_unseen");
	pid_t me = getpid(), pid = (pid_t)must(fork());
	if (pid == 0) {
		kill(me, SIGKILL);
		leave(0);
	}
	for (;;)
		pause();
}

CASE(c_pdeathsig)
{
	int p[2];
	must(pipe(p));
	pid_t pid = spawn();
	if (pid == 0) {
		pid_t two = spawn();
		if (two == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			truth("signal", "9");
			put(p[1], "x");
			for (;;)
				pause();
		}
		get(p[0]);
		leave(0);
	}
	close(p[1]);
	await(pid);
	char c;
	while (read(p[0], &c, 1) > 0)
		;
}

/* Waits until the process is on its way out: it has no memory any more, and still its descriptors. */
static void wait_for_ending(pid_t pid)
{
	char name[64], text[4096];
	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	for (;;) {
		int fd = open(name, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || !strstr(text, "VmSize"))
			return;
	}
}

/* Sends the descriptor over the socket; takes one, the descriptor that it is now. */
static void hand_over(int sock, int fd)
{
	char byte = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec one = {&byte, 1};
	struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	must(sendmsg(sock, &m, 0));
}

static int take_over(int sock)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec one = {&byte, 1};
	struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	must(recvmsg(sock, &m, 0));
	int fd = -1;
	check(CMSG_FIRSTHDR(&m) != NULL);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* A process ends, for as long as it takes to give back its memory. Meanwhile its child, which has been given a pipe of
 * its parent's, becomes cat. filled: nobody has that pipe open to write any more. */
static void exec_while_parent_ends(bool filled)
{
	const size_t size = (size_t)512 << 20;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t pid = spawn();
	if (pid == 0) {
		int p[2], sock[2];
		char *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		check(room != MAP_FAILED);
		must(madvise(room, size, MADV_DONTFORK));
		must(madvise(room, size, MADV_NOHUGEPAGE));
		memset(room, 1, size);
		must(socketpair(AF_UNIX, SOCK_DGRAM, 0, sock));
		pid_t me = getpid(), two = spawn();
		if (two == 0) {
			close(sock[1]);
			wait_for_ending(me);
			must(dup2(take_over(sock[0]), 0));
			execl("/bin/cat", "cat", (char *)NULL);
			must(-1);
		}
		must(pipe(p));
		put(p[1], "word\n");
		hand_over(sock[1], p[0]);
		if (filled) {
			close(p[0]);
			close(p[1]);
		}
		truth_of(me, "flow", "pipe", num(two)); /* or a link */
		leave(0);
	}
	check(await(pid) == 0);
	while (wait(NULL) > 0)
		;
}

CASE(c_exec_while_parent_ends)
{
	exec_while_parent_ends(false);
}

CASE(c_filled_while_parent_ends)
{
	exec_while_parent_ends(true);
}

/* ---- those that outlive their parent --------------------------------------------------------------------------- */

/* Goes to the background as daemons do, and writes a file when the command has long ended. */
CASE(c_daemon)
{
	pid_t pid = spawn();
	if (pid == 0) {
		must(setsid());
		pid_t two = spawn();
		if (two)
			leave(0);
		int null = (int)must(open("/dev/null", O_RDWR));
		for (int i = 0; i < 3; i++)
			must(dup2(null, i));
		must(chdir("/"));
		usleep(400 * 1000);
		int fd = (int)must(open(in_dir("in"), O_RDONLY));
		truth_fd("read", in_dir("in"), fd);
		make_file(in_dir("out"));
		pid_t three = spawn();
		if (three == 0)
			become("+made", "out2");
		check(await(three) == 0);
		truth("done");
		leave(6);
	}
	check(await(pid) == 0);
}

const struct tcase cases[] = {
    {"+status", c_status},
    {"+signal", c_signal},
    {"statuses", c_statuses},
    {"signals", c_signals},
    {"segv", c_segv},
    {"abort", c_abort},
    {"kill-after-open", c_kill_after_open},
    {"exit-after-open", c_exit_after_open},
    {"last-thread", c_last_thread},
    {"exit-in-thread", c_exit_in_thread},
    {"exec-without-first", c_exec_without_first},
    {"kill-child", c_kill_child},
    {"killed-by-child", c_killed_by_child},
    {"pdeathsig", c_pdeathsig},
    {"exec-while-parent-ends", c_exec_while_parent_ends},
    {"filled-while-parent-ends", c_filled_while_parent_ends},
    {"+daemon", c_daemon},
    {"+made", c_made},
    {0},
};
