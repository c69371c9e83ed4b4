/* stat_view.h - what was counted (stat.h), on standard output. Each returns 0, or -errno where the record cannot be
 * read.
 */
#ifndef STEMMA_CMD_STAT_STAT_VIEW_H
#define STEMMA_CMD_STAT_STAT_VIEW_H

#include "answer/stat/stat.h"
#include "answer/stat/stat_when.h"
#include "cmd/cmd.h"
#include "cmd/ui/columns.h"

/* Tables, as the options ask for; title: what was asked about. 0, -errno. */
int stat_print(struct cmd *c, const struct stat_sums *w, const struct opts_stat *o, const struct stat_when *when,
               const char *title);
/* Lines of each table that it shows at most. */
uint64_t stat_lines(const struct opts_stat *o);
/* Which calls were under way at a moment; of: what was asked about. 0, -errno. */
int stat_print_at(struct cmd *c, const struct opts_stat *o, const struct stat_when *w, const char *of);
/* Which parts of datasets a run moved, the most used first. 0, -errno. */
int stat_print_parts(struct cmd *c, const struct opts_stat *o, store_id run);
/* A line for each row; `say` of struct stat_sums, with the command as its argument. stat_tsv_head: the first line. 0,
 * -errno. */
void stat_tsv_head(void);
int stat_tsv_row(void *cmd, const struct stat_row *row);

#endif
