/* rings_int.h - what rings.c and ring_calls.c share. */
#ifndef STEMMA_CAPTURE_SUPERVISOR_RINGS_INT_H
#define STEMMA_CAPTURE_SUPERVISOR_RINGS_INT_H

#include "capture/supervisor/ring/ring_look.h"
#include "capture/supervisor/super.h"

/* Once an execution: something that went through a ring is not seen. */
void rings_gap(struct sup *s, struct proc *p, const char *text);
/* A submitted call is handled as what it stands for, for the thread of stop t. May leave the lock; s->gone after it as
 * ever. (ring_calls.c) */
void ring_call_handle(struct sup *s, struct proc *p, const struct trap *t, const struct ring_call *c);
/* Does it change names? */
bool ring_call_names(const struct ring_call *c);

#endif
