/* lineage_view.h - a lineage as a tree, as a picture and as JSON. All print to the given stream (the tree and JSON to
 * standard output) and return a status. */
#ifndef STEMMA_CMD_LINEAGE_VIEW_H
#define STEMMA_CMD_LINEAGE_VIEW_H

#include "cmd/cmd.h"
#include "query/lineage.h"

struct lineage_view {
	struct store *s;
	const struct screen *out;
	const struct lineage *l;
	const struct lineage_options *options;
	bool bytes;
};

int lineage_tree(const struct lineage_view *v);
int lineage_json(const struct lineage_view *v);
int lineage_dot(const struct lineage_view *v, FILE *to);
/* The picture of lineage_dot drawn by Graphviz, to standard output. */
int lineage_svg(const struct lineage_view *v);

#endif
