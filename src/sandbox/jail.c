#include "sandbox/jail.h"

#include "base/io.h"
#include "sandbox/namespaces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Numbers that are the same on every machine, of calls that older headers lack. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define CALL_close_range 436
#define CALL_mount_setattr 442
#define CALL_landlock_create_ruleset 444
#define CALL_landlock_add_rule 445
#define CALL_landlock_restrict_self 446

/* ---- Landlock: from the kernel's documentation, for headers that are older than the kernel ---- */

struct ruleset_attr {
	uint64_t fs, net, scoped;
};
struct path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_ALL_1 = (1 << 13) - 1, /* of version 1 */
	FS_REFER = 1 << 13,       /* from version 2 */
	FS_TRUNCATE = 1 << 14,    /* 3 */
	FS_IOCTL_DEV = 1 << 15,   /* 5 */
	NET_ALL = 3,              /* 4: bind and connect TCP */
	SCOPE_ALL = 3,            /* 6: abstract sockets and signals of others */
	RULE_PATH = 1,
	VERSION = 1,
	FS_READ = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR,
	FS_ON_FILES = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV,
};

/* The rights of files that this version of Landlock can restrict. */
static uint64_t fs_handled(int abi)
{
	return FS_ALL_1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
}

/* The version of Landlock that the kernel has. 0: the kernel has none. */
static int landlock_version(void)
{
	long v = syscall(CALL_landlock_create_ruleset, NULL, 0, VERSION);
	return v > 0 ? (int)v : 0;
}

/* A descriptor, which exec keeps, the caller's; -errno. */
static int landlock_begin(int abi, bool strict)
{
	/* An own loopback is for the user's own commands: a namespace gives it, or nothing does. */
	struct ruleset_attr a = {
	    .fs = fs_handled(abi), .net = abi >= 4 && strict ? NET_ALL : 0, .scoped = abi >= 6 ? SCOPE_ALL : 0};
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	long fd = syscall(CALL_landlock_create_ruleset, &a, size, 0);
	if (fd < 0)
		return -errno;
	/* Whoever launches commands closes what exec would close; jail_enter closes this one. */
	fcntl((int)fd, F_SETFD, 0);
	return (int)fd;
}

