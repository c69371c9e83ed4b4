/* Programs that the library would break do not get it; HDF5 is not unloaded under it. */
#include "capture/hdf5/h5.h"
#include "capture/interpose/symbols.h"

static char library[1024];
#include "capture/interpose/leave.h"

#define REAL(name) ((__typeof__(&name))find_next_exec(&real_##name, #name))
#define REAL_OF(name) static void *real_##name

/* Sets ENOSYS, gives -1: as a system call that the kernel lacks. */
static long fail_missing(void)
{
	errno = ENOSYS;
	return -1;
}

/* What is called if there is none fails by itself; never NULL. */
static void *find_next_exec(void **real, const char *name)
{
	if (!*real) {
		*real = symbols_next_one(name);
		*real = *real ? *real : (void *)(uintptr_t)fail_missing;
	}
	return *real;
}

#define LEAVE_ON library[0]
#define LEAVE_LOOK leave_fit
#include "capture/interpose/leave_execs.h"

REAL_OF(dlclose);
EXPORT int dlclose(void *handle);
/* As dlclose; the library of HDF5 is kept loaded (h5_lib_pin). */
EXPORT int dlclose(void *handle)
{
	h5_lib_pin();
	return REAL(dlclose)(handle);
}

/* Notes the library's own path before any call; too long a one is left out. Keeps errno. */
__attribute__((constructor)) static void remember_library(void)
{
	int keep = errno;
	const char *file = app_tape_on() ? symbols_own_file() : NULL;
	size_t n = file ? bounded_length(file, sizeof(library)) : sizeof(library);
	if (n < sizeof(library))
		memcpy(library, file, n + 1);
	errno = keep;
}
