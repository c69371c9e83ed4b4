/* mpi_library.c - which library of MPI the program has, and what Open MPI and MPICH's ABI differ in. */
#include "spec/runtime/mpi.h"

#include "spec/trace/trace.h"

#include <pthread.h>
#include <string.h>

#define VERSION_ROOM 8192 /* MPI_MAX_LIBRARY_VERSION_STRING of both */
#define MPICH_COMM_WORLD 0x44000000

extern int PMPI_Comm_rank(handle, int *), PMPI_Comm_size(handle, int *);
extern int PMPI_Get_library_version(char *, int *) __attribute__((weak));
extern handle PMPI_Comm_f2c(int) __attribute__((weak));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int library;
static int rank, ranks; /* of MPI_COMM_WORLD; 0 ranks: not known */

/* Which MPI it is, once, and this process's rank. OTHER: it cannot be told. */
static void detect_library(void)
{
	static char version[VERSION_ROOM];
	int n = 0, is = OTHER, me = -1, all = 0;
	handle world = 0;
	pthread_mutex_lock(&lock);
	if (library == NOT_YET) {
		if (!PMPI_Get_library_version || PMPI_Get_library_version(version, &n) != 0)
			version[0] = '\0';
		version[sizeof(version) - 1] = '\0';
		if (strncmp(version, "Open MPI", 8) == 0 && PMPI_Comm_f2c) {
			is = OPEN_MPI;
			world = PMPI_Comm_f2c(0); /* the address of the object that the library goes by */
		} else if (strncmp(version, "MPICH", 5) == 0 || strncmp(version, "MVAPICH", 7) == 0 ||
		           strncmp(version, "Intel(R) MPI", 12) == 0 || strstr(version, "CRAY MPICH")) {
			is = MPICH;
			world = MPICH_COMM_WORLD;
		}
		if (is != OTHER && PMPI_Comm_rank(world, &me) == 0 && PMPI_Comm_size(world, &all) == 0 && me >= 0 && me < all) {
			rank = me;
			ranks = all;
		}
		__atomic_store_n(&library, is, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

enum mpi_library __stemma_mpi_library(void)
{
	int is = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
	if (is == NOT_YET) {
		int e = errno;
		detect_library();
		is = library;
		errno = e;
	}
	return (enum mpi_library)is;
}

int __stemma_mpi_ranks(int *ret_rank)
{
	*ret_rank = rank;
	return ranks;
}

handle __stemma_mpi_load_request(const void *requests, size_t i)
{
	return library == OPEN_MPI ? ((const handle *)requests)[i] : ((const uint32_t *)requests)[i];
}

/* The library decides how long a status is. */
static const int *status_at(const void *statuses, size_t i)
{
	return (const int *)((const char *)statuses + i * (library == OPEN_MPI ? 24 : 20));
}

int __stemma_mpi_is_ignored(const void *status)
{
	return status == (library == OPEN_MPI ? NULL : (void *)1);
}

int __stemma_mpi_any_source(void)
{
	return library == OPEN_MPI ? -1 : -2;
}

/* Open MPI: source, tag, error, cancelled, bytes (8). MPICH: bytes' lower half, their upper half and cancelled, source,
 * tag, error. */
void __stemma_mpi_read_status(const void *statuses, size_t i, struct message *m)
{
	const int *s = status_at(statuses, i);
	bool cancelled;
	if (library == OPEN_MPI) {
		m->peer = s[0];
		m->tag = s[1];
		cancelled = s[3] != 0;
		m->bytes = (uint32_t)s[4] | (uint64_t)(uint32_t)s[5] << 32;
	} else {
		m->peer = s[2];
		m->tag = s[3];
		cancelled = s[1] & 1;
		m->bytes = (uint32_t)s[0] | (uint64_t)((uint32_t)s[1] >> 1) << 32;
	}
	m->flags |= cancelled ? TRACE_MESSAGE_CANCELLED : TRACE_MESSAGE_BYTES;
	if (cancelled || m->peer < 0) { /* of nobody: what else is in the status says nothing */
		m->peer = m->tag = -1;
		m->bytes = 0;
	}
}
