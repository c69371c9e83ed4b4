/* h5_abi.h - the part of the binary interface of HDF5 that the library stands before or calls, versions 1.10 to 1.14,
 * by our own declarations: no header and no library of HDF5 is needed to build it, and it serves all of them. What
 * differs between versions (H5O_info_t) is read by offset (h5_ask.c). */
#ifndef STEMMA_CAPTURE_HDF5_H5_ABI_H
#define STEMMA_CAPTURE_HDF5_H5_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef int64_t hid_t; /* since 1.10 */
typedef int herr_t, htri_t;
/* The connector has the declarations of HDF5 itself before these: the same in other words. */
#ifndef H5_VERS_MAJOR
typedef unsigned long long hsize_t;
typedef long long hssize_t;
#endif
typedef uint64_t haddr_t;
typedef int (*h5_error_fn)(hid_t stack, void *data);

#ifndef H5_VERS_MAJOR
#define H5S_ALL 0
#define H5T_COMPOUND 6
#define H5D_VIRTUAL 3
#define H5I_FILE 1
#endif

#endif
