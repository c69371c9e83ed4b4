/* diff_build_match.h - what two records of builds differ in, as parts: for diff_build.c. */
#ifndef STEMMA_ANSWER_DIFF_DIFF_BUILD_MATCH_H
#define STEMMA_ANSWER_DIFF_DIFF_BUILD_MATCH_H

#include "base/buf.h"
#include "cc/build.h"

/* Takes one difference; NULL: that side has none. 0 or -errno, which ends the comparison. */
typedef int build_part(void *arg, const char *part, const char *name, const char *before, const char *after);

/* One command and its counterpart: compiler, programs it ran, flags, defines, target, environment. */
int match_commands(const struct build *a, const struct build *b, build_part *each, void *arg);
/* Pairs the sources of two builds: all that went in, by path and digest; what is of the same bytes elsewhere is the
 * same. 0, -ENOMEM, or what `each` returned below 0. */
int match_sources(const struct build_sources *a, const struct build_sources *b, build_part *each, void *arg);
/* What is of the program's own command only: commit, and directory. */
int match_places(const struct build *a, const struct build *b, build_part *each, void *arg);

#endif
