/* h5_static.h - programs that have HDF5 inside themselves, linked statically (doc/hdf5.md): no library can stand before
 * its functions, and what they do with objects is not seen. That is said of each of their executions.
 *
 * Internal to capture. Each program is read once in a run, when it is first begun: its data, where HDF5 keeps its
 * version as text; 64 MiB at most (5 ms). Of 1,024 programs what was found is
 * remembered, and no more are read. */
#ifndef STEMMA_CAPTURE_HDF5_H5_STATIC_H
#define STEMMA_CAPTURE_HDF5_H5_STATIC_H

struct feature;
struct inside;
struct sup;

/* Begins to look for programs that contain HDF5. NULL: no memory; then nothing is looked for. */
struct inside *inside_new(void);
/* Looks into each program that begins, where s->inside is not NULL. */
extern const struct feature hdf5_feature;

#endif
