/* generate.c - prints the completion for a shell: a template (stemma.bash, stemma.zsh, stemma.fish), in which each
 * @NAME@ is replaced by words that come from commands.def, config.def, expr.def and formats.def.
 *
 * generate SHELL TEMPLATE, where SHELL is bash, zsh or fish. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
	const char *command, *name, *arg, *help;
	int letter;
};

static const struct row rows[] = {
#define COMMAND(name, operands, summary)
#define OPTION(command, type, field, letter, name, arg, help) {#command, name, arg, help, letter},
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct {
	const char *name, *operands, *summary;
} commands[] = {
#define COMMAND(name, operands, summary) {#name, operands, summary},
#define OPTION(command, type, field, letter, name, arg, help)
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Behind their options stands another command line. */
static const char *const wrappers[] = {"run", "advise", "cc"};
#define WRAPPERS (sizeof(wrappers) / sizeof(wrappers[0]))

enum shell { BASH, ZSH, FISH };
static enum shell shell;

static bool is_wrapper(const char *command)
{
	for (size_t i = 0; i < WRAPPERS; i++)
		if (strcmp(wrappers[i], command) == 0)
			return true;
	return false;
}

/* An argument of its own, not one behind =. */
static bool takes_word(const struct row *r)
{
	return *r->arg && strncmp(r->arg, "[=", 2) != 0;
}

static bool is_choice(const char *arg)
{
	return strchr(arg, '|') && isalnum((unsigned char)*arg) && !isupper((unsigned char)*arg);
}

/* The word of a choice, '|' as ' '. */
static const char *choice_words(const char *arg)
{
	static char text[256];
	size_t n = 0;
	for (; arg[n] && n + 1 < sizeof(text); n++)
		text[n] = arg[n] == '|' ? ' ' : arg[n];
	text[n] = '\0';
	return text;
}

/* What the templates' own functions offer: run, label, file (of the record, too), path, conditions, settings, formats;
 * words, where it is a choice; "" for nothing. */
static const char *argument_kind(const struct row *r)
{
	static const struct {
		const char *arg, *kind;
	} kinds[] = {{"FILE", "path"},       {"PATH", "path"},       {"FOLDER", "path"}, {"DIR", "path"},
	             {"FOLDER|URL", "path"}, {"FILE[@{N}]", "file"}, {"RUN", "run"},     {"CMD", ""},
	             {"KEY=VALUE", "label"}, {"[IRI=]FILE", "path"}};
	if (is_choice(r->arg))
		return choice_words(r->arg);
	if (strcmp(r->command, "export") == 0 && strcmp(r->name, "format") == 0)
		return "formats";
	/* archive and advise have expressions of their own */
	if (strcmp(r->arg, "EXPRESSION") == 0 && (strcmp(r->command, "best") == 0 || strcmp(r->command, "table") == 0))
		return "conditions";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(r->arg, kinds[i].arg) == 0)
			return kinds[i].kind;
	return "";
}

/* Calls `each` with every kind of operand that a command takes. */
static void operand_kinds(size_t command, void (*each)(const char *command, const char *kind))
{
	const char *name = commands[command].name, *operands = commands[command].operands;
	if (strcmp(operands, "EXPRESSION") == 0 || strcmp(operands, "[EXPRESSION]") == 0)
		each(name, "conditions");
	else if (strcmp(operands, "[KEY]") == 0)
		each(name, "settings");
	else if (strcmp(name, "bench") == 0)
		each(name, "run show");
	else if (is_choice(operands))
		each(name, choice_words(operands));
	if (strncmp(operands, "RUN", 3) == 0 || strstr(operands, "[RUN"))
		each(name, "run");
	if (strstr(operands, "FILE[@{N}]") || strncmp(operands, "RUN|FILE", 8) == 0 ||
	    strncmp(operands, "[RUN|FILE", 9) == 0)
		each(name, "file");
	else if (is_wrapper(name) || strstr(operands, "FILE") || strncmp(operands, "PROGRAM", 7) == 0)
		each(name, "path");
}

