#include "cmd/ui/suggest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST 40

/* The smallest of three sizes. */
static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* How many letters are put in, left out, exchanged or swapped with their neighbour (F. J. Damerau 1964, without moves
 * across other changes). */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), rows[3][LONGEST + 1];
	if (n > LONGEST || m > LONGEST)
		return SIZE_MAX;
	for (size_t k = 0; k <= m; k++)
		rows[0][k] = k;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t k = 1; k <= m; k++) {
			now[k] = smallest(before[k] + 1, now[k - 1] + 1, before[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && earlier[k - 2] + 1 < now[k])
				now[k] = earlier[k - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

const char *suggest_word(const char *typed, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t least = 3, length = strlen(typed);
	for (size_t i = 0; i < n && length > 1; i++) {
		size_t d = length > 2 && strncmp(words[i], typed, length) == 0 ? 1 : distance(typed, words[i]);
		if (d < least && 2 * d < length + 1) {
			least = d;
			best = words[i];
		}
	}
	return best;
}
