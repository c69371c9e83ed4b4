#include "query/system.h"

enum how { HOW_keep, HOW_under, HOW_named, HOW_within, HOW_suffix };

static const struct {
	enum how how;
	const char *text;
	size_t n;
} table[] = {
#define SYSTEM(how, text, what) {HOW_##how, text, sizeof(text) - 1},
#include "query/system.def"
#undef SYSTEM
};

/* This is asked of each file of a lineage: what cannot be is passed over by one character. */
static bool begins(struct str path, size_t i)
{
	return path.n >= table[i].n && path.p[1] == table[i].text[1] && memcmp(path.p, table[i].text, table[i].n) == 0;
}

/* Has the path one of the texts `within`, each of which begins with `first`? */
static bool has_within(struct str path, char first)
{
	const char *end = path.p + path.n, *p = memchr(path.p, first, path.n);
	for (; p; p = memchr(p + 1, first, (size_t)(end - p - 1)))
		for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
			if (table[i].how == HOW_within && (size_t)(end - p) >= table[i].n && p[1] == table[i].text[1] &&
			    memcmp(p, table[i].text, table[i].n) == 0)
				return true;
	return false;
}

/* The user's list. Returns -1 when it says nothing about the path. */
static int by_extra(struct str path, const char *extra)
{
	int found = -1;
	while (extra && *extra) {
		size_t n = strcspn(extra, " \t,:");
		bool keep = n && *extra == '!';
		struct str prefix = str_n(extra + keep, n - keep);
		if (prefix.n && str_starts(path, prefix)) {
			if (keep)
				return SYSTEM_NO;
			found = SYSTEM_YES;
		}
		extra += n;
		extra += strspn(extra, " \t,:");
	}
	return found;
}

enum system_class system_path(struct str path, const char *extra)
{
	if (!path.n)
		return SYSTEM_NO;
	int mine = by_extra(path, extra);
	if (mine >= 0)
		return (enum system_class)mine;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].how == HOW_within ||
		    !(table[i].how == HOW_suffix ? str_ends(path, str_n(table[i].text, table[i].n)) : begins(path, i)))
			continue;
		if (table[i].how == HOW_keep)
			return SYSTEM_NO;
		return table[i].how == HOW_named ? SYSTEM_UNLESS_NAMED : SYSTEM_YES;
	}
	char first = '\0';
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].how != HOW_within || *table[i].text == first)
			continue;
		first = *table[i].text;
		if (has_within(path, first))
			return SYSTEM_YES;
	}
	return SYSTEM_NO;
}
