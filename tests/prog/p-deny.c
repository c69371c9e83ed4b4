/* Runs a command where something is lacking: p-deny [WHAT...] -- COMMAND [ARGUMENT...].
 *
 * WHAT is CALL=ERRNO, for a call of the table or one of its parts (listener, syscall-info, continue); a set of them
 * (linux-4.18, docker); or `supervisor`: a process around the command listens to its mknodat. Exits with 77 if that
 * cannot be had, 99 if it fails. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEW_LISTENER 8 /* the flag */

/* arg >= 0: only where the argument's low half is, or with bits has one of, `value`. */
static const struct call {
	const char *name;
	int nr, arg;
	unsigned value;
	int bits;
} calls[] = {
    {"listener", SYS_seccomp, 1, NEW_LISTENER, 1},
    {"seccomp", SYS_seccomp, 0, SECCOMP_SET_MODE_FILTER, 0},
    {"prctl-seccomp", SYS_prctl, 0, PR_SET_SECCOMP, 0},
    {"continue", SYS_ioctl, 1, (unsigned)SECCOMP_IOCTL_NOTIF_SEND, 0},
    {"ptrace", SYS_ptrace, -1, 0, 0},
    {"syscall-info", SYS_ptrace, 0, PTRACE_GET_SYSCALL_INFO, 0},
    {"process_vm_readv", SYS_process_vm_readv, -1, 0, 0},
    {"process_vm_writev", SYS_process_vm_writev, -1, 0, 0},
    {"pidfd_open", SYS_pidfd_open, -1, 0, 0},
    {"pidfd_getfd", SYS_pidfd_getfd, -1, 0, 0},
    {"pidfd_send_signal", SYS_pidfd_send_signal, -1, 0, 0},
    {"statx", SYS_statx, -1, 0, 0},
    {"kcmp", SYS_kcmp, -1, 0, 0},
    {"openat2", SYS_openat2, -1, 0, 0},
    {"close_range", SYS_close_range, -1, 0, 0},
    {"clone3", SYS_clone3, -1, 0, 0},
    {"faccessat2", SYS_faccessat2, -1, 0, 0},
    {"epoll_pwait2", SYS_epoll_pwait2, -1, 0, 0},
    {"io_uring_setup", SYS_io_uring_setup, -1, 0, 0},
    {"name_to_handle_at", SYS_name_to_handle_at, -1, 0, 0},
    {"open_by_handle_at", SYS_open_by_handle_at, -1, 0, 0},
    {"mount", SYS_mount, -1, 0, 0},
    {"umount2", SYS_umount2, -1, 0, 0},
    {"pivot_root", SYS_pivot_root, -1, 0, 0},
    {"setns", SYS_setns, -1, 0, 0},
    {"unshare", SYS_unshare, -1, 0, 0},
    {"bpf", SYS_bpf, -1, 0, 0},
    {"perf_event_open", SYS_perf_event_open, -1, 0, 0},
    {"keyctl", SYS_keyctl, -1, 0, 0},
    {"userfaultfd", SYS_userfaultfd, -1, 0, 0},
    {"maps-query", SYS_ioctl, 1, _IOWR('f', 17, char[104]), 0}, /* PROCMAP_QUERY, Linux 6.11 */
};

static const struct {
	const char *name, *denies;
} sets[] = {
    /* No listener before 5.0, no pidfd_open and no PTRACE_GET_SYSCALL_INFO before 5.3, and what came later. */
    {"linux-4.18", "listener=EINVAL syscall-info=EIO pidfd_open=ENOSYS pidfd_getfd=ENOSYS pidfd_send_signal=ENOSYS "
                   "openat2=ENOSYS close_range=ENOSYS clone3=ENOSYS faccessat2=ENOSYS epoll_pwait2=ENOSYS "
                   "io_uring_setup=ENOSYS maps-query=ENOTTY"},
    /* What container runtimes refuse on kernels before 4.8, and still refuse to those without privilege. */
    {"docker",
     "mount=EPERM umount2=EPERM pivot_root=EPERM setns=EPERM unshare=EPERM bpf=EPERM perf_event_open=EPERM "
     "keyctl=EPERM userfaultfd=EPERM ptrace=EPERM process_vm_readv=EPERM process_vm_writev=EPERM kcmp=EPERM "
     "name_to_handle_at=EPERM open_by_handle_at=EPERM pidfd_getfd=EPERM pidfd_open=EPERM io_uring_setup=EPERM "
     "clone3=ENOSYS"},
};

