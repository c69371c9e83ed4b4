#include "capture/inject/inject.h"
#include "base/fileid.h"
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/inline_open/open_code.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

#define CODE_64 0x33
#define RESTARTS 512 /* from -512 on down: results of a call that the kernel makes again */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss,
	    fs_base, gs_base, ds, es, fs, gs;
};

static long inject_ptrace(long request, pid_t tid, long addr, void *data)
{
	return syscall(SYS_ptrace, request, (long)tid, addr, data);
}

static long parse_status_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static bool is_plain(pid_t pid, bool handlers, bool threads)
{
	char text[4096];
	if (procfs_read(pid, "status", text, sizeof(text)) <= 0)
		return false;
	long filters = parse_status_field(text, "\nSeccomp_filters:");
	/* With a shadow stack the kernel keeps where functions return to: the way back (make_frame) and that of a stub into
	 * a function that is to return elsewhere are not there. */
	const char *features = strstr(text, "\nx86_Thread_features:"), *stack = features ? strstr(features, "shstk") : NULL;
	if (stack && stack < features + 1 + strcspn(features + 1, "\n"))
		return false;
	/* A handler may have interrupted a call, and return to behind it, where the bytes are about to change. */
	const char *caught = strstr(text, "\nSigCgt:");
	bool none = caught && strspn(caught + 8, "\t 0") == strcspn(caught + 8, "\n");
	return (threads || parse_status_field(text, "\nThreads:") == 1) && filters == 1 &&
	       parse_status_field(text, "\nVmLck:") == 0 && (handlers || none);
}

bool inject_is_plain(pid_t pid, bool handlers)
{
	return is_plain(pid, handlers, false);
}

/* What stands at a site: what the file has, or the jump to the stub that counts. */
static void site_bytes(const struct sites *s, uint64_t base, const struct stubs *counted, uint64_t code, size_t i,
                       unsigned char ret[SITE_BYTES])
{
	const struct site *t = &s->site[i];
	if (counted)
		stubs_jump(t, base, code, counted->at[i], ret);
	else
		memcpy(ret, t->bytes, t->taken);
}

/* The sites as they are supposed to be, read at once. */
static bool has_expected_sites(pid_t pid, const struct sites *s, uint64_t base, const struct stubs *counted,
                               uint64_t code)
{
	struct iovec here[SITES_MAX], there[SITES_MAX];
	unsigned char got[SITES_MAX][SITE_BYTES];
	size_t want = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct site *t = &s->site[i];
		here[i] = (struct iovec){got[i], t->taken};
		there[i] = (struct iovec){(void *)(uintptr_t)(base + t->offset), t->taken};
		want += t->taken;
	}
	if (process_vm_readv(pid, here, s->n, there, s->n, 0) != (ssize_t)want)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		unsigned char as[SITE_BYTES] = {0};
		site_bytes(s, base, counted, code, i, as);
		if (memcmp(got[i], as, s->site[i].taken))
			return false;
	}
	return true;
}

bool inject_has_sites(pid_t pid, const struct sites *sites, uint64_t base)
{
	return has_expected_sites(pid, sites, base, NULL, 0);
}

/* What the kernel leaves on the stack for a signal's handler to return by. */
struct frame {
	uint64_t pretcode;
	uint64_t uc_flags, uc_link, stack_sp, stack_flags, stack_size;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t mask;
};
#define UC_SIGCONTEXT_SS 2
#define UC_STRICT_RESTORE_SS 4
#define RED_ZONE 128
#define FXSAVE 512
#define FXSAVE_SOFTWARE 464    /* from here on the kernel says what else there is */
#define PTRACE_GET_MASK 0x420a /* PTRACE_GETSIGMASK, which not every header has */
#define PTRACE_SET_MASK 0x420b

/* While calls are made in its name the process must get back to where it was also without us, should the recorder be
 * killed just then and the kernel let go of it. So the call is one that is followed by `ret`, and below its stack there
 * is what a return from a signal's handler restores everything by. Of the floating-point state that is what FXSAVE
 * has: the control words and the flags of what has been computed, which most programs have set, and the registers. The
 * upper halves of vector registers do not outlive the call of a function. */
