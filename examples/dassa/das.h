/* das.h - what the programs of the workflow share: their part of the work, and reading and writing objects of HDF5
 * files.
 *
 * Any call that fails ends the program with a message. With DID=PREFIX in the environment each rank writes down in
 * PREFIX.PROGRAM.RANK what it read and wrote, in that order: `read FILE//OBJECT`, `write FILE//OBJECT@ATTRIBUTE`. The
 * record can be held against that; nothing else comes of it. */
#ifndef DAS_H
#define DAS_H

#include <hdf5.h>

enum { DAS_CHANNELS = 256, DAS_NAME = 512 };

/* Starts MPI, and gives this process's rank; das_mine: is the i-th piece of work its own? das_end: all ranks are done.
 */
void das_start(int *argc, char ***argv);
int das_mine(int i);
int das_end(double sum);

void das_fail(const char *what, const char *name);
void *das_memory(size_t n);
void das_did(const char *way, const char *file, const char *object);
/* FOLDER/NAME.SUFFIX, where IN is .../NAME.anything */
const char *das_name(const char *folder, const char *in, const char *suffix);

/* An HDF5 file; the same input gives the same bytes, so no times are kept in it. */
struct das_file {
	hid_t id;
	int made;
	char name[DAS_NAME];
};
void das_open(struct das_file *f, const char *name);
void das_create(struct das_file *f, const char *name);
void das_close(struct das_file *f);

void das_group(struct das_file *f, const char *path);
/* Of floats, rows x columns. */
void das_write(struct das_file *f, const char *path, hsize_t rows, hsize_t columns, const float *v);
float *das_read(struct das_file *f, const char *path, hsize_t *rows, hsize_t *columns);
void das_put(struct das_file *f, const char *path, const char *name, double v);
double das_get(struct das_file *f, const char *path, const char *name);

#endif
