#include "answer/picture/layout_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers ---- */

/* Links by box: those that leave it are at[first[i] .. first[i + 1]). */
struct leaving {
	uint32_t *first, *at;
};

/* 0 or -ENOMEM. ret is to be released in any case. */
static int list_leaving(const struct layout *l, struct leaving *ret)
{
	ret->first = calloc(l->n_boxes + 2, sizeof(*ret->first));
	ret->at = calloc(l->n_links + 1, sizeof(*ret->at));
	if (!ret->first || !ret->at)
		return -ENOMEM;
	for (size_t k = 0; k < l->n_links; k++)
		ret->first[l->links[k].from + 2]++;
	for (size_t i = 2; i < l->n_boxes + 2; i++)
		ret->first[i] += ret->first[i - 1];
	for (size_t k = 0; k < l->n_links; k++)
		ret->at[ret->first[l->links[k].from + 1]++] = (uint32_t)k;
	return 0;
}

static void leaving_release(struct leaving *v)
{
	free(v->first);
	free(v->at);
}

enum colour { WHITE, GREY, BLACK };

/* Turns links that close a cycle. order: all boxes, each before those that its links, as turned, lead to. 0 or -ENOMEM.
 */
static int break_cycles(struct layout_work *w, const struct leaving *out, uint32_t *order)
{
	const struct layout *l = w->l;
	unsigned char *seen = calloc(l->n_boxes + 1, 1);
	uint32_t *stack = calloc(l->n_boxes + 1, sizeof(*stack)), *next = calloc(l->n_boxes + 1, sizeof(*next));
	size_t left = l->n_boxes, depth = 0;
	for (uint32_t i = 0; seen && stack && next && i < l->n_boxes; i++) {
		if (seen[i] != WHITE)
			continue;
		stack[depth++] = i;
		seen[i] = GREY;
		next[i] = out->first[i];
		while (depth) {
			const uint32_t at = stack[depth - 1];
			if (next[at] == out->first[at + 1]) {
				seen[at] = BLACK;
				order[--left] = at;
				depth--;
				continue;
			}
			const uint32_t link = out->at[next[at]++], to = l->links[link].to;
			w->turned[link] = seen[to] == GREY;
			if (seen[to] == WHITE) {
				seen[to] = GREY;
				next[to] = out->first[to];
				stack[depth++] = to;
			}
		}
	}
	const int rc = seen && stack && next ? 0 : -ENOMEM;
	free(seen);
	free(stack);
	free(next);
	return rc;
}

static uint32_t upper(const struct layout_work *w, size_t link)
{
	return w->turned[link] ? w->l->links[link].to : w->l->links[link].from;
}
static uint32_t lower(const struct layout_work *w, size_t link)
{
	return w->turned[link] ? w->l->links[link].from : w->l->links[link].to;
}

/* Each as high as those above it allow, then those that nothing is above as low as they can stand. order: of boxes, as
 * of break_cycles. 0 or -ENOMEM. */
static int assign_layers(struct layout_work *w, const uint32_t *order)
{
	const struct layout *l = w->l;
	uint32_t *lowest = calloc(l->n_boxes + 1, sizeof(*lowest));
	bool *has_above = calloc(l->n_boxes + 1, sizeof(*has_above));
	uint32_t *first = calloc(l->n_boxes + 2, sizeof(*first)), *at = calloc(l->n_links + 1, sizeof(*at));
	const bool ok = lowest && has_above && first && at;
	for (size_t i = 0; ok && i < l->n_boxes; i++)
		lowest[i] = UINT32_MAX;
	for (size_t k = 0; ok && k < l->n_links; k++)
		first[upper(w, k) + 2]++;
	for (size_t i = 2; ok && i < l->n_boxes + 2; i++)
		first[i] += first[i - 1];
	for (size_t k = 0; ok && k < l->n_links; k++)
		at[first[upper(w, k) + 1]++] = (uint32_t)k;
	for (size_t i = 0; ok && i < l->n_boxes; i++)
		for (uint32_t j = first[order[i]]; j < first[order[i] + 1]; j++) {
			const uint32_t to = lower(w, at[j]), layer = w->items.v[order[i]].layer + 1;
			has_above[to] = true;
			if (w->items.v[to].layer < layer)
				w->items.v[to].layer = layer;
		}
	for (size_t k = 0; ok && k < l->n_links; k++) {
		const uint32_t from = upper(w, k), layer = w->items.v[lower(w, k)].layer;
		if (layer - 1 < lowest[from])
			lowest[from] = layer - 1;
	}
	for (size_t i = 0; ok && i < l->n_boxes; i++)
		if (!has_above[i] && lowest[i] != UINT32_MAX)
			w->items.v[i].layer = lowest[i];
	free(lowest);
	free(has_above);
	free(first);
	free(at);
	return ok ? 0 : -ENOMEM;
}

