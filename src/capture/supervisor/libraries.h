/* libraries.h - the C libraries of the run's programs, by the places of their open calls. Internal to capture. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_LIBRARIES_H
#define STEMMA_CAPTURE_SUPERVISOR_LIBRARIES_H

#include "capture/inject/sites.h"
#include "capture/supervisor/super.h"

/* The library whose call p has made from ip, and where it is loaded; NULL: none whose sites are known. Reads the file
 * the first time that ip is in it (0.4 ms), 64 times a run at most. What it says of base is to be checked against the
 * process's memory: only the low 12 bits of ip are compared. */
const struct sites *libraries_library_of(struct sup *s, const struct proc *p, uint64_t ip, uint64_t *ret_base);

/* Is this call one of p's dynamic loader? Its place is read once, into p->loader. */
bool libraries_is_loader(struct proc *p, uint64_t ip);

/* The dynamic loader of p, and where it is; NULL: it has none whose sites are known. */
const struct sites *libraries_loader_of(struct sup *s, const struct proc *p, uint64_t *ret_base);

#endif
