#include "daemon/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- files ---- */

#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* All rights of the first version of Landlock: bits 0 to 12. */
#define RIGHTS_1 ((1ull << 13) - 1)
/* The rights that later versions have added: to link or rename between folders, to truncate, to ask devices. Numbers,
 * for the headers of the build may be older than the kernel. */
#define RIGHT_REFER (1ull << 13)
#define RIGHT_TRUNCATE (1ull << 14)
#define RIGHT_IOCTL_DEV (1ull << 15)
#define WRITING                                                                                                        \
	(READING | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |          \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | RIGHT_TRUNCATE)

/* struct landlock_ruleset_attr of the sixth version. */
struct ruleset {
	uint64_t files, net, scoped;
};

/* A folder that is not there is no error. 0, -errno with a sentence. */
static int allow_below(int ruleset, const char *path, uint64_t rights, struct err *err)
{
	struct landlock_path_beneath_attr below = {.allowed_access = rights};
	below.parent_fd = open(path, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW);
	if (below.parent_fd < 0)
		return errno == ENOENT ? 0 : err_set(err, errno, "cannot open '%s'", path);
	long r = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
	int e = errno;
	close(below.parent_fd);
	return r < 0 ? err_set(err, e, "cannot confine the answer to '%s'", path) : 0;
}

int confine_files(const char *const *read, const char *const *write, struct err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 1)
		return -ENOSYS; /* not built in, or switched off */
	struct ruleset set = {.files = RIGHTS_1};
	size_t size = offsetof(struct ruleset, net);
	if (abi >= 2)
		set.files |= RIGHT_REFER;
	if (abi >= 3)
		set.files |= RIGHT_TRUNCATE;
	if (abi >= 4) {
		set.net = 3; /* no bind, no connect of TCP */
		size = offsetof(struct ruleset, scoped);
	}
	if (abi >= 5)
		set.files |= RIGHT_IOCTL_DEV;
	if (abi >= 6) {
		set.scoped = 3; /* abstract sockets and signals of its own alone */
		size = sizeof(set);
	}
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0), r = 0;
	if (ruleset < 0)
		return err_set(err, errno, "cannot confine the answer to its files");
	for (size_t i = 0; r == 0 && read[i]; i++)
		r = allow_below(ruleset, read[i], READING & set.files, err);
	for (size_t i = 0; r == 0 && write[i]; i++)
		r = allow_below(ruleset, write[i], WRITING & set.files, err);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = err_set(err, errno, "cannot confine the answer to its files");
	close(ruleset);
	return r;
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#else
#define ARCH 0
#endif

static const uint32_t calls[] = {
/* The names that a machine lacks have no number. */
#ifndef __NR_access
#define __NR_access UINT32_MAX
#define __NR_lstat UINT32_MAX
#define __NR_mkdir UINT32_MAX
#define __NR_open UINT32_MAX
#define __NR_poll UINT32_MAX
#define __NR_readlink UINT32_MAX
#define __NR_rename UINT32_MAX
#define __NR_rmdir UINT32_MAX
#define __NR_stat UINT32_MAX
#define __NR_time UINT32_MAX
#define __NR_unlink UINT32_MAX
#endif
#ifndef __NR_renameat
#define __NR_renameat UINT32_MAX
#endif
#define CALL(name) __NR_##name,
#include "daemon/confine.def"
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define IF_NOT(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, what)
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)

int confine_calls(struct err *err)
{
	enum { ARG1 = offsetof(struct seccomp_data, args[1]), ARG2 = offsetof(struct seccomp_data, args[2]) };
	struct sock_filter f[2 * CALLS + 32] = {
	    FIELD(arch),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	    RETURN(SECCOMP_RET_KILL_PROCESS),
	    FIELD(nr),
	    /* Memory never becomes code. The third argument's lower half, on machines of either byte order that are here.
	     */
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 1, 0),
	    IF_NOT(__NR_mprotect, 4),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG2),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0),
	    RETURN(SECCOMP_RET_ALLOW),
	    REFUSE,
	    /* A copy that shares its blocks is all that is asked of a file. */
	    IF_NOT(__NR_ioctl, 4),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG1),
	    IF_NOT((uint32_t)FICLONE, 1),
	    RETURN(SECCOMP_RET_ALLOW),
	    REFUSE,
	    /* Limits are asked for (the old value alone), not set: nothing stands at the third argument. */
	    IF_NOT(__NR_prlimit64, 4),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARG2),
	    IF_NOT(0, 1),
	    RETURN(SECCOMP_RET_ALLOW),
	    REFUSE,
	};
	size_t n = 20;
	if (!ARCH)
		return -ENOSYS;
	for (size_t i = 0; i < CALLS; i++) {
		if (calls[i] == UINT32_MAX)
			continue;
		f[n++] = (struct sock_filter)IF_NOT(calls[i], 1);
		f[n++] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)REFUSE;
	struct sock_fprog program = {.len = (unsigned short)n, .filter = f};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return errno == EINVAL ? -ENOSYS : err_set(err, errno, "cannot confine the answer's system calls");
	return 0;
}
