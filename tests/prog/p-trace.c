/* p-trace.c - programs that do themselves what a recorder does: ptrace, seccomp filters; and what a recorder cannot
 * follow. */
#include "truth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- ptrace ---------------------------------------------------------------------------------------------------- */

CASE(c_work)
{
	make_file(in_dir(argv[0]));
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	truth_fd("read", in_dir("in"), fd);
}

/* Lets the tracee run from call to call until it ends; returns how many stops there were. */
static int follow(pid_t pid, int *ret_status)
{
	int status, stops = 0;
	for (;;) {
		check(waitpid(pid, &status, __WALL) == pid);
		if (!WIFSTOPPED(status))
			break;
		stops++;
		int sig = WSTOPSIG(status);
		must(ptrace(PTRACE_SYSCALL, pid, NULL,
		            (long)(sig == SIGTRAP || sig == (SIGTRAP | 0x80) || sig == SIGSTOP ? 0 : sig)));
	}
	*ret_status = status;
	return stops;
}

CASE(c_ptrace_traceme)
{
	truth("allow-gap", "traced");
	pid_t pid = spawn();
	if (pid == 0) {
		must(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		become("+work", "out");
	}
	int status, stops = follow(pid, &status);
	check(status == 0 && stops > 20);
	make_file(in_dir("after"));
}

CASE(c_ptrace_attach)
{
	truth("allow-gap", "traced");
	int up[2], down[2];
	must(pipe(up));
	must(pipe(down));
	pid_t pid = spawn();
	if (pid == 0) {
		make_file(in_dir("before"));
		put(up[1], "x");
		get(down[0]);
		become("+work", "out");
	}
	get(up[0]);
	must(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	put(down[1], "x");
	int status, stops = follow(pid, &status);
	check(status == 0 && stops > 20);
}

CASE(c_ptrace_seize)
{
	truth("allow-gap", "traced");
	int down[2];
	must(pipe(down));
	pid_t pid = spawn();
	if (pid == 0) {
		get(down[0]);
		become("+work", "out");
	}
	must(ptrace(PTRACE_SEIZE, pid, NULL, (long)PTRACE_O_TRACESYSGOOD));
	put(down[1], "x");
	int status;
	for (;;) {
		check(waitpid(pid, &status, __WALL) == pid);
		if (!WIFSTOPPED(status))
			break;
		must(ptrace(PTRACE_CONT, pid, NULL, 0L));
	}
	check(status == 0);
}

/* Looks into its child's memory and lets it go again. */
CASE(c_ptrace_detach)
{
	truth("allow-gap", "traced");
	static int value = 41;
	int down[2];
	must(pipe(down));
	pid_t pid = spawn();
	if (pid == 0) {
		value = 42;
		get(down[0]);
		become("+work", "out");
	}
	usleep(50000);
	must(ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	int status;
	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	errno = 0;
	long word = ptrace(PTRACE_PEEKDATA, pid, &value, NULL);
	check(errno == 0 && (int)word == 42);
	must(ptrace(PTRACE_DETACH, pid, NULL, NULL));
	put(down[1], "x");
	check(await(pid) == 0);
}

/* ---- filters of its own ---------------------------------------------------------------------------------------- */

static int filter(unsigned flags, int call, uint32_t action)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, action),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(f) / sizeof(f[0]), f};
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

CASE(c_seccomp_errno)
{
	must(filter(0, SYS_renameat2, SECCOMP_RET_ERRNO | EPERM));
	make_file(in_dir("a"));
	check(syscall(SYS_renameat2, AT_FDCWD, in_dir("a"), AT_FDCWD, in_dir("b"), 0) < 0 && errno == EPERM);
	truth("no-name", in_dir("b"));
	/* The calls a recorder stops are refused too. */
	must(filter(0, SYS_openat, SECCOMP_RET_ERRNO | EXDEV));
	check(syscall(SYS_openat, AT_FDCWD, in_dir("in"), O_RDONLY) < 0 && errno == EXDEV);
	truth("no-access", in_dir("in"));
}

CASE(c_seccomp_kill)
{
	pid_t pid = spawn();
	if (pid == 0) {
		make_file(in_dir("a"));
		must(filter(0, SYS_openat, SECCOMP_RET_KILL_PROCESS));
		truth("signal", num(SIGSYS));
		syscall(SYS_openat, AT_FDCWD, in_dir("in"), O_RDONLY);
		_exit(99);
	}
	int status = await(pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	truth("no-access", in_dir("in"));
}

static int trapped;

static void on_sys(int sig)
{
	(void)sig;
	trapped++;
}

CASE(c_seccomp_trap)
{
	signal(SIGSYS, on_sys);
	must(filter(0, SYS_openat, SECCOMP_RET_TRAP));
	syscall(SYS_openat, AT_FDCWD, in_dir("in"), O_RDONLY);
	check(trapped == 1);
	truth("no-access", in_dir("in"));
}

static void *idle(void *arg)
{
	(void)arg;
	usleep(100000);
	check(open(in_dir("in"), O_RDONLY) < 0 && errno == EXDEV);
	return NULL;
}

CASE(c_seccomp_tsync)
{
	pthread_t t;
	check(pthread_create(&t, NULL, idle, NULL) == 0);
	check(filter(SECCOMP_FILTER_FLAG_TSYNC, SYS_openat, SECCOMP_RET_ERRNO | EXDEV) == 0);
	pthread_join(t, NULL);
	truth("no-access", in_dir("in"));
}

/* A supervisor of its own: container managers do this. The kernel takes one listener in a chain of filters, so it is
 * refused or works; it must not hang, and what it says must be no other than the kernel's own answer. */
CASE(c_seccomp_notify)
{
	pid_t pid = spawn();
	if (pid == 0) {
		int l = filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SYS_getppid, SECCOMP_RET_USER_NOTIF);
		if (l < 0)
			leave(errno == EBUSY ? 1 : 99);
		pid_t asker = spawn();
		if (asker == 0)
			leave(syscall(SYS_getppid) == 12345 ? 0 : 98);
		struct seccomp_notif req = {0};
		struct seccomp_notif_resp resp = {0};
		must(ioctl(l, SECCOMP_IOCTL_NOTIF_RECV, &req));
		resp.id = req.id;
		resp.val = 12345;
		must(ioctl(l, SECCOMP_IOCTL_NOTIF_SEND, &resp));
		leave(WEXITSTATUS(await(asker)));
	}
	int status = await(pid);
	check(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	if (WEXITSTATUS(status) == 1)
		truth_of(pid, "need-gap", "limit");
	make_file(in_dir("out"));
}

/* ---- what cannot be followed must be said ---------------------------------------------------------------------- */

/* System calls by the 32-bit door of a 64-bit program. */
CASE(c_int80)
{
#ifdef __x86_64__
	char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	check(low != MAP_FAILED);
	const char *path = in_dir("in");
	strcpy(low, path);
	long fd;
	__asm__ volatile("int $0x80"
	                 : "=a"(fd)
	                 : "a"(5L), "b"(low), "c"((long)O_RDONLY), "d"(0L)
	                 : "memory", "r8", "r9", "r10", "r11");
	if (fd == -ENOSYS)
		skip("the kernel has no 32-bit calls");
	must(fd);
	get((int)fd);
	truth("read-or-gap", path, "abi32");
#else
	skip("this machine has one door only");
#endif
}

CASE(c_x32)
{
#ifdef __x86_64__
	long fd = syscall(0x40000000 | SYS_open, in_dir("in"), O_RDONLY);
	if (fd < 0 && errno == ENOSYS)
		skip("the kernel has no x32 calls");
	must(fd);
	truth("read-or-gap", in_dir("in"), "abi32");
#else
	skip("this machine has no x32 calls");
#endif
}

CASE(c_undumpable)
{
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
	/* Its memory is now closed to all but root: the record may have a hole, the program may not. */
	truth("allow-gap", "unreadable");
	truth("allow-gap", "privilege_lost");
	int fd = (int)must(open(in_dir("in"), O_RDONLY));
	get(fd);
	truth("read-or-gap", in_dir("in"), "unreadable");
}

const struct tcase cases[] = {
    {"ptrace-traceme", c_ptrace_traceme},
    {"ptrace-attach", c_ptrace_attach},
    {"ptrace-seize", c_ptrace_seize},
    {"ptrace-detach", c_ptrace_detach},
    {"seccomp-errno", c_seccomp_errno},
    {"seccomp-kill", c_seccomp_kill},
    {"seccomp-trap", c_seccomp_trap},
    {"seccomp-tsync", c_seccomp_tsync},
    {"seccomp-notify", c_seccomp_notify},
    {"int80", c_int80},
    {"x32", c_x32},
    {"undumpable", c_undumpable},
    {"+work", c_work},
    {0},
};
