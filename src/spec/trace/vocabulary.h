/* vocabulary.h - words and their numbers, by hash: each word once, numbered from 0 in the order in which they come. */
#ifndef STEMMA_SPEC_TRACE_VOCABULARY_H
#define STEMMA_SPEC_TRACE_VOCABULARY_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct vocabulary {
	char **v;
	uint32_t n, cap, *slot, mask;
};
/* Gives a word a number, the same for the same word. 0 or -ENOMEM. The word has no NUL in it. */
int vocabulary_number(struct vocabulary *w, const char *p, size_t n, uint32_t *ret);
void vocabulary_release(struct vocabulary *w);

/* A regular file, whole, of at most `most` bytes; malloc'ed, not ended by a NUL. 0 or -errno with a sentence. */
int vocabulary_load_text(const char *path, size_t most, struct err *err, char **ret, size_t *ret_n);
/* What its reader made of it: r itself, with a sentence that names the file, and says `why` where the text is damaged.
 */
int vocabulary_report_text(int r, const char *path, const struct err *why, struct err *err);

#endif