static struct sock_filter code[1024];
static unsigned n;

static void emit(unsigned op, unsigned k, unsigned jt, unsigned jf)
{
	code[n++] =
	    (struct sock_filter){.code = (unsigned short)op, .k = k, .jt = (unsigned char)jt, .jf = (unsigned char)jf};
}

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

/* Every rule loads what it asks for itself, and falls through to the next. */
static void rule(const struct call *c, unsigned action)
{
	emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)c->nr, 0, c->arg < 0 ? 1 : 3);
	if (c->arg >= 0) {
		emit(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8 * (size_t)c->arg), 0, 0);
		emit(BPF_JMP | (c->bits ? BPF_JSET : BPF_JEQ) | BPF_K, c->value, 0, 1);
	}
	emit(BPF_RET | BPF_K, action, 0, 0);
}

static int error_of(const char *name)
{
	static const struct {
		const char *name;
		int error;
	} errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL},
	              {"EIO", EIO},     {"EACCES", EACCES}, {"ENOTTY", ENOTTY}};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (!strcmp(name, errors[i].name))
			return errors[i].error;
	return 0;
}

static void deny(const char *what)
{
	const char *eq = strchr(what, '=');
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (!strcmp(what, sets[i].name)) {
			char *all = strdup(sets[i].denies);
			for (char *w = strtok(all, " "); w; w = strtok(NULL, " "))
				deny(w);
			free(all);
			return;
		}
	int error = eq ? error_of(eq + 1) : 0;
	for (size_t i = 0; error && i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strlen(calls[i].name) == (size_t)(eq - what) && !strncmp(what, calls[i].name, (size_t)(eq - what))) {
			rule(&calls[i], SECCOMP_RET_ERRNO | (unsigned)error);
			return;
		}
	fprintf(stderr, "p-deny: %s?\n", what);
	exit(99);
}

static int install(unsigned flags)
{
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = code};
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0 && errno == EACCES) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	}
	return fd;
}

static void begin(void)
{
	n = 0;
	emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
#if defined(__x86_64__)
	emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
#else
	emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64, 1, 0);
#endif
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* A supervisor of the child: lets every mknodat go on. Ends as the child does. */
static void supervise(void)
{
	static const struct call listened = {"mknodat", SYS_mknodat, -1, 0, 0};
	int pair[2];
	begin();
	rule(&listened, SECCOMP_RET_USER_NOTIF);
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		fail("socketpair");
	pid_t pid = fork();
	if (pid < 0)
		fail("fork");
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {0};
	char c = 'x';
	struct iovec iov = {&c, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof(u)};
	int fd;
	if (pid == 0) {
		fd = install(NEW_LISTENER);
		if (fd < 0)
			_exit(77);
		u.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
		if (sendmsg(pair[1], &m, 0) != 1)
			_exit(99);
		close(fd);
		return;
	}
	close(pair[1]);
	if (recvmsg(pair[0], &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m)) {
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		for (;;) {
			struct seccomp_notif req = {0};
			if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0) {
				if (errno == EINTR)
					continue;
				break;
			}
			struct seccomp_notif_resp resp = {.id = req.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
			ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp);
		}
	}
	int status;
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv)
{
	int i = 1, supervised = 0;
	begin();
	for (; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "supervisor"))
			supervised = 1;
		else
			deny(argv[i]);
	}
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: p-deny [WHAT...] -- COMMAND [ARGUMENT...]\n");
		return 99;
	}
	emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	if (n > 4 && install(0) < 0)
		fail("seccomp");
	if (supervised)
		supervise();
	execvp(argv[i + 1], argv + i + 1);
	fail(argv[i + 1]);
	return 99;
}