static int make_frame(pid_t pid, const struct injection *g, const struct regs *on, int mem, uint64_t *ret_at)
{
	unsigned char fp[FXSAVE];
	const uint64_t fp_at = (on->sp - RED_ZONE - sizeof(fp)) & ~(uint64_t)63;
	const uint64_t by_number[2] = {g->base + g->sites->pop, SYS_rt_sigreturn};
	struct frame f = {.pretcode = g->base + (g->sites->sigreturn ? g->sites->sigreturn : g->sites->gadget),
	                  .uc_flags = UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS,
	                  .stack_flags = 0x7fffffff, /* refused, so that the alternate stack stays what it is */
	                  .r8 = on->r8,
	                  .r9 = on->r9,
	                  .r10 = on->r10,
	                  .r11 = on->r11,
	                  .r12 = on->r12,
	                  .r13 = on->r13,
	                  .r14 = on->r14,
	                  .r15 = on->r15,
	                  .di = on->di,
	                  .si = on->si,
	                  .bp = on->bp,
	                  .bx = on->bx,
	                  .dx = on->dx,
	                  .ax = on->ax,
	                  .cx = on->cx,
	                  .sp = on->sp,
	                  .ip = on->ip,
	                  .flags = on->flags,
	                  .cs = (uint16_t)on->cs,
	                  .ss = (uint16_t)on->ss,
	                  .fpstate = fp_at};
	if (inject_ptrace(PTRACE_GETFPREGS, pid, 0, fp) < 0 ||
	    inject_ptrace(PTRACE_GET_MASK, pid, sizeof(f.mask), &f.mask) < 0)
		return -ESRCH;
	memset(fp + FXSAVE_SOFTWARE, 0, sizeof(fp) - FXSAVE_SOFTWARE); /* nothing follows that XSAVE has */
	*ret_at = (fp_at - sizeof(f)) & ~(uint64_t)15;
	if (pwrite(mem, fp, sizeof(fp), (off_t)fp_at) != (ssize_t)sizeof(fp))
		return -EFAULT;
	if (pwrite(mem, &f, sizeof(f), (off_t)*ret_at) != (ssize_t)sizeof(f))
		return -EFAULT;
	if (g->sites->sigreturn)
		return 0;
	*ret_at -= sizeof(by_number);
	return pwrite(mem, by_number, sizeof(by_number), (off_t)*ret_at) == (ssize_t)sizeof(by_number) ? 0 : -EFAULT;
}

/* Signals wait until all is done: what a tracer hands on at such a stop comes without what its sender said, and the C
 * library does not take that for its own (it would not cancel a thread). After the registers have been set: from then
 * on the frame brings the mask back, too. */
static bool hold_signals(pid_t pid)
{
	uint64_t all = ~(uint64_t)0;
	return inject_ptrace(PTRACE_SET_MASK, pid, sizeof(all), &all) == 0;
}

/* Makes a call in its name. 0 or the call's -errno; the result in *ret. -ESRCH: it is gone. */
static int remote_call(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                       const unsigned long v[7], unsigned long *ret, int *signal)
{
	struct regs r = *was;
	r.ip = g->base + g->sites->gadget;
	r.sp = frame;
	r.ax = v[0];
	r.orig_ax = (unsigned long)-1;
	r.di = v[1];
	r.si = v[2];
	r.dx = v[3];
	r.r10 = v[4];
	r.r8 = v[5];
	r.r9 = v[6];
	unsigned long begin = r.ip;
	bool inside = false;
	if (inject_ptrace(PTRACE_SETREGS, pid, 0, &r) < 0 || !hold_signals(pid))
		return -ESRCH;
	/* Stopped at its beginning and its end. Not by single steps: were we killed, the trap flag would stay, and with it
	 * come a SIGTRAP that nobody takes. */
	for (int tries = 0; tries < 16; tries++) {
		int status;
		struct regs now;
		if (inject_ptrace(PTRACE_SYSCALL, pid, 0, NULL) < 0)
			return -ESRCH;
		/* Its end is not ours to take. */
		siginfo_t si = {0};
		while (waitid(P_PID, (id_t)pid, &si, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) < 0)
			if (errno != EINTR)
				return -ESRCH;
		if (si.si_code != CLD_TRAPPED && si.si_code != CLD_STOPPED)
			return -ESRCH;
		if (waitpid(pid, &status, __WALL | __WNOTHREAD | WNOHANG) != pid || !WIFSTOPPED(status))
			return -ESRCH;
		if (inject_ptrace(PTRACE_GETREGS, pid, 0, &now) < 0)
			return -ESRCH;
		if (status >> 16 == 0 && WSTOPSIG(status) == (SIGTRAP | 0x80) && now.ip == begin + 2) {
			if (inside) {
				*ret = now.ax;
				return (long)now.ax < 0 && (long)now.ax > -4096 ? (int)(long)now.ax : 0;
			}
			inside = true;
		} else if (status >> 16 == 0 && WSTOPSIG(status) < SIGRTMAX + 1) {
			/* A signal: kept for later. */
			if (*signal)
				return -EBUSY;
			*signal = WSTOPSIG(status);
		}
	}
	return -EBUSY;
}

