/* pager.h - an answer longer than the terminal goes through a pager, as git's do. */
#ifndef STEMMA_CMD_UI_PAGER_H
#define STEMMA_CMD_UI_PAGER_H

#include <stddef.h>

/* Writes what standard output holds back, the n bytes at text: through the pager where standard output is a terminal
 * and they are more lines than it has. The pager is $STEMMA_PAGER, $PAGER or less; "cat" or "" is none. Waits for its
 * end. */
void pager_flush(const char *text, size_t n);

#endif
