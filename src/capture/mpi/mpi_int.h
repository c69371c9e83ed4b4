/* mpi_int.h - what the files of libstemma-mpi.so share: how one stands before a function of MPI, and what is known of
 * the library. Not for others. */
#ifndef STEMMA_CAPTURE_MPI_MPI_INT_H
#define STEMMA_CAPTURE_MPI_MPI_INT_H

#include "capture/app/app_tape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define ERR_OTHER 15 /* where there is no such function at all, which cannot be: who called it was linked with it */

typedef uintptr_t handle; /* an int or a pointer */

/* Set when MPI has been initialised. */
struct mpi_library {
	handle world;
	int rank, size; /* of it; where `known` */
	bool known, open_mpi;
};
extern struct mpi_library mpi_library;
extern __thread unsigned mpi_inside
    __attribute__((tls_model("initial-exec"))); /* calls of MPI that this thread is in */

/* The function of that name behind us, for code at `caller`. NULL: there is none. errno stays. */
void *mpi_find_real_call(const char *name, const void *caller);
/* n elements of the type. 0: n is not positive, or the type has no size. */
uint64_t mpi_datatype_bytes(handle type, int64_t n);
/* The ranks of a communicator, which may be freed. ranks 0: one only, or not told. */
struct mpi_ranks {
	uint32_t number, ranks;
	uint64_t members;
};
struct mpi_ranks mpi_ranks_of(handle comm);
/* They read or wrote a file together from t0 on, for which they may have sent to each other. */
void mpi_tell_together(const struct mpi_ranks *r, uint64_t bytes, int64_t t0);

/* The address of the real function, found once; racing threads find the same. */
#define REAL(type, name)                                                                                               \
	({                                                                                                                 \
		static void *real_at;                                                                                          \
		void *real_f = __atomic_load_n(&real_at, __ATOMIC_RELAXED);                                                    \
		if (__builtin_expect(!real_f, 0))                                                                              \
			__atomic_store_n(&real_at, real_f = mpi_find_real_call(name, __builtin_return_address(0)),                 \
			                 __ATOMIC_RELAXED);                                                                        \
		(type) real_f;                                                                                                 \
	})

/* Defines MPI_NAME and PMPI_NAME. `params` and `args` are theirs; `after` stands behind the call of the outermost one,
 * where somebody records. */
#define STAND_BEFORE(name, params, args, after)                                                                        \
	STAND_ONE(MPI_##name, params, args, after)                                                                         \
	STAND_ONE(PMPI_##name, params, args, after)
#define STAND_ONE(name, params, args, after)                                                                           \
	EXPORT int name params;                                                                                            \
	EXPORT int name params                                                                                             \
	{                                                                                                                  \
		int(*f) params = REAL(int(*) params, #name);                                                                   \
		if (!f)                                                                                                        \
			return ERR_OTHER;                                                                                          \
		if (mpi_inside || !app_tape_on())                                                                              \
			return f args;                                                                                             \
		int64_t t0 = app_tape_now();                                                                                   \
		mpi_inside++;                                                                                                  \
		int rc = f args;                                                                                               \
		int e = errno;                                                                                                 \
		(void)t0;                                                                                                      \
		after;                                                                                                         \
		errno = e;                                                                                                     \
		mpi_inside--;                                                                                                  \
		return rc;                                                                                                     \
	}

#endif