/* In single quotes, for the shell. */
static void put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++)
		if (*text == '\'')
			fputs(shell == FISH ? "\\'" : "'\\''", stdout);
		else if (*text == '\\' && shell == FISH)
			fputs("\\\\", stdout);
		else
			putchar(*text);
	putchar('\'');
}

/* ---- what stands for each @NAME@ ---- */

static void put_commands(void)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (shell == BASH) {
			printf("%s%s", i ? " " : "", commands[i].name);
		} else if (shell == ZSH) {
			char text[512];
			snprintf(text, sizeof(text), "%s:%s", commands[i].name, commands[i].summary);
			fputs("\t\t\t", stdout);
			put_quoted(text);
			putchar('\n');
		} else {
			printf("complete -c stemma -n 'not __stemma_at' -a %s -d ", commands[i].name);
			put_quoted(commands[i].summary);
			putchar('\n');
		}
}

static void put_conditions(void)
{
	fputs("files runs execs that and or not", stdout);
#define CONDITION(name, argument, meaning) fputs(" " #name, stdout);
#include "query/find/expr.def"
#undef CONDITION
}

/* What is asked of the record: its names from p.begin on, up to the next slash, below p.folder. Those with control
 * characters are left out. */
static void put_named(void)
{
	fputs(
	    "SELECT DISTINCT substr(CASE instr(substr(path, length(begin) + 1), '/') WHEN 0 THEN path ELSE "
	    "substr(path, 1, length(begin) + instr(substr(path, length(begin) + 1), '/')) END, length(folder) + 1) AS name "
	    "FROM name, p WHERE substr(path, 1, length(begin)) = begin "
	    "AND NOT path GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*' LIMIT 200",
	    stdout);
}

static void put_settings(void)
{
	const char *before = "";
#define CONFIG(key, env, type, def, scope, values, meaning) printf("%s%s", before, #key), before = " ";
#include "base/config.def"
#undef CONFIG
}

static void put_formats(void)
{
	const char *before = "";
#define FORMAT(symbol, name, target, meaning) printf("%s%s", before, name), before = " ";
#include "export/formats.def"
#undef FORMAT
}

static void put_wrappers(void)
{
	for (size_t i = 0; i < WRAPPERS; i++)
		printf("%s%s%s", i ? "|" : shell == BASH ? "@(" : "(", wrappers[i], i + 1 == WRAPPERS ? ")" : "");
}

/* Options of the wrappers that take a word. */
static void put_skipped(void)
{
	printf("\t\t\t--store");
	for (size_t i = 0; i < ROWS; i++)
		if (is_wrapper(rows[i].command) && takes_word(&rows[i])) {
			printf(" | --%s", rows[i].name);
			if (rows[i].letter)
				printf(" | -%c", rows[i].letter);
		}
	puts(") ((k += 2)) ;;");
}

static void put_arguments(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (!takes_word(&rows[i]))
			continue;
		const char *kind = argument_kind(&rows[i]);
		printf("\t%s/--%s", rows[i].command, rows[i].name);
		if (rows[i].letter)
			printf(" | %s/-%c", rows[i].command, rows[i].letter);
		if (*kind)
			printf(") _stemma_offer '%s' ;;\n", kind);
		else
			puts(") return ;;");
	}
}

static void put_option_bash(const struct row *r)
{
	printf(" --%s", r->name);
	if (r->letter)
		printf(" -%c", r->letter);
}

static void put_option_zsh(const struct row *r)
{
	char text[512];
	snprintf(text, sizeof(text), "--%s:%s", r->name, r->help);
	putchar(' ');
	put_quoted(text);
	if (r->letter) {
		snprintf(text, sizeof(text), "-%c:%s", r->letter, r->help);
		putchar(' ');
		put_quoted(text);
	}
}

