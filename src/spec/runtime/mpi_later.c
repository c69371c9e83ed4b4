/* mpi_later.c - the collectives that return before they are complete, which came with MPI 3: in an object of their own,
 * for libraries that have not. Written down when they are posted. */
#include "spec/runtime/mpi.h"

TOGETHER(Ibarrier, (handle comm, void *request), (comm, request), NO_ROOT, -1, 0, request)
TOGETHER(Ibcast, (void *buf, int count, handle type, int root, handle comm, void *request),
         (buf, count, type, root, comm, request), root, count, type, request)
TOGETHER(Ireduce, (const void *out, void *in, int count, handle type, handle op, int root, handle comm, void *request),
         (out, in, count, type, op, root, comm, request), root, count, type, request)
TOGETHER(Iallreduce, (const void *out, void *in, int count, handle type, handle op, handle comm, void *request),
         (out, in, count, type, op, comm, request), NO_ROOT, count, type, request)
#define SHARED(name)                                                                                                   \
	TOGETHER(name,                                                                                                     \
	         (const void *out, int n_out, handle type_out, void *in, int n_in, handle type_in, int root, handle comm,  \
	          void *request),                                                                                          \
	         (out, n_out, type_out, in, n_in, type_in, root, comm, request), root, -1, 0, request)
SHARED(Igather)
SHARED(Iscatter)
#define EACH(name)                                                                                                     \
	TOGETHER(                                                                                                          \
	    name,                                                                                                          \
	    (const void *out, int n_out, handle type_out, void *in, int n_in, handle type_in, handle comm, void *request), \
	    (out, n_out, type_out, in, n_in, type_in, comm, request), NO_ROOT, -1, 0, request)
EACH(Iallgather)
EACH(Ialltoall)
