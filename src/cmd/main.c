/* main.c - find the command, parse its options, call it. */
#include "base/memory.h"
#include "cmd/cc/cmd_cc.h"
#include "cmd/cmd.h"
#include "cmd/keeping/keeping.h"
#include "cmd/ui/memory.h"
#include "cmd/ui/mend.h"
#include "cmd/ui/pager.h"
#include "cmd/ui/suggest.h"
#include "event/log_writer.h"

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The lines of `stemma --help`: a heading, or a command. */
static const struct {
	const char *heading;
	enum command_number command;
} usage_lines[] = {
#define COMMAND_GROUP(title) {title, 0},
#define COMMAND_IN(name) {NULL, COMMAND_##name},
#include "cmd/help_groups.def"
#undef COMMAND_GROUP
#undef COMMAND_IN
};

enum {
	N_COMMANDS_IN_GROUPS = 0
#define COMMAND_GROUP(title)
#define COMMAND_IN(name) +1
#include "cmd/help_groups.def"
#undef COMMAND_GROUP
#undef COMMAND_IN
};
static_assert((int)N_COMMANDS_IN_GROUPS == (int)COMMAND_COUNT, "each command is in one group of help_groups.def");

/* Prints the usage and the list of commands. */
static void print_usage(FILE *out)
{
	fputs("usage: stemma COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Records what commands do to files and reports where any file came from.\n",
	      out);
	for (size_t i = 0; i < sizeof(usage_lines) / sizeof(usage_lines[0]); i++) {
		const struct command *c = &commands[usage_lines[i].command];
		if (usage_lines[i].heading)
			fprintf(out, "\n%s:\n", usage_lines[i].heading);
		else
			fprintf(out, "  %-11s %s\n", c->name, c->summary);
	}
	fputs("\n  --store DIR|URL  folder (default: $STEMMA_HOME) or database of the record\n"
	      "  --node           query the record of this node, made by stemmad\n"
	      "  --version        print the version\n"
	      "  --help           print this help; stemma COMMAND --help: the options of a command\n",
	      out);
}

/* Reports a line that the reader of settings warns of. */
static void report_config_line(void *arg, const char *line)
{
	(void)arg;
	report("%s", line);
}

