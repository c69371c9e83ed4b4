/* options.h - the options of each command as a struct, and their parser; both are made from commands.def. */
#ifndef STEMMA_CMD_OPTIONS_H
#define STEMMA_CMD_OPTIONS_H

#include "base/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct texts {
	const char **v; /* NULL-terminated; NULL if there are none */
	size_t n;
};

/* struct opts_log { uint64_t count; bool json; ... }, one per command. */
#define OPTION_T_flag bool
#define OPTION_T_text const char *
#define OPTION_T_maybe const char *
#define OPTION_T_list struct texts
#define OPTION_T_number uint64_t
#define COMMAND(name, operands, summary) struct opts_##name {
#define OPTION(command, type, field, letter, name, arg, help) OPTION_T_##type field;
#define END(name)                                                                                                      \
	}                                                                                                                  \
	;
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END

enum option_type { OPTION_flag, OPTION_text, OPTION_maybe, OPTION_list, OPTION_number };
struct option_row {
	enum option_type type;
	size_t offset; /* in struct opts_<command> */
	int letter;
	const char *name, *arg, *help;
};

struct command {
	const char *name, *operands, *summary;
	const struct option_row *options;
	size_t n_options;
	size_t size; /* of struct opts_<command> */
};

enum command_number {
#define COMMAND(name, operands, summary) COMMAND_##name,
#define OPTION(command, type, field, letter, name, arg, help)
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
	COMMAND_COUNT
};
extern const struct command commands[COMMAND_COUNT];

struct parsed {
	const char *store; /* --store, or NULL */
	bool help, help_all;
	char **operands; /* NULL-terminated, within argv */
	int n_operands;
	int n_after_dashes; /* so many of them, the last ones, stood behind `--` */
};

/* Parses argv[1..argc) into opts (zeroed, commands[].size bytes). Permutes argv unless the command's operands are a
 * command line. 0; -EINVAL with a sentence; -ENOMEM. */
int options_parse(const struct command *c, int argc, char **argv, void *opts, struct err *err, struct parsed *ret);
/* Gives options that were not given, and are called like a setting, the setting's value. */
void options_defaults(const struct command *c, const struct config *config, void *opts);
void options_release(const struct command *c, void *opts);
/* The help of a command: all options, or those of its first group (help_groups.def) and the names of the others. */
void options_usage(const struct command *c, FILE *out, bool all);

#endif
