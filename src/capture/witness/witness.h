/* witness.h - who moved bytes through a pipe, by the kernel's own word. Internal to capture; under the big lock.
 *
 * Who inherited an end of a pipe may have used it. An inotify watch on the pipe reports the first write, and in a
 * second instance the first read, whatever call made it; it does not report who made it. Of all who held that end
 * meanwhile the totals of the kernel prove most to be still. If one execution remains, the bytes are surely its.
 * doc/witness.md has the rules and their proof.
 *
 * Budget of a pipe: two inotify_add_watch (3 us), and 10 us for each look at the totals of who holds it; nothing for
 * each byte, since a watch fires once. At most WITNESS_PIPES pipes and two inotify instances a run. Nothing of it shows
 * in the programs, and no descriptor of theirs is held. */
#ifndef STEMMA_CAPTURE_WITNESS_WITNESS_H
#define STEMMA_CAPTURE_WITNESS_WITNESS_H

#include "capture/supervisor/super.h"

#define WITNESS_PIPES 256

/* Begins to watch the pipe f, which p, at a stop of its own, has as its descriptor fd, and which nobody of the run was
 * known to hold before; who else holds it has an access already. Does nothing where that cannot be had. */
void witness_arm(struct sup *s, struct proc *p, struct file *f, int fd);
/* Is it to be found out whether q holds the watched pipe f? Once. */
bool witness_asks(struct file *f, const struct proc *q);
/* What q holds of the watched pipe f has just been found out: what it moved before the round that goes on is left out.
 */
void witness_met(struct sup *s, struct file *f, const struct proc *q);
/* An access of a watched pipe began. */
void witness_begin(struct sup *s, struct access *a);
/* It is about to end, as *end says. */
void witness_end(struct sup *s, struct access *a, const struct event_access_end *end);
/* Has p an access of a watched pipe? */
bool witness_concerns(const struct proc *p);
/* p is about to end or to become another program: ends the accesses of those who wait for it and hold its pipes no
 * more. */
void witness_leave(struct sup *s, struct proc *p);
/* Takes what the kernel has reported. */
void witness_listen(struct sup *s);
/* Nobody can hold any pipe any more: tells of those that are decided. */
void witness_finish(struct sup *s);
/* The struct file is about to be freed. */
void witness_forget(struct file *f);
/* Frees all. Nothing is told. */
void witness_free(struct sup *s);

/* Whether this kernel reports reads and writes of pipes: 0, or -errno (ENOTSUP: it does not). */
int witness_probe(void);

#endif
