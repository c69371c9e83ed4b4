/* stages_paths.c - what the path of a file says of a script. */
#include "query/stages/stages.h"

#include <string.h>

struct str stages_copied_script(struct str path)
{
	static const char scripts[] = "/.snakemake/scripts/tmp";
	const char *at = path.n ? memmem(path.p, path.n, scripts, sizeof(scripts) - 1) : NULL;
	struct str rest =
	    at ? str_n(at + sizeof(scripts) - 1, path.n - (size_t)(at + sizeof(scripts) - 1 - path.p)) : (struct str){0};
	const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
	if (!dot || memchr(rest.p, '/', rest.n))
		return (struct str){0};
	return str_n(dot + 1, rest.n - (size_t)(dot + 1 - rest.p));
}
