/* text_line.h - lines of a text, and what of them counts. Nothing is copied: the results lie in the text. */
#ifndef STEMMA_SUMMARY_TEXT_LINE_H
#define STEMMA_SUMMARY_TEXT_LINE_H

#include "base/str.h"

#include <string.h>

/* From byte `at` of the text to the end of its line, without it. at: at most text.n. */
static inline struct str text_line_at(struct str text, size_t at)
{
	const char *end = memchr(text.p + at, '\n', text.n - at);
	return str_n(text.p + at, end ? (size_t)(end - text.p) - at : text.n - at);
}

/* Without blanks and tabs around it, and without carriage returns at its end. */
static inline struct str text_trim(struct str s)
{
	while (s.n && strchr(" \t\r", s.p[s.n - 1]))
		s.n--;
	while (s.n && strchr(" \t", s.p[0]))
		s = str_n(s.p + 1, s.n - 1);
	return s;
}

#endif
