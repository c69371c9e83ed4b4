/* methods_view.h - what the printers of stemma methods share. */
#ifndef STEMMA_CMD_METHODS_METHODS_VIEW_H
#define STEMMA_CMD_METHODS_METHODS_VIEW_H

#include "answer/methods/methods.h"
#include "cmd/cmd.h"

/* An answer, and how it is to be written. */
struct methods_view {
	struct cmd *c;
	const struct methods *m;
	bool markdown, in_table;
	struct buf b;
};

/* Each appends to v->b. 0, -errno of the store, -ENOMEM. methods_write_text: plain text or Markdown. methods_write_cff:
 * a citation file (CFF 1.2.0) whose references are the packages. */
int methods_write_text(struct methods_view *v);
int methods_write_cff(struct methods_view *v);
/* The package of methods_step_file; NULL: it is not known. */
const struct package *methods_step_package(const struct methods *m, const struct methods_step *step);

#endif