static bool write_memory(int mem, uint64_t at, const void *p, size_t n)
{
	return pwrite(mem, p, n, (off_t)at) == (ssize_t)n;
}

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* One call to be made in the name of a process: number and arguments. */
typedef unsigned long remote_args[7];

/* Makes n calls one after the other, until one fails; those that map something must give the address that was asked
 * for, if there was one. 0 or -errno; *ret_done: how many were made. */
static int remote_calls(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                        const remote_args *calls, size_t n, unsigned long *ret_at, size_t *ret_done, int *signal)
{
	int rc = 0;
	size_t i = 0;
	for (; rc == 0 && i < n; i++) {
		rc = remote_call(pid, g, was, frame, calls[i], &ret_at[i], signal);
		bool fixed = calls[i][0] == SYS_mmap && (calls[i][4] & MAP_FIXED_NOREPLACE);
		if (rc == 0 && fixed && ret_at[i] != calls[i][1])
			rc = -EEXIST; /* a kernel before 4.17, and the place is taken: what it gave instead is given back */
	}
	*ret_done = i;
	return rc;
}

/* Takes back what the first n of these calls have mapped. */
static void remote_undo(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                        const remote_args *calls, size_t n, const unsigned long *at, int *signal)
{
	unsigned long none;
	for (size_t i = 0; i < n; i++) {
		const remote_args unmap = {SYS_munmap, at[i], calls[i][2]};
		if (calls[i][0] == SYS_mmap && (long)at[i] > 0)
			remote_call(pid, g, was, frame, unmap, &none, signal);
	}
}

/* The table that outlives the process. It is mapped to be read first: a shared mapping that can be written would be
 * stopped, and nobody is there to answer. A forked child does not get it. Without it there is the private one. */
static int put_table(pid_t pid, struct injection *g, const struct regs *was, uint64_t frame, int mem, uint64_t table,
                     int *signal)
{
	const unsigned long fd = (unsigned long)g->fd, at = OPENS_ABOVE_TABLE - TABLE_SIZE, page = 4096;
	const unsigned long rw = PROT_READ | PROT_WRITE, nowhere = (unsigned long)-1, there = MAP_FIXED_NOREPLACE;
	const remote_args calls[] = {
	    {SYS_mmap, OPENS_ABOVE_TABLE, page, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | there, nowhere, 0},
	    {SYS_mmap, at, TABLE_SIZE, PROT_READ, MAP_SHARED | there, fd, 0},
	    {SYS_madvise, at, TABLE_SIZE, MADV_DONTFORK},
	    {SYS_mprotect, at, TABLE_SIZE, rw},
	};
	enum { CALLS = sizeof(calls) / sizeof(calls[0]) };
	const remote_args shut = {SYS_close, fd};
	unsigned long got[CALLS] = {0}, none;
	size_t n;
	int rc = remote_calls(pid, g, was, frame, calls, CALLS, got, &n, signal);
	uint64_t delta = at - table;
	if (rc == 0 && !write_memory(mem, table + offsetof(struct counted_table, delta), &delta, sizeof(delta)))
		rc = -EIO;
	g->shared = rc == 0;
	if (rc < 0 && rc != -ESRCH)
		remote_undo(pid, g, was, frame, calls, n, got, signal);
	int shut_rc = rc == -ESRCH ? rc : remote_call(pid, g, was, frame, shut, &none, signal);
	return shut_rc == -ESRCH || rc == -ESRCH ? -ESRCH : 0;
}

