#include "spec/align/regions.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>

/* The order of the values counts. */
static uint64_t mix_item_hash(uint64_t h, uint64_t v)
{
	h = (h << 23 | h >> 41) ^ v;
	h *= 0x9fb21c651e98df25u;
	return h ^ h >> 35;
}

/* Mixes a hash at its end. items: how many went into h. */
static uint64_t finish_region_hash(uint64_t h, uint64_t items)
{
	h = (h ^ h >> 30 ^ items) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

/* The control flow around the step; NULL where it is not known or does not count. */
static const struct flow_layout *find_layout(const struct reading *r, const struct symbol *s)
{
	return !r->flat && s->kind == STEP_AT && s->of < r->n_layouts && r->layouts[s->of] && s->node < r->layouts[s->of]->n
	           ? r->layouts[s->of]
	           : NULL;
}

enum region_kind region_of(const struct reading *r, uint32_t symbol, enum region_kind in, bool first,
                           struct region *ret)
{
	const struct symbol *s = &r->symbols->v[symbol];
	const struct flow_layout *layout = find_layout(r, s);
	*ret = (struct region){.kind = REGION_STEP, .of = s->of};
	if (s->kind == STEP_ENTER) {
		ret->kind = REGION_CALL;
	} else if (layout) {
		uint32_t loop = layout->loop[s->node];
		if (loop != LAYOUT_NONE && layout->loops[loop].head == s->node && !(first && in == REGION_ITERATION)) {
			ret->kind = in == REGION_LOOP ? REGION_ITERATION : REGION_LOOP;
			ret->id = loop;
		} else if (layout->join[s->node] != LAYOUT_NONE) {
			ret->kind = REGION_BRANCH;
			ret->id = s->node;
		}
	}
	return (enum region_kind)ret->kind;
}

uint64_t region_label(const struct reading *r, uint32_t symbol, enum region_kind in, bool first)
{
	const struct symbol *s = &r->symbols->v[symbol];
	struct region region;
	enum region_kind kind = region_of(r, symbol, in, first, &region);
	if (kind == REGION_ITERATION)
		return REGION_ITERATION;
	uint64_t h = mix_item_hash(mix_item_hash(kind == REGION_LOOP, s->kind), (uint64_t)s->of << 32 | s->node);
	return s->kind == STEP_AT ? h : mix_item_hash(h, s->kind == STEP_MARK ? s->value : 0);
}

/* The region is copied. 0, -ENOMEM. */
int region_push(struct region_stack *s, const struct region *region)
{
	if (!vec_has_room(s->v, s->n, s->cap))
		return -ENOMEM;
	s->v[s->n++] = *region;
	return 0;
}

/* s is empty then. */
void region_stack_release(struct region_stack *s)
{
	free(s->v);
	*s = (struct region_stack){0};
}

/* l is empty then. */
void region_items_release(struct region_items *l)
{
	free(l->v);
	*l = (struct region_items){0};
}

/* Appends an item. 0, -ENOMEM. */
static int append_region_item(struct region_items *l, uint64_t hash, size_t start)
{
	if (!vec_has_room(l->v, l->n, l->cap))
		return -ENOMEM;
	l->v[l->n++] = (struct region_item){hash, start};
	return 0;
}

struct reader {
	const struct reading *r;
	struct region_stack *s;
	struct region_items *lists;
	size_t live; /* so many of the regions that were open at the beginning still are */
};

/* An item of the innermost region is complete. 0, -ENOMEM. */
static int complete_item(struct reader *x, uint64_t hash, size_t start)
{
	struct region_stack *s = x->s;
	if (s->n) {
		s->v[s->n - 1].hash = mix_item_hash(s->v[s->n - 1].hash, hash);
		s->v[s->n - 1].items++;
	}
	return x->lists && s->n <= x->live ? append_region_item(&x->lists[s->n], hash, start) : 0;
}

/* The innermost region ends before step `at`. 0, -ENOMEM. */
static int pop_region(struct reader *x, size_t at)
{
	struct region_stack *s = x->s;
	struct region top = s->v[--s->n];
	if (s->n < x->live) {
		x->live = s->n;
		if (x->lists)
			x->lists[s->n + 1].end = at;
		if (s->n)
			s->v[s->n - 1].items++;
		return 0;
	}
	return complete_item(x, finish_region_hash(top.hash, top.items << 3 | top.kind), top.start);
}

/* Notes that a region begins: a call or an iteration. 0, -ENOMEM. */
static int push_region(struct reader *x, struct region *region, uint64_t hash, size_t start)
{
	const struct region_stack *s = x->s;
	region->frame = s->n && s->v[s->n - 1].kind == REGION_CALL ? (uint32_t)s->n : s->n ? s->v[s->n - 1].frame : 0;
	region->hash = hash;
	region->start = start;
	return region_push(x->s, region);
}

/* A node of the open function ends regions of it: loops that it is not in, and branches that join there. 0, -ENOMEM. */
static int end_regions(struct reader *x, const struct symbol *at, const struct flow_layout *layout, size_t place)
{
	struct region_stack *s = x->s;
	int r = 0;
	if (!s->n || s->v[s->n - 1].kind == REGION_CALL)
		return 0;
	for (size_t i = s->v[s->n - 1].frame; r == 0 && i < s->n; i++) {
		const struct region *o = &s->v[i];
		if (o->of != at->of)
			continue;
		bool over = o->kind == REGION_LOOP     ? !layout_in_loop(layout, at->node, o->id)
		            : o->kind == REGION_BRANCH ? o->id == at->node || layout->join[o->id] == at->node
		                                       : false;
		while (r == 0 && over && s->n > i)
			r = pop_region(x, place);
	}
	return r;
}

/* Ends and begins regions as the node asks. 0, -ENOMEM. */
static int read_node(struct reader *x, const struct symbol *at, const struct flow_layout *layout, size_t place)
{
	struct region_stack *s = x->s;
	struct region region;
	int r = end_regions(x, at, layout, place);
	uint32_t loop = layout->loop[at->node];
	bool begun = s->n && s->v[s->n - 1].kind == REGION_ITERATION && s->v[s->n - 1].start == place;
	if (r == 0 && !begun && loop != LAYOUT_NONE && layout->loops[loop].head == at->node) {
		size_t open = SIZE_MAX;
		for (size_t i = s->n ? s->v[s->n - 1].frame : 0; s->n && s->v[s->n - 1].kind != REGION_CALL && i < s->n; i++)
			if (s->v[i].kind == REGION_LOOP && s->v[i].of == at->of && s->v[i].id == loop)
				open = i;
		while (r == 0 && open != SIZE_MAX && s->n > open + 1)
			r = pop_region(x, place);
		region = (struct region){.kind = REGION_LOOP, .of = at->of, .id = loop};
		if (r == 0 && open == SIZE_MAX)
			r = push_region(x, &region, mix_item_hash(REGION_LOOP, (uint64_t)at->of << 32 | loop), place);
		region.kind = REGION_ITERATION;
		if (r == 0)
			r = push_region(x, &region, REGION_ITERATION, place);
	}
	if (r == 0 && layout->join[at->node] != LAYOUT_NONE) {
		region = (struct region){.kind = REGION_BRANCH, .of = at->of, .id = at->node};
		return push_region(x, &region, mix_item_hash(REGION_BRANCH, at->hash), place);
	}
	return r < 0 ? r : complete_item(x, finish_region_hash(at->hash, 1), place);
}

/* The end of a call ends the regions within it. 0, -ENOMEM. */
static int read_leave(struct reader *x, uint64_t hash, size_t place)
{
	struct region_stack *s = x->s;
	int r = 0;
	bool inside = s->n && (s->v[s->n - 1].kind == REGION_CALL || s->v[s->n - 1].frame > 0);
	if (!inside) /* of a call that began before what is read */
		return complete_item(x, finish_region_hash(hash, 1), place);
	while (r == 0 && s->v[s->n - 1].kind != REGION_CALL)
		r = pop_region(x, place);
	if (r < 0)
		return r;
	s->v[s->n - 1].hash = mix_item_hash(s->v[s->n - 1].hash, hash);
	return pop_region(x, place);
}

int regions_read(const struct reading *reading, const uint32_t *v, size_t from, size_t to, bool close,
                 struct region_stack *stack, struct region_items *lists, size_t *ret_live)
{
	struct reader x = {.r = reading, .s = stack, .lists = lists, .live = stack->n};
	int r = 0;
	for (size_t i = from; r == 0 && i < to; i++) {
		const struct symbol *s = &reading->symbols->v[v[i]];
		const struct flow_layout *layout;
		struct region region;
		switch (s->kind) {
		case STEP_ENTER:
			region = (struct region){.kind = REGION_CALL, .of = s->of};
			r = push_region(&x, &region, mix_item_hash(REGION_CALL, s->hash), i);
			break;
		case STEP_LEAVE:
			r = read_leave(&x, s->hash, i);
			break;
		default:
			layout = find_layout(reading, s);
			r = layout ? read_node(&x, s, layout, i) : complete_item(&x, finish_region_hash(s->hash, 1), i);
		}
	}
	while (r == 0 && close && stack->n)
		r = pop_region(&x, to);
	if (lists)
		for (size_t i = 0; i <= x.live; i++)
			lists[i].end = to;
	if (ret_live)
		*ret_live = x.live;
	return r;
}
