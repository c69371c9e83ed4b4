#include "capture/seccomp/trap.h"
#include "capture/seccomp/unstopped.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static const struct row {
	enum call call;
	unsigned set;
} rows[] = {
#define tree TRAP_TREE
#define file TRAP_FILE
#define count TRAP_COUNT
#define xattr TRAP_XATTR
#define rings TRAP_RINGS
#define forks TRAP_FORKS
#define CALL(name, word, set) {CALL_##word, set},
#include "capture/seccomp/calls.def"
#undef CALL
#undef tree
#undef file
#undef count
#undef xattr
#undef rings
#undef forks
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

/* Of each row, its number on this architecture and on its 32-bit sibling; -1 where there is none. */
static const short numbers[NROWS][2] = {
#include "numbers.inc"
};

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define SIBLING AUDIT_ARCH_I386
/* A third interface, of the native architecture's name: its numbers begin here. */
#define X32 0x40000000u
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define SIBLING AUDIT_ARCH_ARM
#endif

#define NR_MAX 512
static uint8_t words[2][NR_MAX];
static bool words_made;

/* Fills the table from numbers of system calls to calls, for both kinds of programs. */
static void make_words(void)
{
	for (size_t i = 0; i < NROWS; i++)
		for (int a = 0; a < 2; a++)
			if (numbers[i][a] >= 0 && numbers[i][a] < NR_MAX)
				words[a][numbers[i][a]] = (uint8_t)rows[i].call;
	words_made = true;
}

enum call trap_call(uint32_t arch, int nr, bool *ret_compat)
{
	bool compat = arch == SIBLING;
	*ret_compat = compat;
#ifdef X32
	if (arch == NATIVE && nr > 0 && (uint32_t)nr >= X32)
		return CALL_x32;
#endif
	if (!words_made)
		make_words();
	if (nr < 0 || nr >= NR_MAX || (!compat && arch != NATIVE))
		return CALL_none;
	return (enum call)words[compat][nr];
}

/* CALL_none: not one of ours. */
enum call trap_call_native(int nr)
{
	bool compat;
	return trap_call(NATIVE, nr, &compat);
}

/* ---- the program ---- */

/* Written here and not by libseccomp, which took 0.4 ms of every run's start for it. A tree of comparisons over the
 * ranges of numbers with equal answers; the kernel's bitmap answers for the numbers that are always let go, so the tree
 * is walked for the others only. */

/* MMAP: stopped where it is shared and writable. ACTION: where a handler is set for a signal that comes by itself, or
 * that programs send each other all the time. ATTACH: where another process is to be traced. FORBID: where it gets a
 * filter. SHARE: where a process comes to be that can write the memory of the one that makes it, while that runs.
 * FORK: where another process comes to be. EMPTIES: where the length is 0. SUBMITS: where
 * it is not. OPEN: but for one that gives nothing to read
 * or write (O_PATH), and one that the injected code makes, or has made and marked (OPENS_MODE), and that only reads. */
enum answer { ALLOW, TRAP, MMAP, ACTION, ATTACH, FORBID, OPEN, SHARE, FORK, EMPTIES, SUBMITS, ANSWERS };

static const uint32_t signals[] = {SIGCHLD, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGUSR1, SIGUSR2};
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))
/* glibc's SIGRTMIN, and a few more: Go has handlers for all 31 from there on, each with SA_RESTART. */
#define RT_FIRST 34
#define RT_LAST 37

struct build {
	struct sock_filter *code;
	unsigned n, max;
	uint8_t answer[NR_MAX];
	unsigned start[NR_MAX + 1], nranges; /* where each range of equal answers begins */
};

/* The place of the instruction; beyond b->max it is not put down, only counted. */
static unsigned emit_filter(struct build *b, unsigned code, uint32_t k, unsigned jt, unsigned jf)
{
	if (b->n < b->max)
		b->code[b->n] = (struct sock_filter){.code = (uint16_t)code, .k = k, .jt = (uint8_t)jt, .jf = (uint8_t)jf};
	return b->n++;
}

/* A jump to an answer, until the answers have their places: beyond any distance in a tree, which has at most one
 * comparison a range. */
