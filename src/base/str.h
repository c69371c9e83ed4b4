/* str.h - a run of bytes somebody else owns. Not NUL-terminated, any byte may occur. */
#ifndef STEMMA_BASE_STR_H
#define STEMMA_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

/* The text s, not a copy; NULL is the empty text. */
static inline struct str str_of(const char *s)
{
	return (struct str){s, s ? strlen(s) : 0};
}

/* What a noun ends with behind a number: 1 file, 2 files. */
static inline const char *str_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}
/* Behind a count and its noun: the ending of the noun, and the verb. */
static inline const char *str_are(uint64_t n)
{
	return n == 1 ? " is" : "s are";
}
/* The end of a noun and its verb, behind a number: "1 file was", "2 files were". */
static inline const char *str_were(uint64_t n)
{
	return n == 1 ? " was" : "s were";
}
/* The end of a noun and its verb, behind a number: "1 file has", "2 files have". */
static inline const char *str_have(uint64_t n)
{
	return n == 1 ? " has" : "s have";
}

/* The n bytes at p, not a copy. */
static inline struct str str_n(const char *p, size_t n)
{
	return (struct str){p, n};
}

/* Are both texts the same bytes? */
static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Is a the text s? */
static inline bool str_is(struct str a, const char *s)
{
	return str_eq(a, str_of(s));
}

static inline bool str_starts(struct str a, struct str prefix)
{
	return a.n >= prefix.n && memcmp(a.p, prefix.p, prefix.n) == 0;
}

static inline bool str_ends(struct str a, struct str suffix)
{
	return a.n >= suffix.n && memcmp(a.p + a.n - suffix.n, suffix.p, suffix.n) == 0;
}

/* What stands after the last slash; all of it where there is none. */
static inline struct str str_base_name(struct str path)
{
	size_t n = path.n;
	while (n && path.p[n - 1] != '/')
		n--;
	return n ? str_n(path.p + n, path.n - n) : path;
}

/* Order by bytes, shorter first where one is a prefix of the other. */
static inline int str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;
	return c ? c : (a.n > b.n) - (a.n < b.n);
}

#endif
