#include "base/strv.h"

#include <stdlib.h>
#include <string.h>

char **strv_copy(char *const *v)
{
	size_t n = 0;
	while (v[n])
		n++;
	char **copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		if (!(copy[i] = strdup(v[i]))) {
			strv_free(copy);
			return NULL;
		}
	return copy;
}

/* v ends with NULL, and may be NULL. */
void strv_free(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}