static int put_jumps(int mem, const struct sites *s, uint64_t base, uint64_t code, const struct stubs *stubs,
                     size_t *ret_done)
{
	for (*ret_done = 0; *ret_done < s->n; ++*ret_done) {
		const struct site *t = &s->site[*ret_done];
		unsigned char jump[SITE_BYTES];
		stubs_jump(t, base, code, stubs->at[*ret_done], jump);
		if (!write_memory(mem, base + t->offset, jump, t->taken))
			return -EIO;
	}
	return 0;
}

/* The loader's stubs, behind the library's, and the jumps to them. The process is in the library, not in the loader's
 * calls, or about to come back to none of them. */
static void put_loader(pid_t pid, const struct injection *g, int mem, uint64_t code, struct stubs *stubs)
{
	struct sites s = *g->loader;
	const uint64_t at = code + STUBS_SIZE;
	size_t done;
	s.tid = g->sites->tid; /* where the C library keeps it */
	if (stubs_make(&s, g->loader_base, at, code + CODE_SIZE, stubs) < 0 || stubs->n > LOADER_SIZE ||
	    !has_expected_sites(pid, g->loader, g->loader_base, NULL, 0) || !write_memory(mem, at, stubs->code, stubs->n))
		return;
	put_jumps(mem, g->loader, g->loader_base, at, stubs, &done);
}

/* The lowest address that anything of it has; 0 not known. */
static uint64_t lowest_mapped_address(pid_t pid)
{
	char text[32];
	return procfs_read(pid, "maps", text, sizeof(text)) > 0 ? strtoull(text, NULL, 16) : 0;
}

/* An address for so many bytes of code, for the kernel to start from; 0: wherever it likes, which is near a library. A
 * program of its own lies far below where the kernel maps what may lie anywhere, or among it, where older kernels put
 * one that may lie anywhere itself, or in between. Jumps reach 2 GB. */
static unsigned long choose_near_address(pid_t pid, const struct injection *g, uint64_t size)
{
	enum { APART = 65536 };
	uint64_t low = g->sites->moves ? g->base : g->sites->alone ? lowest_mapped_address(pid) : 0;
	if (g->sites->moves && g->counted_code && g->counted_code < low)
		low = g->counted_code;
	return low > size + 2 * APART ? (low - (size + APART)) & ~4095ul : 0;
}

/* Everything but the last registers. in: the open that the process has just come back from, if any; ret_on: where it
 * goes on. */
