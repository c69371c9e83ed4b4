/* mpi.h - what the wrappers of MPI's functions share. */
#ifndef STEMMA_SPEC_RUNTIME_MPI_H
#define STEMMA_SPEC_RUNTIME_MPI_H

#include "spec/runtime/state.h"

#include <errno.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* An int of MPICH's ABI, in the lower half of a register, or a pointer of Open MPI: passed on as it came. */
typedef uintptr_t handle;

struct message {
	uint32_t kind, flags;
	int me, size, peer, tag;
	uint64_t bytes;
};

/* Is this thread traced, so that what it does is to be written down? */
static inline int is_thread_traced(void)
{
	const struct state *s = __stemma_trace;
	return s->ready && !s->sink;
}

/* ---- mpi_library.c ---- */

enum mpi_library { NOT_YET, OPEN_MPI, MPICH, OTHER };
/* Which one the program has; asked of it once. errno is kept. */
HIDDEN enum mpi_library __stemma_mpi_library(void);
/* How many ranks the job has, and which this one is; 0: that is not known. Once the library is. */
HIDDEN int __stemma_mpi_ranks(int *ret_rank);
/* The i-th of an array of requests, whose width differs. */
HIDDEN handle __stemma_mpi_load_request(const void *requests, size_t i);
/* Is it MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE? */
HIDDEN int __stemma_mpi_is_ignored(const void *status);
/* MPI_ANY_SOURCE */
HIDDEN int __stemma_mpi_any_source(void);
/* The i-th of an array of statuses into a message: from whom, with which tag, how much, or that it was cancelled. */
HIDDEN void __stemma_mpi_read_status(const void *statuses, size_t i, struct message *m);

/* ---- mpi.c ---- */

/* In place of a root: the call has none. */
#define NO_ROOT (-0x40000000)
/* Of a collective that succeeded; count < 0: how much is not said. errno is kept. */
HIDDEN void __stemma_mpi_together(uint32_t kind, int root, int64_t count, handle type, handle comm);
/* What is kept of a request of that number is of an earlier one. */
HIDDEN void __stemma_mpi_forget(const void *request);

/* Defines the wrapper of one collective. root: NO_ROOT where it has none */
#define TOGETHER(name, params, args, root, count, type, request)                                                       \
	int __real_MPI_##name params;                                                                                      \
	int __wrap_MPI_##name params;                                                                                      \
	int __wrap_MPI_##name params                                                                                       \
	{                                                                                                                  \
		int rc = __real_MPI_##name args;                                                                               \
		if (rc == 0 && is_thread_traced()) {                                                                           \
			__stemma_mpi_together(TRACE_MESSAGE_##name, root, count, type, comm);                                      \
			__stemma_mpi_forget(request);                                                                              \
		}                                                                                                              \
		return rc;                                                                                                     \
	}

#endif
