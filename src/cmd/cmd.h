/* cmd.h - what one invocation carries from main to a command, and how commands end.
 *
 * A command is `int cmd_<name>(struct cmd *c, const struct opts_<name> *o)`: it prints results to standard output and
 * talk to standard error, and returns the exit status. main has parsed the options, read the settings, and checks at
 * the end that standard output could be written. */
#ifndef STEMMA_CMD_CMD_H
#define STEMMA_CMD_CMD_H

#include "answer/live.h"
#include "answer/source.h"
#include "base/config.h"
#include "base/err.h"
#include "cmd/options.h"
#include "query/target.h"
#include "store/store.h"

enum {
	STATUS_OK = 0,
	STATUS_NOTHING = 1, /* not recorded, nothing found */
	STATUS_USAGE = 2,
	STATUS_SELF = 125, /* stemma's own failure */
};

/* Where the output goes to. */
struct screen {
	bool tty, color, utf8;
	int width; /* columns: the terminal's, $COLUMNS, or 80 */
};

struct cmd {
	const struct command *command;
	struct config config;
	struct screen out;
	char **operands; /* NULL-terminated */
	int n_operands;
	int n_after_dashes;  /* so many of the last ones stood behind `--`: files, never runs */
	struct store *store; /* once cmd_store opened it; main closes it */
	bool indexed;        /* and the index on disk was brought up to date */
	struct live_runs live;
	struct answer_source source; /* see cmd_source */
	bool node;                   /* --node: the record is that of this node's daemon */
};

#define COMMAND(name, operands, summary) int cmd_##name(struct cmd *c, const struct opts_##name *o);
#define OPTION(command, type, field, letter, name, arg, help)
#define END(name)
#include "cmd/commands.def"
#undef COMMAND
#undef OPTION
#undef END

/* ---- talk, on standard error ---- */

/* Prints a message to standard error, as printf: "stemma: ...". "stemma: ..." */
void report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* "hint: ..." */
void report_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The sentence and hint of err; `status` is returned. */
int report_err(const struct err *err, int status);
/* The status that a command ends with, returned: if it is a failure for want of memory that nobody has told, that is
 * told. Not for the status of what the command ran. */
int report_lack(int status);
/* A mistake in how the command was called: the sentence, and where help is. Returns STATUS_USAGE. */
int report_usage(const struct cmd *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The line as it is: what struct run_options wants. */
void report_line(const char *line);

/* Ends as a command ended, by its wait status: returns its exit status, or dies of its signal, without a core file
 * beside the command's own. */
int cmd_end_as(int status);

/* ---- the record ---- */

/* Where the record is, by option, environment and files; NULL leaves it to the store's own default. */
const char *cmd_home(const struct cmd *c);
/* STATUS_OK if there is a record at all; a question must not create one. Else the status to end with (and it was said).
 */
int cmd_store_exists(const struct cmd *c);
/* Opens the store and, unless told not to, brings it up to date. STATUS_OK, or the status to end with (and it was
 * said). Where no index can be written, one is made in memory, and that is said. */
int cmd_store(struct cmd *c, bool no_index);
/* Opens the store for a question, but a damaged index is left as it is, and the store is one in memory then. A
 * status, reported. */
int cmd_store_as_it_is(struct cmd *c, bool *ret_damaged);
/* Says, if so, that something is missing in the logs that c->store was made from; cmd_store does. */
void cmd_report_damage(const struct cmd *c, uint64_t newer_frames);
/* Opens the store that the daemon of this node hands over. A status, reported; STATUS_NOTHING: this user may not
 * have it. */
int cmd_node_store(struct cmd *c);
/* Can the command be asked of the daemon's record? */
bool cmd_node_fits(const struct command *command);
/* The URL of the database that the record is in; NULL: it is in a folder, or the daemon's. */
const char *cmd_database(const struct cmd *c);
/* Opens the store that is in a database. As cmd_node_store, of the database. STATUS_NOTHING: this role may not, or
 * no index is there. */
int cmd_database_store(struct cmd *c);
/* Can the command be used with a record in a database? */
bool cmd_database_fits(const struct command *command);
/* What answers are made from: the store once it is open, and the settings. */
const struct answer_source *cmd_source(struct cmd *c);
/* Says that it cannot do `what` ("list the runs"), because memory was short or s could not be read. STATUS_SELF. */
int cmd_report_unread(const struct store *s, const char *what);
/* The status for what target_file and its like returned, where it is not 1. */
int cmd_target_status(int r);
/* Says so, where "@" or "@~N" is a run that stemma rerun made. */
void cmd_report_rerun(struct cmd *c, const char *text, store_id run);
/* What a word means, as target_any says; STATUS_OK, or the status to end with (and it was said why). Of FILE@{N} it
 * says which file was taken, where another one had the name, too. */
int cmd_target(struct cmd *c, const char *text, bool only_file, struct target *ret);
/* The file that a word of the command line means, as target_file says. A status, reported. */
int cmd_file(struct cmd *c, const char *text, struct file_target *ret);
/* Says of FILE@{N} which file was taken, where another one had the name, too, and has a version N. r: what the
 * target_... functions returned. */
void cmd_report_namesakes(struct cmd *c, const char *text, int r);

#endif
