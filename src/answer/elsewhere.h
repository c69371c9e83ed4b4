/* elsewhere.h - where work leaves what is recorded: to another host, a batch system, a daemon of containers. What such
 * a program had done there is not in the record, and this says what to write so that it is (elsewhere.def). */
#ifndef STEMMA_ANSWER_ELSEWHERE_H
#define STEMMA_ANSWER_ELSEWHERE_H

#include "base/buf.h"
#include "store/store.h"

/* Does the command line belong to such a program, and not to one that runs stemma there or shows its own help? Then
 * 1, and *ret_name is its name, and the line to write is appended to out: its own words with `stemma run --` before the
 * command, else what is right of all such. 0 it does not, -ENOMEM. */
int elsewhere_line(const struct strlist *argv, const char **ret_name, struct buf *out);

#endif
