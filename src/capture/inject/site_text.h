/* site_text.h - the bytes of all sites of a library in one process, read and written a page at a time; and their stubs,
 * made once for all processes in which library, code and table lie the same way to each other. Internal to capture,
 * x86-64 only.
 *
 * A C library has 63 sites on 10 pages: ten reads and ten writes do for 63 of each, most of whose cost is the same for
 * 5 bytes and for 4096. */
#ifndef STEMMA_CAPTURE_INJECT_SITE_TEXT_H
#define STEMMA_CAPTURE_INJECT_SITE_TEXT_H

#include "capture/inject/sites.h"

#include <stdbool.h>
#include <sys/types.h>

struct site_text;

/* Reads what the process has at the sites of a library that is loaded at base. NULL: it has not all of them, or there
 * is no memory. The caller's, for site_text_free. */
struct site_text *site_text_read(pid_t pid, const struct sites *s, uint64_t base);
/* Is it what is supposed to be there: the file's bytes, or the jumps to the stubs that lie at code (NULL: the file's)?
 */
bool site_text_is(const struct site_text *t, const struct stubs *stubs, uint64_t code);
/* Writes the jumps to the stubs, and between them what was read. mem: the process's /proc/PID/mem; it stands still. 0
 * or -EIO; *ret_changed: some of it is written. */
int site_text_jump(struct site_text *t, int mem, const struct stubs *stubs, uint64_t code, bool *ret_changed);
void site_text_free(struct site_text *t);

/* The code that counts or logs for a C library with these sites, put together for these addresses. As stubs_make,
 * which it calls where none of the last few were alike. Theirs to keep: valid until the next call, by the one thread
 * that calls it. NULL: too far apart. */
const struct stubs *site_stubs(const struct sites *s, uint64_t base, uint64_t code, uint64_t table);

#endif
