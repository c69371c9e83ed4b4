/* mpi_together.c - the collectives that return when they are complete, in a program that is traced (mpi.c). */
#include "spec/runtime/mpi.h"

TOGETHER(Barrier, (handle comm), (comm), NO_ROOT, -1, 0, NULL)
TOGETHER(Bcast, (void *buf, int count, handle type, int root, handle comm), (buf, count, type, root, comm), root, count,
         type, NULL)
TOGETHER(Reduce, (const void *out, void *in, int count, handle type, handle op, int root, handle comm),
         (out, in, count, type, op, root, comm), root, count, type, NULL)
#define REDUCE(name)                                                                                                   \
	TOGETHER(name, (const void *out, void *in, int count, handle type, handle op, handle comm),                        \
	         (out, in, count, type, op, comm), NO_ROOT, count, type, NULL)
REDUCE(Allreduce)
REDUCE(Scan)
REDUCE(Exscan)
REDUCE(Reduce_scatter_block)
TOGETHER(Reduce_scatter, (const void *out, void *in, const int *counts, handle type, handle op, handle comm),
         (out, in, counts, type, op, comm), NO_ROOT, -1, 0, NULL)
/* Of the rest it depends on the place which counts and types are looked at: how much is not said. */
#define SHARED(name)                                                                                                   \
	TOGETHER(name,                                                                                                     \
	         (const void *out, int n_out, handle type_out, void *in, int n_in, handle type_in, int root, handle comm), \
	         (out, n_out, type_out, in, n_in, type_in, root, comm), root, -1, 0, NULL)
SHARED(Gather)
SHARED(Scatter)
TOGETHER(Gatherv,
         (const void *out, int n_out, handle type_out, void *in, const int *counts, const int *at, handle type_in,
          int root, handle comm),
         (out, n_out, type_out, in, counts, at, type_in, root, comm), root, -1, 0, NULL)
TOGETHER(Scatterv,
         (const void *out, const int *counts, const int *at, handle type_out, void *in, int n_in, handle type_in,
          int root, handle comm),
         (out, counts, at, type_out, in, n_in, type_in, root, comm), root, -1, 0, NULL)
#define EACH(name)                                                                                                     \
	TOGETHER(name, (const void *out, int n_out, handle type_out, void *in, int n_in, handle type_in, handle comm),     \
	         (out, n_out, type_out, in, n_in, type_in, comm), NO_ROOT, -1, 0, NULL)
EACH(Allgather)
EACH(Alltoall)
TOGETHER(Allgatherv,
         (const void *out, int n_out, handle type_out, void *in, const int *counts, const int *at, handle type_in,
          handle comm),
         (out, n_out, type_out, in, counts, at, type_in, comm), NO_ROOT, -1, 0, NULL)
TOGETHER(Alltoallv,
         (const void *out, const int *counts_out, const int *at_out, handle type_out, void *in, const int *counts_in,
          const int *at_in, handle type_in, handle comm),
         (out, counts_out, at_out, type_out, in, counts_in, at_in, type_in, comm), NO_ROOT, -1, 0, NULL)
