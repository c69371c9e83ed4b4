/* finish_int.h - what the parts of finish.c share: from what was seen to the figures of a summary. Internal to monitor.
 */
#ifndef STEMMA_MONITOR_FINISH_INT_H
#define STEMMA_MONITOR_FINISH_INT_H

#include "monitor/monitor_int.h"

struct ends {
	struct monitor *m;
	struct summary *s;
	struct waited w;
	struct living l;
	bool each; /* process has told its bytes */
	int rc;
};

/* A figure as it is known; one that lies between bounds, into which value is put; one that is not known, and why. The
 * first error stays in e->rc. */
void finish_figure(struct ends *e, enum figure_name f, int64_t value, const char *method, bool complete);
void finish_bounds(struct ends *e, enum figure_name f, int64_t value, int64_t low, int64_t high, const char *method,
                   bool complete);
void finish_absent(struct ends *e, enum figure_name f, const char *why);
/* Did nobody tell of each process? */
bool finish_is_blind(const struct monitor *m);
/* A process that was there before: what it and its descendants have used is known from the kernel's events? */
bool finish_is_heard(const struct monitor *m);

/* The number, at most INT64_MAX. */
static inline int64_t finish_int(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* Memory and its parts (finish_memory.c). The bytes that were written are known then. */
void finish_memory(struct ends *e);

#endif
