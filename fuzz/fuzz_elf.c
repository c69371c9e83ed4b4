/* Programs: any bytes, asked for a build-id and for what they tell of their building. */
#include "cc/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	unsigned char id[BUILD_ID_MAX];
	struct build b;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		return 0;
	int got = elfid_build_id(fd, id);
	if (got > BUILD_ID_MAX)
		abort();
	/* dpkg is not asked for a path like this one, and libdw is another's to test. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (build_from_elf_alone(path, NULL, &b) == 1)
		build_release(&b);
	close(fd);
	return 0;
}
