#include "sandbox/childless.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef SYS_clone3
#define SYS_clone3 435 /* the same everywhere */
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define REFUSE(error) RETURN(SECCOMP_RET_ERRNO | (error))
/* Refuses the call number that is loaded if it is this one. */
#define NEVER(call, error) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), REFUSE(error)

/* Lowers a limit of this process; never raises one. Errors are passed over. */
static void lower_limit(int which, rlim_t most)
{
	struct rlimit now;
	if (getrlimit(which, &now) < 0)
		return;
	now.rlim_cur = now.rlim_cur > most ? most : now.rlim_cur;
	now.rlim_max = now.rlim_max > most ? most : now.rlim_max;
	setrlimit(which, &now);
}

void childless_bound(uint64_t file)
{
	const rlim_t memory = (rlim_t)4 << 30; /* what it maps of packs does not count */
	lower_limit(RLIMIT_DATA, memory);
	lower_limit(RLIMIT_CORE, 0);
	if (file)
		lower_limit(RLIMIT_FSIZE, file);
}

int childless_enter(void)
{
#ifdef ARCH
	struct sock_filter code[] = {
	    LOAD(arch),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	    REFUSE(EPERM),
	    LOAD(nr),
#ifdef __x86_64__
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* x32, whose numbers begin there */
	    REFUSE(EPERM),
#endif
#ifdef SYS_fork
	    NEVER(SYS_fork, EPERM),
#endif
#ifdef SYS_vfork
	    NEVER(SYS_vfork, EPERM),
#endif
	    NEVER(SYS_clone3, ENOSYS), /* its flags lie in memory; C libraries then call clone */
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
	    LOAD(args[0]),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
	    REFUSE(EPERM),
	    RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
		return -errno;
	return 0;
#else
	return -ENOSYS;
#endif
}
