/* trace_outputs.h - what the record knows of two programs whose traces are compared, beside the traces: what they
 * wrote, and which libraries they used. That their traces are the same does not say that they did the same. */
#ifndef STEMMA_ANSWER_TRACE_TRACE_OUTPUTS_H
#define STEMMA_ANSWER_TRACE_TRACE_OUTPUTS_H

#include "answer/trace/trace_compare.h"

/* Fills `outputs` of each pair, and those of the view: differences that no program of a pair is known to have made. d:
 * of the runs or executions that the sets are of, made with diff_content_of. 0 or -errno, with a sentence. */
int trace_outputs_read(struct store *s, const struct diff *d, struct trace_comparison *j, struct err *err);
void trace_outputs_release(struct trace_outputs *o);

#endif