/* ---- bends, segments ---- */

/* 0 or -ENOMEM. */
static int add_segment(struct layout_work *w, uint32_t above, uint32_t below)
{
	struct layout_segment *s = vec_add(&w->segments);
	if (!s)
		return -ENOMEM;
	*s = (struct layout_segment){above, below};
	return 0;
}

/* The bends of a link, and the segments between them. 0 or -ENOMEM. */
static int bend_link(struct layout_work *w, size_t k)
{
	const uint32_t from = upper(w, k), to = lower(w, k);
	const uint32_t top = w->items.v[from].layer, bottom = w->items.v[to].layer;
	uint32_t above = from;
	int rc = 0;
	w->bends[k] = (uint32_t)w->items.n;
	if (w->items.n + (bottom - top) > w->l->n_boxes + LAYOUT_BENDS)
		return 0;
	for (uint32_t layer = top + 1; layer < bottom && rc == 0; layer++) {
		struct layout_item *bend = vec_add(&w->items);
		if (!bend)
			return -ENOMEM;
		*bend = (struct layout_item){.w = 6, .layer = layer, .bend = true};
		w->n_bends[k]++;
		rc = add_segment(w, above, (uint32_t)w->items.n - 1);
		above = (uint32_t)w->items.n - 1;
	}
	return rc < 0 ? rc : add_segment(w, above, to);
}

/* Neighbours of all items, and the items of all layers in the order of their numbers. 0 or -ENOMEM. */
static int list_items(struct layout_work *w)
{
	uint32_t end = 0;
	for (size_t i = 0; i < w->items.n; i++)
		if (w->items.v[i].layer >= w->n_layers)
			w->n_layers = w->items.v[i].layer + 1;
	w->ends = calloc(2 * w->segments.n + 1, sizeof(*w->ends));
	w->layers = calloc(w->items.n + 1, sizeof(*w->layers));
	w->first = calloc((size_t)w->n_layers + 2, sizeof(*w->first));
	if (!w->ends || !w->layers || !w->first)
		return -ENOMEM;
	for (size_t k = 0; k < w->segments.n; k++) {
		w->items.v[w->segments.v[k].above].n_down++;
		w->items.v[w->segments.v[k].below].n_up++;
	}
	for (size_t i = 0; i < w->items.n; i++) {
		struct layout_item *t = &w->items.v[i];
		t->up = end;
		t->down = t->up + t->n_up;
		end = t->down + t->n_down;
		t->n_up = t->n_down = 0;
		w->first[t->layer + 1]++;
	}
	for (size_t k = 0; k < w->segments.n; k++) {
		struct layout_item *a = &w->items.v[w->segments.v[k].above], *b = &w->items.v[w->segments.v[k].below];
		w->ends[a->down + a->n_down++] = w->segments.v[k].below;
		w->ends[b->up + b->n_up++] = w->segments.v[k].above;
	}
	for (uint32_t k = 0; k < w->n_layers; k++)
		w->first[k + 1] += w->first[k];
	uint32_t *fill = calloc((size_t)w->n_layers + 1, sizeof(*fill));
	for (size_t i = 0; fill && i < w->items.n; i++) {
		struct layout_item *t = &w->items.v[i];
		t->place = fill[t->layer]++;
		w->layers[w->first[t->layer] + t->place] = (uint32_t)i;
	}
	free(fill);
	return fill ? 0 : -ENOMEM;
}