/* Where fish looks for what a kind stands for. */
static void put_source_fish(const char *kind)
{
	static const char *const own[] = {"run", "label", "conditions"};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(own[i], kind) == 0) {
			printf(" -a '(__stemma_%s%s)'", kind, i < 2 ? "s" : "");
			return;
		}
	if (strcmp(kind, "path") == 0) {
		fputs(" -F", stdout);
	} else if (strcmp(kind, "file") == 0) {
		fputs(" -F -a '(__stemma_files)'", stdout);
	} else if (*kind) {
		fputs(" -a '", stdout);
		if (strcmp(kind, "settings") == 0)
			put_settings();
		else if (strcmp(kind, "formats") == 0)
			put_formats();
		else
			fputs(kind, stdout);
		putchar('\'');
	}
}

static void put_option_fish(const struct row *r)
{
	printf("complete -c stemma -n '__stemma_at %s' -l %s", r->command, r->name);
	if (r->letter)
		printf(" -s %c", r->letter);
	if (takes_word(r)) {
		const char *kind = argument_kind(r);
		fputs(strcmp(kind, "path") == 0 || strcmp(kind, "file") == 0 ? " -r" : " -x", stdout);
		put_source_fish(kind);
	}
	fputs(" -d ", stdout);
	put_quoted(r->help);
	putchar('\n');
}

static void put_options(void)
{
	for (size_t c = 0; c < COMMANDS; c++) {
		if (shell == BASH)
			printf("\t\t\t%s) words='--store --help --help-all -h", commands[c].name);
		else if (shell == ZSH)
			printf("\t\t\t%s) options+=(", commands[c].name);
		for (size_t i = 0; i < ROWS; i++)
			if (strcmp(rows[i].command, commands[c].name) == 0)
				(shell == BASH ? put_option_bash : shell == ZSH ? put_option_zsh : put_option_fish)(&rows[i]);
		if (shell != FISH)
			puts(shell == BASH ? "' ;;" : ") ;;");
	}
}

static void put_operand_word(const char *command, const char *kind)
{
	(void)command;
	printf(" '%s'", kind);
}

static void put_operand_fish(const char *command, const char *kind)
{
	printf("complete -c stemma -n '__stemma_at %s'", command);
	put_source_fish(kind);
	putchar('\n');
	if (is_wrapper(command))
		printf("complete -c stemma -n '__stemma_at %s' -x -a '(__fish_complete_subcommand --fcs-skip=2)'\n", command);
}

static void put_operands(void)
{
	for (size_t c = 0; c < COMMANDS; c++) {
		if (!*commands[c].operands)
			continue;
		if (shell == FISH) {
			operand_kinds(c, put_operand_fish);
			continue;
		}
		printf("\t\t\t%s) _stemma_offer", commands[c].name);
		operand_kinds(c, put_operand_word);
		puts(" ;;");
	}
}

static const struct {
	const char *name;
	void (*put)(void);
	bool lines; /* whole lines: the template's own end is not printed */
} places[] = {
    {"@commands@", put_commands, true}, {"@conditions@", put_conditions, false}, {"@settings@", put_settings, false},
    {"@formats@", put_formats, false},  {"@named@", put_named, false},           {"@wrappers@", put_wrappers, false},
    {"@skipped@", put_skipped, true},   {"@arguments@", put_arguments, true},    {"@options@", put_options, true},
    {"@operands@", put_operands, true},
};

static void put_line(char *line)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *at = strstr(line, places[i].name), *behind = at ? at + strlen(places[i].name) : NULL;
		if (!at)
			continue;
		*at = '\0';
		fputs(line, stdout);
		places[i].put();
		if (!places[i].lines || strcmp(behind, "\n") != 0)
			put_line(behind);
		return;
	}
	fputs(line, stdout);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {[BASH] = "bash", [ZSH] = "zsh", [FISH] = "fish"};
	char line[4096];
	size_t k = 0;
	while (argc == 3 && k < 3 && strcmp(names[k], argv[1]) != 0)
		k++;
	FILE *f = argc == 3 && k < 3 ? fopen(argv[2], "r") : NULL;
	if (!f) {
		fprintf(stderr, "usage: generate bash|zsh|fish TEMPLATE\n");
		return 1;
	}
	shell = (enum shell)k;
	while (fgets(line, sizeof(line), f))
		put_line(line);
	fclose(f);
	return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
