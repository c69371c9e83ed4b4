/* mpi.c - libstemma-mpi.so, which `stemma run --mpi` has the dynamic linker load first: stands before MPI_Init and the
 * MPI_File_ functions, and tells through the channel (capture/app) which rank the process is, and which files it used
 * through MPI-IO, how often, how much and how long. mpi_messages.c stands before what moves data between ranks.
 *
 * Built without mpi.h, and serves Open MPI and the libraries of MPICH's ABI alike: handles are passed on as they came
 * (an int of MPICH in the lower half of a register), and of what differs only two handles are needed, which are known
 * by a symbol or a constant. With another library nothing is said but that. Makes no call of its own that others have
 * to join: only MPI_Comm_rank, MPI_Comm_size and MPI_Type_size, and these after the program's own call has returned.
 *
 * Both names of each function are stood before, MPI_ and PMPI_: a Fortran program comes by the second in one library
 * and by the first in the other. Only the outermost call counts. No malloc, no stdio, no lock; errno is the program's.
 */
#include "capture/mpi/mpi_int.h"

#include "capture/interpose/symbols.h"
#include "event/event.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define FILES 512 /* open at once; more are not told apart, and are not told of */
#define PATH_ROOM 1024
#define VERSION_ROOM 8192 /* MPI_MAX_LIBRARY_VERSION_STRING of both */
#define MPICH_COMM_WORLD 0x44000000

/* ---- the real functions ---- */

/* Whether a library's file is an MPI library, and not the recorder's own. */
static bool is_mpi(const char *file)
{
	return strstr(file, "libmpi") && !strstr(file, "stemma");
}

/* Libraries of a plug-in's own scope (RTLD_LOCAL) are not next to anybody. The linker's lock is not taken
 * (inject/symbols.h): who holds it may wait for this thread. */
void *mpi_find_real_call(const char *name, const void *caller)
{
	int e = errno;
	struct symbol s = {symbols_next_one(name), name};
	struct symbol_object o;
	/* The program began with a library of MPI's: what that has not, no other one is to have. */
	if (!s.f && !symbols_next_one("MPI_Init"))
		symbols_later(caller, name, is_mpi, &s, 1, &o);
	errno = e;
	return s.f;
}

/* ---- which library ---- */

struct mpi_library mpi_library;
__thread unsigned mpi_inside __attribute__((tls_model("initial-exec")));

/* Does the text begin with `with`? */
static bool text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* What is there now that MPI has been initialised. */
static void note_mpi_world(int level)
{
	static char version[VERSION_ROOM];
	static int done;
	int n = 0, rank = -1, size = -1;
	if (!app_tape_on() || __atomic_exchange_n(&done, 1, __ATOMIC_ACQ_REL))
		return;
	int (*get_version)(char *, int *) = REAL(int (*)(char *, int *), "PMPI_Get_library_version");
	int (*get_rank)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Comm_rank");
	int (*get_size)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Comm_size");
	/* Of Open MPI the handle is the address of an object, of which a program that was not linked for any address has a
	 * copy. The library is asked which one it goes by: Fortran's number for it is 0 there. */
	handle (*ompi)(int) = mpi_find_real_call("ompi_mpi_comm_world", __builtin_return_address(0))
	                          ? REAL(handle(*)(int), "PMPI_Comm_f2c")
	                          : NULL;
	if (!get_version || get_version(version, &n) != 0)
		version[0] = '\0';
	version[sizeof(version) - 1] = '\0';
	mpi_library.known = get_rank && get_size;
	if (mpi_library.known && ompi && text_begins(version, "Open MPI"))
		mpi_library.world = ompi(0);
	else if (mpi_library.known && !ompi &&
	         (text_begins(version, "MPICH") || text_begins(version, "Intel(R) MPI") ||
	          text_begins(version, "MVAPICH") || strstr(version, "CRAY MPICH")))
		mpi_library.world = MPICH_COMM_WORLD;
	else
		mpi_library.known = false;
	if (mpi_library.known && (!mpi_library.world || get_rank(mpi_library.world, &rank) != 0 ||
	                          get_size(mpi_library.world, &size) != 0 || rank < 0 || size <= rank))
		mpi_library.known = false;
	mpi_library.open_mpi = ompi != NULL;
	mpi_library.rank = rank;
	mpi_library.size = size;
	memcpy(app_tape_tool, "mpi", 4);
	struct app_entry e = {.kind = APP_RANK,
	                      .flags = mpi_library.known ? 0 : APP_RANK_UNKNOWN,
	                      .id = (uint64_t)(level < 0 || level > 3 ? 0 : level),
	                      .number = (uint64_t)rank,
	                      .step = size};
	struct app_words w = {.value = version, .nvalue = strnlen(version, 256)};
	app_tape_put(&e, &w);
}

