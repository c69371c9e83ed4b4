/* The filter's program, run by a small machine here, against libseccomp's names: which calls it stops, on which
 * architecture. */
#include "capture/seccomp/trap.h"
#include "capture/seccomp/unstopped.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cmocka.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define SIBLING AUDIT_ARCH_I386
#define FOREIGN AUDIT_ARCH_AARCH64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#define SIBLING AUDIT_ARCH_ARM
#define FOREIGN AUDIT_ARCH_X86_64
#endif

static const struct {
	const char *name;
	unsigned set;
} rows[] = {
#define tree TRAP_TREE
#define file TRAP_FILE
#define count TRAP_COUNT
#define xattr TRAP_XATTR
#define rings TRAP_RINGS
#define forks TRAP_FORKS
#define CALL(name, word, set) {#name, set},
#include "capture/seccomp/calls.def"
#undef CALL
#undef tree
#undef file
#undef count
#undef xattr
#undef rings
#undef forks
};

static const bool x32 = NATIVE == AUDIT_ARCH_X86_64;
static uint64_t from = 0x7f0000001234; /* where the calls come from */

static uint32_t run_with(const struct sock_fprog *p, uint32_t arch, int nr, const uint64_t args[4])
{
	struct seccomp_data d = {
	    .nr = nr, .arch = arch, .instruction_pointer = from, .args = {args[0], args[1], args[2], args[3], 0, 0}};
	uint32_t acc = 0;
	for (unsigned at = 0; at < p->len; at++) {
		const struct sock_filter *i = &p->filter[at];
		bool yes = false;
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(d));
			memcpy(&acc, (const char *)&d + i->k, 4);
			continue;
		case BPF_RET | BPF_K:
			return i->k;
		case BPF_JMP | BPF_JA:
			at += i->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = acc == i->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = acc >= i->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = acc & i->k;
			break;
		default:
			fail_msg("instruction %x at %u", i->code, at);
		}
		at += yes ? i->jt : i->jf;
	}
	fail_msg("it ran off the end");
	return 0;
}

static uint32_t run(const struct sock_fprog *p, uint32_t arch, int nr, uint64_t a2, uint64_t a3)
{
	return run_with(p, arch, nr, (uint64_t[4]){0, 0, a2, a3});
}

/* What libseccomp's names say of a number: 0 let go, 1 stopped, 2 stopped if shared and writable, 3 by its first two
 * arguments. */
