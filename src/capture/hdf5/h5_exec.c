/* Programs that the library would break do not get it. */
#include "capture/hdf5/h5.h"

#include <dlfcn.h>

static char library[1024];
#include "capture/inject/leave.h"

#define REAL(name) ((__typeof__(&name))look_up(&real_##name, #name))
#define REAL_OF(name) static void *real_##name

static long absent(void)
{
	errno = ENOSYS;
	return -1;
}

static void *look_up(void **real, const char *name)
{
	if (!*real) {
		*real = dlsym(RTLD_NEXT, name);
		*real = *real ? *real : (void *)(uintptr_t)absent;
	}
	return *real;
}

#define LEAVE_ON library[0]
#define LEAVE_LOOK leave_fit
#include "capture/inject/leave_execs.h"

__attribute__((constructor)) static void start(void)
{
	Dl_info info;
	int keep = errno;
	if (app_tape_on() && dladdr((void *)(uintptr_t)start, &info) && info.dli_fname && info.dli_fname[0] == '/') {
		size_t n = length(info.dli_fname, sizeof(library));
		if (n < sizeof(library))
			memcpy(library, info.dli_fname, n + 1);
	}
	errno = keep;
}
