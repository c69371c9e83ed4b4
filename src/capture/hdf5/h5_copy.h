/* h5_copy.h - what is noted of H5Ocopy, which copies an object with its attributes, and a group with all that lies in
 * it: each object that was made, and which one it was made from. Only in the library that stands before HDF5's
 * functions, for it asks by identifiers. */
#ifndef STEMMA_CAPTURE_HDF5_H5_COPY_H
#define STEMMA_CAPTURE_HDF5_H5_COPY_H

#include "capture/hdf5/h5.h"

/* A call that succeeded. */
struct h5_copied_call {
	hid_t loc; /* of the original */
	const char *name;
	hid_t to_loc; /* of the copy */
	const char *to_name;
	hid_t list;    /* how it was copied */
	int64_t began; /* as h5_now */
};
/* What could not be paired is a gap. */
void h5_note_copy(struct h5_lib *l, const struct h5_copied_call *c);

#endif
