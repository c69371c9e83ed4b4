/* history_all.h - a record that has something of everything, for tests of what is printed of it. */
#ifndef STEMMA_TESTS_HISTORY_ALL_H
#define STEMMA_TESTS_HISTORY_ALL_H

#include "history.h"

#define HISTORY_RUN_A "01AAAAAAAAAAAAAAAAAAAAAAAA"
#define HISTORY_RUN_B "01BBBBBBBBBBBBBBBBBBBBBBBB"

/* Three sessions, in any order. A run: files, names, a pipe, counted bytes, gaps, a job, figures, labels. */
void history_all_a(void);
/* A later run: a file that changed unseen, what was measured and what the program said. */
void history_all_b(void);
/* A compiler's command, outside of any run. */
void history_all_build(void);

#endif
