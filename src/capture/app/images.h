/* images.h - which execution of a process was current when: for what a library tells of a process that may be over, and
 * of which the supervisor has forgotten all. Kept only where such is expected; 32 bytes an execution. Under sup->lock.
 */
#ifndef STEMMA_CAPTURE_APP_IMAGES_H
#define STEMMA_CAPTURE_APP_IMAGES_H

#include "event/event.h"

struct images;
struct sup;

struct images *images_new(void);
/* Takes note of process and exec events as they are written. */
void images_note(struct images *m, const struct event *ev);
/* The execution of the process with that number and start that was current at t, or, where that is before all of them,
 * its first. False: none is known. */
bool images_find(const struct images *m, uint64_t pid, int64_t started, int64_t t, uint64_t *ret_n);
/* The number of the nearest process above it that is a launcher of MPI (mpirun, hydra_pmi_proxy, ...). 0: none is
 * known.
 */
uint64_t images_launcher(const struct images *m, uint64_t pid, int64_t started);

#endif
