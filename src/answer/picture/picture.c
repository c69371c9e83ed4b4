#include "answer/picture/picture_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In the picture's units, which are pixels at 12 px text. */
enum {
	BOX_WIDTH = 232,
	LINE = 16,
	NOTE = 14,
	INSIDE = 7, /* above and below the text of a box */
	ACROSS = 22,
	DOWN = 36,
	ACROSS_FRAME = 16, /* within a frame */
	DOWN_FRAME = 22,
	FRAME_HEAD = 24,
	FRAME_EDGE = 10
};

/* Of one frame, or of what stands in none. */
struct level {
	struct layout layout;
	VEC(uint32_t) boxes; /* of the picture */
	VEC(struct layout_box) places;
	VEC(struct layout_link) links;
	VEC(uint32_t) link_of; /* of the picture */
};

static void level_release(struct level *v)
{
	vec_release(&v->boxes);
	vec_release(&v->places);
	vec_release(&v->links);
	vec_release(&v->link_of);
	vec_release(&v->layout.points);
}

/* ---- boxes and links ---- */

/* How many names the box has. */
static uint32_t lines_of(const struct picture_box *b)
{
	if (b->n == 1)
		return 1;
	if (b->alike)
		return b->kind < PICTURE_PROGRAM ? 2 : 1;
	return b->n <= PICTURE_NAMES ? b->n : PICTURE_NAMES;
}

/* Boxes of the groups, the members of each in order; box_of: by group, room for all nodes. 0 or -ENOMEM. */
static int make_boxes(const struct picture_graph *g, struct picture *p, uint32_t *box_of)
{
	for (uint32_t i = 0; i < g->nodes.n; i++) {
		const struct graph_node *t = &g->nodes.v[i];
		if (t->group != i)
			continue;
		if (!vec_room(&p->boxes, 1))
			return -ENOMEM;
		box_of[i] = (uint32_t)p->boxes.n;
		p->boxes.v[p->boxes.n++] =
		    (struct picture_box){.kind = t->kind, .frame = VEC_NONE, .stage = t->of, .alike = !t->listed};
	}
	for (size_t i = 0; i < g->nodes.n; i++) {
		struct picture_box *b = &p->boxes.v[box_of[g->nodes.v[i].group]];
		b->n++;
		b->root |= g->nodes.v[i].root;
	}
	if (!vec_room(&p->members, g->nodes.n + 1))
		return -ENOMEM;
	for (size_t i = 0, at = 0; i < p->boxes.n; i++) {
		p->boxes.v[i].first = (uint32_t)at;
		at += p->boxes.v[i].n;
		p->boxes.v[i].n = 0;
	}
	p->members.n = g->nodes.n;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct graph_node *t = &g->nodes.v[i];
		struct picture_box *b = &p->boxes.v[box_of[t->group]];
		p->members.v[b->first + b->n++] = t->of;
		if (t->frame != VEC_NONE)
			b->frame = box_of[g->nodes.v[t->frame].group];
		p->nodes += t->kind != PICTURE_FRAME;
	}
	return 0;
}

static int compare_links(const void *pa, const void *pb)
{
	const struct picture_link *a = pa, *b = pb;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (b->sure - a->sure) * 2 + (b->pipe - a->pipe);
}

/* One for all edges between two boxes: sure if one of them is. 0 or -ENOMEM. */
static int make_links(const struct picture_graph *g, const uint32_t *box_of, struct picture *p)
{
	size_t n = 0;
	for (size_t k = 0; k < g->edges.n; k++) {
		const struct graph_edge *e = &g->edges.v[k];
		const uint32_t from = box_of[g->nodes.v[e->from].group], to = box_of[g->nodes.v[e->to].group];
		if (from == to)
			continue;
		if (!vec_room(&p->links, 1))
			return -ENOMEM;
		p->links.v[p->links.n++] = (struct picture_link){.from = from, .to = to, .sure = e->sure, .pipe = e->pipe};
	}
	if (p->links.n)
		qsort(p->links.v, p->links.n, sizeof(*p->links.v), compare_links);
	for (size_t k = 0; k < p->links.n; k++)
		if (!n || p->links.v[n - 1].from != p->links.v[k].from || p->links.v[n - 1].to != p->links.v[k].to)
			p->links.v[n++] = p->links.v[k];
	p->links.n = n;
	return 0;
}