static int write_code(pid_t pid, struct injection *g, const struct regs *was, size_t in, int *signal,
                      struct stubs *stubs, struct regs *ret_on)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	int mem = open(name, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return -errno;
	unsigned long at = 0, none;
	uint64_t frame;
	const unsigned long map[7] = {SYS_mmap,
	                              choose_near_address(pid, g, CODE_SIZE + TABLE_SIZE),
	                              CODE_SIZE + TABLE_SIZE,
	                              PROT_READ | PROT_WRITE,
	                              MAP_PRIVATE | MAP_ANONYMOUS,
	                              (unsigned long)-1};
	int rc = make_frame(pid, g, was, mem, &frame);
	if (rc == 0)
		rc = remote_call(pid, g, was, frame, map, &at, signal);
	if (rc == 0 && g->fd >= 0)
		rc = put_table(pid, g, was, frame, mem, at + CODE_SIZE, signal);
	if (rc < 0) {
		close(mem);
		return rc;
	}
	const unsigned long unmap[7] = {SYS_munmap, at, CODE_SIZE + TABLE_SIZE};
	const unsigned long protect[7] = {SYS_mprotect, at, CODE_SIZE, PROT_READ | PROT_EXEC};
	const unsigned long wipe[7] = {SYS_madvise, at + CODE_SIZE, TABLE_SIZE, MADV_WIPEONFORK};
	uint32_t owner = (uint32_t)pid;
	rc = stubs_make(g->sites, g->base, at, at + CODE_SIZE, stubs);
	if (rc == 0 && (!write_memory(mem, at, stubs->code, stubs->n) ||
	                !write_memory(mem, at + CODE_SIZE + offsetof(struct counted_table, owner), &owner, sizeof(owner))))
		rc = -EIO;
	if (rc == 0)
		rc = remote_call(pid, g, was, frame, protect, &none, signal);
	if (rc == 0)
		rc = remote_call(pid, g, was, frame, wipe, &none, signal);
	/* Behind an open the process stands among the bytes that are about to change: from here on it goes on in its stub.
	 * That call is not counted: its descriptor is in the list. */
	struct regs on = *was;
	if (in < g->sites->n)
		on.ip = at + stubs->after[in];
	if (rc == 0 && inject_ptrace(PTRACE_SETREGS, pid, 0, &on) < 0)
		rc = -ESRCH;
	size_t done = 0;
	if (rc == 0)
		rc = put_jumps(mem, g->sites, g->base, at, stubs, &done);
	/* Without the loader's what it reads later is not counted, and nothing is claimed then. */
	if (rc == 0 && g->loader)
		put_loader(pid, g, mem, at, stubs);
	if (rc == 0) {
		*ret_on = on;
	} else if (rc != -ESRCH) {
		/* What has been changed stays, with its stubs: that does no harm, and nobody is sure to be elsewhere. */
		*ret_on = done ? on : *was;
		if (!done)
			remote_call(pid, g, was, frame, unmap, &none, signal);
	}
	close(mem);
	g->code = at;
	g->table = at + CODE_SIZE;
	return rc;
}

/* The jumps before and behind the opens of programs with threads: of each both, or none. Behind first, for what is
 * prepared has to come to its end. */
static int write_framed(int mem, const struct injection *g, uint64_t code, const struct stubs *stubs, bool *ret_changed)
{
	for (size_t i = 0; i < g->sites->nframed && stubs->framed[i][0]; i++) {
		const struct framed_open *f = &g->sites->framed[i];
		const uint64_t from[2] = {g->base + f->begin, g->base + f->end};
		unsigned char is[2][LOAD_BYTES];
		bool same = true;
		for (int k = 0; k < 2; k++)
			same &=
			    pread(mem, is[k], LOAD_BYTES, (off_t)from[k]) == LOAD_BYTES && !memcmp(is[k], f->was[k], LOAD_BYTES);
		for (int k = 1; same && k >= 0; k--) {
			unsigned char jump[LOAD_BYTES] = {0xe9};
			uint32_t d = (uint32_t)(code + stubs->framed[i][k] - (from[k] + LOAD_BYTES));
			memcpy(jump + 1, &d, sizeof(d));
			*ret_changed = true;
			if (!write_memory(mem, from[k], jump, sizeof(jump)))
				return -EIO;
		}
	}
	return 0;
}

/* Writes the code into its page, and the jumps into the library. ret_changed: the library's bytes have been changed. */
static int write_opens(int mem, struct injection *g, const struct stubs *counted, uint64_t code, struct stubs *stubs,
                       bool *ret_changed)
{
	const void *opens;
	const size_t n = opens_code(&opens);
	if (n > OPENS_PAGE_SIZE || !write_memory(mem, OPENS_PAGE, opens, n))
		return -EIO;
	int rc = opens_stubs(g->sites, g->base, code, counted, g->counted_code, stubs);
	if (rc == 0 && !write_memory(mem, code, stubs->code, stubs->n))
		rc = -EIO;
	for (size_t i = 0; rc == 0 && i < g->sites->n; i++) {
		const struct site *t = &g->sites->site[i];
		if (!stubs->at[i])
			continue;
		unsigned char is[LOAD_BYTES], as[SITE_BYTES], jump[LOAD_BYTES] = {0xe9};
		uint64_t from = g->base + opens_from(t);
		uint32_t d = (uint32_t)(code + stubs->at[i] - (from + LOAD_BYTES));
		memcpy(jump + 1, &d, sizeof(d));
		if (t->kind == SITE_OPEN)
			opens_before(t, as);
		else
			site_bytes(g->sites, g->base, counted, g->counted_code, i, as);
		if (pread(mem, is, sizeof(is), (off_t)from) != sizeof(is) || memcmp(is, as, sizeof(is)) != 0)
			continue; /* not as in the file */
		if (!write_memory(mem, from, jump, sizeof(jump)))
			rc = -EIO;
		*ret_changed = true;
	}
	return rc < 0 ? rc : write_framed(mem, g, code, stubs, ret_changed);
}

