/* picture_int.h - the graph of which a picture is made. Private to picture. */
#ifndef STEMMA_ANSWER_PICTURE_PICTURE_INT_H
#define STEMMA_ANSWER_PICTURE_PICTURE_INT_H

#include "answer/picture/picture.h"

struct graph_node {
	uint32_t of; /* node of the lineage; of a frame the stage */
	enum picture_kind kind;
	uint64_t colour; /* only nodes of the same colour are alike */
	uint32_t frame;  /* node of the frame that it stands in; VEC_NONE */
	uint32_t group;  /* of picture_graph_merge: of the nodes with equal numbers one box is made */
	bool listed;     /* of picture_graph_merge: its group is a list of files */
	bool root;
};
struct graph_edge {
	uint32_t from, to; /* nodes, as data flowed */
	bool sure, pipe;
};
struct picture_graph {
	VEC(struct graph_node) nodes;
	VEC(struct graph_edge) edges;
	uint32_t *at;    /* nodes of the lineage -> nodes; VEC_NONE */
	size_t n_groups; /* of picture_graph_merge */
};

/* ---- picture_graph.c ---- */

/* Nodes, frames and edges. Release ret in any case. 0 or -errno. */
int picture_graph_make(const struct picture_of *of, struct picture_graph *ret);
void picture_graph_release(struct picture_graph *g);

/* ---- picture_alike.c ---- */

/* Sets group of all nodes: which are alike, and which files stand in one list. all: none. 0 or -ENOMEM. */
int picture_graph_merge(struct picture_graph *g, bool all);

#endif
