/* figures.h - what the daemon says of itself: now, over the last minutes (LPS Fig. 10-12), and as an OpenMetrics file.
 */
#ifndef STEMMA_DAEMON_FIGURES_H
#define STEMMA_DAEMON_FIGURES_H

#include "base/buf.h"
#include "daemon/control.h"
#include "node/load.h"
#include "node/node.h"

#define FIGURES_SAMPLES 600 /* one a second */

struct figures_now {
	int64_t time;
	struct tracer_stats tracer;
	struct node_stats node;
	enum load_step step;
	uint64_t cpu, memory; /* ns in all; bytes */
	uint64_t asked;       /* ns of it for questions, which the limit of `max_cpu` does not count */
	struct control_stats control;
	uint64_t log_lost, log_bytes, log_events, log_removed; /* removed: bytes */
	unsigned granted;                                      /* requests for `access` that are in force */
};

struct figures;
/* Begins to count what the daemon does. NULL: no memory */
struct figures *figures_new(void);
void figures_free(struct figures *f);
void figures_add(struct figures *f, const struct figures_now *now);
/* The rates of the last `seconds` (at most what is known). */
void figures_rates(const struct figures *f, unsigned seconds, struct load_rates *ret);
/* A table for people, of now and of the last `rows` seconds; OpenMetrics text. */
void figures_table(const struct figures *f, const struct figures_now *now, unsigned rows, struct buf *out);
void figures_metrics(const struct figures_now *now, struct buf *out);

#endif
