/* why_within.h - what `stemma why` says of an object that came with the bytes of its HDF5 file, and the parts of the
 * line that it shares with cmd_why.c. */
#ifndef STEMMA_CMD_WHY_WITHIN_H
#define STEMMA_CMD_WHY_WITHIN_H

#include "answer/why/why.h"
#include "cmd/cmd.h"

/* The version, by the name that was asked for where it has that; and by which other one it is recorded. 0, -ENOMEM. */
int why_fmt_asked(const char *text, const struct file_target *t, const struct version_info *v,
                  const struct file_info *f, struct buf *b);
/* The line of a version that somebody was seen making: as much of the command and the inputs as the width takes. named:
 * what it is called, NULL: as was asked. 0, -errno. */
int why_made_line(struct cmd *c, const char *text, const char *named, const struct file_target *t,
                  const struct version_info *v, const struct why *n, struct buf *line);

/* Of an object that nobody was seen making, and whose file somebody wrote as a whole. n: what is known of who made it,
 * with the file. The line, or JSON in *ret_json. 1; 0: it did not come so, or
 * nobody was seen making the file; -errno. */
int why_explain_carried(struct cmd *c, const char *text, const struct file_target *t, const struct version_info *v,
                        const struct why *n, unsigned how, struct buf *line, json_t **ret_json);
/* FILE//PATH, an object of which nothing is recorded, of a file that somebody wrote as a whole. The status; -1: there
 * is no answer. */
int why_explain_unmet(struct cmd *c, const char *text, const struct err *unknown, unsigned how, json_t *list);

#endif
