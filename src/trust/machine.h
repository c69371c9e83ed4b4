/* machine.h - the variants and invariants of a run that the machine and its surroundings give (paper, section 3.1): the
 * rows of machine.def, and the environment.
 *
 * Reads /proc and /sys once for each file, in this process; nothing is measured while the run goes on. 1 to 2 ms of
 * CPU time on the machines we measured. What cannot be read is left out. No threads, no printing. */
#ifndef STEMMA_TRUST_MACHINE_H
#define STEMMA_TRUST_MACHINE_H

#include "trust/elements.h"

#include <stdint.h>

struct machine {
	struct elements invariant, variant;
};

/* What is not known is left out; ret: machine_release. */
void machine_read(struct machine *ret);

void machine_release(struct machine *m);

/* How busy others kept the machine between two readings: CPU time that neither this run nor idling took, as a share of
 * the time that went by on one processor; `own` is what the run took, in ns. And what a hypervisor took. False: it
 * cannot be told. */
bool machine_noise(const struct machine *before, const struct machine *after, uint64_t own, double *ret_others,
                   double *ret_stolen);

#endif
