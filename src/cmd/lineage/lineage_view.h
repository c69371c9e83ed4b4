/* lineage_view.h - a lineage as a tree and as a picture. All print to the given stream (the tree to standard output)
 * and return a status. */
#ifndef STEMMA_CMD_LINEAGE_LINEAGE_VIEW_H
#define STEMMA_CMD_LINEAGE_LINEAGE_VIEW_H

#include "answer/shape.h"
#include "answer/stages/stage_view.h"
#include "cmd/cmd.h"

struct lineage_view {
	struct store *s;
	const struct screen *out;
	const struct lineage *l;
	const struct lineage_options *options;
	bool bytes;
	uint64_t lines; /* of the tree at most; 0: all */
	/* NULL: by programs. Else its walk is l, and its shape is what is shown. */
	struct stage_view *stages;
	bool programs; /* with those of each stage */
};

/* What is shown; 0 or -errno. lineage_shape_release: what lineage_shape gave. lineage_dot: a status, reported.
 * lineage_tree: a status, reported. */
int lineage_shape(const struct lineage_view *v, struct shape *ret);
void lineage_shape_release(const struct lineage_view *v, struct shape *s);
int lineage_tree(const struct lineage_view *v);
int lineage_dot(const struct lineage_view *v, FILE *to);
/* The lineage drawn as a picture (answer/picture/picture.h), to standard output: "svg", or by rsvg-convert "png" or
 * "pdf". A status, reported; STATUS_SELF, without a word, where the reader went away. */
int lineage_picture(const struct lineage_view *v, const char *format);
/* How many ranks of an MPI job a program stands for, "4 ranks" or "2 of 4 ranks"; x: the first of them. Nothing of a
 * program that is no such job. */
void lineage_ranks(const struct shape *shape_of, size_t node, const struct exec_info *x, struct buf *b);
/* What a node is called in a picture, and what stands small below it; *ret_shape: Graphviz's word for its outline. 0 or
 * -errno. */
int lineage_words(const struct lineage_view *v, const struct shape *shape_of, uint32_t i, struct buf *name,
                  struct buf *note, const char **ret_shape);

#endif
