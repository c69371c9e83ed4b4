#include "sandbox/reader.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define MEMORY ((rlim_t)1 << 30)
#define PROCESSOR_S 10

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)

int reader_enter(void)
{
#ifdef ARCH
	struct sock_filter code[] = {
	    LOAD(arch),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	    RETURN(SECCOMP_RET_ERRNO | EPERM),
	    LOAD(nr),
	    /* what is open */
	    ALLOW(read),
	    ALLOW(pread64),
	    ALLOW(readv),
	    ALLOW(write),
	    ALLOW(writev),
	    ALLOW(lseek),
	    ALLOW(fstat),
	    ALLOW(close),
	    /* memory */
	    ALLOW(mmap),
	    ALLOW(munmap),
	    ALLOW(mremap),
	    ALLOW(mprotect),
	    ALLOW(madvise),
	    ALLOW(brk),
	    /* itself */
	    ALLOW(futex),
	    ALLOW(rt_sigreturn),
	    ALLOW(rt_sigprocmask),
	    ALLOW(clock_gettime),
	    ALLOW(getrandom),
	    ALLOW(exit),
	    ALLOW(exit_group),
	    RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
	const struct rlimit memory = {MEMORY, MEMORY}, processor = {PROCESSOR_S, PROCESSOR_S}, none = {0, 0};
	setrlimit(RLIMIT_DATA, &memory);
	setrlimit(RLIMIT_CPU, &processor);
	setrlimit(RLIMIT_CORE, &none);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
		return -errno;
	return 0;
#else
	return -ENOSYS;
#endif
}
