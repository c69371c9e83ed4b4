/* redact.h - secrets do not go into the record. What looks like one (secrets.def) is replaced by "***" before anything
 * is written; the option's or variable's name stays, so that a reader sees that there was one.
 *
 * No allocation but the output's; no globals. Costs about 15 ns per byte that is no secret (4 µs for the command line
 * of a compiler). */
#ifndef STEMMA_REDACT_REDACT_H
#define STEMMA_REDACT_REDACT_H

#include "base/buf.h"

/* What the arguments so far say of the next one. Zero it for each command line; the strings must outlive it. */
struct redact {
	struct str before;   /* the argument before */
	const char *program; /* of secrets.def, the latest that was named */
	unsigned pending;    /* so many of the next words are secret */
};
/* Appends the next argument of a command line to out, redacted. */
void redact_arg(struct redact *r, struct buf *out, struct str arg);
/* Appends a variable, NAME=value. */
void redact_env(struct buf *out, struct str var);
/* Appends text in which secrets may stand anywhere (paths, labels). */
void redact_text(struct buf *out, struct str text);

/* Appends the name of a file. */
void redact_path(struct buf *out, struct str path);

/* A whole argv, each with its NUL; of more than 256 KiB the rest is left out. Returns how many are there. */
size_t redact_argv(struct buf *out, char *const *argv);

#endif
