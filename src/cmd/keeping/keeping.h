/* keeping.h - what forget and gc share: taking out, making the index again, and saying what was done. */
#ifndef STEMMA_CMD_KEEPING_KEEPING_H
#define STEMMA_CMD_KEEPING_KEEPING_H

#include "base/buf.h"
#include "cmd/cmd.h"
#include "keep/gc.h"
#include "keep/secrets.h"

/* Takes out what o says, of the logs that l holds (released in any case), and makes the index again. The status, and it
 * was said. */
int keeping_cut(struct cmd *c, struct keep_logs *l, const struct keep_cut_options *o, struct keep_cut_stats *ret);
/* Searches the logs that l holds (released in any case) for secrets; where they are taken out, makes the index again.
 * The status, and it was said. */
int keeping_secrets(struct cmd *c, struct keep_logs *l, const struct keep_secrets_options *o,
                    struct keep_secrets_stats *ret);
/* "12 events of 1 run, 2 segments written anew, 3.4 KiB less" */
void keeping_print(const struct keep_cut_options *o, const struct keep_cut_stats *s);

/* The ULIDs of runs that may go, in an array (malloc'ed) whose strings are in text. 0, or -errno with a sentence. */
int keeping_names(struct store *s, const struct gc_choice *choice, struct buf *text, struct str **ret, struct err *err);
/* Makes the index again after something was taken out. The status, and it was said. */
int keeping_index(struct cmd *c);
/* An age and a size as gc has them; either may be "", but not both. 0, or -EINVAL with a sentence. */
int gc_budget(const char *age, const char *size, struct gc_options *ret, struct err *err);

/* gc_auto.c: gc with the budgets of the settings, where these want it, once a day, after a command that brought the
 * index up to date, and never inside a run. What was done is said; that something is being recorded, and it has to
 * wait, is not. */
void gc_auto(struct cmd *c);

#endif
