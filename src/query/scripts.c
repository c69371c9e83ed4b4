#include "query/scripts.h"

static const struct {
	const char *program, *suffix;
} table[] = {
#define SCRIPT(program, suffix) {program, suffix},
#include "query/scripts.def"
#undef SCRIPT
};

/* Has the file that name or ending? suffix: ".r", or a whole name such as "Makefile". */
static bool script_has_suffix(struct str path, struct str suffix)
{
	return *suffix.p == '.' ? str_ends(path, suffix) : str_eq(str_base_name(path), suffix);
}

bool script_is(struct str program, struct str path)
{
	struct str base = str_base_name(program);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (script_has_suffix(path, str_of(table[i].suffix)) && str_starts(base, str_of(table[i].program)))
			return true;
	return false;
}

bool script_may_be(struct str path)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (script_has_suffix(path, str_of(table[i].suffix)))
			return true;
	return false;
}
