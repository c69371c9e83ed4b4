/* js.h - the public JSON, on jansson: one way for each kind of value, so that all commands agree.
 *
 * Strings that are not UTF-8 stand with U+FFFD for what is none, and exactly in a twin `<key>_base64`. Times are ISO
 * 8601 in UTC with nanoseconds, null when unknown or not yet. Inodes and nanoseconds are strings: they pass 2^53. Each
 * js_... steals what it is given and is silent on lack of memory: the object is then not whole, and json_dump fails. */
#ifndef STEMMA_ANSWER_JS_H
#define STEMMA_ANSWER_JS_H

#include "base/str.h"
#include "store/store.h"

#include <jansson.h>

void js_str(json_t *o, const char *key, struct str s);
/* Puts s into o as js_str does, but leaves the key out when s is empty. */
void js_str_if(json_t *o, const char *key, struct str s);
/* An array of strings, and <key>_base64, an array of all of them, if any is not UTF-8. */
void js_list(json_t *o, const char *key, const struct strlist *l);
/* An object from a list of key=value. */
void js_pairs(json_t *o, const char *key, const struct strlist *l);
void js_text(json_t *o, const char *key, const char *text);
void js_pub(json_t *o, const char *key, const struct pubid *id);
void js_num(json_t *o, const char *key, uint64_t n);
void js_big(json_t *o, const char *key, uint64_t n); /* a string of digits */
void js_bool(json_t *o, const char *key, bool yes);
void js_time(json_t *o, const char *key, int64_t ns);
/* The text of a time, as in all JSON, NUL-terminated; its length, 0 where it is null. About 20 ns. */
#define JS_TIME_MAX 96
/* Writes the time as RFC 3339 in UTC, to its nanoseconds. Its length; 0: there is none (TIME_NONE, TIME_NEVER). */
size_t js_time_text(int64_t ns, char ret[JS_TIME_MAX]);
/* [lo, hi] */
void js_times(json_t *o, const char *key, int64_t lo, int64_t hi);
/* {"status":n}, {"signal":n} or null */
void js_ending(json_t *o, const char *key, uint64_t ending, uint64_t code);
/* The words of a set of gaps. */
void js_gaps(json_t *o, const char *key, uint64_t gaps);
void js_put(json_t *o, const char *key, json_t *value);
void js_add(json_t *array, json_t *value);
/* A string value by itself. */
json_t *js_string(struct str s);
/* A number by itself; null for NAN, which is what is not known. */
json_t *js_real(double v);
/* Any double: JSON has no word for what is not finite, so that stands as "nan", "inf" or "-inf". */
void js_float(json_t *o, const char *key, double v);

#endif
