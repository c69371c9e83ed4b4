/* memfile.h - memory behind a descriptor (memfd).
 *
 * It is not executable by name (MFD_NOEXEC_SEAL, Linux 6.3), so it can be made under every value of the kernel's
 * setting vm.memfd_noexec. */
#ifndef STEMMA_BASE_OS_MEMFILE_H
#define STEMMA_BASE_OS_MEMFILE_H

#include <stddef.h>

/* A new, empty one, owned by the caller and close-on-exec; name is what /proc/PID/maps shows. -errno. */
int memfile_new(const char *name);

/* One of size bytes of zeros, whose size nobody can change: what is shared with a program of a run must not be shrunk
 * by it, or the recorder's next read would end in SIGBUS. -errno if it cannot be made or sealed. */
int memfile_sealed(const char *name, size_t size);

/* One of size bytes of zeros that may be sealed later (F_ADD_SEALS). -errno. */
int memfile_sealable(const char *name, size_t size);

#endif
