/* fuzz_records.h - an input as records of another monitor, one after the other. */
#ifndef STEMMA_FUZZ_RECORDS_H
#define STEMMA_FUZZ_RECORDS_H

#include "fuzz_file.h"
#include "summary/summary.h"

#include <errno.h>
#include <string.h>

/* Reads up to eight of them and calls check for each. A record takes some of the text; what is none ends it, with a
 * sentence where it is wrong. */
static inline void fuzz_records(const uint8_t *data, size_t size,
                                int (*read)(struct str text, struct err *err, struct summary *ret, size_t *ret_n),
                                void (*check)(const struct summary *s))
{
	char *copy = malloc(size ? size : 1); /* so that a sanitizer sees its end */
	must(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	struct str text = str_n(copy, size);
	for (int i = 0; i < 8; i++) {
		struct summary s;
		struct err err = {0};
		size_t n = 0;
		int r = read(text, &err, &s, &n);
		must(r == 0 || r == -ENODATA || err.text[0]);
		if (r < 0)
			break;
		must(n > 0 && n <= text.n);
		check(&s);
		summary_release(&s);
		text = str_n(text.p + n, text.n - n);
	}
	free(copy);
}

#endif
