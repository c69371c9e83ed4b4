#include "capture/inject/inject_int.h"
#include "capture/inject/site_text.h"

#include "base/fileid.h"
#include "base/io.h"
#include "base/os/procfs.h"
#include "capture/seccomp/unstopped.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

int inject_free_number(pid_t pid, unsigned tries)
{
	enum { HIGH_FD = 1023 };
	struct rlimit rl;
	char name[64];
	if (prlimit(pid, RLIMIT_NOFILE, NULL, &rl) < 0 || rl.rlim_cur < 64)
		return -1;
	int fd = (rl.rlim_cur > HIGH_FD ? HIGH_FD : (int)rl.rlim_cur - 1) - (int)tries;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", pid, fd);
	struct stat st;
	return lstat(name, &st) < 0 && errno == ENOENT ? fd : -1;
}

#if defined(__x86_64__)

#define CODE_64 0x33
#define RESTARTS 512 /* from -512 on down: results of a call that the kernel makes again */

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* The system call itself, not the C library's: it gives the data for PEEK by *data. -1 with errno. */
static long inject_ptrace(long request, pid_t tid, long addr, void *data)
{
	return syscall(SYS_ptrace, request, (long)tid, addr, data);
}

/* The decimal number after name in the text; -1 if name is not there. name: with its colon. */
static long parse_status_field(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* Can code be put into it without harm? One seccomp filter, no locked memory, no shadow stack; handlers, threads: they
 * may be there. */
static bool is_plain(pid_t pid, bool handlers, bool threads)
{
	char text[4096];
	if (procfs_read(pid, "status", text, sizeof(text)) <= 0)
		return false;
	long filters = parse_status_field(text, "\nSeccomp_filters:");
	/* With a shadow stack the kernel keeps where functions return to: the way back (inject_make_frame) and that of a
	 * stub into a function that is to return elsewhere are not there. */
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

void inject_site_bytes(const struct sites *s, uint64_t base, const struct stubs *counted, uint64_t code, size_t i,
                       unsigned char ret[SITE_BYTES])
{
	const struct site *t = &s->site[i];
	if (counted)
		stubs_jump(t, base, code, counted->at[i], ret);
	else
		memcpy(ret, t->bytes, t->taken);
}

bool inject_has_sites(pid_t pid, const struct sites *sites, uint64_t base)
{
	struct site_text *text = site_text_read(pid, sites, base);
	bool has = text && site_text_is(text, NULL, 0);
	site_text_free(text);
	return has;
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

int inject_make_frame(pid_t pid, const struct injection *g, const struct regs *on, int mem, uint64_t *ret_at)
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

int inject_remote_call(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
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

bool inject_write(int mem, uint64_t at, const void *p, size_t n)
{
	return pwrite(mem, p, n, (off_t)at) == (ssize_t)n;
}

int inject_remote_calls(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                        const inject_args *calls, size_t n, unsigned long *ret_at, size_t *ret_done, int *signal)
{
	int rc = 0;
	size_t i = 0;
	for (; rc == 0 && i < n; i++) {
		rc = inject_remote_call(pid, g, was, frame, calls[i], &ret_at[i], signal);
		bool fixed = calls[i][0] == SYS_mmap && (calls[i][4] & MAP_FIXED_NOREPLACE);
		if (rc == 0 && fixed && ret_at[i] != calls[i][1])
			rc = -EEXIST; /* a kernel before 4.17, and the place is taken: what it gave instead is given back */
	}
	*ret_done = i;
	return rc;
}

void inject_remote_undo(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                        const inject_args *calls, size_t n, const unsigned long *at, int *signal)
{
	unsigned long none;
	for (size_t i = 0; i < n; i++) {
		const inject_args unmap = {SYS_munmap, at[i], calls[i][2]};
		if (calls[i][0] == SYS_mmap && (long)at[i] > 0)
			inject_remote_call(pid, g, was, frame, unmap, &none, signal);
	}
}

/* The table that outlives the process. It is mapped to be read first: a shared mapping that can be written would be
 * stopped, and nobody is there to answer. A forked child does not get it. Without it there is the private one.
 * g->shared says whether it is there. 0, also without it; -ESRCH. */
static int put_table(pid_t pid, struct injection *g, const struct regs *was, uint64_t frame, int mem, uint64_t table,
                     int *signal)
{
	const unsigned long fd = (unsigned long)g->fd, at = TABLE_ABOVE - TABLE_SIZE, page = 4096;
	const unsigned long rw = PROT_READ | PROT_WRITE, nowhere = (unsigned long)-1, there = MAP_FIXED_NOREPLACE;
	const inject_args calls[] = {
	    {SYS_mmap, TABLE_ABOVE, page, rw, MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | there, nowhere, 0},
	    {SYS_mmap, at, TABLE_SIZE, PROT_READ, MAP_SHARED | there, fd, 0},
	    {SYS_madvise, at, TABLE_SIZE, MADV_DONTFORK},
	    {SYS_mprotect, at, TABLE_SIZE, rw},
	};
	enum { CALLS = sizeof(calls) / sizeof(calls[0]) };
	const inject_args shut = {SYS_close, fd};
	unsigned long got[CALLS] = {0}, none;
	size_t n;
	int rc = inject_remote_calls(pid, g, was, frame, calls, CALLS, got, &n, signal);
	uint64_t delta = at - table;
	if (rc == 0 && !inject_write(mem, table + offsetof(struct counted_table, delta), &delta, sizeof(delta)))
		rc = -EIO;
	g->shared = rc == 0;
	if (rc < 0 && rc != -ESRCH)
		inject_remote_undo(pid, g, was, frame, calls, n, got, signal);
	int shut_rc = rc == -ESRCH ? rc : inject_remote_call(pid, g, was, frame, shut, &none, signal);
	return shut_rc == -ESRCH || rc == -ESRCH ? -ESRCH : 0;
}

/* The loader's stubs, behind the library's, and the jumps to them. The process is in the library, not in the loader's
 * calls, or about to come back to none of them. */
static void put_loader(pid_t pid, const struct injection *g, int mem, uint64_t code)
{
	struct sites s = *g->loader;
	const uint64_t at = code + STUBS_SIZE;
	bool changed;
	s.tid = g->sites->tid; /* where the C library keeps it */
	const struct stubs *stubs = site_stubs(&s, g->loader_base, at, code + CODE_SIZE);
	struct site_text *text = stubs && stubs->n <= LOADER_SIZE ? site_text_read(pid, g->loader, g->loader_base) : NULL;
	if (text && site_text_is(text, NULL, 0) && inject_write(mem, at, stubs->code, stubs->n))
		site_text_jump(text, mem, stubs, at, &changed);
	site_text_free(text);
}

/* The lowest address that anything of it has; 0 not known. */
static uint64_t lowest_mapped_address(pid_t pid)
{
	char text[32];
	return procfs_read(pid, "maps", text, sizeof(text)) > 0 ? strtoull(text, NULL, 16) : 0;
}

unsigned long inject_near(pid_t pid, const struct injection *g, uint64_t size)
{
	enum { APART = 65536 };
	uint64_t low = g->sites->moves ? g->base : g->sites->alone ? lowest_mapped_address(pid) : 0;
	if (g->sites->moves && g->counted_code && g->counted_code < low)
		low = g->counted_code;
	return low > size + 2 * APART ? (low - (size + APART)) & ~4095ul : 0;
}

/* Everything but the last registers. in: the open that the process has just come back from, if any; text: what it has
 * at the sites; ret_on: where it goes on. 0; -ERANGE: no place near the library; -ESRCH: it is gone; -errno. g->code
 * and g->table are set. */
static int write_code(pid_t pid, struct injection *g, const struct regs *was, size_t in, int *signal,
                      struct site_text *text, struct regs *ret_on)
{
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	int mem = open(name, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return -errno;
	unsigned long at = 0, none;
	uint64_t frame;
	const unsigned long map[7] = {SYS_mmap,
	                              inject_near(pid, g, CODE_SIZE + TABLE_SIZE),
	                              CODE_SIZE + TABLE_SIZE,
	                              PROT_READ | PROT_WRITE,
	                              MAP_PRIVATE | MAP_ANONYMOUS,
	                              (unsigned long)-1};
	int rc = inject_make_frame(pid, g, was, mem, &frame);
	if (rc == 0)
		rc = inject_remote_call(pid, g, was, frame, map, &at, signal);
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
	const struct stubs *stubs = site_stubs(g->sites, g->base, at, at + CODE_SIZE);
	rc = stubs ? 0 : -ERANGE;
	if (rc == 0 && (!inject_write(mem, at, stubs->code, stubs->n) ||
	                !inject_write(mem, at + CODE_SIZE + offsetof(struct counted_table, owner), &owner, sizeof(owner))))
		rc = -EIO;
	if (rc == 0)
		rc = inject_remote_call(pid, g, was, frame, protect, &none, signal);
	if (rc == 0)
		rc = inject_remote_call(pid, g, was, frame, wipe, &none, signal);
	/* Behind an open the process stands among the bytes that are about to change: from here on it goes on in its stub.
	 * That call is not counted: its descriptor is in the list. */
	struct regs on = *was;
	if (rc == 0 && in < g->sites->n)
		on.ip = at + stubs->after[in];
	if (rc == 0 && inject_ptrace(PTRACE_SETREGS, pid, 0, &on) < 0)
		rc = -ESRCH;
	bool changed = false;
	if (rc == 0)
		rc = site_text_jump(text, mem, stubs, at, &changed);
	/* Without the loader's what it reads later is not counted, and nothing is claimed then. */
	if (rc == 0 && g->loader)
		put_loader(pid, g, mem, at);
	if (rc == 0) {
		*ret_on = on;
	} else if (rc != -ESRCH) {
		/* What has been changed stays, with its stubs: that does no harm, and nobody is sure to be elsewhere. */
		*ret_on = changed ? on : *was;
		if (!changed)
			inject_remote_call(pid, g, was, frame, unmap, &none, signal);
	}
	close(mem);
	g->code = at;
	g->table = at + CODE_SIZE;
	return rc;
}

/* Its descriptors. More than there is room for: it is left without counts. 0, -E2BIG, -errno. */
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

/* Where the process is: the open that it has just come back from, sites->n if it is none of the sites; and whether it
 * is right behind that, or the call that begins it all, and the kernel is not about to make it again. */
static bool is_behind_call(const struct injection *g, const struct stubs *counted, const struct regs *was,
                           size_t *ret_in, bool *ret_begins)
{
	const struct sites *s = g->sites;
	size_t in = 0;
	for (; in < s->n; in++)
		if (s->site[in].kind == SITE_OPEN &&
		    was->ip == 2 + (counted ? g->counted_code + counted->call[in] : g->base + s->site[in].offset))
			break;
	*ret_in = in;
	*ret_begins = s->start && was->ip == g->base + s->start + 2;
	bool stays = sites_stay(s, was->ip - g->base) || sites_is_framed(s, was->ip - g->base);
	return (in < s->n || *ret_begins || stays) && ((long)was->ax >= 0 || (long)was->ax > -RESTARTS) &&
	       was->cs == CODE_64;
}

/* What it has moved by now, of its first thread and all of it. */
static void read_totals(pid_t pid, struct injection *g)
{
	char text[512], what[48];
	snprintf(what, sizeof(what), "task/%d/io", pid);
	bool own = procfs_read(pid, what, text, sizeof(text)) > 0;
	g->rchar = own ? (uint64_t)parse_status_field(text, "rchar:") : UINT64_MAX;
	g->wchar = own ? (uint64_t)parse_status_field(text, "wchar:") : UINT64_MAX;
	bool all = procfs_read(pid, "io", text, sizeof(text)) > 0;
	g->rchar_all = all ? (uint64_t)parse_status_field(text, "rchar:") : UINT64_MAX;
	g->wchar_all = all ? (uint64_t)parse_status_field(text, "wchar:") : UINT64_MAX;
}

/* Puts the code in; all else is checked. 0; -ENOTSUP: the library's bytes are not as in the file; -ESRCH: it is gone;
 * -errno. Restores registers and mask. *signal: one that came meanwhile, which the caller delivers. */
static int put_code(pid_t pid, struct injection *g, const struct stubs *counted, const struct regs *was, size_t in,
                    int *signal)
{
	struct regs on = *was;
	uint64_t mask;
	struct site_text *text = g->log_only ? NULL : site_text_read(pid, g->sites, g->base);
	if (!g->log_only && !(text && site_text_is(text, counted, g->counted_code))) {
		site_text_free(text);
		return -ENOTSUP;
	}
	struct stubs *stubs = g->put ? malloc(sizeof(*stubs)) : NULL;
	int rc = g->put && !stubs ? -ENOMEM : 0;
	if (rc == 0 && inject_ptrace(PTRACE_GET_MASK, pid, sizeof(mask), &mask) < 0)
		rc = -ESRCH;
	if (rc == 0) {
		rc = g->put ? g->put(pid, g, counted, was, signal, stubs) : write_code(pid, g, was, in, signal, text, &on);
		on.orig_ax = (unsigned long)-1;
		if (rc != -ESRCH && (inject_ptrace(PTRACE_SET_MASK, pid, sizeof(mask), &mask) < 0 ||
		                     inject_ptrace(PTRACE_SETREGS, pid, 0, &on) < 0))
			rc = -ESRCH;
	}
	free(stubs);
	site_text_free(text);
	return rc;
}

int inject_code(pid_t pid, struct injection *g, int *ret_signal)
{
	struct regs was;
	size_t in;
	bool begins;
	*ret_signal = 0;
	if (inject_ptrace(PTRACE_GETREGS, pid, 0, &was) < 0)
		return -ESRCH;
	/* It may have the stubs that count: they are what they were made to be then. */
	const struct stubs *counted = NULL;
	if (g->counted_code && !(counted = site_stubs(g->sites, g->base, g->counted_code, g->counted_table)))
		return -ENOMEM;
	if (!is_behind_call(g, counted, &was, &in, &begins) ||
	    !is_plain(pid, begins || (g->put && !g->sites->musl), g->threads))
		return -ENOTSUP;
	int rc = put_code(pid, g, counted, &was, in, ret_signal);
	if (rc == 0 && !g->put) {
		rc = list_descriptors(pid, g);
		read_totals(pid, g);
	}
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
