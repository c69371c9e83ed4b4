/* lineage_view.h - a lineage as a tree and as a picture. All print to the given stream (the tree to standard output)
 * and return a status. */
#ifndef STEMMA_CMD_LINEAGE_LINEAGE_VIEW_H
#define STEMMA_CMD_LINEAGE_LINEAGE_VIEW_H

#include "answer/shape.h"
#include "cmd/cmd.h"

struct lineage_view {
	struct store *s;
	const struct screen *out;
	const struct lineage *l;
	const struct lineage_options *options;
	bool bytes;
	uint64_t lines; /* of the tree at most; 0: all */
};

int lineage_tree(const struct lineage_view *v);
int lineage_dot(const struct lineage_view *v, FILE *to);
/* The picture of lineage_dot drawn by Graphviz, to standard output. */
int lineage_svg(const struct lineage_view *v);

#endif
