/* generate.c - prints the completion for bash, made from commands.def, config.def and expr.def. */
#include <stdio.h>
#include <string.h>

struct row {
	const char *command, *name, *arg;
	int letter;
};

static const struct row rows[] = {
#define COMMAND(name, operands, summary)
#define OPTION(command, type, field, letter, name, arg, help) {#command, name, arg, letter},
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const commands[] = {
#define COMMAND(name, operands, summary) #name,
#define OPTION(command, type, field, letter, name, arg, help)
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void option_words(const char *command)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].command, command) == 0) {
			printf(" --%s", rows[i].name);
			if (rows[i].letter)
				printf(" -%c", rows[i].letter);
		}
}

/* "--format|-f) words='tree dot'" for each option that is a choice. */
static void choices(const char *command)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].command, command) || !strchr(rows[i].arg, '|'))
			continue;
		printf("\t%s/--%s", command, rows[i].name);
		if (rows[i].letter)
			printf(" | %s/-%c", command, rows[i].letter);
		printf(") words='");
		for (const char *p = rows[i].arg; *p; p++)
			putchar(*p == '|' ? ' ' : *p);
		printf("' ;;\n");
	}
}

/* Options with an argument that is no choice: nothing is offered. */
static void free_arguments(void)
{
	const char *before = "\t";
	for (size_t i = 0; i < ROWS; i++) {
		if (!*rows[i].arg || *rows[i].arg == '[' || strchr(rows[i].arg, '|'))
			continue;
		printf("%s%s/--%s", before, rows[i].command, rows[i].name);
		if (rows[i].letter)
			printf(" | %s/-%c", rows[i].command, rows[i].letter);
		before = " | ";
	}
	printf(") return ;;\n");
}

int main(void)
{
	puts("# bash completion for stemma; generated from src/cmd/commands.def");
	puts("_stemma()");
	puts("{");
	puts("\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i");
	puts("\tCOMPREPLY=()");
	puts("\tfor ((i = 1; i < COMP_CWORD; i++)); do");
	puts("\t\tcase ${COMP_WORDS[i]} in");
	puts("\t\t--store) ((i++)) ;;");
	puts("\t\t-*) ;;");
	puts("\t\t*) command=${COMP_WORDS[i]}; break ;;");
	puts("\t\tesac");
	puts("\tdone");
	puts("\tif [[ $prev == --store ]]; then");
	puts("\t\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")");
	puts("\t\treturn");
	puts("\tfi");
	puts("\tif [[ -z $command ]]; then");
	printf("\t\tmapfile -t COMPREPLY < <(compgen -W '--store --node --version --help");
	for (size_t i = 0; i < COMMANDS; i++)
		printf(" %s", commands[i]);
	puts("' -- \"$cur\")");
	puts("\t\treturn");
	puts("\tfi");
	/* Behind `run`'s own options stands another command line. */
	puts("\tif [[ $command == run ]] && declare -F _command_offset >/dev/null; then");
	puts("\t\tlocal k=$((i + 1))");
	puts("\t\twhile ((k < COMP_CWORD)); do");
	puts("\t\t\tcase ${COMP_WORDS[k]} in");
	puts("\t\t\t--) ((k++)); break ;;");
	printf("\t\t\t--store");
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].command, "run") == 0 && *rows[i].arg && *rows[i].arg != '[') {
			printf(" | --%s", rows[i].name);
			if (rows[i].letter)
				printf(" | -%c", rows[i].letter);
		}
	puts(") ((k += 2)) ;;");
	puts("\t\t\t-*) ((k++)) ;;");
	puts("\t\t\t*) break ;;");
	puts("\t\t\tesac");
	puts("\t\tdone");
	puts("\t\tif ((k < COMP_CWORD)) || [[ $cur != -* && $k == \"$COMP_CWORD\" && $prev == -- ]]; then");
	puts("\t\t\t_command_offset \"$k\"");
	puts("\t\t\treturn");
	puts("\t\tfi");
	puts("\tfi");
	puts("\tcase $command/$prev in");
	for (size_t i = 0; i < COMMANDS; i++)
		choices(commands[i]);
	free_arguments();
	puts("\tesac");
	puts("\tif [[ -z $words && $cur == -* ]]; then");
	puts("\t\tcase $command in");
	for (size_t i = 0; i < COMMANDS; i++) {
		printf("\t\t%s) words='--store --help -h", commands[i]);
		option_words(commands[i]);
		puts("' ;;");
	}
	puts("\t\tesac");
	puts("\telif [[ -z $words ]]; then");
	puts("\t\tcase $command in");
	printf("\t\tconfig) words='");
#define CONFIG(key, env, type, def, scope, values, meaning) printf("%s ", #key);
#include "base/config.def"
#undef CONFIG
	puts("' ;;");
	printf("\t\tfind) words='files runs execs that and or not ");
#define CONDITION(name, argument, meaning) printf("%s ", #name);
#include "query/find/expr.def"
#undef CONDITION
	puts("' ;;");
	puts("\t\tesac");
	puts("\tfi");
	puts("\tif [[ -n $words ]]; then");
	puts("\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")");
	puts("\tfi");
	puts("\tif [[ $cur != -* && $command =~ ^(run|show|lineage|why|find|stat)$ ]]; then");
	puts("\t\tlocal files");
	puts("\t\tmapfile -t files < <(compgen -f -- \"$cur\")");
	puts("\t\tCOMPREPLY+=(\"${files[@]}\")");
	puts("\t\tcompopt -o filenames 2>/dev/null");
	puts("\tfi");
	puts("}");
	puts("complete -F _stemma stemma");
	return 0;
}