static int expected(uint32_t scmp, int nr, unsigned sets)
{
	char *name = seccomp_syscall_resolve_num_arch(scmp, nr);
	int ret = 0;
	if (name && !strcmp(name, "clone") && (sets & TRAP_FORKS)) { /* with no flags, a process */
		free(name);
		return 1;
	}
	for (size_t i = 0; name && i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((rows[i].set & sets) && !strcmp(rows[i].name, name))
			ret = !strncmp(name, "mmap", 4) ? 2
			      : !strcmp(name, "rt_sigaction") || !strcmp(name, "ptrace") || !strcmp(name, "prctl") ||
			              !strcmp(name, "clone") || !strcmp(name, "io_uring_enter")
			          ? 3
			          : 1;
	free(name);
	return ret;
}

static void check(unsigned sets, bool notify)
{
	struct err err = {0};
	struct sock_fprog p;
	uint32_t stop = notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_TRACE, pick = SECCOMP_RET_ACTION_FULL;
	unsigned stopped = 0;
	assert_int_equal(trap_filter(sets, notify, &err, &p), 0);
	static const struct {
		uint32_t audit, scmp;
	} archs[] = {
#if defined(__x86_64__)
		{NATIVE, SCMP_ARCH_X86_64},
		{SIBLING, SCMP_ARCH_X86},
#else
		{NATIVE, SCMP_ARCH_AARCH64},
		{SIBLING, SCMP_ARCH_ARM},
#endif
	};
	for (int a = 0; a < 2; a++)
		for (int nr = -1; nr < 1100; nr++) {
			int want = expected(archs[a].scmp, nr, sets);
			stopped += want != 0;
			for (unsigned m = 0; m < 4; m++) {
				uint64_t prot = PROT_READ | (m & 1 ? PROT_WRITE : 0), flags = m & 2 ? MAP_SHARED : MAP_PRIVATE;
				uint32_t got = run(&p, archs[a].audit, nr, prot, flags) & pick;
				uint32_t right = want == 1 || (want == 2 && m == 3) ? stop : SECCOMP_RET_ALLOW;
				if (got != right)
					fail_msg("architecture %d, call %d: %x, not %x", a, nr, got, right);
			}
			assert_int_equal(run(&p, FOREIGN, nr, PROT_WRITE, MAP_SHARED), SECCOMP_RET_ALLOW);
		}
	assert_true(stopped >= 6); /* the set tree has three, and there are two architectures */
	/* The third interface of x86-64 has its numbers above this bit. Any of its calls may open a file, or confine. */
	for (int nr = 0; nr < 600; nr++)
		assert_int_equal(run(&p, NATIVE, 0x40000000 | nr, 0, 0) & pick, x32 ? stop : SECCOMP_RET_ALLOW);
	assert_int_equal(run(&p, NATIVE, INT32_MAX, 0, 0) & pick, x32 ? stop : SECCOMP_RET_ALLOW);
	free(p.filter);
}

static void stops_what_the_table_names(void **state)
{
	(void)state;
	check(TRAP_TREE | TRAP_FILE, true);
	check(TRAP_TREE | TRAP_FILE | TRAP_COUNT, true);
	check(TRAP_TREE | TRAP_FILE | TRAP_XATTR, true);
	check(TRAP_TREE | TRAP_FILE | TRAP_RINGS, true);
	check(TRAP_TREE | TRAP_FILE | TRAP_INJECT, true);
	check(TRAP_TREE | TRAP_FILE | TRAP_FORKS, true);
	check(TRAP_TREE | TRAP_FORKS, true);
	check(TRAP_TREE | TRAP_FORKS, false);
	check(TRAP_TREE | TRAP_FILE, false);
	check(TRAP_TREE, true);
	check(TRAP_TREE, false);
}

/* Handlers are looked at as they are set, for the signals that come by themselves; who asks to trace another, before.
 */
/* A process in the memory of the one that makes it, which goes on: no thread, no fork, no vfork. */
static void stops_who_shares_its_memory(void **state)
{
	static const struct {
		uint64_t flags;
		bool stopped, held; /* held: where processes are held to a number */
	} rows_[] = {
	    {SIGCHLD, false, true},
	    {CLONE_VM | SIGCHLD, true, true},
	    {CLONE_VM | CLONE_FILES | CLONE_FS, true, true},
	    {CLONE_VM | CLONE_VFORK | SIGCHLD, false, true},
	    {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, false, false},
	};
	(void)state;
	for (int forks = 0; forks < 2; forks++) {
		struct err err = {0};
		struct sock_fprog p;
		assert_int_equal(trap_filter(TRAP_TREE | TRAP_FILE | (forks ? TRAP_FORKS : 0), true, &err, &p), 0);
		for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++) {
			uint32_t got = run_with(&p, NATIVE, SYS_clone, (uint64_t[4]){rows_[i].flags, 0, 0, 0});
			bool stopped = forks ? rows_[i].held : rows_[i].stopped;
			assert_int_equal(got & SECCOMP_RET_ACTION_FULL, stopped ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		}
		free(p.filter);
	}
}

/* Who only waits for what a ring has been given is let go. */
static void stops_who_submits(void **state)
{
	(void)state;
	struct err err = {0};
	struct sock_fprog p;
	assert_int_equal(trap_filter(TRAP_TREE | TRAP_FILE | TRAP_RINGS, true, &err, &p), 0);
	for (uint64_t calls = 0; calls < 3; calls++) {
		uint32_t got = run_with(&p, NATIVE, SYS_io_uring_enter, (uint64_t[4]){3, calls, 1, 1});
		assert_int_equal(got & SECCOMP_RET_ACTION_FULL, calls ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
	}
	free(p.filter);
}

static void stops_what_serves_the_guard(void **state)
{
	static const struct {
		const char *call;
		uint64_t arg0, arg1;
		bool stopped;
	} rows_[] = {
	    {"rt_sigaction", SIGCHLD, 1, true},
	    {"rt_sigaction", SIGCHLD, 0, false},
	    {"rt_sigaction", SIGCHLD, 1ull << 32, true},
	    {"rt_sigaction", SIGALRM, 0x7fff00000000, true},
	    {"rt_sigaction", SIGUSR2, 8, true},
	    {"rt_sigaction", SIGINT, 8, false},
	    {"rt_sigaction", SIGSEGV, 8, false},
	    {"rt_sigaction", 33, 8, false},
	    {"rt_sigaction", 34, 8, true},
	    {"rt_sigaction", 37, 8, true},
	    {"rt_sigaction", 38, 8, false},
	    {"ptrace", 0, 0, false},
	    {"ptrace", 16, 77, true},
	    {"ptrace", 0x4206, 77, true},
	    {"ptrace", 7, 77, false},
	};
	(void)state;
	for (int notify = 0; notify < 2; notify++) {
		struct err err = {0};
		struct sock_fprog p;
		assert_int_equal(trap_filter(TRAP_TREE, notify, &err, &p), 0);
		for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++)
			for (int sibling = 0; sibling < 2; sibling++) {
				int nr = seccomp_syscall_resolve_name_arch(sibling ? SCMP_ARCH_X86 : SCMP_ARCH_X86_64, rows_[i].call);
				uint32_t got =
				    run_with(&p, sibling ? SIBLING : NATIVE, nr, (uint64_t[4]){rows_[i].arg0, rows_[i].arg1, 3, 1});
				bool right = rows_[i].stopped && notify && !sibling && TRAP_SHIELDED;
				if (got != (right ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW))
					fail_msg("row %zu, sibling %d, notify %d: %x", i, sibling, notify, got);
			}
		free(p.filter);
	}
}

#if defined(__x86_64__)
/* What the injected code opens goes on if it only reads, comes from the code's page or is marked, and is of the native
 * architecture. So does, whoever makes it, an open with O_PATH, but for the code's own that asks for a log to be read.
 */
static void lets_the_injected_code_open(void **state)
{
	static const struct {
		uint64_t from, flags;
		bool goes_on;
		uint64_t mode;
		bool always;
	} rows_[] = {
	    {0x7f0000001234, O_RDONLY | O_CLOEXEC, true, OPENS_MODE},
	    {0x7f0000001234, O_RDONLY, false, OPENS_MODE + 1},
	    {0x7f0000001234, O_RDONLY, false, OPENS_MODE << 1},
	    {0x7f0000001234, O_WRONLY, false, OPENS_MODE},
	    {0x7f0000001234, O_RDONLY | O_CREAT, false, OPENS_MODE},
	    {0x7f0000001234, O_TMPFILE, false, OPENS_MODE},
	    {0x7f0000001234, O_PATH, true, OPENS_MODE, true},
	    {0x7f0000001234, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, true, 0, true},
	    {0x7f0000001234, O_PATH | O_TMPFILE, false, 0},
	    {0x7f0000001234, O_PATH | O_CREAT, false, 0},
	    {0x7f0000001234, O_PATH | O_RDWR, false, 0},
	    {0x7f0000001234, O_PATH, false, OPENS_DRAIN},
	    {OPENS_PAGE + 2, O_PATH, false, OPENS_DRAIN},
	    {OPENS_PAGE + 2, O_RDONLY | O_CLOEXEC, true, 0},
	    {OPENS_PAGE + OPENS_PAGE_SIZE - 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, true, 0},
	    {OPENS_PAGE, 0, true, 0},
	    {OPENS_PAGE - 1, 0, false, 0},
	    {OPENS_PAGE + OPENS_PAGE_SIZE, 0, false, 0},
	    {OPENS_PAGE + (1ull << 32), 0, false, 0},
	    {OPENS_PAGE - (1ull << 32), 0, false, 0},
	    {OPENS_PAGE & 0xffffffff, 0, false, 0},
	    {OPENS_PAGE + 2, O_WRONLY, false, 0},
	    {OPENS_PAGE + 2, O_RDWR, false, 0},
	    {OPENS_PAGE + 2, O_RDONLY | O_CREAT, false, 0},
	    {OPENS_PAGE + 2, O_RDONLY | O_TRUNC, false, 0},
	    {OPENS_PAGE + 2, O_TMPFILE, false, 0},
	    {OPENS_PAGE + 2, O_PATH, true, 0, true},
	};
	(void)state;
	for (int injects = 0; injects < 2; injects++) {
		struct err err = {0};
		struct sock_fprog p;
		unsigned sets = TRAP_TREE | TRAP_FILE | (injects ? TRAP_INJECT : 0u);
		assert_int_equal(trap_filter(sets, true, &err, &p), 0);
		for (size_t i = 0; i < sizeof(rows_) / sizeof(rows_[0]); i++)
			for (int sibling = 0; sibling < 2; sibling++) {
				static const char *const calls[] = {"openat", "open", "openat2", "execve", "rename"};
				for (int c = 0; c < 5; c++) {
					int nr = seccomp_syscall_resolve_name_arch(sibling ? SCMP_ARCH_X86 : SCMP_ARCH_X86_64, calls[c]);
					from = rows_[i].from;
					uint32_t got = run_with(&p, sibling ? SIBLING : NATIVE, nr,
					                        (uint64_t[4]){0, 0, rows_[i].flags, rows_[i].mode});
					bool right = rows_[i].goes_on && (injects || rows_[i].always) && !sibling && c == 0;
					if (got != (right ? SECCOMP_RET_ALLOW : SECCOMP_RET_USER_NOTIF))
						fail_msg("row %zu, sibling %d, %s: %x", i, sibling, calls[c], got);
				}
			}
		/* A filter of its own is one of the things that the code has to know of. */
		for (int option = 0; option < 80; option++) {
			for (int sibling = 0; sibling < 2; sibling++) {
				int nr = sibling ? seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86, "prctl") : SYS_prctl;
				uint32_t got = run_with(&p, sibling ? SIBLING : NATIVE, nr, (uint64_t[4]){(uint64_t)option, 2, 0, 0});
				if (got != (injects && option == PR_SET_SECCOMP ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW))
					fail_msg("prctl(%d) of interface %d: %x", option, sibling, got);
			}
		}
		from = 0x7f0000001234;
		free(p.filter);
	}
}
#endif

static void words_follow_the_names(void **state)
{
	bool compat;
	(void)state;
	int open_nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, "openat");
	assert_int_equal(trap_call(NATIVE, open_nr, &compat), CALL_openat);
	assert_false(compat);
	assert_int_equal(trap_call_native(open_nr), CALL_openat);
	assert_int_equal(trap_call(FOREIGN, open_nr, &compat), CALL_none);
	assert_int_equal(trap_call(NATIVE, -1, &compat), CALL_none);
	assert_int_equal(trap_call(NATIVE, 100000, &compat), CALL_none);
	int read_nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_NATIVE, "read");
	assert_int_equal(trap_call_native(read_nr), CALL_none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_what_the_table_names),
		cmocka_unit_test(stops_what_serves_the_guard),
		cmocka_unit_test(stops_who_submits),
		cmocka_unit_test(stops_who_shares_its_memory),
#if defined(__x86_64__)
		cmocka_unit_test(lets_the_injected_code_open),
#endif
		cmocka_unit_test(words_follow_the_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