/* ---- files ---- */

struct file {
	handle fh; /* 0: free */
	struct mpi_ranks together;
	uint64_t ranks;
	struct app_mpiio *rows[7][2]; /* by op and collective; where the recorder reads them */
	size_t npath;
	char path[PATH_ROOM];
};
static struct file files[FILES];

/* What is known of an MPI file handle. NULL: the handle is not known. */
static struct file *find_mpi_file(handle fh)
{
	size_t at = (fh >> 4) * 0x9e3779b97f4a7c15u % FILES;
	for (size_t i = 0; fh && i < FILES; i++) {
		struct file *f = &files[(at + i) % FILES];
		if (__atomic_load_n(&f->fh, __ATOMIC_ACQUIRE) == fh)
			return f;
	}
	return NULL;
}

/* The name of a file, without ROMIO's prefix, and absolute; ret has PATH_ROOM bytes, and what does not fit is cut.
 * Its length. */
static size_t absolute_file_name(const char *name, char *ret)
{
	static const char *const kinds[] = {"ufs:", "nfs:", "lustre:", "gpfs:", "xfs:", "testfs:", "pvfs2:"};
	size_t n = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) /* ROMIO's way to say on which file system */
		if (text_begins(name, kinds[i]))
			name += strlen(kinds[i]);
	if (name[0] != '/' && getcwd(ret, PATH_ROOM)) {
		n = strlen(ret);
		if (n < PATH_ROOM - 1 && ret[n - 1] != '/')
			ret[n++] = '/';
	}
	while (text_begins(name, "./"))
		name += 2;
	size_t more = strnlen(name, PATH_ROOM - 1 - n);
	memcpy(ret + n, name, more);
	ret[n + more] = '\0';
	return n + more;
}

