#include "cmd/options.h"
#include "cmd/ui/suggest.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND(name, operands, summary) static const struct option_row rows_##name[] = {
#define OPTION(command, type, field, letter, name, arg, help)                                                          \
	{OPTION_##type, offsetof(struct opts_##command, field), letter, name, arg, help},
#define END(name)                                                                                                      \
	}                                                                                                                  \
	;
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END

const struct command commands[COMMAND_COUNT] = {
#define COMMAND(name, operands, summary)                                                                               \
	{#name, operands, summary, rows_##name, sizeof(rows_##name) / sizeof(rows_##name[0]), sizeof(struct opts_##name)},
#define OPTION(command, type, field, letter, name, arg, help)
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
};

#define MAX_OPTIONS 48
#define BASE 1000 /* getopt's value for row i is BASE + i */
enum { OPT_STORE = 1, OPT_HELP, OPT_HELP_ALL };

/* Adds a value of an option that may be given several times. 0, -ENOMEM. value stays the caller's. */
static int append_option_value(struct texts *t, const char *value)
{
	const char **v = realloc(t->v, (t->n + 2) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	v[t->n++] = value;
	v[t->n] = NULL;
	t->v = v;
	return 0;
}

/* Stores the value of an option in the struct of the command's options. value: NULL only of a flag, or where it may
 * be left out. 0; -EINVAL with a sentence; -ENOMEM. */
static int store_value(const struct option_row *row, void *opts, const char *value, struct err *err)
{
	void *field = (char *)opts + row->offset;
	switch (row->type) {
	case OPTION_flag:
		*(bool *)field = true;
		return 0;
	case OPTION_text:
		*(const char **)field = value;
		return 0;
	case OPTION_maybe:
		if (value && !*value) {
			err_set(err, 0, "--%s= needs a value", row->name);
			return -EINVAL;
		}
		*(const char **)field = value ? value : "";
		return 0;
	case OPTION_list:
		return append_option_value(field, value);
	case OPTION_number: {
		char *end;
		errno = 0;
		unsigned long long n = strtoull(value, &end, 10);
		if (!isdigit((unsigned char)*value) || *end || errno || n > INT64_MAX || !n) {
			err_set(err, 0, "--%s needs a number of at least 1, not '%.100s'", row->name, value);
			return -EINVAL;
		}
		*(uint64_t *)field = n;
		return 0;
	}
	}
	return -EINVAL;
}

/* The option that somebody may have meant, NULL none. */
static const char *near_option(const struct command *c, const char *typed)
{
	const char *names[MAX_OPTIONS];
	char word[64] = "";
	size_t n = 0;
	for (; n < c->n_options && n < MAX_OPTIONS; n++)
		names[n] = c->options[n].name;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(typed, "="), typed);
	return strncmp(word, "--", 2) == 0 ? suggest_word(word + 2, names, n) : NULL;
}

/* What getopt did not like, in our words. */
static void explain_bad_option(const struct command *c, int how, char **argv, struct err *err)
{
	if (how == ':')
		err_set(err, 0, "%.60s: an argument is missing", argv[optind - 1]);
	else if (optopt > 0 && optopt < BASE && optopt != OPT_STORE && optopt != OPT_HELP && optopt != OPT_HELP_ALL)
		err_set(err, 0, "'%s' has no option -%c", c->name, isprint(optopt) ? optopt : '?');
	else if (optopt)
		err_set(err, 0, "%.60s takes no argument", argv[optind - 1]);
	else
		err_set(err, 0, "'%s' has no option %.60s", c->name, argv[optind - 1]);
	const char *near = how == '?' && !optopt ? near_option(c, argv[optind - 1]) : NULL;
	if (near)
		err_hint(err, "did you mean --%s? stemma %s --help lists its options", near, c->name);
	else
		err_hint(err, "stemma %s --help lists its options", c->name);
}

enum { LONGS_MAX = MAX_OPTIONS + 4, SHORTS_MAX = 3 * MAX_OPTIONS + 8 };

/* The options of the command, and those of all commands, as getopt_long wants them. */
static void describe_options(const struct command *c, char shorts[SHORTS_MAX], struct option longs[LONGS_MAX])
{
	size_t n = 0, s = 0;
	bool in_order = strstr(c->operands, "[--]") != NULL; /* operands are a command line with options of its own */
	if (in_order)
		shorts[s++] = '+';
	shorts[s++] = ':';
	shorts[s++] = 'h';
	for (; n < c->n_options && n < MAX_OPTIONS; n++) {
		const struct option_row *row = &c->options[n];
		int has_arg = row->type == OPTION_flag    ? no_argument
		              : row->type == OPTION_maybe ? optional_argument
		                                          : required_argument;
		longs[n] = (struct option){row->name, has_arg, NULL, BASE + (int)n};
		if (row->letter) {
			shorts[s++] = (char)row->letter;
			for (int k = 0; k < has_arg; k++)
				shorts[s++] = ':';
		}
	}
	shorts[s] = '\0';
	longs[n++] = (struct option){"store", required_argument, NULL, OPT_STORE};
	longs[n++] = (struct option){"help", no_argument, NULL, OPT_HELP};
	longs[n++] = (struct option){"help-all", no_argument, NULL, OPT_HELP_ALL};
	longs[n] = (struct option){0};
}

/* The one that getopt_long returned o for; NULL: none of the command's. */
static const struct option_row *find_option(const struct command *c, int o)
{
	for (size_t i = 0; i < c->n_options; i++)
		if (o == BASE + (int)i || (c->options[i].letter && o == c->options[i].letter))
			return &c->options[i];
	return NULL;
}

int options_parse(const struct command *c, int argc, char **argv, void *opts, struct err *err, struct parsed *ret)
{
	struct option longs[LONGS_MAX];
	char shorts[SHORTS_MAX];
	describe_options(c, shorts, longs);

	struct parsed p = {0};
	for (int i = 1; i < argc && !p.n_after_dashes; i++)
		if (strcmp(argv[i], "--") == 0)
			p.n_after_dashes = argc - i - 1;

	opterr = 0;
	optind = 0; /* start anew, also where getopt was used before */
	for (int o; (o = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
		if (o == '?' || o == ':') {
			explain_bad_option(c, o, argv, err);
			return -EINVAL;
		}
		if (o == OPT_STORE) {
			p.store = optarg;
			continue;
		}
		if (o == OPT_HELP || o == 'h') {
			p.help = true;
			continue;
		}
		if (o == OPT_HELP_ALL) {
			p.help = p.help_all = true;
			continue;
		}
		const struct option_row *row = find_option(c, o);
		int r = row ? store_value(row, opts, optarg, err) : -EINVAL;
		if (r < 0)
			return r;
	}
	p.operands = argv + optind;
	p.n_operands = argc - optind;
	if (p.n_after_dashes > p.n_operands)
		p.n_after_dashes = p.n_operands;
	*ret = p;
	return 0;
}

void options_defaults(const struct command *c, const struct config *config, void *opts)
{
	for (size_t i = 0; i < c->n_options; i++) {
		const char **field = (const char **)((char *)opts + c->options[i].offset);
		enum config_key key;
		if (c->options[i].type == OPTION_text && config_find(c->options[i].name, &key) && !*field)
			*field = config_get(config, key);
	}
}

/* Only its lists. */
void options_release(const struct command *c, void *opts)
{
	for (size_t i = 0; i < c->n_options; i++)
		if (c->options[i].type == OPTION_list)
			free(((struct texts *)((char *)opts + c->options[i].offset))->v);
}

#define LEFT 24 /* columns of an option; a longer one has its help on the next line */

/* Breaks the line where the left side is too wide. letter 0: it has none. */
static void usage_row(FILE *out, int letter, const char *name, const char *between, const char *arg, const char *help)
{
	char left[80];
	int n = snprintf(left, sizeof(left), "--%s%s%s", name, *arg ? between : "", arg);
	if (letter)
		fprintf(out, "  -%c, %-*s", letter, LEFT, left);
	else
		fprintf(out, "      %-*s", LEFT, left);
	if (n >= LEFT)
		fprintf(out, "\n      %*s", LEFT, "");
	fprintf(out, "%s\n", help);
}

/* A heading of the help: before which option of which command it stands. */
struct help_group {
	const struct option_row *rows;
	size_t offset;
	const char *title;
};

static const struct help_group help_groups[] = {
#define GROUP(command, field, title) {rows_##command, offsetof(struct opts_##command, field), title},
#include "cmd/help_groups.def"
#undef GROUP
};
#define N_HELP_GROUPS (sizeof(help_groups) / sizeof(help_groups[0]))

/* The heading before this option, NULL none. */
static const char *help_group_before(const struct command *c, const struct option_row *row)
{
	for (size_t i = 0; i < N_HELP_GROUPS; i++)
		if (help_groups[i].rows == c->options && help_groups[i].offset == row->offset)
			return help_groups[i].title;
	return NULL;
}

/* Names the groups after the first, which --help does not print. */
static void usage_other_groups(const struct command *c, FILE *out)
{
	const char *between = "\nMore options: ";
	size_t nth = 0;
	for (size_t i = 0; i < N_HELP_GROUPS; i++) {
		if (help_groups[i].rows != c->options || !nth++)
			continue;
		fprintf(out, "%s%s", between, help_groups[i].title);
		between = ", ";
	}
	fprintf(out, ".\nstemma %s --help-all lists all options.\n", c->name);
}

void options_usage(const struct command *c, FILE *out, bool all)
{
	fprintf(out, "usage: stemma %s [OPTION...]%s%s\n%s\n\n", c->name, *c->operands ? " " : "", c->operands, c->summary);
	size_t groups = 0;
	for (size_t i = 0; i < c->n_options; i++) {
		const char *title = help_group_before(c, &c->options[i]);
		groups += title != NULL;
		if (groups > 1 && !all)
			break;
		if (title)
			fprintf(out, "%s%s:\n", groups > 1 ? "\n" : "", title);
		usage_row(out, c->options[i].letter, c->options[i].name, c->options[i].type == OPTION_maybe ? "" : " ",
		          c->options[i].arg, c->options[i].help);
	}
	if (groups && all)
		fprintf(out, "\nOther:\n");
	usage_row(out, 0, "store", " ", "DIR", "record directory (default: $STEMMA_HOME)");
	usage_row(out, 'h', "help", "", "", "print this help");
	if (groups)
		usage_row(out, 0, "help-all", "", "", "print all options");
	if (groups && !all)
		usage_other_groups(c, out);
	fprintf(out, "\nManual: man stemma-%s\n", c->name);
}
