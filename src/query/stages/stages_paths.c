/* stages_paths.c - what the path of a file says: is it an engine's own? */
#include "query/stages/stages.h"

#include <string.h>

static const char own_folder[] = "/.snakemake/";

bool stages_own_file(struct str path)
{
	struct str base = str_base_name(path);
	return memmem(path.p, path.n, own_folder, sizeof(own_folder) - 1) || str_is(base, ".ninja_log") ||
	       str_is(base, ".ninja_deps");
}

bool stages_bookkeeping(struct str path)
{
	static const char *const folders[] = {"metadata/", "log/", "locks/", "incomplete/", "auxiliary/"};
	const char *at = memmem(path.p, path.n, own_folder, sizeof(own_folder) - 1);
	struct str below =
	    at ? str_n(at + sizeof(own_folder) - 1, (size_t)(path.p + path.n - at) - sizeof(own_folder) + 1) : str_of("");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (str_starts(below, str_of(folders[i])))
			return true;
	return !at && stages_own_file(path);
}

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
