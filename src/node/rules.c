#include "node/rules.h"

#include <errno.h>
#include <stdlib.h>

struct row {
	enum rule_class class;
	struct str name;
	bool beginning; /* name is one */
};

struct rules {
	struct row *v;
	size_t n;
};

static const struct row table[] = {
#define RULE(class, name)                                                                                              \
	{RULE_##class, {name, sizeof(name) - 1 - (name[sizeof(name) - 2] == '*')}, name[sizeof(name) - 2] == '*'},
#include "node/rules.def"
};

struct rules *rules_new(void)
{
	return calloc(1, sizeof(struct rules));
}

/* NULL is no error. */
void rules_free(struct rules *r)
{
	for (size_t i = 0; r && i < r->n; i++)
		free((char *)r->v[i].name.p);
	if (r)
		free(r->v);
	free(r);
}

int rules_add(struct rules *r, const char *row, struct err *err)
{
	static const struct {
		const char *word;
		enum rule_class class;
	} words[] = {{"pass ", RULE_pass}, {"told ", RULE_told},   {"job ", RULE_job},
	             {"own ", RULE_own},   {"shell ", RULE_shell}, {"keep ", RULE_none}};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);
		if (strncmp(row, words[i].word, n))
			continue;
		const char *name = row + n + strspn(row + n, " \t");
		size_t length = strlen(name);
		bool beginning = length && name[length - 1] == '*';
		if (length == (size_t)beginning)
			break;
		struct row *v = realloc(r->v, (r->n + 1) * sizeof(*v));
		if (!v)
			return -ENOMEM;
		r->v = v;
		char *copy = strndup(name, length - beginning);
		if (!copy)
			return -ENOMEM;
		v[r->n++] = (struct row){words[i].class, {copy, length - beginning}, beginning};
		return 0;
	}
	err_set(err, 0, "'%.60s' is not a rule", row);
	err_hint(err, "pass NAME, told NAME, job NAME, own NAME, shell NAME or keep NAME");
	return -EINVAL;
}

/* The last part of the path. */
static struct str file_name_of(struct str path)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	return slash ? str_n(slash + 1, path.n - (size_t)(slash + 1 - path.p)) : path;
}

/* A row may be of a beginning only. */
static bool row_matches(const struct row *row, struct str name)
{
	return row->beginning ? str_starts(name, row->name) : str_eq(name, row->name);
}

/* The user's own rules first, the last one of them before others. NULL: none. */
static const struct row *find_rule(const struct rules *r, struct str name)
{
	for (size_t i = 0; r && i < r->n; i++)
		if (row_matches(&r->v[r->n - 1 - i], name))
			return &r->v[r->n - 1 - i];
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (row_matches(&table[i], name))
			return &table[i];
	return NULL;
}

/* Names end with NUL; takes one off the list. Shares its bytes. false: none is left. */
static bool next_name(struct str *list, struct str *ret)
{
	if (!list->n)
		return false;
	const char *end = memchr(list->p, '\0', list->n);
	size_t n = end ? (size_t)(end - list->p) : list->n;
	*ret = str_n(list->p, n);
	n += end != NULL;
	list->p += n;
	list->n -= n;
	return true;
}

/* Does a shell's option take the next word? */
static bool takes_word(struct str option)
{
	static const char *const options[] = {"--rcfile", "--init-file", "-o", "+o", "-O", "+O"};
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (str_is(option, options[i]))
			return true;
	return false;
}

/* Its name begins with a dash, or an option says so. */
static bool is_login(struct str argv)
{
	struct str arg;
	bool login = next_name(&argv, &arg) && arg.n && arg.p[0] == '-';
	/* Options only: what stands behind the first other word is a script's. */
	while (!login && next_name(&argv, &arg) && arg.n > 1 && arg.p[0] == '-' && !str_is(arg, "--")) {
		if (takes_word(arg))
			next_name(&argv, &arg);
		else
			login = str_is(arg, "--login") || (arg.p[1] != '-' && memchr(arg.p, 'l', arg.n));
	}
	return login;
}

/* A login shell, or one without a script and without commands. `-` and `-s` read standard input, which may be a
 * script's text: as a login over a batch system does, so that passes, too. */
static bool is_interactive(struct str argv)
{
	struct str arg;
	if (!next_name(&argv, &arg))
		return true;
	if (arg.n && arg.p[0] == '-')
		return true;
	while (next_name(&argv, &arg)) {
		if (!arg.n || (arg.p[0] != '-' && arg.p[0] != '+'))
			return false; /* a script */
		if (str_is(arg, "--") || str_is(arg, "-"))
			return !next_name(&argv, &arg);
		if (takes_word(arg)) {
			next_name(&argv, &arg);
			continue;
		}
		if (arg.p[0] == '-' && arg.n > 1 && arg.p[1] != '-' && memchr(arg.p, 'c', arg.n))
			return false;
	}
	return true;
}

enum rule_class rules_class(const struct rules *r, struct str path, struct str argv, bool under_job)
{
	struct str called = {0}, rest = argv;
	const struct row *row = path.n ? find_rule(r, file_name_of(path)) : NULL;
	/* One program of many names, or one that writes over its own (tmux: server, sshd: me@pts/1). */
	if (!row && next_name(&rest, &called) && called.n) {
		called = file_name_of(called);
		if (called.n && called.p[0] == '-')
			called = str_n(called.p + 1, called.n - 1);
		row = find_rule(r, called);
	}
	if (!row)
		return RULE_none;
	if (row->class != RULE_shell)
		return row->class;
	if (under_job)
		return RULE_told;
	return !is_interactive(argv) ? RULE_none : is_login(argv) ? RULE_told : RULE_pass;
}
