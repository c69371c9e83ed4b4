/* sealed.h - memory behind a descriptor whose size nobody can change any more.
 *
 * What is shared with a program of a run must not be shrunk by it: the recorder's next read would end in SIGBUS. So the
 * seals are set before anybody else has the descriptor. The memory is not executable by name (MFD_NOEXEC_SEAL, Linux
 * 6.3), so it can be made under every value of the kernel's setting vm.memfd_noexec. */
#ifndef STEMMA_BASE_SEALED_H
#define STEMMA_BASE_SEALED_H

#include <stddef.h>

/* A new descriptor (close-on-exec), owned by the caller, of size bytes of zeros. name is what /proc/PID/maps shows.
 * -errno if it cannot be made or sealed. */
int sealed_create(const char *name, size_t size);

#endif