/* ---- the result ---- */

/* Sets y of all boxes; ret: the top of each layer and its height. */
static void place_layers(struct layout_work *w, struct layout_point *ret)
{
	struct layout *l = w->l;
	double y = 0;
	for (uint32_t k = 0; k < w->n_layers; k++) {
		double most = 0;
		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++)
			if (!w->items.v[w->layers[i]].bend && l->boxes[w->layers[i]].h > most)
				most = l->boxes[w->layers[i]].h;
		ret[k] = (struct layout_point){y, most};
		for (uint32_t i = w->first[k]; i < w->first[k + 1]; i++)
			if (!w->items.v[w->layers[i]].bend)
				l->boxes[w->layers[i]].y = y + (most - l->boxes[w->layers[i]].h) / 2;
		y += most + l->down;
	}
	l->h = y > l->down ? y - l->down : 0;
}

/* Moves all so that the left end is 0, and sets x of boxes. */
static void place_boxes(struct layout_work *w)
{
	struct layout *l = w->l;
	double left = 0, right = 0;
	for (size_t i = 0; i < w->items.n; i++) {
		const struct layout_item *t = &w->items.v[i];
		left = i == 0 || t->x - t->w / 2 < left ? t->x - t->w / 2 : left;
		right = i == 0 || t->x + t->w / 2 > right ? t->x + t->w / 2 : right;
	}
	for (size_t i = 0; i < w->items.n; i++)
		w->items.v[i].x -= left;
	for (size_t i = 0; i < l->n_boxes; i++)
		l->boxes[i].x = w->items.v[i].x - l->boxes[i].w / 2;
	l->w = right - left;
}

struct port {
	uint32_t link;
	double other; /* where the link goes on */
};

static int compare_ports(const void *pa, const void *pb)
{
	const struct port *a = pa, *b = pb;
	return a->other != b->other ? (a->other > b->other) - (a->other < b->other)
	                            : (a->link > b->link) - (a->link < b->link);
}

/* Where a link meets its upper (end 0) or lower box: those of one side stand beside each other, within its middle half.
 * ret: x by link. 0 or -ENOMEM. */
static int spread_ports(const struct layout_work *w, int end, double *ret)
{
	const struct layout *l = w->l;
	struct port *ports = calloc(l->n_links + 1, sizeof(*ports));
	uint32_t *first = calloc(l->n_boxes + 2, sizeof(*first));
	if (!ports || !first)
		return free(ports), free(first), -ENOMEM;
	for (size_t k = 0; k < l->n_links; k++)
		first[(end ? lower(w, k) : upper(w, k)) + 2]++;
	for (size_t i = 2; i < l->n_boxes + 2; i++)
		first[i] += first[i - 1];
	for (size_t k = 0; k < l->n_links; k++) {
		const uint32_t box = end ? lower(w, k) : upper(w, k), other = end ? upper(w, k) : lower(w, k);
		const uint32_t bend = end ? w->bends[k] + w->n_bends[k] - 1 : w->bends[k];
		ports[first[box + 1]++] = (struct port){(uint32_t)k, w->items.v[w->n_bends[k] ? bend : other].x};
	}
	for (size_t i = 0; i < l->n_boxes; i++) {
		const uint32_t n = first[i + 1] - first[i];
		if (!n)
			continue;
		qsort(ports + first[i], n, sizeof(*ports), compare_ports);
		const double gap = l->boxes[i].w / 2 / n < 14 ? l->boxes[i].w / 2 / n : 14;
		for (uint32_t k = 0; k < n; k++)
			ret[ports[first[i] + k].link] = w->items.v[i].x + ((double)k - (double)(n - 1) / 2) * gap;
	}
	free(ports);
	free(first);
	return 0;
}

