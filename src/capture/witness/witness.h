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

/* It registers as the run's pipe watcher. */
extern const struct feature witness_feature;

/* Whether this kernel reports reads and writes of pipes: 0, or -errno (ENOTSUP: it does not). */
int witness_probe(void);

#endif