/* The code that opens, in private memory that the recorder alone has written; the log, which only this process and the
 * recorder have; and the stubs near the library. The log is mapped to be read first: a shared mapping that can be
 * written would be stopped, and nobody is there to answer. A forked child that has the code gets a log alone. */
static int put_opens(pid_t pid, struct injection *g, const struct stubs *counted, const struct regs *was, int *signal,
                     struct stubs *stubs)
{
	const unsigned long rw = PROT_READ | PROT_WRITE, rx = PROT_READ | PROT_EXEC, there = MAP_FIXED_NOREPLACE;
	const unsigned long fd = (unsigned long)g->fd, nowhere = (unsigned long)-1, size = OPENS_PAGE_SIZE;
	const unsigned long own = MAP_PRIVATE | MAP_ANONYMOUS;
	const remote_args calls[] = {
	    {SYS_mmap, OPENS_LOG, OPENS_LOG_SIZE, PROT_READ, MAP_SHARED | there, fd, 0},
	    {SYS_madvise, OPENS_LOG, OPENS_LOG_SIZE, MADV_DONTFORK},
	    {SYS_mprotect, OPENS_LOG, OPENS_LOG_SIZE, rw},
	    {SYS_mmap, OPENS_PAGE, size, rx, own | there, nowhere, 0},
	    {SYS_mmap, OPENS_OWN, size, rw, own | MAP_GROWSDOWN | there, nowhere, 0},
	    {SYS_madvise, OPENS_OWN, size, MADV_WIPEONFORK},
	    {SYS_mmap, choose_near_address(pid, g, STUBS_SIZE), STUBS_SIZE, rx, own, nowhere, 0},
	};
	enum { CALLS = sizeof(calls) / sizeof(calls[0]), OF_LOG = 3, NEAR = CALLS - 1 };
	const remote_args shut = {SYS_close, fd};
	unsigned long at[CALLS] = {0}, none;
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	int mem = open(name, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return -errno;
	uint64_t frame = was->sp;
	size_t n = 0;
	int rc = make_frame(pid, g, was, mem, &frame);
	if (rc == 0)
		rc = remote_calls(pid, g, was, frame, calls, g->log_only ? OF_LOG : CALLS, at, &n, signal);
	bool changed = false;
	int shut_rc = rc == -ESRCH ? rc : remote_call(pid, g, was, frame, shut, &none, signal);
	if (rc == 0)
		rc = shut_rc;
	if (rc == 0 && !g->log_only) {
		g->code = at[NEAR];
		rc = write_opens(mem, g, counted, g->code, stubs, &changed);
	}
	const struct opens_own page = {.slot = g->threads ? 0 : OPENS_SLOT,
	                               .pid = (uint64_t)g->pid,
	                               .cancel = g->counted_code ? 0 : g->sites->cancel,
	                               .tid = g->sites->tid};
	if (rc == 0 && !write_memory(mem, OPENS_OWN, &page, sizeof(page)))
		rc = -EIO;
	if (rc < 0 && !changed && rc != -ESRCH) /* what has been changed stays, with its stubs, which do no harm */
		remote_undo(pid, g, was, frame, calls, n, at, signal);
	close(mem);
	return rc;
}

/* Its descriptors. More than there is room for: it is left without counts. */
static int list_descriptors(pid_t pid, struct injection *g)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	DIR *d = opendir(name);
	if (!d)
		return -errno;
	int rc = 0;
	g->nheld = 0;
	for (struct dirent *e; rc == 0 && (e = readdir(d));) {
		struct injection_held *h = &g->held[g->nheld];
		if (e->d_name[0] == '.')
			continue;
		if (g->nheld == INJECTION_HELD)
			rc = -E2BIG;
		else if (statx(dirfd(d), e->d_name, 0, FILEID_STATX, &h->st) == 0) {
			h->fd = atoi(e->d_name);
			g->nheld++;
		}
	}
	closedir(d);
	return rc;
}

