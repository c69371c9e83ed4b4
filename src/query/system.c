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

static bool matches(struct str path, enum how how, struct str text)
{
	switch (how) {
	case HOW_keep:
	case HOW_under:
	case HOW_named:
		return str_starts(path, text);
	case HOW_suffix:
		return str_ends(path, text);
	case HOW_within:
		break;
	}
	if (*text.p != '/')
		return memmem(path.p, path.n, text.p, text.n) != NULL;
	/* Most begin with a slash, of which a path has few. This is asked of each file of a lineage: a search for each text
	 * costs four times as much. */
	const char *end = path.p + path.n, *p = path.p;
	while (p && (size_t)(end - p) >= text.n) {
		if (p[1] == text.p[1] && memcmp(p, text.p, text.n) == 0)
			return true;
		p = memchr(p + 1, '/', (size_t)(end - p - 1));
	}
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
		if (!matches(path, table[i].how, str_n(table[i].text, table[i].n)))
			continue;
		if (table[i].how == HOW_keep)
			return SYSTEM_NO;
		return table[i].how == HOW_named ? SYSTEM_UNLESS_NAMED : SYSTEM_YES;
	}
	return SYSTEM_NO;
}
