/* jsonw.h - writes JSON as it comes: commas come by themselves, nothing is held.
 *
 * Zero it but for `out`; jsonw_release at the end. The caller opens and closes in pairs. */
#ifndef STEMMA_EXPORT_JSONW_H
#define STEMMA_EXPORT_JSONW_H

#include "prov/out.h"

struct jsonw {
	struct out *out;
	bool comma; /* before what comes next */
	struct buf list;
};

void jsonw_release(struct jsonw *j);
/* '{' or '[', and '}' or ']' */
void jsonw_open(struct jsonw *j, char bracket);
void jsonw_close(struct jsonw *j, char bracket);
/* The next thing begins a line, so far to the right. */
void jsonw_line(struct jsonw *j, unsigned indent);
void jsonw_key(struct jsonw *j, const char *prefix, const char *name);
/* A string of constant words as they are, then of s with escapes. */
void jsonw_text(struct jsonw *j, const char *words, struct str s, bool *ret_exact);
void jsonw_cstr(struct jsonw *j, const char *words);
void jsonw_count(struct jsonw *j, uint64_t n);
void jsonw_count_text(struct jsonw *j, uint64_t n); /* as a string */
void jsonw_null(struct jsonw *j);
void jsonw_flag(struct jsonw *j, bool value);
void jsonw_time(struct jsonw *j, int64_t t);
/* Writes a list of texts as a JSON array. */
void jsonw_list(struct jsonw *j, const struct strlist *l);
/* Writes a list of texts as one string that holds a JSON array. base64: the items so; *ret_exact: false if bytes
 * that are no UTF-8 were replaced. */
void jsonw_list_text(struct jsonw *j, const struct strlist *l, bool base64, bool *ret_exact);
/* Writes s as a string in base64. */
void jsonw_base64(struct jsonw *j, struct str s);
/* "name": "words and s" in one. */
void jsonw_pair(struct jsonw *j, const char *name, const char *words, struct str s);
void jsonw_pair_cstr(struct jsonw *j, const char *name, const char *words);
/* Did anything fail while it was written? 0, or -errno of the writing. */
int jsonw_error(const struct jsonw *j);

#endif
