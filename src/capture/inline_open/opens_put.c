/* opens_put.c - puts the code that opens, and its log, into a process. */
#include "capture/inline_open/opens_put.h"

#include "capture/inject/inject_int.h"
#include "capture/inline_open/open_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* The jumps before and behind the opens of programs with threads: of each both, or none. Behind first, for what is
 * prepared has to come to its end. 0; -EIO, then *ret_changed says whether bytes were changed. */
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
			if (!inject_write(mem, from[k], jump, sizeof(jump)))
				return -EIO;
		}
	}
	return 0;
}

/* Writes the code into its page, and the jumps into the library. ret_changed: the library's bytes have been changed. 0,
 * -EIO, -errno. A call whose bytes are not as in the file is left out. */
static int write_opens(int mem, struct injection *g, const struct stubs *counted, uint64_t code, struct stubs *stubs,
                       bool *ret_changed)
{
	const void *opens;
	const size_t n = opens_code(&opens);
	if (n > OPENS_PAGE_SIZE || !inject_write(mem, OPENS_PAGE, opens, n))
		return -EIO;
	int rc = opens_stubs(g->sites, g->base, code, counted, g->counted_code, stubs);
	if (rc == 0 && !inject_write(mem, code, stubs->code, stubs->n))
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
			inject_site_bytes(g->sites, g->base, counted, g->counted_code, i, as);
		if (pread(mem, is, sizeof(is), (off_t)from) != sizeof(is) || memcmp(is, as, sizeof(is)) != 0)
			continue; /* not as in the file */
		if (!inject_write(mem, from, jump, sizeof(jump)))
			rc = -EIO;
		*ret_changed = true;
	}
	return rc < 0 ? rc : write_framed(mem, g, code, stubs, ret_changed);
}

int opens_put(pid_t pid, struct injection *g, const struct stubs *counted, const struct regs *was, int *signal,
              struct stubs *stubs)
{
	const unsigned long rw = PROT_READ | PROT_WRITE, rx = PROT_READ | PROT_EXEC, there = MAP_FIXED_NOREPLACE;
	const unsigned long fd = (unsigned long)g->fd, nowhere = (unsigned long)-1, size = OPENS_PAGE_SIZE;
	const unsigned long own = MAP_PRIVATE | MAP_ANONYMOUS;
	const inject_args calls[] = {
	    {SYS_mmap, OPENS_LOG, OPENS_LOG_SIZE, PROT_READ, MAP_SHARED | there, fd, 0},
	    {SYS_madvise, OPENS_LOG, OPENS_LOG_SIZE, MADV_DONTFORK},
	    {SYS_mprotect, OPENS_LOG, OPENS_LOG_SIZE, rw},
	    {SYS_mmap, OPENS_PAGE, size, rx, own | there, nowhere, 0},
	    {SYS_mmap, OPENS_OWN, size, rw, own | MAP_GROWSDOWN | there, nowhere, 0},
	    {SYS_madvise, OPENS_OWN, size, MADV_WIPEONFORK},
	    {SYS_mmap, inject_near(pid, g, STUBS_SIZE), STUBS_SIZE, rx, own, nowhere, 0},
	};
	enum { CALLS = sizeof(calls) / sizeof(calls[0]), OF_LOG = 3, NEAR = CALLS - 1 };
	const inject_args shut = {SYS_close, fd};
	unsigned long at[CALLS] = {0}, none;
	char name[48];
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	int mem = open(name, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return -errno;
	uint64_t frame = was->sp;
	size_t n = 0;
	int rc = inject_make_frame(pid, g, was, mem, &frame);
	if (rc == 0)
		rc = inject_remote_calls(pid, g, was, frame, calls, g->log_only ? OF_LOG : CALLS, at, &n, signal);
	bool changed = false;
	int shut_rc = rc == -ESRCH ? rc : inject_remote_call(pid, g, was, frame, shut, &none, signal);
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
	if (rc == 0 && !inject_write(mem, OPENS_OWN, &page, sizeof(page)))
		rc = -EIO;
	if (rc < 0 && !changed && rc != -ESRCH) /* what has been changed stays, with its stubs, which do no harm */
		inject_remote_undo(pid, g, was, frame, calls, n, at, signal);
	close(mem);
	return rc;
}

#else

int opens_put(pid_t pid, struct injection *g, const struct stubs *counted, const struct regs *was, int *signal,
              struct stubs *stubs)
{
	(void)pid, (void)g, (void)counted, (void)was, (void)signal, (void)stubs;
	return -ENOTSUP;
}

#endif
