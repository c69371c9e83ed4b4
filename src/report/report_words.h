/* report_words.h - texts and lists of texts, each once, known by a number: paths, arguments, environments.
 *
 * Zero it; report_words_release at the end. Without memory `failed` is set and 0 is returned. */
#ifndef STEMMA_REPORT_REPORT_WORDS_H
#define STEMMA_REPORT_REPORT_WORDS_H

#include "base/buf.h"
#include "base/vec.h"
#include "event/event.h"
#include "query/idmap.h"

struct report_words {
	struct arena arena;
	VEC(struct str) texts;
	struct idmap text_at;
	VEC(uint32_t) items; /* of all lists, one behind the other */
	struct report_list {
		uint32_t first, n;
	} * lists; /* parts of items */
	size_t n_lists, cap_lists;
	struct idmap list_at;
	bool failed;
};

/* The number of the text in the page, which is given to a new one. 0 without memory, which w remembers. */
int64_t report_words_text(struct report_words *w, struct str s);
/* The number of a text in the list of words, which is made if it is new; REPORT_UNKNOWN for an empty text. */
int64_t report_words_text_if(struct report_words *w, struct str s);
int64_t report_words_list(struct report_words *w, const struct strlist *l);
/* Appends "strings": [...], "exact": {...}, "lists": [...]: what is no UTF-8 stands with U+FFFD for what is none among
 * the strings, and exactly, in base64, under its number in `exact`. */
void report_words_write(const struct report_words *w, struct buf *b);
void report_words_release(struct report_words *w);

#endif