/* Counts a call that began at t0. */
static void count_mpi_call(struct file *f, unsigned op, bool collective, int64_t t0, int rc, uint64_t bytes)
{
	int64_t t1 = app_tape_now();
	struct app_mpiio *io = __atomic_load_n(&f->rows[op][collective], __ATOMIC_ACQUIRE), *none = NULL;
	if (!io) {
		io = app_tape_reserve(APP_MPIIO, (uint32_t)(sizeof(*io) + f->npath + 1));
		if (!io)
			return;
		io->op = op;
		io->collective = collective;
		io->ranks = f->ranks;
		io->first = t0;
		memcpy(io + 1, f->path, f->npath);
		if (!__atomic_compare_exchange_n(&f->rows[op][collective], &none, io, false, __ATOMIC_ACQ_REL,
		                                 __ATOMIC_ACQUIRE))
			io = none; /* the other stays empty, and is none to the recorder */
	}
	__atomic_add_fetch(rc == 0 ? &io->calls : &io->failed, 1, __ATOMIC_RELAXED);
	if (rc == 0)
		__atomic_add_fetch(&io->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_add_fetch(&io->spent, (uint64_t)(t1 - t0), __ATOMIC_RELAXED);
	__atomic_store_n(&io->last, t1, __ATOMIC_RELAXED);
}

/* A file that MPI opened: its row is taken for it. Where no row is free it is not noted. errno stays. */
static void note_mpi_opened(const char *name, handle comm, handle fh, int64_t t0)
{
	static const handle wip = 1; /* not a file's */
	int size = 0, e = errno;
	int (*get_size)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Comm_size");
	size_t at = (fh >> 4) * 0x9e3779b97f4a7c15u % FILES;
	for (size_t i = 0; name && fh > wip && i < FILES; i++) {
		struct file *f = &files[(at + i) % FILES];
		handle none = 0;
		if (!__atomic_compare_exchange_n(&f->fh, &none, wip, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		memset(f->rows, 0, sizeof(f->rows));
		f->together = mpi_ranks_of(comm);
		f->npath = absolute_file_name(name, f->path);
		f->ranks = get_size && get_size(comm, &size) == 0 && size > 0 ? (uint64_t)size : 0;
		__atomic_store_n(&f->fh, fh, __ATOMIC_RELEASE);
		count_mpi_call(f, TERM_mpiop_open, true, t0, 0, 0);
		break;
	}
	errno = e;
}

/* How many bytes n elements of an MPI datatype are. 0: n is not positive, or the type has no size. */
uint64_t mpi_datatype_bytes(handle type, int64_t n)
{
	int size = 0;
	int (*get_size)(handle, int *) = REAL(int (*)(handle, int *), "PMPI_Type_size");
	return n > 0 && get_size && get_size(type, &size) == 0 && size > 0 ? (uint64_t)n * (uint64_t)size : 0;
}

/* ---- what is stood before ---- */

STAND_BEFORE(Init, (int *argc, char ***argv), (argc, argv), {
	if (rc == 0)
		note_mpi_world(0);
})
STAND_BEFORE(Init_thread, (int *argc, char ***argv, int required, int *provided), (argc, argv, required, provided), {
	if (rc == 0)
		note_mpi_world(provided ? *provided : 0);
})

STAND_BEFORE(File_open, (handle comm, const char *name, int mode, handle info, handle *fh),
             (comm, name, mode, info, fh), {
	             if (rc == 0 && mpi_library.known && fh)
		             note_mpi_opened(name, comm, *fh, t0);
             })

/* The handle is gone after it: who it was is looked up before. */
#define CLOSE(name)                                                                                                    \
	EXPORT int name(handle *fh);                                                                                       \
	EXPORT int name(handle *fh)                                                                                        \
	{                                                                                                                  \
		int (*f)(handle *) = REAL(int (*)(handle *), #name);                                                           \
		struct file *is = !mpi_inside && fh && app_tape_on() ? find_mpi_file(*fh) : NULL;                              \
		if (!f)                                                                                                        \
			return ERR_OTHER;                                                                                          \
		int64_t t0 = is ? app_tape_now() : 0;                                                                          \
		mpi_inside++;                                                                                                  \
		int rc = f(fh), e = errno;                                                                                     \
		if (is) {                                                                                                      \
			count_mpi_call(is, TERM_mpiop_close, true, t0, rc, 0);                                                     \
			if (rc == 0)                                                                                               \
				__atomic_store_n(&is->fh, 0, __ATOMIC_RELEASE);                                                        \
		}                                                                                                              \
		errno = e;                                                                                                     \
		mpi_inside--;                                                                                                  \
		return rc;                                                                                                     \
	}
CLOSE(MPI_File_close)
CLOSE(PMPI_File_close)

#define COUNTED(op, collective, bytes)                                                                                 \
	{                                                                                                                  \
		struct file *is = find_mpi_file(fh);                                                                           \
		if (is)                                                                                                        \
			count_mpi_call(is, op, collective, t0, rc, bytes);                                                         \
		if (is && rc == 0 && collective && ((op) == TERM_mpiop_read || (op) == TERM_mpiop_write))                      \
			mpi_tell_together(&is->together, bytes, t0);                                                               \
	}

STAND_BEFORE(File_sync, (handle fh), (fh), COUNTED(TERM_mpiop_sync, true, 0))
STAND_BEFORE(File_set_size, (handle fh, int64_t size), (fh, size), COUNTED(TERM_mpiop_size, true, 0))
STAND_BEFORE(File_preallocate, (handle fh, int64_t size), (fh, size), COUNTED(TERM_mpiop_size, true, 0))

/* (fh, buf, count, type, status or request), the same at an offset, and the first half of a split collective one. */
#define FIVE(name, number, op, collective)                                                                             \
	STAND_BEFORE(File_##name, (handle fh, void *buf, number n, handle type, void *last), (fh, buf, n, type, last),     \
	             COUNTED(op, collective, mpi_datatype_bytes(type, (int64_t)n)))
#define SIX(name, number, op, collective)                                                                              \
	STAND_BEFORE(File_##name, (handle fh, int64_t at, void *buf, number n, handle type, void *last),                   \
	             (fh, at, buf, n, type, last), COUNTED(op, collective, mpi_datatype_bytes(type, (int64_t)n)))
#define FOUR(name, number, op)                                                                                         \
	STAND_BEFORE(File_##name, (handle fh, void *buf, number n, handle type), (fh, buf, n, type),                       \
	             COUNTED(op, true, mpi_datatype_bytes(type, (int64_t)n)))
#define FIVE_AT(name, number, op)                                                                                      \
	STAND_BEFORE(File_##name, (handle fh, int64_t at, void *buf, number n, handle type), (fh, at, buf, n, type),       \
	             COUNTED(op, true, mpi_datatype_bytes(type, (int64_t)n)))

#define ALL_OF(verb, op)                                                                                               \
	FIVE(verb, int, op, false)                                                                                         \
	FIVE(verb##_all, int, op, true)                                                                                    \
	SIX(verb##_at, int, op, false)                                                                                     \
	SIX(verb##_at_all, int, op, true)                                                                                  \
	FIVE(verb##_shared, int, op, false)                                                                                \
	FIVE(verb##_ordered, int, op, true)                                                                                \
	FIVE(i##verb, int, op, false)                                                                                      \
	FIVE(i##verb##_all, int, op, true)                                                                                 \
	SIX(i##verb##_at, int, op, false)                                                                                  \
	SIX(i##verb##_at_all, int, op, true)                                                                               \
	FIVE(i##verb##_shared, int, op, false)                                                                             \
	FOUR(verb##_all_begin, int, op)                                                                                    \
	FIVE_AT(verb##_at_all_begin, int, op)                                                                              \
	FOUR(verb##_ordered_begin, int, op)                                                                                \
	/* counts of 64 bits, since MPI 4 */                                                                               \
	FIVE(verb##_c, int64_t, op, false)                                                                                 \
	FIVE(verb##_all_c, int64_t, op, true)                                                                              \
	SIX(verb##_at_c, int64_t, op, false)                                                                               \
	SIX(verb##_at_all_c, int64_t, op, true)                                                                            \
	FIVE(verb##_shared_c, int64_t, op, false)                                                                          \
	FIVE(verb##_ordered_c, int64_t, op, true)                                                                          \
	FIVE(i##verb##_c, int64_t, op, false)                                                                              \
	FIVE(i##verb##_all_c, int64_t, op, true)                                                                           \
	SIX(i##verb##_at_c, int64_t, op, false)                                                                            \
	SIX(i##verb##_at_all_c, int64_t, op, true)                                                                         \
	FIVE(i##verb##_shared_c, int64_t, op, false)                                                                       \
	FOUR(verb##_all_begin_c, int64_t, op)                                                                              \
	FIVE_AT(verb##_at_all_begin_c, int64_t, op)                                                                        \
	FOUR(verb##_ordered_begin_c, int64_t, op)

ALL_OF(read, TERM_mpiop_read)
ALL_OF(write, TERM_mpiop_write)