/* 0 or -ENOMEM. rows: of the layers. */
static int draw_links(struct layout_work *w, const struct layout_point *rows)
{
	struct layout *l = w->l;
	double *top = calloc(l->n_links + 1, sizeof(*top)), *bottom = calloc(l->n_links + 1, sizeof(*bottom));
	int rc = top && bottom ? 0 : -ENOMEM;
	if (rc == 0)
		rc = spread_ports(w, 0, top);
	if (rc == 0)
		rc = spread_ports(w, 1, bottom);
	for (size_t k = 0; k < l->n_links && rc == 0; k++) {
		struct layout_link *link = &l->links[k];
		const struct layout_box *a = &l->boxes[upper(w, k)], *b = &l->boxes[lower(w, k)];
		link->first = (uint32_t)l->points.n;
		link->n = 2 + 2 * w->n_bends[k];
		if (!vec_room(&l->points, link->n)) {
			rc = -ENOMEM;
			break;
		}
		struct layout_point *p = l->points.v + l->points.n;
		p[0] = (struct layout_point){top[k], a->y + a->h};
		for (uint32_t i = 0; i < w->n_bends[k]; i++) { /* straight through the layer */
			const struct layout_item *bend = &w->items.v[w->bends[k] + i];
			p[1 + 2 * i] = (struct layout_point){bend->x, rows[bend->layer].x};
			p[2 + 2 * i] = (struct layout_point){bend->x, rows[bend->layer].x + rows[bend->layer].y};
		}
		p[link->n - 1] = (struct layout_point){bottom[k], b->y};
		for (uint32_t i = 0; w->turned[k] && i < link->n / 2; i++) {
			const struct layout_point q = p[i];
			p[i] = p[link->n - 1 - i];
			p[link->n - 1 - i] = q;
		}
		l->points.n += link->n;
	}
	free(top);
	free(bottom);
	return rc;
}

/* Makes the items of boxes, and the layers. 0 or -ENOMEM. */
static int make_layers(struct layout_work *w)
{
	const struct layout *l = w->l;
	struct leaving out = {0};
	uint32_t *order = calloc(l->n_boxes + 1, sizeof(*order));
	int rc = order && vec_room(&w->items, l->n_boxes + 1) ? list_leaving(l, &out) : -ENOMEM;
	for (size_t i = 0; i < l->n_boxes && rc == 0; i++)
		w->items.v[w->items.n++] = (struct layout_item){.w = l->boxes[i].w};
	if (rc == 0)
		rc = break_cycles(w, &out, order);
	if (rc == 0)
		rc = assign_layers(w, order);
	leaving_release(&out);
	free(order);
	return rc;
}

int layout_make(struct layout *l)
{
	struct layout_work w = {.l = l,
	                        .turned = calloc(l->n_links + 1, sizeof(bool)),
	                        .bends = calloc(l->n_links + 1, sizeof(uint32_t)),
	                        .n_bends = calloc(l->n_links + 1, sizeof(uint32_t))};
	struct layout_point *rows = NULL;
	int rc = w.turned && w.bends && w.n_bends ? make_layers(&w) : -ENOMEM;
	l->points.n = 0;
	for (size_t k = 0; k < l->n_links && rc == 0; k++)
		rc = bend_link(&w, k);
	if (rc == 0)
		rc = list_items(&w);
	if (rc == 0)
		rc = layout_order(&w);
	if (rc == 0)
		rc = layout_place(&w);
	if (rc == 0)
		rc = (rows = calloc((size_t)w.n_layers + 1, sizeof(*rows))) ? 0 : -ENOMEM;
	if (rc == 0) {
		place_layers(&w, rows);
		place_boxes(&w);
		rc = draw_links(&w, rows);
	}
	free(rows);
	vec_release(&w.items);
	vec_release(&w.segments);
	free(w.ends);
	free(w.layers);
	free(w.first);
	free(w.turned);
	free(w.bends);
	free(w.n_bends);
	return rc;
}
