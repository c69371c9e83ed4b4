#include "capture/trap/trap.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct row {
	const char *name;
	enum call call;
	unsigned set;
} rows[] = {
#define tree TRAP_TREE
#define file TRAP_FILE
#define CALL(name, word, set) {#name, CALL_##word, set},
#include "capture/trap/calls.def"
#undef CALL
#undef tree
#undef file
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* Call numbers of the native architecture and of its 32-bit sibling, looked up once. */
#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define SIBLING AUDIT_ARCH_I386
#define SIBLING_SCMP SCMP_ARCH_X86
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define SIBLING AUDIT_ARCH_ARM
#define SIBLING_SCMP SCMP_ARCH_ARM
#else
#error "no table of system calls for this architecture"
#endif

#define NR_MAX 512
static uint8_t words[2][NR_MAX];
static bool words_made;

static void make_words(void)
{
	for (size_t i = 0; i < NROWS; i++) {
		int a = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, rows[i].name);
		int b = seccomp_syscall_resolve_name_arch(SIBLING_SCMP, rows[i].name);
		if (a >= 0 && a < NR_MAX)
			words[0][a] = (uint8_t)rows[i].call;
		if (b >= 0 && b < NR_MAX)
			words[1][b] = (uint8_t)rows[i].call;
	}
	words_made = true;
}

enum call trap_call(uint32_t arch, int nr, bool *ret_compat)
{
	bool compat = arch == SIBLING;
	*ret_compat = compat;
	if (nr < 0 || nr >= NR_MAX || (!compat && arch != NATIVE))
		return CALL_none;
	return (enum call)words[compat][nr];
}

enum call trap_call_native(int nr)
{
	bool compat;
	return trap_call(NATIVE, nr, &compat);
}

static int add_rules(scmp_filter_ctx ctx, unsigned sets, uint32_t action)
{
	for (size_t i = 0; i < NROWS; i++) {
		if (!(rows[i].set & sets))
			continue;
		int nr = seccomp_syscall_resolve_name(rows[i].name);
		if (nr == __NR_SCMP_ERROR)
			continue;
		int rc;
		if (rows[i].call == CALL_mmap)
			rc = seccomp_rule_add(ctx, action, nr, 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE, PROT_WRITE),
								  SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, MAP_SHARED));
		else
			rc = seccomp_rule_add(ctx, action, nr, 0);
		if (rc < 0 && rc != -EDOM && rc != -EINVAL) /* not on this architecture */
			return rc;
	}
	return 0;
}

int trap_filter(unsigned sets, bool notify, struct err *err, struct sock_fprog *ret)
{
	if (!words_made)
		make_words();
	int fd = -1, rc = -ENOMEM;
	struct sock_filter *prog = NULL;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (!ctx)
		goto out;
	seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (seccomp_arch_exist(ctx, SIBLING_SCMP) == -EEXIST)
		seccomp_arch_add(ctx, SIBLING_SCMP);
	rc = add_rules(ctx, sets, notify ? SCMP_ACT_NOTIFY : SCMP_ACT_TRACE(1));
	if (rc < 0)
		goto out;
	/* Exported and loaded by hand: libseccomp 2.5 cannot ask for wait-killable notification. */
	fd = memfd_create("filter", MFD_CLOEXEC);
	rc = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	if (rc < 0)
		goto out;
	off_t size = lseek(fd, 0, SEEK_END);
	rc = -ENOMEM;
	prog = malloc((size_t)size);
	if (!prog || pread(fd, prog, (size_t)size, 0) != size)
		goto out;
	*ret = (struct sock_fprog){.len = (unsigned short)((size_t)size / sizeof(*prog)), .filter = prog};
	prog = NULL;
	rc = 0;
out:
	free(prog);
	if (fd >= 0)
		close(fd);
	if (ctx)
		seccomp_release(ctx);
	return rc < 0 ? err_set(err, -rc, "cannot build the system call filter") : 0;
}
