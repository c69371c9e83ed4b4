/* mend.h - a question that meets a damaged page of the index is asked again, of an index made anew from the logs.
 *
 * A page's checksum is looked at when it is first read (store/pages.h), which may be in the middle of an answer.
 * Nothing of that has been printed then, for standard output is held back until it is long: the program removes the
 * index and starts itself again with the same arguments. If some was printed, it says that the answer is not whole and
 * ends with 125. Commands that change the record, and those that print by other ways, have all pages checked before
 * they begin.
 *
 * A file of the index that somebody makes shorter while SQLite has it mapped ends a process by SIGBUS. That is caught
 * from mend_watch_opening on: the question is asked again in the same way, once; else it says so and ends with 125. */
#ifndef STEMMA_CMD_UI_MEND_H
#define STEMMA_CMD_UI_MEND_H

#include "cmd/cmd.h"

/* The arguments to start again with; called first in main. */
void mend_begin(char **argv);
/* Before the store is opened; nothing has been printed. */
void mend_watch_opening(void);
/* After the store was opened and brought up to date. 0, or -ENOTRECOVERABLE where all pages were checked. */
int mend_watch(struct cmd *c, struct err *err);
/* What standard output holds back, and how much: nothing where some was printed already. */
const char *mend_held(size_t *ret);
/* No more of it: what follows is no answer (gc). */
void mend_end(void);

#endif
