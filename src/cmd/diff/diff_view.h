/* diff_view.h - a diff as text and HTML, and the sentences that they share. All print to standard output and
 * return a status. */
#ifndef STEMMA_CMD_DIFF_DIFF_VIEW_H
#define STEMMA_CMD_DIFF_DIFF_VIEW_H

#include "answer/diff/diff_build.h"
#include "answer/diff/diff_json.h"
#include "cmd/ui/notes_print.h"
#include "query/diff.h"

struct diff_view {
	struct cmd *c;
	struct store *s;
	const struct screen *out;
	const struct diff *d;
	const char *words[2]; /* what the sides were called on the command line */
	size_t max;           /* lines a category, 0 no limit */
	bool bytes;
};

/* One of the runs is a repetition by stemma rerun: moves d->first on over what only that made differ; SIZE_MAX: nothing
 * else differs. */
void diff_pass_over_rerun(struct diff *d);

/* "01J... sh pipeline.sh, 2026-11-21T14:50:04" */
int diff_side_name(const struct diff_view *v, int side, struct buf *b);
/* Of two versions, where one was made directly from the other: "B was made from A by sed -i s/2/3/ q"; else nothing. 0,
 * -errno. */
int diff_made_from(const struct diff_view *v, struct buf *b);
/* One item: "reads/b.fq  1.2 KiB -> 1.3 KiB (@{1} -> @{2})". 0, -errno. */
int diff_item_text(const struct diff_view *v, const struct diff_item *i, struct buf *b);
/* Who changed it: "changed by sed -i ... in run ABCD1234, 2026-..."; nothing where there is nothing to say. 0, -errno.
 * */
int diff_change_text(const struct diff_view *v, const struct diff_item *i, struct buf *b);
/* The first cause as sentences. 0, -errno. */
int diff_cause_text(const struct diff_view *v, struct buf *b);
int diff_text(const struct diff_view *v);
int diff_html(const struct diff_view *v);

#endif