#define TO_ANSWER 0xf0

/* The tree for the ranges first to last (not included); where there is but one, nothing is written. Returns the jump
 * into it from `from`. */
static unsigned emit_range_tree(struct build *b, unsigned from, unsigned first, unsigned last)
{
	if (last - first == 1)
		return TO_ANSWER + b->answer[b->start[first]];
	unsigned middle = first + (last - first) / 2;
	unsigned at = emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, b->start[middle], 0, 0);
	unsigned below = emit_range_tree(b, at, first, middle), above = emit_range_tree(b, at, middle, last);
	if (at < b->max) {
		b->code[at].jf = (uint8_t)below;
		b->code[at].jt = (uint8_t)above;
	}
	return at - from - 1;
}

/* Emits the load of a word of what the filter is called with. offset: in seccomp_data, bytes. Gives the place of the
 * instruction. */
static unsigned emit_filter_load(struct build *b, size_t offset)
{
	return emit_filter(b, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* The low half of an argument: both architectures are little-endian. Gives what emit_filter_load does. */
static unsigned load_arg(struct build *b, unsigned i)
{
	return emit_filter_load(b, offsetof(struct seccomp_data, args) + 8 * i);
}

/* How a call is answered that is stopped by what its argument says: of the calls of which every one may be stopped,
 * whatever else is asked for. */
static enum answer answer_by_length(enum call call)
{
	return call == CALL_ftruncate ? EMPTIES : call == CALL_ring_enter ? SUBMITS : TRAP;
}

/* How the filter answers a call: sets: TRAP_ bits; shielded: the shield's signals and tracers count. */
static enum answer answer_to(enum call call, unsigned sets, bool shielded, bool native)
{
	const bool injected = (sets & TRAP_INJECT) != 0, counts = (sets & TRAP_COUNT) != 0;
	switch (call) {
	case CALL_mmap:
		return MMAP;
	case CALL_openat:
		return native && (injected || !counts) ? OPEN : TRAP;
	case CALL_sigaction:
		return shielded ? ACTION : ALLOW;
	case CALL_ptrace:
		return shielded ? ATTACH : ALLOW;
	case CALL_forbid:
		return injected ? FORBID : ALLOW;
	case CALL_share:
		return sets & TRAP_FORKS ? FORK : SHARE;
	default:
		return answer_by_length(call);
	}
}

/* Everything for one architecture, whose call number is looked up in numbers[][a]. 0; -E2BIG: the table does not fit.
 * */
static int build_filter_part(struct build *b, unsigned sets, int a, bool shielded, uint32_t action)
{
	bool injected = (sets & TRAP_INJECT) != 0, native = a == 0;
	bool counts = (sets & TRAP_COUNT) != 0; /* every open is one of the count's log then, and is stopped */
	memset(b->answer, ALLOW, sizeof(b->answer));
	for (size_t i = 0; i < NROWS; i++)
		if (((rows[i].set | (rows[i].call == CALL_share ? TRAP_FORKS : 0u)) & sets) && numbers[i][a] >= 0 &&
		    numbers[i][a] < NR_MAX)
			b->answer[numbers[i][a]] = answer_to(rows[i].call, sets, shielded, native);
	b->nranges = 0;
	for (unsigned nr = 0; nr < NR_MAX; nr++)
		if (!nr || b->answer[nr] != b->answer[nr - 1])
			b->start[b->nranges++] = nr;
	if (b->answer[NR_MAX - 1] != ALLOW || b->nranges < 2 || b->nranges > TO_ANSWER / 2)
		return -E2BIG; /* numbers beyond the table belong to its last range */
	emit_filter_load(b, offsetof(struct seccomp_data, nr));
#ifdef X32
	if (native) { /* -1 is no call: a tracer has taken it away */
		emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 3);
		emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, 2 * X32, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	}
#endif
	unsigned begin = b->n;
	emit_range_tree(b, begin - 1, 0, b->nranges);
	unsigned end = b->n, place[ANSWERS] = {0};
	if (shielded) {
		place[ACTION] = load_arg(b, 0);
		for (unsigned i = 0; i < NSIGNALS; i++)
			emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, signals[i], (unsigned)NSIGNALS - i + 2, 0);
		emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, RT_LAST + 1, 1, 0);
		emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, RT_FIRST, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		load_arg(b, 1);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
		emit_filter_load(b, offsetof(struct seccomp_data, args) + 8 + 4);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
		place[ATTACH] = load_arg(b, 0);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, PTRACE_ATTACH, 2, 0);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, PTRACE_SEIZE, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	}
	if (native) {
		place[OPEN] = load_arg(b, 2);
		emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, counts ? 0 : O_PATH, 0, 4);
		emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, OPENS_FLAGS_NOT & ~O_PATH, 3, 0);
		load_arg(b, 3);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, OPENS_DRAIN, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	}
	if (native && !injected)
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	if (injected && native) {
		const uint64_t page = OPENS_PAGE;
		load_arg(b, 3);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, OPENS_MODE, 5, 0);
		emit_filter_load(b, offsetof(struct seccomp_data, instruction_pointer) + 4);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(page >> 32), 0, 6);
		emit_filter_load(b, offsetof(struct seccomp_data, instruction_pointer));
		emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)page, 0, 4);
		emit_filter(b, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)page + OPENS_PAGE_SIZE, 3, 0);
		load_arg(b, 2);
		emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, OPENS_FLAGS_NOT, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	}
	if (injected) {
		place[FORBID] = load_arg(b, 0);
		emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	}
	place[EMPTIES] = load_arg(b, 1);
	emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
	emit_filter_load(b, offsetof(struct seccomp_data, args) + 8 + 4);
	emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1);
	emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	place[SUBMITS] = load_arg(b, 1);
	emit_filter(b, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
	emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	place[SHARE] = load_arg(b, 0);
	emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD | CLONE_VFORK, 1, 0);
	emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, CLONE_VM, 1, 0);
	emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	if (sets & TRAP_FORKS) {
		place[FORK] = load_arg(b, 0);
		emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
		emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
		emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	}
	place[MMAP] = load_arg(b, 2);
	emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, PROT_WRITE, 0, 3);
	load_arg(b, 3);
	emit_filter(b, BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1);
	place[TRAP] = emit_filter(b, BPF_RET | BPF_K, action, 0, 0);
	place[ALLOW] = emit_filter(b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	if (b->n > b->max)
		return -E2BIG;
	for (unsigned i = begin; i < end; i++) {
		uint8_t *jump[] = {&b->code[i].jt, &b->code[i].jf};
		for (int k = 0; k < 2; k++) {
			unsigned far = *jump[k] >= TO_ANSWER ? place[*jump[k] - TO_ANSWER] - i - 1 : *jump[k];
			if (far > UINT8_MAX)
				return -E2BIG;
			*jump[k] = (uint8_t)far;
		}
	}
	return 0;
}

