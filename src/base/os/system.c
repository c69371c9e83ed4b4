#include "base/os/system.h"

#include "base/hash.h"

enum how { HOW_keep, HOW_under, HOW_named, HOW_suffix };

struct rule {
	enum how how;
	const char *text;
	size_t n;
};

/* This is asked of each file of a lineage. A rule is passed over by one character mostly; the texts that may stand
 * anywhere have a table of their own, for they are looked for at each character that begins one. */
#define RULE(how, text) {how, text, sizeof(text) - 1},
#define RULE_keep(text) RULE(HOW_keep, text)
#define RULE_under(text) RULE(HOW_under, text)
#define RULE_named(text) RULE(HOW_named, text)
#define RULE_suffix(text) RULE(HOW_suffix, text)
#define RULE_within(text)
#define SYSTEM(how, text, what) RULE_##how(text)
static const struct rule rules[] = {
#include "base/os/system.def"
};
#undef RULE_keep
#undef RULE_under
#undef RULE_named
#undef RULE_suffix
#undef RULE_within
#define RULE_keep(text)
#define RULE_under(text)
#define RULE_named(text)
#define RULE_suffix(text)
#define RULE_within(text) RULE(HOW_under, text)
static const struct rule within[] = {
#include "base/os/system.def"
};
#undef SYSTEM

#define COUNT(table) (sizeof(table) / sizeof(table[0]))

/* Has what is left of the path, n bytes, the rule's text at its beginning? */
static bool begins_with_rule(const char *p, size_t n, const struct rule *r)
{
	return n >= r->n && p[1] == r->text[1] && memcmp(p, r->text, r->n) == 0;
}

/* Has the path one of the texts `within`, each of which begins with `first`? */
static bool has_within(struct str path, char first)
{
	const char *end = path.p + path.n, *p = memchr(path.p, first, path.n);
	for (; p; p = memchr(p + 1, first, (size_t)(end - p - 1)))
		for (size_t i = 0; i < COUNT(within); i++)
			if (*within[i].text == first && begins_with_rule(p, (size_t)(end - p), &within[i]))
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
	for (size_t i = 0; i < COUNT(rules); i++) {
		const struct rule *r = &rules[i];
		if (!(r->how == HOW_suffix ? str_ends(path, str_n(r->text, r->n)) : begins_with_rule(path.p, path.n, r)))
			continue;
		if (r->how == HOW_keep)
			return SYSTEM_NO;
		return r->how == HOW_named ? SYSTEM_UNLESS_NAMED : SYSTEM_YES;
	}
	char first = '\0';
	for (size_t i = 0; i < COUNT(within); i++) {
		if (*within[i].text == first)
			continue;
		first = *within[i].text;
		if (has_within(path, first))
			return SYSTEM_YES;
	}
	return SYSTEM_NO;
}

/* h and all rules, in order. */
static uint64_t hash_rules(uint64_t h, const struct rule *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const unsigned char how = (unsigned char)r[i].how;
		h = hash_more(h, &how, 1);
		h = hash_more(h, r[i].text, r[i].n + 1);
	}
	return h;
}

uint64_t system_rules(void)
{
	static _Atomic uint64_t known;
	if (!known)
		known = hash_rules(hash_rules(1, rules, COUNT(rules)), within, COUNT(within)) | 1;
	return known;
}
