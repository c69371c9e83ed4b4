/* The C library that a traced program has loaded is read for its call sites, and so is its loader. The code that is
 * made for what was found must stay within its room. */
#include "capture/inject/sites_int.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sites s;
	static struct stubs code;
	int fd = memfd_create("elf", MFD_CLOEXEC);
	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size && sites_read(fd, &s) == 0) {
		if (s.n > SITES_MAX)
			abort();
		if (stubs_make(&s, 0x7f0000000000, 0x7f0000400000, 0x7f0000402000, &code) == 0 && code.n > STUBS_SIZE)
			abort();
	}
	if (size && lseek(fd, 0, SEEK_SET) == 0 && sites_read_loader(fd, &s) == 0) {
		if (s.n > SITES_MAX)
			abort();
		if (stubs_make(&s, 0x7f0000000000, 0x7f0000400000, 0x7f0000402000, &code) == 0 && code.n > STUBS_SIZE)
			abort();
	}
	for (size_t i = 0; i < size; i++)
		if (sites_length(data + i, size - i) > size - i)
			abort();
	close(fd);
	return 0;
}
