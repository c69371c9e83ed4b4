/* diff_zoom.h - for `stemma diff --trace`: where the first difference lies in what both traces had taken back, A and B
 * are run again (diff_again_run.h) and recorded without taking back there, so that its line is known. */
#ifndef STEMMA_CMD_DIFF_DIFF_ZOOM_H
#define STEMMA_CMD_DIFF_DIFF_ZOOM_H

#include "answer/trace/trace_noise.h"
#include "cmd/diff/diff_again.h"

struct diff_zoom {
	struct traced_again again;
	struct trace_comparison closer;
	struct trace_noise noise; /* between two runs of A that are recorded so, where nothing was known of it */
};
/* Finds where two runs part more closely, by running them again with more recorded. j: A and B, compared; n: what
 * was left out, or NULL. Sets `closer` of the first pair that wants it, or says there why not. A failure leaves the
 * answer as it was. Release ret in any case, after j is shown. */
void diff_zoom(struct cmd *c, const struct opts_diff *o, struct trace_comparison *j, const struct trace_noise *n,
               struct diff_zoom *ret);
void diff_zoom_release(struct diff_zoom *z);

#endif