/* ---- places ---- */

/* What stands for a box among those of a frame (VEC_NONE: outside): itself, or its frame. VEC_NONE: it is not there. */
static uint32_t on_level(const struct picture *p, uint32_t box, uint32_t frame)
{
	const uint32_t own = p->boxes.v[box].frame;
	if (own == frame)
		return box;
	return frame == VEC_NONE ? own : VEC_NONE;
}

/* Lays out the boxes of a frame, or those of none, whose frames have their size by then. Places within it. 0 or
 * -ENOMEM. */
static int make_level(struct picture *p, uint32_t frame, uint32_t *place, struct level *v)
{
	for (uint32_t i = 0; i < p->boxes.n; i++) {
		struct picture_box *b = &p->boxes.v[i];
		place[i] = VEC_NONE;
		if (b->frame != frame)
			continue;
		if (!vec_room(&v->boxes, 1) || !vec_room(&v->places, 1))
			return -ENOMEM;
		place[i] = (uint32_t)v->boxes.n;
		v->boxes.v[v->boxes.n++] = i;
		v->places.v[v->places.n++] = (struct layout_box){.w = b->w, .h = b->h};
	}
	for (uint32_t k = 0; k < p->links.n; k++) {
		const uint32_t a = on_level(p, p->links.v[k].from, frame), b = on_level(p, p->links.v[k].to, frame);
		if (a == VEC_NONE || b == VEC_NONE || a == b)
			continue;
		if (!vec_room(&v->links, 1) || !vec_room(&v->link_of, 1))
			return -ENOMEM;
		v->links.v[v->links.n++] = (struct layout_link){.from = place[a], .to = place[b]};
		v->link_of.v[v->link_of.n++] = k;
	}
	v->layout = (struct layout){.boxes = v->places.v,
	                            .n_boxes = v->places.n,
	                            .links = v->links.v,
	                            .n_links = v->links.n,
	                            .across = frame == VEC_NONE ? ACROSS : ACROSS_FRAME,
	                            .down = frame == VEC_NONE ? DOWN : DOWN_FRAME};
	return layout_make(&v->layout);
}

/* Takes the places over: x and y of boxes, points of links. 0 or -ENOMEM. */
static int keep_level(struct picture *p, const struct level *v)
{
	for (size_t i = 0; i < v->boxes.n; i++) {
		p->boxes.v[v->boxes.v[i]].x = v->places.v[i].x;
		p->boxes.v[v->boxes.v[i]].y = v->places.v[i].y;
	}
	for (size_t k = 0; k < v->links.n; k++) {
		struct picture_link *link = &p->links.v[v->link_of.v[k]];
		if (!vec_room(&p->points, v->links.v[k].n))
			return -ENOMEM;
		link->first = (uint32_t)p->points.n;
		link->n = v->links.v[k].n;
		memcpy(p->points.v + p->points.n, v->layout.points.v + v->links.v[k].first, link->n * sizeof(*p->points.v));
		p->points.n += link->n;
	}
	return 0;
}

/* Of all boxes that are no frames. */
static void size_boxes(struct picture *p)
{
	for (size_t i = 0; i < p->boxes.n; i++) {
		struct picture_box *b = &p->boxes.v[i];
		b->lines = lines_of(b);
		b->w = BOX_WIDTH;
		b->h = 2 * INSIDE + LINE * b->lines + NOTE;
	}
}

