/* shape.h - a lineage as it is shown: who made what, as people would say it. */
#ifndef STEMMA_ANSWER_SHAPE_H
#define STEMMA_ANSWER_SHAPE_H

#include "query/lineage/lineage.h"

struct zarr;
struct zarr_count;

/* An edge as the tree and the picture show it. */
struct branch {
	uint32_t child;    /* farther from the root */
	const char *words; /* before the child's name, a blank at the end; "" for the plain used and generated */
	const struct lineage_edge *e;
	bool sure; /* shown so: the edge is, and where several nodes are one, it is one of those that surely count */
	/* Several nodes are one, and not from all that leads to it there is a sure way to the child: what one of them used
	 * need not be in what another one made. */
	bool folded;
};
/* The lineage as it is shown: a shell that opens a file for a program stands as that and not as a fork that became the
 * program, and streams that a shell held for its programs are not shown as its own. Programs that count to another one
 * (query/fold.h) are one node with it, and files that only they knew are none. Wrappers that only opened a file, and
 * have no input of their own, are left out. With --all everything is as it is. With --certain such a node stands for
 * several programs only where all that it leads to is certain: else these are nodes of their own. */
struct shape {
	struct branch *branches; /* of node i: [first[i], first[i + 1]) */
	size_t *first;
	bool *shown;       /* nodes: come to from a root by branches */
	store_id *rep;     /* of the first node of those that count to one execution: that; 0 otherwise */
	uint32_t *members; /* how many nodes it stands for */
	uint64_t *ranks;   /* of the first node of an MPI job: how many ranks there are; 0 otherwise */
	uint64_t held;     /* edges left out */
	uint64_t folded;   /* executions that are not nodes of their own */
	uint64_t unsure;   /* of a lineage of what is certain: branches left out, since folding made them uncertain */
	/* Where arrays are shown as such (answer/zarr/zarr_fold.h); else NULL. */
	struct zarr *zarr;
	uint32_t *array; /* of a node that stands for parts of an array: that, from 1; 0 none; UINT32_MAX: it is such a
	                    part, and another node stands for it */
	struct zarr_count *parts; /* beside it */
};
/* Is the node an array of Zarr, in place of its chunks? */
static inline bool shape_is_array(const struct shape *s, uint32_t node)
{
	return s->array && s->array[node] && s->array[node] != UINT32_MAX;
}
/* Is the root shown, and not as a part of another one? */
static inline bool shape_is_root(const struct shape *s, uint32_t node)
{
	return !s->array || s->array[node] != UINT32_MAX;
}
/* What is to be shown: the walk, and the options that it was made with. */
struct shape_of {
	struct store *s;
	const struct lineage *l;
	const struct lineage_options *options;
	bool arrays; /* chunks of a Zarr array as one node */
};
/* Makes the tree that is shown: what is no news left out, executions of one program folded. 0 or -errno. */
int shape_make(const struct shape_of *v, struct shape *ret);
/* Sets s->shown of what is come to from node 0 over branches. queue has room for all nodes. */
void shape_mark_shown(const struct lineage *l, struct shape *s, uint32_t *queue);
void shape_release(struct shape *s);

#endif
