/* layout_order.c - the order of a layer's items: sweeps by barycentres, and of these that with the fewest crossings. */
#include "answer/picture/layout_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SWEEPS = 12 };

struct wish {
	double at;
	uint32_t place, item;
};

static int compare_wishes(const void *pa, const void *pb)
{
	const struct wish *a = pa, *b = pb;
	return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : (a->place > b->place) - (a->place < b->place);
}

/* Orders a layer by the places of the neighbours above it, or below it. wishes has room for the layer. */
static void order_layer(struct layout_work *w, uint32_t layer, bool by_upper, struct wish *wishes)
{
	const uint32_t from = w->first[layer], n = w->first[layer + 1] - from;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t item = w->layers[from + i];
		const struct layout_item *t = &w->items.v[item];
		const uint32_t at = by_upper ? t->up : t->down, many = by_upper ? t->n_up : t->n_down;
		double sum = 0;
		for (uint32_t k = 0; k < many; k++)
			sum += w->items.v[w->ends[at + k]].place;
		wishes[i] = (struct wish){many ? sum / many : t->place, t->place, item};
	}
	qsort(wishes, n, sizeof(*wishes), compare_wishes);
	for (uint32_t i = 0; i < n; i++) {
		w->layers[from + i] = wishes[i].item;
		w->items.v[wishes[i].item].place = i;
	}
}

static int compare_numbers(const void *pa, const void *pb)
{
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	return (a > b) - (a < b);
}

/* Crossings between a layer and the next one: inversions of the lower places, counted in a tree of sums. sums, places:
 * room for the items of a layer, and for all segments. */
static uint64_t count_crossings(const struct layout_work *w, uint32_t layer, uint32_t *sums, uint32_t *places)
{
	const uint32_t n = w->first[layer + 2] - w->first[layer + 1];
	uint64_t crossings = 0, seen = 0;
	memset(sums, 0, (n + 1) * sizeof(*sums));
	for (uint32_t i = w->first[layer]; i < w->first[layer + 1]; i++) {
		const struct layout_item *t = &w->items.v[w->layers[i]];
		for (uint32_t k = 0; k < t->n_down; k++)
			places[k] = w->items.v[w->ends[t->down + k]].place;
		qsort(places, t->n_down, sizeof(*places), compare_numbers);
		for (uint32_t k = 0; k < t->n_down; k++) {
			uint64_t before = 0;
			for (uint32_t j = places[k] + 1; j; j -= j & -j)
				before += sums[j];
			crossings += seen - before;
			for (uint32_t j = places[k] + 1; j <= n; j += j & -j)
				sums[j]++;
			seen++;
		}
	}
	return crossings;
}

/* The items of layers as they stand in them. */
static void set_places(struct layout_work *w)
{
	for (uint32_t k = 0; k < w->n_layers; k++)
		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++)
			w->items.v[w->layers[i]].place = i - w->first[k];
}

int layout_order(struct layout_work *w)
{
	struct wish *wishes = calloc(w->items.n + 1, sizeof(*wishes));
	uint32_t *sums = calloc(w->items.n + 2, sizeof(*sums)), *places = calloc(w->segments.n + 1, sizeof(*places));
	uint32_t *best = calloc(w->items.n + 1, sizeof(*best));
	uint64_t fewest = UINT64_MAX;
	const bool ok = wishes && sums && places && best;
	for (int sweep = 0; ok && sweep < SWEEPS && fewest; sweep++) {
		uint64_t crossings = 0;
		const bool down = sweep % 2 == 0;
		for (uint32_t k = 1; k < w->n_layers; k++)
			order_layer(w, down ? k : w->n_layers - 1 - k, down, wishes);
		for (uint32_t k = 0; k + 1 < w->n_layers; k++)
			crossings += count_crossings(w, k, sums, places);
		if (crossings < fewest) {
			fewest = crossings;
			memcpy(best, w->layers, w->items.n * sizeof(*best));
		}
	}
	if (ok && fewest != UINT64_MAX) {
		memcpy(w->layers, best, w->items.n * sizeof(*best));
		set_places(w);
	}
	free(wishes);
	free(sums);
	free(places);
	free(best);
	return ok ? 0 : -ENOMEM;
}
