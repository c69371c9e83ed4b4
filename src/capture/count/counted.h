/* counted.h - bytes by file without a stop: what the code put into a process (inject/sites.h) has counted, and which
 * file each count belongs to. Internal to capture.
 *
 * The code counts by descriptor and logs what changes a descriptor; each open is a stop as before, and the k-th stop of
 * an open from the injected code is the k-th open in its log. So every count has its file. Nothing is claimed unless
 * the sum of all counts is what the kernel says the process has moved (/proc/PID/task/TID/io): calls that were made
 * around the code (threads, raw system calls, a second C library) cost knowledge, never truth. Never is it claimed that
 * a file was opened and no byte of it read: a mapping may have served. That nothing was written, or read of a pipe, is.
 *
 * Cost: 0.4 ms once a process that opens files; then three process_vm_readv every 24 opens, and a read of
 * /proc/.../io where an access with bytes ends. Memory: 72 bytes a descriptor. */
#ifndef STEMMA_CAPTURE_COUNT_COUNTED_H
#define STEMMA_CAPTURE_COUNT_COUNTED_H

#include "capture/supervisor/super.h"

/* It registers as the run's byte counter, too. Wanted where the kernel's user notification stops calls. */
extern const struct feature counted_feature;
/* Notes an open without a stop: p has opened a file without a stop, and wrote that down elsewhere (inline_open.h):
 * it became descriptor fd, of f; NULL: not one whose bytes are counted. Not sure: it may have been another file, and
 * no count can be trusted. */
void counted_logged(struct proc *p, int fd, const struct file *f, bool sure);
/* Too many of those wait for p's log to be read. */
bool counted_is_behind(const struct proc *p);
/* The library whose calls jump to p's code, which ip is in, and where all three lie; NULL: it is not in there. */
struct sites;
const struct sites *counted_library(const struct proc *p, uint64_t ip, uint64_t *ret_base, uint64_t *ret_code,
                                    uint64_t *ret_table);
/* Brings the sums of p's accesses up to date. */
void counted_update(struct sup *s, struct proc *p);

#endif
