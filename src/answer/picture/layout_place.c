/* layout_place.c - where the items of a layer stand: each as near to the middle of its neighbours as the widths allow.
 *
 * For one layer with a given order that is a problem of least squares under x[i + 1] - x[i] >= d[i]. Without the widths
 * (x less their sum) it is an isotonic regression, which pools adjacent violators in linear time. */
#include "answer/picture/layout_int.h"

#include <errno.h>
#include <stdlib.h>

enum { PASSES = 24 };

struct block {
	double sum, weight; /* of wishes */
	uint32_t n;
};

/* The distance of the middles of two items that stand beside each other. */
static double distance(const struct layout_work *w, uint32_t a, uint32_t b)
{
	const struct layout_item *x = &w->items.v[a], *y = &w->items.v[b];
	const double gap = x->bend && y->bend ? 6 : x->bend || y->bend ? w->l->across / 2 : w->l->across;
	return (x->w + y->w) / 2 + gap;
}

/* The mean of an item's neighbours. weight: 0: it has none. Bends count more, so that long links are straight. */
static double wish_of(const struct layout_work *w, const struct layout_item *t, int side, double *ret_weight)
{
	double sum = 0, weight = 0;
	for (int k = 0; k < 2; k++) {
		const uint32_t at = k ? t->down : t->up, n = k ? t->n_down : t->n_up;
		if (side >= 0 && side != k)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			const struct layout_item *other = &w->items.v[w->ends[at + i]];
			const double much = t->bend && other->bend ? 8 : t->bend || other->bend ? 2 : 1;
			sum += much * other->x;
			weight += much;
		}
	}
	*ret_weight = weight;
	return weight > 0 ? sum / weight : t->x;
}

/* blocks has room for the layer. side: 0 by those above, 1 by those below, -1 by both. */
static void place_layer(struct layout_work *w, uint32_t layer, int side, struct block *blocks)
{
	const uint32_t *items = w->layers + w->first[layer], n = w->first[layer + 1] - w->first[layer];
	double offset = 0, x = 0;
	uint32_t n_blocks = 0;
	for (uint32_t i = 0; i < n; i++) {
		double weight;
		if (i)
			offset += distance(w, items[i - 1], items[i]);
		const double wish = wish_of(w, &w->items.v[items[i]], side, &weight) - offset;
		const double much = weight > 0 ? weight : 1e-3;
		blocks[n_blocks++] = (struct block){wish * much, much, 1};
		while (n_blocks > 1 && blocks[n_blocks - 2].sum * blocks[n_blocks - 1].weight >
		                           blocks[n_blocks - 1].sum * blocks[n_blocks - 2].weight) {
			struct block *into = &blocks[n_blocks - 2];
			into->sum += blocks[n_blocks - 1].sum;
			into->weight += blocks[n_blocks - 1].weight;
			into->n += blocks[n_blocks - 1].n;
			n_blocks--;
		}
	}
	offset = 0;
	for (uint32_t k = 0, i = 0; k < n_blocks; k++) {
		x = blocks[k].sum / blocks[k].weight;
		for (uint32_t j = 0; j < blocks[k].n; j++, i++) {
			if (i)
				offset += distance(w, items[i - 1], items[i]);
			w->items.v[items[i]].x = x + offset;
		}
	}
}

/* Side by side, each layer's middle at 0. */
static void place_first(struct layout_work *w)
{
	for (uint32_t k = 0; k < w->n_layers; k++) {
		double x = 0;
		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++) {
			x += i > w->first[k] ? distance(w, w->layers[i - 1], w->layers[i]) : 0;
			w->items.v[w->layers[i]].x = x;
		}
		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++)
			w->items.v[w->layers[i]].x -= x / 2;
	}
}

int layout_place(struct layout_work *w)
{
	struct block *blocks = calloc(w->items.n + 1, sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	place_first(w);
	for (int pass = 0; pass < PASSES; pass++) {
		const bool down = pass % 2 == 0;
		const int side = pass < PASSES / 2 ? !down : -1;
		for (uint32_t k = 0; k < w->n_layers; k++)
			place_layer(w, down ? k : w->n_layers - 1 - k, side, blocks);
	}
	free(blocks);
	return 0;
}
