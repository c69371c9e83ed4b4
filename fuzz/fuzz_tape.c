/* What the library in a compiler's programs left: any bytes, read as a tape, and what of it could be files. */
#include "cc/observed.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct observed s;
	/* The reader is given a copy of its own, so that a byte too far is found. */
	void *copy = malloc(n ? n : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, n);
	if (observed_read(copy, n, &s) == 0) {
		size_t sum = 0;
		for (size_t i = 0; i < s.files.n; i++)
			sum += strlen(s.files.v[i].path) + strlen(observed_program(&s, s.files.v[i].image));
		for (size_t i = 0; i < s.execs.n; i++)
			sum += strlen(s.execs.v[i].path);
		for (size_t i = 0; i < s.images.n; i++)
			sum += strlen(s.images.v[i].path);
		if (sum > 16 * (n + 16) * (n + 16))
			abort();
		observed_release(&s);
	}
	free(copy);
	return 0;
}
