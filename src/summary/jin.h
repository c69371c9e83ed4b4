/* jin.h - reads JSON with its numbers as text.
 *
 * The reader is jansson's, which bounds the depth and would make doubles of numbers: it is given a text in which they
 * stand in quotes. So every number is a string here, for decimal_read; one that came in quotes is taken like the rest.
 */
#ifndef STEMMA_SUMMARY_JIN_H
#define STEMMA_SUMMARY_JIN_H

#include "base/buf.h"

#include <jansson.h>

/* A text of one or more values, one after the other. The caller's text is not needed after the opening. */
struct jin {
	struct buf text;
	size_t at;
	unsigned line; /* of `at` */
};
/* Begins to read JSON of n bytes, in which numbers keep all their digits. 0, and it is to be released; -ENOMEM. */
int jin_open(struct jin *in, const char *text, size_t n);
void jin_release(struct jin *in);
/* Reads the next value. 1 and the next value, 0 at the end, -EBADMSG with what is wrong and in which line. */
int jin_next(struct jin *in, json_t **ret, char ret_why[200]);

/* Appends the bytes. false: it is none, or no memory; something may have been appended. */
bool jin_base64(struct str s, struct buf *ret);

#endif