int inject_code(pid_t pid, struct injection *g, int *ret_signal)
{
	struct regs was;
	char text[512];
	struct stubs *stubs = malloc(sizeof(*stubs));
	*ret_signal = 0;
	if (!stubs)
		return -ENOMEM;
	if (inject_ptrace(PTRACE_GETREGS, pid, 0, &was) < 0) {
		free(stubs);
		return -ESRCH;
	}
	/* It may have the stubs that count: they are what they were made to be then. */
	struct stubs *counted = g->counted_code ? malloc(sizeof(*counted)) : NULL;
	int rc = 0;
	if (g->counted_code)
		rc = counted ? stubs_make(g->sites, g->base, g->counted_code, g->counted_table, counted) : -ENOMEM;
	size_t in = 0;
	for (; rc == 0 && in < g->sites->n; in++)
		if (g->sites->site[in].kind == SITE_OPEN &&
		    was.ip == 2 + (counted ? g->counted_code + counted->call[in] : g->base + g->sites->site[in].offset))
			break;
	/* Right behind the open, or the call that begins it all, and the kernel is not about to make it again. */
	bool stays = sites_stay(g->sites, was.ip - g->base) || sites_is_framed(g->sites, was.ip - g->base);
	bool begins = g->sites->start && was.ip == g->base + g->sites->start + 2;
	bool behind = (in < g->sites->n || begins || stays) && ((long)was.ax >= 0 || (long)was.ax > -RESTARTS);
	if (rc == 0 &&
	    (!behind || was.cs != CODE_64 || !is_plain(pid, begins || (g->opens && !g->sites->musl), g->threads) ||
	     (!g->log_only && !has_expected_sites(pid, g->sites, g->base, counted, g->counted_code))))
		rc = -ENOTSUP;
	uint64_t mask;
	if (rc == 0 && inject_ptrace(PTRACE_GET_MASK, pid, sizeof(mask), &mask) < 0)
		rc = -ESRCH;
	if (rc == 0) {
		struct regs on = was;
		rc = g->opens ? put_opens(pid, g, counted, &was, ret_signal, stubs)
		              : write_code(pid, g, &was, in, ret_signal, stubs, &on);
		on.orig_ax = (unsigned long)-1;
		if (rc != -ESRCH && (inject_ptrace(PTRACE_SET_MASK, pid, sizeof(mask), &mask) < 0 ||
		                     inject_ptrace(PTRACE_SETREGS, pid, 0, &on) < 0))
			rc = -ESRCH;
	}
	if (rc == 0 && !g->opens) {
		char what[48];
		snprintf(what, sizeof(what), "task/%d/io", pid);
		rc = list_descriptors(pid, g);
		long r = -1, w = -1;
		if (procfs_read(pid, what, text, sizeof(text)) > 0) {
			r = parse_status_field(text, "rchar:");
			w = parse_status_field(text, "wchar:");
		}
		g->rchar = (uint64_t)r;
		g->wchar = (uint64_t)w;
		bool all = procfs_read(pid, "io", text, sizeof(text)) > 0;
		g->rchar_all = all ? (uint64_t)parse_status_field(text, "rchar:") : UINT64_MAX;
		g->wchar_all = all ? (uint64_t)parse_status_field(text, "wchar:") : UINT64_MAX;
	}
	free(counted);
	free(stubs);
	return rc;
}

#else

bool inject_is_plain(pid_t pid, bool handlers)
{
	(void)pid, (void)handlers;
	return false;
}

bool inject_has_sites(pid_t pid, const struct sites *sites, uint64_t base)
{
	(void)pid, (void)sites, (void)base;
	return false;
}

int inject_code(pid_t pid, struct injection *g, int *ret_signal)
{
	(void)pid, (void)g;
	*ret_signal = 0;
	return -ENOTSUP;
}

#endif
