/* fuzz_parts.h - an input in parts, with a line that is `%` alone between them. */
#ifndef STEMMA_FUZZ_PARTS_H
#define STEMMA_FUZZ_PARTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The first `count` parts of the input; the last one has what is left. Those that are not there are empty. */
static inline void fuzz_parts(const uint8_t *data, size_t n, int count, const char *part[], size_t size[])
{
	for (int i = 0; i < count; i++) {
		part[i] = (const char *)data + (i ? n : 0);
		size[i] = i ? 0 : n;
	}
	for (int i = 0; i + 1 < count; i++) {
		const char *p = memmem(part[i], size[i], "\n%\n", 3);
		if (!p)
			break;
		part[i + 1] = p + 3;
		size[i + 1] = (size_t)(part[i] + size[i] - p) - 3;
		size[i] = (size_t)(p - part[i]);
	}
}

#endif
