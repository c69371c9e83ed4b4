/* A source that is any bytes, asked for the words of a condition at some of its first places, which the length
 * chooses. What is said is of the source, has no NUL in it, and is no longer than promised. */
#include "spec/condition.h"

#include <stdlib.h>
#include <string.h>

#ifdef FUZZ_REPLAY
#define PLACES 1
#else
#define PLACES 4 /* one of so many is asked at */
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n ? n : 1); /* of its own, so that the byte behind it is nobody's */
	memcpy(text, data, n);
	struct condition_source *s = condition_source(str_n(text, n));
	struct buf b = {0};
	struct condition c = {.line = 1, .branch_line = 1};
	for (size_t i = 0; s && i < n && i < 128; i++) {
		c.column++;
		if (i % 3 == 0) {
			c.branch_line = c.line;
			c.branch_column = c.column;
		}
		for (int flags = (i ^ n) % PLACES ? 4 : 0; flags < 4; flags++) {
			c.opposite = flags & 1;
			c.arms = flags & 2;
			buf_reset(&b);
			if (condition_text(s, &c, &b) > 0 ? b.n == 0 || b.n > CONDITION_MAX || memchr(b.p, '\0', b.n) != NULL : b.n)
				abort();
		}
		if (text[i] == '\n') {
			c.line++;
			c.column = 0;
		}
	}
	condition_source_free(s);
	buf_release(&b);
	free(text);
	return 0;
}
