#include "base/os/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* newer than Debian 12's headers */
#define MFD_NOEXEC_SEAL 8u
#endif

/* The descriptor, closed at an exec; -errno. */
static int memfile_create(const char *name, unsigned flags)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL | flags);
	if (fd < 0 && errno == EINVAL) /* a kernel before 6.3 knows no such flag and has no such setting */
		fd = memfd_create(name, MFD_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

int memfile_new(const char *name)
{
	return memfile_create(name, 0);
}

int memfile_sealable(const char *name, size_t size)
{
	int fd = memfile_create(name, MFD_ALLOW_SEALING);
	if (fd >= 0 && ftruncate(fd, (off_t)size) < 0) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int memfile_sealed(const char *name, size_t size)
{
	int fd = memfile_sealable(name, size);
	if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		int rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}
