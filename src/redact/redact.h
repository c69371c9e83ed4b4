/* redact.h - secrets do not go into the record. What looks like one is replaced by "***" before anything is written;
 * the option's or variable's name stays, so that a reader sees that there was one. What a secret is, say four tables:
 * names.def (the name of a value), tokens.def (what a token looks like), programs.def (where programs take secrets),
 * call.c (where functions do).
 *
 * In the name of a file a token becomes "***-" and six digits of a hash of it, so that two names stay two names; a
 * token is too long to be found from that. A password in a name, which may be short, becomes "***" alone.
 *
 * What is redacted again stays as it is. No allocation but the output's; no globals. doc/keeping.md has the cost. */
#ifndef STEMMA_REDACT_REDACT_H
#define STEMMA_REDACT_REDACT_H

#include "base/buf.h"

/* Is told of each secret: its family (of tokens.def, else password, address, key or header) and its bytes. */
struct redact_watch {
	void (*found)(void *arg, const char *family, struct str secret);
	void *arg;
};
/* What the arguments so far say of the next one. Zero it for each command line; the strings must outlive it. */
struct redact {
	const struct redact_watch *watch; /* or NULL */
	struct str before, earlier;       /* the argument before, and the one before that */
	unsigned pending;                 /* so many of the next words are secret */
	unsigned said;                    /* words of a statement that went by */
	unsigned dialogue;                /* a script of expect, and where in it (dialogue.c) */
	unsigned short row;               /* of programs.def, of the latest program that was named; 0 none */
	unsigned short skip, operands;    /* after so many operands, so many are secret */
	bool awaits_text;                 /* if the next word is a string, it is secret */
	bool login, secretly, path;
};
/* Appends the next argument of a command line to out, redacted. */
void redact_arg(struct redact *r, struct buf *out, struct str arg);
/* Appends a variable, NAME=value. */
void redact_env(struct buf *out, struct str var);
/* Appends text in which secrets may stand anywhere (labels, notes, messages). */
void redact_text(struct buf *out, struct str text);
/* Appends the name of a file. */
void redact_path(struct buf *out, struct str path);
/* May the name of a file hold a secret? False for nearly all; then redact_path changes nothing. */
bool redact_path_may(struct str path);
/* Appends a variable NAME=VALUE, redacted as redact_env does; watch, which may be NULL, is told of secrets. */
void redact_env_watched(const struct redact_watch *watch, struct buf *out, struct str var);
void redact_text_watched(const struct redact_watch *watch, struct buf *out, struct str text);
void redact_path_watched(const struct redact_watch *watch, struct buf *out, struct str path);

/* A whole argv, each with its NUL; of more than 256 KiB the rest is left out. Returns how many are there. */
size_t redact_argv(struct buf *out, char *const *argv);
/* Strings that lie one behind the other, each with its NUL: the arguments of one command, or variables. The same in
 * that form, the caller's; .failed without memory. */
struct buf redact_strings(struct str strings, bool env);

#endif
