/* jout.h - the JSON of summaries, written as it comes into a buf.
 *
 * It holds nothing: commas come by themselves, the caller opens and closes in pairs. A string that is not UTF-8 stands
 * with U+FFFD for what is none, and exactly in a twin NAME_base64; of a list or of pairs, the twin has all of them. */
#ifndef STEMMA_SUMMARY_JOUT_H
#define STEMMA_SUMMARY_JOUT_H

#include "base/buf.h"

struct jout {
	struct buf *b;
	bool indent; /* jout_line begins lines; else all is one */
	bool comma;  /* before what comes next */
};

void jout_open(struct jout *j, char bracket);  /* '{' or '[' */
void jout_close(struct jout *j, char bracket); /* '}' or ']' */
void jout_line(struct jout *j, unsigned depth);
void jout_key(struct jout *j, const char *name);
/* A value of its own. What is no UTF-8 becomes U+FFFD. */
void jout_text(struct jout *j, struct str s);

void jout_base64(struct jout *j, struct str s); /* likewise */
/* Writes a number with so many decimals. */
void jout_decimal(struct jout *j, int64_t value, unsigned decimals);
/* Writes null. */
void jout_null(struct jout *j);
/* Writes a truth value as a member. */
void jout_bool(struct jout *j, const char *name, bool value);
/* Writes a number with so many decimals as a member; value: without its decimals. */
void jout_number(struct jout *j, const char *name, int64_t value, unsigned decimals);
/* "name": "text" and its twin; null without text */
void jout_string_pair(struct jout *j, const char *name, const char *text);

#endif
