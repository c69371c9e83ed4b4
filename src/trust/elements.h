/* elements.h - the sets that trust is measured on: elements name:value (Malik et al., "Benchmark provenance", section
 * 3.1), each name once.
 *
 * A value is a list of texts, mostly of one. An element whose value is not known has the reason; one that has neither
 * is a name alone, which any value fits. Strings are copied and owned by the set. Pure; no threads. */
#ifndef STEMMA_TRUST_ELEMENTS_H
#define STEMMA_TRUST_ELEMENTS_H

#include "base/str.h"

struct element {
	char *name;
	char **value; /* `n` of them; 0: see `unknown` */
	size_t n;
	char *unknown;   /* why the value is not known; NULL: it is, or any will do */
	char *tolerance; /* "5%", "0.01"; NULL none */
	char *statistic; /* of the values of several runs: median, mean, min, max, all; NULL median */
	bool varied;     /* of several runs: they do not agree; `value` has all of theirs */
	size_t runs;     /* that have the name; 0: not of runs */
};
struct elements {
	struct element *v;
	size_t n, cap;
	bool failed; /* out of memory */
};

void elements_release(struct elements *e);
/* The element of that name, made where there is none. NULL: no memory. */
struct element *elements_at(struct elements *e, struct str name);
/* Finds an element by its name. NULL: there is none. */
struct element *elements_find(const struct elements *e, struct str name);
/* One value more of the name. */
void elements_add(struct elements *e, struct str name, struct str value);
/* In order of their names. */
void elements_sort(struct elements *e);
/* One more value of an element. False: no memory. */
bool element_put(struct element *x, struct str value);
/* Sets a text of an element (unknown, tolerance, statistic). */
bool element_text(char **text, struct str value);

/* Are two texts one value: the same bytes, or the same number (1.50 and 15e-1)? Integers are compared digit by digit,
 * other numbers as doubles. */
bool value_same(const char *a, const char *b);
/* The text as a number. False: it is none, or not finite. */
bool value_number(const char *text, double *ret);

#endif