/* Takes fd. Rights that a file cannot have are left out. 0, -errno. */
static int allow_fd(const struct jail *j, int fd, uint64_t rights)
{
	struct stat st;
	int rc = 0;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	struct path_beneath p = {.allowed = rights & fs_handled(j->abi), .parent = fd};
	if (rc == 0 && !S_ISDIR(st.st_mode))
		p.allowed &= FS_ON_FILES;
	if (rc == 0 && j->ruleset >= 0 && syscall(CALL_landlock_add_rule, j->ruleset, RULE_PATH, &p, 0) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* A path that is not there is passed over. */
static void allow_path(const struct jail *j, const char *path, uint64_t rights)
{
	allow_fd(j, open(path, O_PATH | O_CLOEXEC), rights);
}

/* The file of that path, none of whose components is a link, as O_PATH; -1 with errno. Kernels without openat2 have no
 * Landlock either. */
static int open_exactly(const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* Of a folder, what every user may read: secrets of the machine are not among that, whoever asks. True: all of it. */
static bool readable_by_all(int at, const char *name, unsigned depth, int *ret_fd)
{
	struct stat st;
	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	*ret_fd = fd;
	if (fd < 0 || fstat(fd, &st) < 0 || depth > 16)
		return false;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? (st.st_mode & S_IROTH) != 0 : S_ISLNK(st.st_mode);
	if ((st.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH))
		return false;
	int list = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = list >= 0 ? fdopendir(list) : NULL;
	bool all = d != NULL;
	if (!d && list >= 0)
		close(list);
	for (struct dirent *e; all && (e = readdir(d));) {
		int inner;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		all = readable_by_all(dirfd(d), e->d_name, depth + 1, &inner);
		if (inner >= 0)
			close(inner);
	}
	if (d)
		closedir(d);
	return all;
}

/* All below that everybody may read, and nothing else. depth: 16 at most. */
static void allow_public(const struct jail *j, int at, const char *name, unsigned depth)
{
	int fd;
	struct stat st;
	if (readable_by_all(at, name, depth, &fd)) {
		if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode))
			allow_fd(j, fd, FS_READ);
		else
			close(fd);
		return;
	}
	bool folder = fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && depth < 16 &&
	              (st.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH);
	if (fd >= 0)
		close(fd);
	int list = folder ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	DIR *d = list >= 0 ? fdopendir(list) : NULL;
	if (!d && list >= 0)
		close(list);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			allow_public(j, dirfd(d), e->d_name, depth + 1);
	if (d)
		closedir(d);
}

/* What every program needs to read. Its folders that are not there are passed over. */
static void allow_system(const struct jail *j)
{
	static const char *const folders[] = {"/usr",   "/bin",    "/sbin",      "/lib",       "/lib32",
	                                      "/lib64", "/libx32", "/nix/store", "/gnu/store", NULL};
	static const char *const told[] = {
	    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems",   "/proc/version",
	    "/proc/uptime",  "/proc/loadavg", "/proc/sys",  "/sys/devices/system", NULL};
	static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", NULL};
	for (size_t i = 0; folders[i]; i++)
		allow_path(j, folders[i], FS_READ);
	for (size_t i = 0; told[i]; i++)
		allow_path(j, told[i], FS_READ_FILE | FS_READ_DIR);
	if (!j->strict) {
		allow_path(j, "/proc", FS_READ_FILE | FS_READ_DIR);
		allow_path(j, "/sys", FS_READ_FILE | FS_READ_DIR);
	}
	for (size_t i = 0; devices[i]; i++)
		allow_path(j, devices[i], FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE);
	allow_public(j, AT_FDCWD, "/etc", 0);
}

/* ---- namespaces ---- */

/* The user is the same inside as outside. 0, -errno. */
static int own_namespaces(void)
{
	return namespaces_enter(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC, 0);
}

/* In a network of its own. Errors are passed over. */
static void loopback_up(void)
{
	struct ifreq r = {.ifr_name = "lo"};
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (s >= 0) {
		ioctl(s, SIOCSIFFLAGS, &r);
		close(s);
	}
}

/* The open folder stands at its own path, where it may be hidden or missing. 0, -errno. */
static int bind_own(int fd, const char *path)
{
	char link[40];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd < 0)
		return -ENOENT;
	if (!strncmp(path, "/dev/shm/", 9) && io_mkdirs(path, 0700) < 0)
		return -EIO;
	return mount(link, path, "", MS_BIND, NULL) < 0 ? -errno : 0;
}

