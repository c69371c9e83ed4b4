/* h5_state.h - the memory of h5_note.c and h5_parts.c in a program, and its lock. Not for others. */
#ifndef STEMMA_CAPTURE_HDF5_H5_STATE_H
#define STEMMA_CAPTURE_HDF5_H5_STATE_H

#include "capture/hdf5/h5.h"

struct h5_state;
/* A spin lock: no call of HDF5 while it is held. NULL: no memory, and nothing is held. */
struct h5_state *h5_state_lock(void);
void h5_state_unlock(struct h5_state *s);
/* n bytes, aligned to 16, with the lock held; never given back. NULL: no memory. */
void *h5_state_room(struct h5_state *s, size_t n);

#endif
