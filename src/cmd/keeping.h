/* keeping.h - what forget and gc share: taking out, making the index again, and saying what was done. */
#ifndef STEMMA_CMD_KEEPING_H
#define STEMMA_CMD_KEEPING_H

#include "cmd/cmd.h"
#include "keep/cut.h"

/* Takes out what o says, of the logs that l holds (released in any case), and makes the index again. The status, and it
 * was said. */
int keeping_cut(struct cmd *c, struct keep_logs *l, const struct keep_cut_options *o, struct keep_cut_stats *ret);
/* "12 events of 1 run, 2 segments written anew, 3.4 KiB less" */
void keeping_print(const struct keep_cut_options *o, const struct keep_cut_stats *s);

#endif
