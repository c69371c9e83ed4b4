/* diff_trace.h - where two traces part (answer/trace/trace_answer.h), as text and HTML on standard output. */
#ifndef STEMMA_CMD_DIFF_DIFF_TRACE_H
#define STEMMA_CMD_DIFF_DIFF_TRACE_H

#include "answer/trace/trace_answer.h"
#include "cmd/ui/columns.h"

struct trace_output {
	const struct trace_view *view;
	const struct screen *out;
	bool all; /* all differences, not the first few */
};
/* Prints the comparison of traces as text. 0, or the status to end with. */
int trace_text(const struct trace_output *v);
/* Prints the comparison of traces as HTML. */
int trace_html(const struct trace_output *v);

/* stemma diff --trace */
int cmd_diff_trace(struct cmd *c, const struct opts_diff *o);

#endif
