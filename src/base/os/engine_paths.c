#include "base/os/engine_paths.h"

#include "base/hash.h"

#include <string.h>

static const char own_folder[] = "/.snakemake/";
static const char copies[] = "/.snakemake/scripts/tmp";
static const char *const folders[] = {"metadata/", "log/", "locks/", "incomplete/", "auxiliary/"};
static const char *const own_names[] = {".ninja_log", ".ninja_deps"};

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

/* Whether the name is one of the recorder's own programs or libraries. */
static bool is_own_name(struct str base)
{
	for (size_t i = 0; i < COUNT(own_names); i++)
		if (str_is(base, own_names[i]))
			return true;
	return false;
}

bool engine_own_file(struct str path)
{
	return memmem(path.p, path.n, own_folder, sizeof(own_folder) - 1) || is_own_name(str_base_name(path));
}

bool engine_bookkeeping(struct str path)
{
	const char *at = memmem(path.p, path.n, own_folder, sizeof(own_folder) - 1);
	struct str below =
	    at ? str_n(at + sizeof(own_folder) - 1, (size_t)(path.p + path.n - at) - sizeof(own_folder) + 1) : str_of("");
	for (size_t i = 0; i < COUNT(folders); i++)
		if (str_starts(below, str_of(folders[i])))
			return true;
	return !at && is_own_name(str_base_name(path));
}

struct str engine_copied_script(struct str path)
{
	const char *at = path.n ? memmem(path.p, path.n, copies, sizeof(copies) - 1) : NULL;
	struct str rest =
	    at ? str_n(at + sizeof(copies) - 1, path.n - (size_t)(at + sizeof(copies) - 1 - path.p)) : (struct str){0};
	const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
	if (!dot || memchr(rest.p, '/', rest.n))
		return (struct str){0};
	return str_n(dot + 1, rest.n - (size_t)(dot + 1 - rest.p));
}

uint64_t engine_path_rules(void)
{
	uint64_t h = hash_bytes(own_folder, sizeof(own_folder));
	h = hash_more(h, copies, sizeof(copies));
	for (size_t i = 0; i < COUNT(folders); i++)
		h = hash_more(h, folders[i], strlen(folders[i]) + 1);
	for (size_t i = 0; i < COUNT(own_names); i++)
		h = hash_more(h, own_names[i], strlen(own_names[i]) + 1);
	return h;
}
