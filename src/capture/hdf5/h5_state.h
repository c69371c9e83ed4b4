/* h5_state.h - what is kept in a program, shared by h5_files.c, h5_note.c, h5_ids.c and h5_parts.c, and its lock. Not
 * for others. */
#ifndef STEMMA_CAPTURE_HDF5_H5_STATE_H
#define STEMMA_CAPTURE_HDF5_H5_STATE_H

#include "capture/hdf5/h5.h"

struct h5_id_slot {
	hid_t id; /* 0: free */
	struct h5_obj *obj;
};
struct h5_state {
	uint32_t lock, pid;
	struct h5_open *files;
	struct h5_obj **objects; /* by hash */
	size_t nchains, nobjects;
	struct h5_id_slot *ids;
	size_t nids, mask;
	char *arena;
	size_t left;
	uint64_t files_said, objects_said;
	uint64_t epoch;    /* 0: not asked for yet */
	uint32_t left_out; /* classes of which it was said */
};

/* A spin lock: no call of HDF5 while it is held. NULL: no memory, and nothing is held. */
struct h5_state *h5_state_lock(void);
void h5_state_unlock(struct h5_state *s);
/* The state of this process without its lock, for what is changed by atomic operations alone; empty in a child of
 * fork. NULL: no memory. */
struct h5_state *h5_state_get(void);
/* n bytes, aligned to 16, with the lock held; never given back. NULL: no memory. */
void *h5_state_room(struct h5_state *s, size_t n);
/* n bytes of zeros of its own, for tables; the caller unmaps them. NULL: no memory. */
void *h5_state_map(size_t n);

/* The file that HDF5 has that number for, which the identifier leads into: known, or made now. NULL: it is none that
 * HDF5 tells the name of, or there is no memory. Without the lock (h5_files.c). */
struct h5_open *h5_file_find_or_add(struct h5_lib *l, hid_t id, unsigned long fileno);
/* The object at an address, if it is known by a name; else NULL. Without the lock (h5_note.c). */
struct h5_obj *h5_object_named_at(struct h5_open *f, uint64_t addr, unsigned kind);

#endif
