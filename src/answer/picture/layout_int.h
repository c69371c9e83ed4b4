/* layout_int.h - what the steps of a layout share. Private to it.
 *
 * Items are the boxes, then the bends: a link over several layers has one in each layer between. Between items of
 * neighbouring layers are segments. */
#ifndef STEMMA_ANSWER_PICTURE_LAYOUT_INT_H
#define STEMMA_ANSWER_PICTURE_LAYOUT_INT_H

#include "answer/picture/layout.h"

struct layout_item {
	double w, x;                     /* x: of its middle */
	uint32_t layer, place;           /* place: within the layer */
	uint32_t up, n_up, down, n_down; /* neighbours: in ends */
	bool bend;
};
struct layout_segment {
	uint32_t above, below; /* items */
};
struct layout_work {
	struct layout *l;
	VEC(struct layout_item) items;
	VEC(struct layout_segment) segments;
	uint32_t *ends;   /* items: the neighbours of each, those above and those below */
	uint32_t *layers; /* items, layer by layer; those of layer k: [first[k], first[k + 1]) */
	uint32_t *first;
	uint32_t n_layers;
	bool *turned;    /* of links: they lead upwards */
	uint32_t *bends; /* of links: their first bend; the others follow */
	uint32_t *n_bends;
};

/* ---- layout_order.c ---- */

/* Orders the items of each layer. 0 or -ENOMEM. */
int layout_order(struct layout_work *w);

/* ---- layout_place.c ---- */

/* Sets x of all items. 0 or -ENOMEM. */
int layout_place(struct layout_work *w);

#endif
