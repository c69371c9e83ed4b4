/* counted.h - bytes by file without a stop: what the code put into a process (inject/sites.h) has counted, and which
 * file each count belongs to. Internal to capture.
 *
 * The code counts by descriptor and logs what changes a descriptor; each open is a stop as before, and the k-th stop of
 * an open from the injected code is the k-th open in its log. So every count has its file. Nothing is claimed unless
 * the sum of all counts is what the kernel says the process has moved (/proc/PID/task/TID/io): calls that were made
 * around the code (threads, raw system calls, a second C library) cost knowledge, never truth. Never is it claimed that
 * a file was opened and no byte of it read: a mapping may have served. That nothing was written, or read of a pipe, is.
 *
 * Cost: 0.3 to 0.5 ms once a process that opens files; then three process_vm_readv every 24 opens, and a read of
 * /proc/.../io where an access with bytes ends. Memory: 72 bytes a descriptor. */
#ifndef STEMMA_CAPTURE_COUNT_COUNTED_H
#define STEMMA_CAPTURE_COUNT_COUNTED_H

#include "capture/supervisor/super.h"

/* At a stop of p, before and after it is handled. */
void counted_before(struct sup *s, struct proc *p, const struct trap *t);
void counted_after(struct sup *s, struct proc *p, const struct trap *t);
/* Puts the code into the process that counted_after chose (s->inject_pid). Its stop has not been answered: go(arg) does
 * that, once, when it is sure to stop again right behind the call. slot: its stop. */
void counted_inject(struct sup *s, const struct notify_slot *slot, void (*go)(void *arg), void *arg);
/* p is about to change its user, root or namespaces, or to confine itself: what it counts is in its own memory from
 * here on, and no longer in memory that the recorder has, too. At a stop of its own. */
void counted_confine(struct sup *s, struct proc *p);
/* The open number of p's is of this file, as was found later. */
void counted_created(struct proc *p, uint64_t open, const struct file *f);
/* The number of the open being handled; 0: it is not one of the code's. */
uint64_t counted_open(const struct proc *p);
/* What the open being handled opens: f; NULL with told: nothing that is counted. */
void counted_opens(struct proc *p, const struct file *f, bool told);
/* p has opened a file without a stop, and wrote that down elsewhere (inline_open.h): it became descriptor fd, of f;
 * NULL: not one whose bytes are counted. Not sure: it may have been another file, and no count can be trusted. */
void counted_logged(struct proc *p, int fd, const struct file *f, bool sure);
/* Too many of those wait for p's log to be read. */
bool counted_is_behind(const struct proc *p);
/* The library whose calls jump to p's code, which ip is in, and where all three lie; NULL: it is not in there. */
struct sites;
const struct sites *counted_library(const struct proc *p, uint64_t ip, uint64_t *ret_base, uint64_t *ret_code,
                                    uint64_t *ret_table);
/* Brings the sums of p's accesses up to date. */
void counted_update(struct sup *s, struct proc *p);
/* Looks at all that count: when a byte was moved is known to be between two looks. */
void counted_tick(struct sup *s);
/* Whether what was counted is all that p has moved. */
bool counted_all(struct sup *s, struct proc *p);
/* Whether it shows that a's process has moved none but a's bytes of its file, one way (ACCESS_READ or ACCESS_WRITE):
 * none at all if a has none. */
bool counted_none(struct sup *s, const struct access *a, unsigned way);
/* Ways of which bytes may be a's that no access was given: of pipes that the process has made. */
unsigned counted_unsaid(const struct access *a);
/* Its threads move bytes just now: what they have counted can be proved a little later. To be asked after its
 * descriptors were looked at: all that went through those that were closed by then is known if this is false. */
bool counted_waits(struct sup *s, struct proc *p);
/* p is another program now, or over. */
void counted_free(struct proc *p);

#endif