/* Width, colour and characters of the standard output; sets the locale. */
static void look_at_output(struct cmd *c)
{
	struct screen *s = &c->out;
	struct winsize w = {0};
	const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	const char *want = config_get(&c->config, CONFIG_color);

	setlocale(LC_CTYPE, "");
	s->tty = isatty(STDOUT_FILENO);
	s->width = 80;
	if (columns && atoi(columns) >= 20)
		s->width = atoi(columns);
	else if (s->tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
		s->width = w.ws_col;
	if (s->width > 4096)
		s->width = 4096;
	s->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	s->color = strcmp(want, "always") == 0 || (strcmp(want, "auto") == 0 && s->tty && !(no_color && *no_color) &&
	                                           !(term && strcmp(term, "dumb") == 0));
}

/* One call_<name> per command: its options as its own struct. */
#define COMMAND(name, operands, summary)                                                                               \
	static int call_##name(struct cmd *c, const void *opts)                                                            \
	{                                                                                                                  \
		return cmd_##name(c, opts);                                                                                    \
	}
#define OPTION(command, type, field, letter, name, arg, help)
#define END(name)
#include "cmd/commands.def"
#undef COMMAND

static int (*const calls[COMMAND_COUNT])(struct cmd *, const void *) = {
#define COMMAND(name, operands, summary) call_##name,
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END
};

/* Does the command only start another one? Then it writes nothing itself, is not to wait for a locale's files, and its
 * status is that one's. */
static bool starts_another(const struct command *command)
{
	return command == &commands[COMMAND_run] || command == &commands[COMMAND_cc];
}

/* The configuration, where the option of the store comes first. 0 or -errno. */
static int load_settings(struct cmd *c, const char *store, struct err *err)
{
	int r = config_load(&c->config, report_config_line, NULL);
	if (r == 0 && store)
		r = config_set(&c->config, CONFIG_store, store, "option", err);
	const char *sync = r == 0 ? config_get(&c->config, CONFIG_sync) : "";
	log_writer_sync_when = !strcmp(sync, "frame") ? LOG_SYNC_FRAME
	                       : !strcmp(sync, "end") ? LOG_SYNC_END
	                                              : LOG_SYNC_NEVER;
	return r;
}

/* An answer that may not be whole is none: says so, and returns the status then. */
static int check_answer(const struct cmd *c, int status)
{
	const bool answers = status == STATUS_OK || status == STATUS_NOTHING;
	if (answers && memory_lacked())
		report("out of memory: this answer may be incomplete");
	else if (answers && store_reads_failed())
		report("the index could not be read: this answer may be incomplete");
	else
		return status;
	report_hint(
	    "%s", memory_lacked() ? "ask for less, for example with --depth or --since, or free memory"
	          : cmd_database(c)
	              ? "ask again; if it fails again, run stemma site load --questions on the machine that has the record"
	              : "check its disk; stemma index --rebuild makes the index again");
	return STATUS_SELF;
}

/* Calls the command, whose operands and settings are known. Its exit status. */
static int call_command(struct cmd *c, const void *opts)
{
	const struct command *command = c->command;
	const bool answers = !starts_another(command);
	if (answers)
		look_at_output(c);
	int status = calls[command - commands](c, opts);
	mend_end();
	size_t pending;
	const char *held = mend_held(&pending);
	if (pending && c->out.tty)
		pager_flush(held, pending);
	if (answers) {
		status = check_answer(c, status);
		report_lack(status);
	}
	if (c->indexed)
		gc_auto(c); /* the answer comes first */
	store_close(c->store);
	return status;
}

/* options are parsed and settings read before. A status, reported. */
static int run_command(const struct command *command, int argc, char **argv, const char *store, bool node)
{
	struct cmd c = {.command = command, .node = node};
	struct err err = {0};
	struct parsed p;
	int status;
	void *opts = calloc(1, command->size);

	/* A compiler's options are its own. */
	bool compiles = command == &commands[COMMAND_cc];
	int own = compiles ? cc_own_options(argc, argv) + 1 : argc;
	int r = opts ? options_parse(command, own, argv, opts, &err, &p) : -ENOMEM;
	if (r < 0) {
		status = report_err(&err, r == -EINVAL ? STATUS_USAGE : STATUS_SELF);
		goto out;
	}
	if (p.help) {
		options_usage(command, stdout, p.help_all);
		status = STATUS_OK;
		goto out;
	}
	c.operands = compiles ? argv + own : p.operands;
	c.n_operands = compiles ? argc - own : p.n_operands;
	c.n_after_dashes = p.n_after_dashes;
	if (load_settings(&c, p.store ? p.store : store, &err) < 0) {
		status = report_err(&err, STATUS_SELF);
		goto out;
	}
	if (cmd_database(&c) && !cmd_database_fits(command)) {
		report("'stemma %s' cannot be used with a record in a database", command->name);
		report_hint("give it the record's folder: stemma --store DIR %s", command->name);
		status = STATUS_USAGE;
		goto out;
	}
	options_defaults(command, &c.config, opts);
	status = call_command(&c, opts);
out:
	live_release(&c.live);
	config_release(&c.config);
	if (opts)
		options_release(command, opts);
	free(opts);
	return status;
}

/* The compiler by its name or a link's: as if `stemma cc` had been given it. own: so many of the arguments are ours. A
 * status, reported. */
static int compile(const char *compiler, int own, int argc, char **argv, const char *store)
{
	char **v = calloc((size_t)argc + 3, sizeof(*v));
	int n = 0;
	if (!v) {
		report("out of memory");
		return STATUS_SELF;
	}
	for (int i = 0; i <= own; i++)
		v[n++] = argv[i];
	v[n++] = (char *)compiler;
	v[n++] = (char *)"--";
	for (int i = own + 1; i < argc; i++)
		v[n++] = argv[i];
	int status = run_command(&commands[COMMAND_cc], n, v, store, false);
	free(v);
	return status;
}

/* Reports that there is no such command, on the error output, with the command that is spelled nearly so. */
static void report_no_command(const char *name)
{
	const char *names[COMMAND_COUNT];
	for (int k = 0; k < COMMAND_COUNT; k++)
		names[k] = commands[k].name;
	const char *near = suggest_word(name, names, COMMAND_COUNT);
	report("unknown command '%.60s'", name);
	if (near)
		report_hint("did you mean 'stemma %s'? stemma --help lists all commands", near);
	else
		report_hint("stemma --help lists the commands");
}

/* stemma help COMMAND: as stemma COMMAND --help. A status, reported. */
static int print_help_of(const char *name)
{
	for (int k = 0; k < COMMAND_COUNT; k++)
		if (strcmp(name, commands[k].name) == 0) {
			char option[] = "--help", *words[] = {(char *)name, option, NULL};
			return run_command(&commands[k], 2, words, NULL, false);
		}
	report_no_command(name);
	return STATUS_USAGE;
}

/* What stands before the command. */
struct before {
	const char *store; /* NULL: not given */
	bool node;
};

/* Reads the options before the command, from argv[*i] on. -1, or the status that the program ends with. */
static int read_options_before(int argc, char **argv, int *i, struct before *ret)
{
	for (; *i < argc && argv[*i][0] == '-'; ++*i) {
		const char *option = argv[*i];
		if (strcmp(option, "--store") == 0 && *i + 1 < argc) {
			ret->store = argv[++*i];
		} else if (strncmp(option, "--store=", 8) == 0) {
			ret->store = option + 8;
		} else if (strcmp(option, "--node") == 0) {
			ret->node = true;
		} else if (strcmp(option, "--version") == 0) {
			puts("stemma " STEMMA_VERSION);
			return STATUS_OK;
		} else if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
			print_usage(stdout);
			return STATUS_OK;
		} else if (strcmp(option, "--store") == 0) {
			report("--store: an argument is missing");
			report_hint("stemma --store DIR COMMAND");
			return STATUS_USAGE;
		} else {
			report("unknown option %.60s before the command", option);
			report_hint("stemma --help lists the options before the command; those of a command follow it");
			return STATUS_USAGE;
		}
	}
	return -1;
}