int trap_filter(unsigned sets, bool notify, struct err *err, struct sock_fprog *ret)
{
	if (!words_made)
		make_words();
	/* Two comparisons a row at most, for two architectures, and what goes around them. */
	struct build b = {.max = 4 * NROWS + 64};
	uint32_t action = notify ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_TRACE | 1;
	b.code = calloc(b.max, sizeof(*b.code));
	if (!b.code)
		return err_set(err, ENOMEM, "cannot build the system call filter");
	emit_filter_load(&b, offsetof(struct seccomp_data, arch));
	emit_filter(&b, BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 3, 0);
	emit_filter(&b, BPF_JMP | BPF_JEQ | BPF_K, SIBLING, 1, 0);
	emit_filter(&b, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	unsigned over = emit_filter(&b, BPF_JMP | BPF_JA, 0, 0, 0);
	int rc = build_filter_part(&b, sets, 0, notify && TRAP_SHIELDED, action);
	b.code[over].k = b.n - over - 1; /* the sibling's part follows the native one */
	if (rc == 0)
		rc = build_filter_part(&b, sets, 1, false, action);
	if (rc < 0) {
		free(b.code);
		return err_set(err, -rc, "cannot build the system call filter");
	}
	*ret = (struct sock_fprog){.len = (unsigned short)b.n, .filter = b.code};
	return 0;
}
