/* inject_int.h - how code is put into a process that is stopped: calls made in its name, its memory written. Shared
 * with those whose code is not the counting one (inject.h, `put`). x86-64 only. */
#ifndef STEMMA_CAPTURE_INJECT_INJECT_INT_H
#define STEMMA_CAPTURE_INJECT_INJECT_INT_H

#include "capture/inject/inject.h"

#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss,
	    fs_base, gs_base, ds, es, fs, gs;
};

/* One call to be made in the name of a process: number and arguments. */
typedef unsigned long inject_args[7];

/* What stands at a site: what the file has, or the jump to the stub that counts. */
void inject_site_bytes(const struct sites *s, uint64_t base, const struct stubs *counted, uint64_t code, size_t i,
                       unsigned char ret[SITE_BYTES]);
/* While calls are made in its name the process must get back to where it was also without us, should the recorder be
 * killed just then and the kernel let go of it. So the call is one that is followed by `ret`, and below its stack there
 * is what a return from a signal's handler restores everything by. Of the floating-point state that is what FXSAVE has:
 * the control words and the flags of what has been computed, which most programs have set, and the registers. The upper
 * halves of vector registers do not outlive the call of a function. *ret_at: its stack pointer for the calls. 0;
 * -ESRCH: it is gone; -EFAULT: its stack cannot be written. */
int inject_make_frame(pid_t pid, const struct injection *g, const struct regs *on, int mem, uint64_t *ret_at);
/* Makes a call in its name. 0 or the call's -errno; the result in *ret. -ESRCH: it is gone. */
int inject_remote_call(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                       const unsigned long v[7], unsigned long *ret, int *signal);
/* Makes n calls one after the other, until one fails; those that map something must give the address that was asked
 * for, if there was one. 0 or -errno; *ret_done: how many were made. */
int inject_remote_calls(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                        const inject_args *calls, size_t n, unsigned long *ret_at, size_t *ret_done, int *signal);
/* Takes back what the first n of these calls have mapped. */
void inject_remote_undo(pid_t pid, const struct injection *g, const struct regs *was, uint64_t frame,
                        const inject_args *calls, size_t n, const unsigned long *at, int *signal);
/* Writes the process's memory, by its /proc/PID/mem. False: not all of it. */
bool inject_write(int mem, uint64_t at, const void *p, size_t n);
/* An address for so many bytes of code, for the kernel to start from; 0: wherever it likes, which is near a library. A
 * program of its own lies far below where the kernel maps what may lie anywhere, or among it, where older kernels put
 * one that may lie anywhere itself, or in between. Jumps reach 2 GB. */
unsigned long inject_near(pid_t pid, const struct injection *g, uint64_t size);

#endif