/* stemma help, stemma help COMMAND, or nothing at all; argv from there on. A status. */
static int print_asked_help(int argc, char **argv)
{
	if (argc > 1)
		return print_help_of(argv[1]);
	print_usage(argc ? stdout : stderr);
	return argc ? STATUS_OK : STATUS_USAGE;
}

/* The command argv[0], or a compiler of that name. Its exit status. */
static int run_named(int argc, char **argv, const struct before *before)
{
	for (int k = 0; k < COMMAND_COUNT; k++) {
		if (strcmp(argv[0], commands[k].name) != 0)
			continue;
		if (!before->node || cmd_node_fits(&commands[k]))
			return run_command(&commands[k], argc, argv, before->store, before->node);
		report("'stemma %s' cannot be used with --node", argv[0]);
		return STATUS_USAGE;
	}
	const char *compiler = cc_compiler_of(argv[0]);
	if (compiler)
		return compile(compiler, cc_own_options(argc, argv), argc, argv, before->store);
	report_no_command(argv[0]);
	return STATUS_USAGE;
}

/* Gives the exit status. Under a compiler's name it is that compiler. */
int main(int argc, char **argv)
{
	const char *compiler = cc_link_name(argc ? argv[0] : "");
	struct before before = {0};
	int i = 1;
	mend_begin(argv);
	memory_watch();
	if (compiler && strcmp(compiler, "cc") == 0) /* stemma-cc: one word for `stemma cc`, where there may be only one */
		return run_command(&commands[COMMAND_cc], argc, argv, NULL, false);
	if (compiler)
		return compile(compiler, 0, argc, argv, NULL);
	int status = read_options_before(argc, argv, &i, &before);
	if (status < 0 && (i >= argc || strcmp(argv[i], "help") == 0))
		status = print_asked_help(argc > i ? argc - i : 0, argv + i);
	else if (status < 0)
		status = run_named(argc - i, argv + i, &before);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		report("cannot write the output: %s", strerror(errno));
		/* An answer of 1 (they differ, there is none) is none when it could not be given. */
		status = status == STATUS_OK || status == STATUS_NOTHING ? STATUS_SELF : status;
	}
	return status;
}