/* Everything read-only but j->own and an own /dev/shm. In own namespaces only. 0, -errno. */
static int own_mounts(const struct jail *j)
{
	int at[sizeof(j->own) / sizeof(j->own[0])], rc = 0;
	bool shm = true;
	/* Held, for those that lie in /dev/shm are hidden by the other one. */
	for (size_t i = 0; i < j->n_own; i++) {
		at[i] = open(j->own[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		shm &= strcmp(j->own[i], "/dev/shm") != 0;
	}
	shm = shm && mount("stemma", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0;
	for (size_t i = 0; i < j->n_own; i++) {
		rc = rc < 0 ? rc : bind_own(at[i], j->own[i]);
		if (at[i] >= 0)
			close(at[i]);
	}
	rc = rc < 0 ? rc : namespaces_set_readonly("/", true, true);
	for (size_t i = 0; rc == 0 && i < j->n_own; i++)
		rc = namespaces_set_readonly(j->own[i], false, false);
	if (rc == 0 && shm && namespaces_set_readonly("/dev/shm", false, false) == 0)
		allow_path(j, "/dev/shm", fs_handled(j->abi) & ~(uint64_t)FS_EXECUTE);
	return rc;
}

/* Tried in a child. */
static bool can_unshare(void)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		_exit(own_namespaces() < 0 || namespaces_set_readonly("/", true, true) < 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- the call filter ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP(how, value, yes, no) BPF_JUMP(BPF_JMP | BPF_##how | BPF_K, (value), (yes), (no))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define NEVER(call, error) JUMP(JEQ, (call), 0, 1), REFUSE(error)
/* Of the caller itself, which 0 stands for, and of no other process. */
#define OF_ITSELF(call) JUMP(JEQ, (call), 0, 4), LOAD(args[0]), JUMP(JEQ, 0, 1, 0), REFUSE(EPERM), ALLOW
#define OF_ITSELF_KIND(call, kind)                                                                                     \
	JUMP(JEQ, (call), 0, 6), LOAD(args[0]), JUMP(JEQ, (kind), 0, 2), LOAD(args[1]), JUMP(JEQ, 0, 1, 0), REFUSE(EPERM), \
	    ALLOW

#ifdef ARCH
/* CLONE_NEW...: what is refused as unshare is refused as clone, too. */
#define OWN_NAMESPACES                                                                                                 \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |           \
	            CLONE_NEWNET))

/* What no command needs and what leads out, whatever Landlock and namespaces keep. */
static const struct sock_filter calls_of_all[] = {
    LOAD(arch),
    JUMP(JEQ, ARCH, 1, 0),
    REFUSE(EPERM),
    LOAD(nr),
#ifdef __x86_64__
    JUMP(JGE, 0x40000000, 0, 1), /* x32 */
    REFUSE(EPERM),
#endif
    NEVER(SYS_ptrace, EPERM),
    NEVER(SYS_process_vm_readv, EPERM),
    NEVER(SYS_process_vm_writev, EPERM),
    NEVER(438 /* pidfd_getfd */, EPERM),
    NEVER(SYS_kcmp, EPERM),
    NEVER(SYS_mount, EPERM),
    NEVER(SYS_umount2, EPERM),
    NEVER(SYS_pivot_root, EPERM),
    NEVER(SYS_chroot, EPERM),
    NEVER(SYS_setns, EPERM),
    NEVER(SYS_unshare, EPERM),
    NEVER(428 /* open_tree */, EPERM),
    NEVER(429 /* move_mount */, EPERM),
    NEVER(430 /* fsopen */, EPERM),
    NEVER(432 /* fsmount */, EPERM),
    NEVER(433 /* fspick */, EPERM),
    NEVER(467 /* open_tree_attr */, EPERM),
    NEVER(CALL_mount_setattr, EPERM),
    NEVER(435 /* clone3 */, ENOSYS), /* its flags lie in memory; C libraries use clone then */
    JUMP(JEQ, SYS_clone, 0, 4),
    LOAD(args[0]),
    JUMP(JSET, OWN_NAMESPACES, 0, 1),
    REFUSE(EPERM),
    ALLOW,
    NEVER(425 /* io_uring_setup */, ENOSYS), /* it makes calls that no filter sees */
    NEVER(SYS_keyctl, EPERM),
    NEVER(SYS_add_key, EPERM),
    NEVER(SYS_request_key, EPERM),
    NEVER(SYS_bpf, EPERM),
    NEVER(SYS_perf_event_open, EPERM),
    NEVER(SYS_userfaultfd, EPERM),
    NEVER(SYS_open_by_handle_at, EPERM),
    NEVER(SYS_init_module, EPERM),
    NEVER(SYS_finit_module, EPERM),
    NEVER(SYS_delete_module, EPERM),
    NEVER(SYS_kexec_load, EPERM),
    NEVER(SYS_reboot, EPERM),
    NEVER(SYS_swapon, EPERM),
    NEVER(SYS_swapoff, EPERM),
    NEVER(SYS_settimeofday, EPERM),
    NEVER(SYS_clock_settime, EPERM),
    NEVER(SYS_sethostname, EPERM),
    NEVER(SYS_syslog, EPERM),
    NEVER(SYS_acct, EPERM),
    NEVER(SYS_quotactl, EPERM),
    OF_ITSELF(SYS_prlimit64), /* a limit of 0 s ends another process as a signal would */
    /* The terminal's input, on a descriptor that was handed over. */
    JUMP(JEQ, SYS_ioctl, 0, 5),
    LOAD(args[1]),
    JUMP(JEQ, 0x5412 /* TIOCSTI */, 1, 0),
    JUMP(JEQ, 0x541c /* TIOCLINUX */, 0, 1),
    REFUSE(EPERM),
    ALLOW,
    /* All of the user's processes. */
    JUMP(JEQ, SYS_kill, 0, 4),
    LOAD(args[0]),
    JUMP(JEQ, (uint32_t)-1, 0, 1),
    REFUSE(EPERM),
    ALLOW,
    ALLOW,
};
/* No way to a socket that somebody else has: not even a pair of those that can be sent elsewhere. */
static const struct sock_filter calls_of_strict[] = {
    LOAD(nr),
    NEVER(SYS_socket, EACCES),
    NEVER(SYS_connect, EACCES),
    NEVER(SYS_bind, EACCES),
    NEVER(SYS_msgget, EACCES),
    NEVER(SYS_semget, EACCES),
    NEVER(SYS_shmget, EACCES),
    /* What others have made is there by its number, which can be guessed. */
    NEVER(SYS_shmat, EACCES),
    NEVER(SYS_shmctl, EACCES),
    NEVER(SYS_msgsnd, EACCES),
    NEVER(SYS_msgrcv, EACCES),
    NEVER(SYS_msgctl, EACCES),
    NEVER(SYS_semop, EACCES),
    NEVER(SYS_semtimedop, EACCES),
    NEVER(SYS_semctl, EACCES),
    NEVER(SYS_mq_open, EACCES),
    /* Not sched_setaffinity: C libraries name threads of their own by numbers. */
    OF_ITSELF(SYS_sched_setscheduler),
    OF_ITSELF(SYS_sched_setparam),
    OF_ITSELF(SYS_sched_setattr),
    OF_ITSELF_KIND(SYS_setpriority, PRIO_PROCESS),
    OF_ITSELF_KIND(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */),
    /* Root's lease on a file of the system makes whoever opens that for writing wait, 45 s each time. */
    JUMP(JEQ, SYS_fcntl, 0, 4),
    LOAD(args[1]),
    JUMP(JEQ, 1024 /* F_SETLEASE */, 0, 1),
    REFUSE(EPERM),
    ALLOW,
    JUMP(JEQ, SYS_socketpair, 0, 5),
    LOAD(args[1]),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
    JUMP(JEQ, SOCK_STREAM, 1, 0),
    REFUSE(EACCES),
    ALLOW,
    ALLOW,
};
/* Programs that run with their owner's rights: whoever else reaches the folder would start one as this user, outside of
 * the jail. */
#define SETID ((uint32_t)(S_ISUID | S_ISGID))
#define NO_SETID(call, mode) JUMP(JEQ, (call), 0, 4), LOAD(args[mode]), JUMP(JSET, SETID, 0, 1), REFUSE(EPERM), ALLOW
/* The mode counts where a file is made. */
#define MAKES_FILE ((uint32_t)(O_CREAT | (O_TMPFILE & ~O_DIRECTORY)))
#define NO_SETID_OPEN(call, flags, mode)                                                                               \
	JUMP(JEQ, (call), 0, 6), LOAD(args[flags]), JUMP(JSET, MAKES_FILE, 0, 3), LOAD(args[mode]),                        \
	    JUMP(JSET, SETID, 0, 1), REFUSE(EPERM), ALLOW
static const struct sock_filter calls_of_setid[] = {
    LOAD(nr),
#ifdef SYS_chmod
    NO_SETID(SYS_chmod, 1),
    NO_SETID(SYS_creat, 1),
    NO_SETID(SYS_mknod, 1),
    NO_SETID_OPEN(SYS_open, 1, 2),
#endif
    NO_SETID(SYS_fchmod, 1),
    NO_SETID(SYS_fchmodat, 2),
    NO_SETID(452 /* fchmodat2 */, 2),
    NO_SETID(SYS_mknodat, 2),
    NO_SETID_OPEN(SYS_openat, 2, 3),
    NEVER(SYS_openat2, ENOSYS), /* its mode lies in memory; C libraries use openat */
    ALLOW,
};
/* Where no namespace keeps the network away: sockets of this machine's own processes only. */
static const struct sock_filter calls_of_no_network[] = {
    LOAD(nr), JUMP(JEQ, SYS_socket, 0, 4), LOAD(args[0]), JUMP(JEQ, AF_UNIX, 1, 0), REFUSE(EACCES), ALLOW, ALLOW,
};
/* Where no mount keeps them: modes, owners, times and attributes, by name or by descriptor. */
static const struct sock_filter calls_of_attributes[] = {
    LOAD(nr),
#ifdef SYS_chmod
    NEVER(SYS_chmod, EPERM),
    NEVER(SYS_chown, EPERM),
    NEVER(SYS_lchown, EPERM),
    NEVER(SYS_utime, EPERM),
    NEVER(SYS_utimes, EPERM),
    NEVER(SYS_futimesat, EPERM),
#endif
    NEVER(SYS_fchmod, EPERM),
    NEVER(SYS_fchmodat, EPERM),
    NEVER(452 /* fchmodat2 */, EPERM),
    NEVER(SYS_fchown, EPERM),
    NEVER(SYS_fchownat, EPERM),
    NEVER(SYS_utimensat, EPERM),
    NEVER(SYS_setxattr, EPERM),
    NEVER(SYS_lsetxattr, EPERM),
    NEVER(SYS_fsetxattr, EPERM),
    NEVER(463 /* setxattrat */, EPERM),
    NEVER(SYS_removexattr, EPERM),
    NEVER(SYS_lremovexattr, EPERM),
    NEVER(SYS_fremovexattr, EPERM),
    NEVER(466 /* removexattrat */, EPERM),
    NEVER(469 /* file_setattr */, EPERM),
    ALLOW,
};

/* Landlock before version 3 lets any file be cut off by its name. */
static const struct sock_filter calls_of_truncate[] = {
    LOAD(nr),
    NEVER(SYS_truncate, EPERM),
    ALLOW,
};

/* For this thread and what it starts; there is no way back. 0, -errno. */
static int add_filter(const struct sock_filter *code, size_t n)
{
	struct sock_fprog prog = {.len = (unsigned short)n, .filter = (struct sock_filter *)(uintptr_t)code};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0 ? -errno : 0;
}
#define ADD_FILTER(code) add_filter(code, sizeof(code) / sizeof((code)[0]))

/* Asks the kernel without installing anything. */
static bool can_filter(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno == EFAULT;
}

/* apart: in own namespaces, which keep more away than a filter. 0, -errno. */
static int filter_calls(const struct jail *j, bool apart)
{
	int rc = ADD_FILTER(calls_of_all);
	if (rc == 0 && j->strict)
		rc = ADD_FILTER(calls_of_strict);
	if (rc == 0 && j->strict)
		rc = ADD_FILTER(calls_of_setid);
	if (rc == 0 && !apart)
		rc = ADD_FILTER(calls_of_no_network);
	if (rc == 0 && !apart && j->abi < 3)
		rc = ADD_FILTER(calls_of_truncate);
	if (rc == 0 && !apart && j->strict)
		rc = ADD_FILTER(calls_of_attributes);
	return rc;
}
#else
static bool can_filter(void)
{
	return false;
}

/* On processors that it does not know: always -ENOSYS. */
static int filter_calls(const struct jail *j, bool apart)
{
	(void)j, (void)apart;
	return -ENOSYS;
}
#endif

/* ---- capabilities ---- */

/* Drops privileges: strict: all; else what a build in a container needs stays. 0, -errno. */
static int drop_capabilities(bool strict)
{
	static const unsigned kept[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_SETGID, CAP_SETUID};
	for (unsigned c = 0; c < 64; c++) {
		bool keep = false;
		for (size_t i = 0; !strict && i < sizeof(kept) / sizeof(kept[0]); i++)
			keep |= kept[i] == c;
		if (!keep)
			prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	}
	/* What is inherited, root keeps over an exec, whatever the bounding set says. */
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2];
	if (syscall(SYS_capget, &h, has) < 0)
		return -errno;
	has[0].inheritable = has[1].inheritable = 0;
	return syscall(SYS_capset, &h, has) < 0 ? -errno : 0;
}

/* ---- descriptors ---- */

/* What the caller has open (a terminal's other end, a log, a lock) was not given to the command, and no layer sees what
 * is open already. The exec closes it: whoever launches the command may need its own until then. */
static void leave_descriptors(void)
{
	enum { CLOEXEC = 4, MANY = 65536 };
	if (syscall(CALL_close_range, 3u, ~0u, CLOEXEC) == 0)
		return;
	const long most = sysconf(_SC_OPEN_MAX); /* before Linux 5.11 */
	for (int fd = 3; fd < (most > 0 && most < MANY ? most : MANY); fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* ---- the whole ---- */

unsigned jail_layers(int *ret_abi)
{
	/* Namespaces take the kernel a while to make and to end: asked once. */
	static int apart = -1;
	if (apart < 0)
		apart = can_unshare();
	*ret_abi = landlock_version();
	return (*ret_abi ? JAIL_FILES : 0) | (apart ? JAIL_NAMESPACES : 0) | (can_filter() ? JAIL_CALLS : 0);
}

int jail_make(struct jail *j, bool strict, struct err *err)
{
	*j = (struct jail){.strict = strict, .ruleset = -1};
	j->layers = jail_layers(&j->abi);
	if (!(j->layers & JAIL_FILES))
		return 0;
	j->ruleset = landlock_begin(j->abi, strict);
	if (j->ruleset < 0)
		return err_set(err, -j->ruleset, "cannot confine the command");
	allow_system(j);
	return 0;
}

void jail_may_read(struct jail *j, const char *path)
{
	allow_fd(j, open_exactly(path), FS_READ);
}

/* Is it a folder of the root, or the user's home, or one that this lies in? */
static bool leads_everywhere(const char *folder)
{
	const char *home = getenv("HOME");
	size_t n = strlen(folder);
	return !strchr(folder + 1, '/') || (home && !strncmp(home, folder, n) && (!home[n] || home[n] == '/'));
}

void jail_may_find(struct jail *j, const char *path)
{
	char *folder = strdup(path), *slash;
	jail_may_read(j, path);
	/* A package may be known by the name of its folder alone, and what was read of it lie in a folder of that one. */
	for (int up = 0; folder && up < 3 && (slash = strrchr(folder, '/')) && slash != folder; up++) {
		*slash = '\0';
		if (up && leads_everywhere(folder))
			break;
		allow_fd(j, open_exactly(folder), FS_READ_DIR);
	}
	free(folder);
}

int jail_may_write(struct jail *j, const char *folder)
{
	if (j->n_own == sizeof(j->own) / sizeof(j->own[0]) || !(j->own[j->n_own] = strdup(folder)))
		return -ENOMEM;
	j->n_own++;
	/* Devices and sockets that it makes there are of no use; fifos are. */
	return allow_fd(j, open_exactly(folder), fs_handled(j->abi));
}

int jail_enter(struct jail *j, struct err *err)
{
	int rc = 0;
	char cwd[PATH_MAX];
	bool apart = (j->layers & JAIL_NAMESPACES) != 0;
	if (apart && !j->apart) {
		bool known = getcwd(cwd, sizeof(cwd)) != NULL;
		rc = own_namespaces();
		if (rc == 0)
			loopback_up();
		if (rc == 0)
			rc = own_mounts(j);
		/* The working directory lies on the mount that was there before. */
		if (rc == 0 && known && chdir(cwd) < 0)
			rc = -errno;
	}
	allow_path(j, "/proc/self", FS_READ_FILE | FS_READ_DIR); /* of this process, which the caller was not */
	if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		rc = -errno;
	if (rc == 0)
		rc = drop_capabilities(j->strict);
	if (rc == 0 && j->ruleset >= 0 && syscall(CALL_landlock_restrict_self, j->ruleset, 0) < 0)
		rc = -errno;
	if (j->ruleset >= 0) {
		close(j->ruleset);
		j->ruleset = -1;
	}
	if (j->strict)
		leave_descriptors();
	if (rc == 0 && j->layers & JAIL_CALLS)
		rc = filter_calls(j, apart);
	return rc < 0 ? err_set(err, -rc, "cannot confine the command") : 0;
}

/* j is empty then. What was confined stays so. */
void jail_release(struct jail *j)
{
	for (size_t i = 0; i < j->n_own; i++)
		free(j->own[i]);
	if (j->ruleset >= 0)
		close(j->ruleset);
	*j = (struct jail){.ruleset = -1};
}
