/* doctor_hdf5.h - which HDF5 programs of this machine would load, for stemma doctor. */
#ifndef STEMMA_CMD_DOCTOR_DOCTOR_HDF5_H
#define STEMMA_CMD_DOCTOR_DOCTOR_HDF5_H

#include "base/buf.h"

/* Appends what there is, each version with its libraries: "1.10.8 (libhdf5_serial.so.103)"; nothing where none was
 * found. Looked for in LD_LIBRARY_PATH and where the system's loader looks; each is loaded by a child, for 10 s at
 * most. *ret_served: of those the versions that `run --hdf5` knows, *ret_connects: that a connector for 1.14 fits. */
void doctor_hdf5(struct buf *ret, unsigned *ret_served, unsigned *ret_connects);
/* Appends what the Python of PATH says of h5py, nothing where it has none: "h5py 3.7.0 with 1.10.8". Takes up to a
 * second. */
void doctor_h5py(struct buf *ret);

#endif