/* The frame gets the size of what is in it. 0 or -ENOMEM. place has room for all boxes. */
static int place_frame(struct picture *p, uint32_t frame, uint32_t *place)
{
	struct level v = {0};
	int rc = make_level(p, frame, place, &v);
	if (rc == 0)
		rc = keep_level(p, &v);
	p->boxes.v[frame].w = v.layout.w + 2 * FRAME_EDGE;
	p->boxes.v[frame].h = v.layout.h + FRAME_HEAD + FRAME_EDGE;
	level_release(&v);
	return rc;
}

/* What is in frames moves to where these are. */
static void move_into_frames(struct picture *p)
{
	for (size_t k = 0; k < p->links.n; k++) {
		const struct picture_link *link = &p->links.v[k];
		const uint32_t frame = p->boxes.v[link->from].frame;
		if (frame == VEC_NONE || p->boxes.v[link->to].frame != frame)
			continue;
		for (uint32_t i = 0; i < link->n; i++) {
			p->points.v[link->first + i].x += p->boxes.v[frame].x + FRAME_EDGE;
			p->points.v[link->first + i].y += p->boxes.v[frame].y + FRAME_HEAD;
		}
	}
	for (size_t i = 0; i < p->boxes.n; i++) {
		struct picture_box *b = &p->boxes.v[i];
		if (b->frame == VEC_NONE)
			continue;
		b->x += p->boxes.v[b->frame].x + FRAME_EDGE;
		b->y += p->boxes.v[b->frame].y + FRAME_HEAD;
	}
}

/* Several links between the same frames or boxes on the outer level are one there; the others get no points. */
static void drop_parallel(struct picture *p)
{
	for (size_t k = 0; k < p->links.n; k++) {
		const struct picture_link *a = &p->links.v[k];
		const uint32_t from = on_level(p, a->from, VEC_NONE), to = on_level(p, a->to, VEC_NONE);
		for (size_t i = 0; a->n && i < k; i++) {
			struct picture_link *b = &p->links.v[i];
			if (b->n && on_level(p, b->from, VEC_NONE) == from && on_level(p, b->to, VEC_NONE) == to && from != to) {
				b->sure |= a->sure;
				p->links.v[k].n = 0;
			}
		}
	}
}

/* 0 or -ENOMEM. */
static int place_all(struct picture *p)
{
	uint32_t *place = calloc(p->boxes.n + 1, sizeof(*place));
	struct level v = {0};
	int rc = place ? 0 : -ENOMEM;
	size_boxes(p);
	for (uint32_t i = 0; i < p->boxes.n && rc == 0; i++)
		if (p->boxes.v[i].kind == PICTURE_FRAME)
			rc = place_frame(p, i, place);
	if (rc == 0)
		rc = make_level(p, VEC_NONE, place, &v);
	if (rc == 0)
		rc = keep_level(p, &v);
	if (rc == 0) {
		move_into_frames(p);
		drop_parallel(p);
		p->w = v.layout.w;
		p->h = v.layout.h;
	}
	level_release(&v);
	free(place);
	return rc;
}

int picture_make(const struct picture_of *of, struct picture *ret)
{
	struct picture_graph g;
	uint32_t *box_of = NULL;
	*ret = (struct picture){0};
	int rc = picture_graph_make(of, &g);
	if (rc == 0)
		rc = picture_graph_merge(&g, of->all);
	if (rc == 0)
		rc = (box_of = calloc(g.nodes.n + 1, sizeof(*box_of))) ? 0 : -ENOMEM;
	if (rc == 0)
		rc = make_boxes(&g, ret, box_of);
	if (rc == 0)
		rc = make_links(&g, box_of, ret);
	if (rc == 0 && ret->boxes.n > PICTURE_BOXES)
		rc = -E2BIG;
	if (rc == 0)
		rc = place_all(ret);
	free(box_of);
	picture_graph_release(&g);
	return rc;
}

void picture_release(struct picture *p)
{
	vec_release(&p->boxes);
	vec_release(&p->links);
	vec_release(&p->members);
	vec_release(&p->points);
}
