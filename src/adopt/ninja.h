/* ninja.h - the files in which ninja keeps what it does: build.ninja (what is declared), .ninja_log (what ran when),
 * .ninja_deps (what compilers said that they read).
 *
 * All of it is hostile: bounded, and nothing but names come of it. Paths are as they stand there, relative to the
 * folder of the build. Texts are given to the callbacks and live as long as these. A callback returns 0 to go on. */
#ifndef STEMMA_ADOPT_NINJA_H
#define STEMMA_ADOPT_NINJA_H

#include "base/buf.h"
#include "base/vec.h"

/* The paths of one build statement, as places in `paths`, NUL-terminated. */
struct ninja_edge {
	struct str rule;
	const struct str *outs, *ins, *order_only;
	size_t n_outs, n_ins, n_order_only; /* ins: with the implicit ones */
};
/* The statements of a build.ninja, in order. Variables of the file are put in; those of a rule, and files that it
 * includes, are not known. 0, what each returned, or -ENOMEM. */
int ninja_each_edge(struct str text, int (*each)(void *arg, const struct ninja_edge *e), void *arg);

struct ninja_entry {
	uint64_t start, end; /* ms since ninja started */
	int64_t mtime;       /* of the output, ns since 1970; TIME_NONE unknown */
	struct str output;
};
/* The lines of a .ninja_log, of version 5 to 7. -EINVAL: it is none. */
int ninja_each_entry(struct str text, int (*each)(void *arg, const struct ninja_entry *e), void *arg);

/* The records of a .ninja_deps, version 3 or 4: of an output what it was made from; a later record of an output
 * replaces earlier ones. It ends where it makes no sense, as ninja itself reads it. -EINVAL: it is none. */
int ninja_each_deps(struct str bytes, int (*each)(void *arg, struct str output, const struct str *ins, size_t n),
                    void *arg);

#endif
