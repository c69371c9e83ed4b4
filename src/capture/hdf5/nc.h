/* nc.h - netCDF's own functions, for files that netCDF keeps without HDF5: classic, 64-bit offset, 64-bit data. What is
 * done with a variable is noted as what is done with a dataset is (h5.h), by the same library, with the same rules. Of
 * a netCDF-4 file HDF5's functions tell, and these only pass calls on.
 *
 * A variable's number in its file stands for the address of a dataset. nc_real.c finds netCDF, nc_calls.c are the
 * functions. */
#ifndef STEMMA_CAPTURE_HDF5_NC_H
#define STEMMA_CAPTURE_HDF5_NC_H

#include "capture/hdf5/h5.h"

/* The ends of the names of the functions that get and put, and bytes of an element in memory; 0: that of the file. */
#define NC_TYPES(X, to, shape)                                                                                         \
	X(to, shape, , 0)                                                                                                  \
	X(to, shape, _text, 1)                                                                                             \
	X(to, shape, _schar, 1)                                                                                            \
	X(to, shape, _uchar, 1)                                                                                            \
	X(to, shape, _ubyte, 1)                                                                                            \
	X(to, shape, _short, 2)                                                                                            \
	X(to, shape, _ushort, 2)                                                                                           \
	X(to, shape, _int, 4)                                                                                              \
	X(to, shape, _uint, 4)                                                                                             \
	X(to, shape, _long, sizeof(long))                                                                                  \
	X(to, shape, _longlong, 8)                                                                                         \
	X(to, shape, _ulonglong, 8)                                                                                        \
	X(to, shape, _float, 4)                                                                                            \
	X(to, shape, _double, 8)

enum nc_fn {
#define FN(name) NCFN_##name,
#define MOVES(to, shape, type, size) NCFN_nc_##to##_##shape##type,
#include "capture/hdf5/nc_names.def"
#undef FN
#undef MOVES
	NCFN_COUNT
};

/* One netCDF in this process. */
struct nc_lib {
	void *fn[NCFN_COUNT]; /* NULL: it does not have it */
	uintptr_t low, high;  /* where its code is */
};
/* The netCDF library that the caller at that address is bound to. NULL: there is none. */
struct nc_lib *nc_lib_of(const void *caller);

#define NCCALL(l, name, type) ((type)(l)->fn[NCFN_##name])

#endif
