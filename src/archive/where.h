/* where.h - the conditions of `stemma archive --where`.
 *
 *   expression = and { "or" and }     and = not { ["and"] not }     not = "not" not | "(" expression ")" | condition
 *   condition  = NAME OPERATOR VALUE
 *
 * NAME is a figure (wall_time, memory_resident_peak, ...) with = != < <= > >=, or a key of tasks (program, user,
 * label:NAME, ...) with = and !=, whose value may hold * ? [. Blanks around the operator may be left out; quotes and
 * backslashes hold a value together. Values of figures take units: 90s, 1.5m, 2h, 250ms; 500M, 2GiB (powers of 1024);
 * a moment for start and end (2026-01-31). What is not known meets no condition, != neither. Bounds: 64 KiB of text,
 * 64 levels, 256 conditions. */
#ifndef STEMMA_ARCHIVE_WHERE_H
#define STEMMA_ARCHIVE_WHERE_H

#include "archive/task.h"

struct where;
/* Parses a condition of --where. now: ns, for "2h ago". 0, or -EINVAL with a sentence, -ENOMEM. */
int where_parse(const char *text, int64_t now, struct err *err, struct where **ret);
void where_free(struct where *w);
/* Does the condition hold for the task? 1 it is so, 0 not, -errno. w NULL: 1. */
int where_holds(const struct where *w, struct store *s, const struct summary_info *m);

/* A value of a figure with that unit and these decimals, as above: an integer in its base unit. 0 or -EINVAL. */
int where_value(struct str text, const char *unit, int decimals, int64_t *ret);

#endif
