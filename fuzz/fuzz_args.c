/* Response files: any bytes, taken apart into the arguments of a compiler. */
#include "cc/args.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct args a;
	struct buf names = {0};
	char word[64], self[] = "cc";
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		return 0;
	snprintf(word, sizeof(word), "@/proc/self/fd/%d", fd);
	char *argv[] = {self, word, NULL};
	if (args_parse(argv, &a) == 0) {
		size_t k = args_outputs(&a, &names);
		if (k > a.n || a.compiler >= a.n)
			abort();
		args_release(&a);
	}
	buf_release(&names);
	close(fd);
	return 0;
}
