/* git.h - the commit that sources are of. */
#ifndef STEMMA_CC_GIT_H
#define STEMMA_CC_GIT_H

#include "event/event.h"

#include <stdbool.h>

/* The commit that the work tree around the directory is at, read from its files (some 20 us). 1 with hex digits in
 * ret, and the top of the tree in ret_top (n bytes); 0: there is none. */
int git_commit(const char *dir, char ret[72], char *ret_top, size_t n);
/* Whether files that git knows are as committed, which git is asked for (5 ms and more): TERM_tree_*. Waits for the
 * answer for wait_ms at most. */
unsigned git_tree(const char *top, unsigned wait_ms);

#endif
