/* lineage_view.h - a lineage as a tree, as a picture and as JSON. All print to the given stream (the tree and JSON to
 * standard output) and return a status. */
#ifndef STEMMA_CMD_LINEAGE_LINEAGE_VIEW_H
#define STEMMA_CMD_LINEAGE_LINEAGE_VIEW_H

#include "cmd/cmd.h"
#include "query/lineage.h"

struct lineage_view {
	struct store *s;
	const struct screen *out;
	const struct lineage *l;
	const struct lineage_options *options;
	bool bytes;
};

/* An edge as the tree and the picture show it. */
struct branch {
	uint32_t child;    /* farther from the root */
	const char *words; /* before the child's name, a blank at the end; "" for the plain used and generated */
	const struct lineage_edge *e;
	bool sure; /* shown so: the edge is, and where several nodes are one, it is one of those that surely count */
};
/* The lineage as it is shown: a shell that opens a file for a program stands as that and not as a fork that became the
 * program, and streams that a shell held for its programs are not shown as its own. Programs that count to another one
 * (query/fold.h) are one node with it, and files that only they knew are none. Wrappers that only opened a file, and
 * have no input of their own, are left out. With --all everything is as it is. */
struct shape {
	struct branch *branches; /* of node i: [first[i], first[i + 1]) */
	size_t *first;
	bool *shown;       /* nodes: come to from the root by branches */
	store_id *rep;     /* of the first node of those that count to one execution: that; 0 otherwise */
	uint32_t *members; /* how many nodes it stands for */
	uint64_t held;     /* edges left out */
	uint64_t folded;   /* executions that are not nodes of their own */
};
/* 0 or -errno. */
int shape_make(const struct lineage_view *v, struct shape *ret);
void shape_release(struct shape *s);

int lineage_tree(const struct lineage_view *v);
int lineage_json(const struct lineage_view *v);
int lineage_dot(const struct lineage_view *v, FILE *to);
/* The picture of lineage_dot drawn by Graphviz, to standard output. */
int lineage_svg(const struct lineage_view *v);

#endif
