/* h5_buffers.h - which memory holds what a read put there: a write of it moves the values of the datasets that were
 * read, and of nothing else (doc/hdf5.md, "What was moved").
 *
 * Of each read the place, the length and the XXH3 of its bytes are kept, of the BUFFERS latest ones. A write whose
 * memory is made up of such reads, all with the same bytes still, is one that moves. Memory of one value alone, as
 * zeros and fill values are, proves nothing. Only memory in one piece of at least BUFFER_LEAST bytes, without pointers
 * in it, is looked at. Nothing outside of what a call reads or writes itself is touched.
 *
 * Cost: XXH3 of what is read (about 10 GB/s) for BUFFER_CREDIT bytes, and for as much more as is found to be moved,
 * four times; then no more. So a program that moves nothing pays about 5 ms, once. */
#ifndef STEMMA_CAPTURE_HDF5_H5_BUFFERS_H
#define STEMMA_CAPTURE_HDF5_H5_BUFFERS_H

#include "capture/hdf5/h5.h"

#define BUFFERS 512
#define BUFFER_LEAST 64
#define BUFFER_CREDIT (64ll << 20)

/* What a call that succeeded moved: the type in memory, and the spaces in memory and in the file. */
struct h5_moved {
	hid_t id, type, mem, space;
	const void *p;
};
/* The same by the memory itself, in one piece: bytes, 0 not known, and those of an element. */
struct h5_memory {
	const void *p;
	uint64_t n, element;
};
void h5_memory_filled(struct h5_obj *o, const struct h5_memory *m);
void h5_memory_written(struct h5_obj *o, const struct h5_memory *m);
/* Notes what a buffer holds, after a read, or a write, of a dataset. */
void h5_buffer_filled(struct h5_lib *l, struct h5_obj *o, const struct h5_moved *m);
/* Notes what a buffer held. */
void h5_buffer_written(struct h5_lib *l, struct h5_obj *o, const struct h5_moved *m);
/* Data came into memory in a way that is not followed: nothing that is kept holds any more. */
void h5_buffers_forget(void);

#endif
