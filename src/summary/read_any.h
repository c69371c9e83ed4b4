/* read_any.h - summaries in whatever form they come: ours, resource_monitor's (JSON, and the lines of old versions),
 * kickstart's invocation records (YAML). One text may hold many, one after the other, also of different forms where
 * they are JSON. Takes what anybody wrote: limits hold, and an error says what is wrong and in which one. */
#ifndef STEMMA_SUMMARY_READ_ANY_H
#define STEMMA_SUMMARY_READ_ANY_H

#include "summary/summary.h"

enum summary_form { SUMMARY_STEMMA, SUMMARY_RESOURCE_MONITOR, SUMMARY_KICKSTART, SUMMARY_FORMS };

/* "stemma", "resource-monitor", "kickstart": as in --summary-format. */
const char *summary_form_name(enum summary_form f);
int summary_form_by_name(const char *word); /* or -ENOENT */

struct summary_list {
	struct parsed_summary {
		enum summary_form form;
		struct summary summary;
	} * v;
	size_t n;
};

/* All at once, about 5 KB each. 0 and all of them, at least one; else -errno with a sentence, and nothing to release.
 */
int summary_read_any(const char *text, size_t n, struct err *err, struct summary_list *ret);
void summary_list_release(struct summary_list *l);

/* Appends s in that form, with the end of a line behind it. processes: not of resource_monitor's. What the form cannot
 * say is left out; what it must say and is not known stands as the form's writers put it. 0 or -ENOMEM. */
int summary_write_as(enum summary_form f, const struct summary *s, bool with_processes, struct buf *ret);

#endif
