#include "spec/align/align.h"

#include "spec/align/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIVERGENCES_KEPT 10000

/* r is empty then. */
void align_result_release(struct align_result *r)
{
	free(r->v);
	*r = (struct align_result){0};
}

size_t align_prefix(const struct align_side side[2])
{
	size_t n = side[0].n < side[1].n ? side[0].n : side[1].n, i = 0;
	/* By pages of steps: memcmp is several times faster than a loop. */
	while (i + 1024 <= n && memcmp(side[0].v + i, side[1].v + i, 1024 * sizeof(uint32_t)) == 0)
		i += 1024;
	while (i < n && side[0].v[i] == side[1].v[i])
		i++;
	return i;
}

/* ---- divergences ---- */

/* It ends before the steps a and b. All are counted, but only so many kept. 0, -ENOMEM. */
static int divergence_end(struct align_writer *w, size_t a, size_t b)
{
	struct align_result *r = w->result;
	w->now.end[0] = a;
	w->now.end[1] = b;
	w->open = false;
	r->total++;
	if (r->n == (r->max ? r->max : DIVERGENCES_KEPT))
		return 0;
	struct divergence *v = realloc(r->v, (r->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->v = v;
	v[r->n++] = w->now;
	return 0;
}

/* The two are different from here on; decision: they parted at one. */
static void divergence_begin(struct align_writer *w, size_t a, size_t b, bool decision)
{
	w->open = true;
	w->now = (struct divergence){.at = {a, b}, .decision = decision, .loop_function = LAYOUT_NONE};
	if (w->iterations[0] != w->iterations[1]) {
		w->now.loop_function = w->loop_function;
		w->now.loop = w->loop;
		w->now.iterations[0] = w->iterations[0];
		w->now.iterations[1] = w->iterations[1];
	}
}

void align_emit_unmatched(struct align_writer *w, size_t a, size_t b)
{
	bool start = !w->done[0] || !w->done[1];
	if (!w->open && (w->done[0] < a || w->done[1] < b))
		divergence_begin(w, start ? ALIGN_START : w->done[0] - 1, start ? ALIGN_START : w->done[1] - 1, false);
}

int align_emit_match(struct align_writer *w, size_t a, size_t b, size_t n)
{
	int r = 0;
	if (!n)
		return 0;
	align_emit_unmatched(w, a, b);
	if (w->open)
		r = divergence_end(w, a, b);
	w->done[0] = a + n;
	w->done[1] = b + n;
	w->result->common += n;
	if (w->pairs && w->pairs->aligned)
		w->pairs->aligned(w->pairs->of, a, b, n);
	if (r == 0 && n == 1 && w->side[0].v[a] != w->side[1].v[b])
		divergence_begin(w, a, b, true);
	return r;
}

/* 0, -ENOMEM. */
int align_emit_end(struct align_writer *w)
{
	align_emit_unmatched(w, w->side[0].n, w->side[1].n);
	return w->open ? divergence_end(w, w->side[0].n, w->side[1].n) : 0;
}

/* ---- regions ---- */

struct aligner {
	struct align_writer w;
	size_t fork; /* the first step that differs: the same number on both sides */
	unsigned depth;
};

/* What two lists of items belong to. */
struct within {
	enum region_kind kind;
	uint32_t of, loop;
	size_t before;   /* LOOP: turns that stand before the lists */
	size_t start[2]; /* the region's own first step */
	bool spine;      /* it was open where the sides parted */
};

/* Calls deeper than this below the point where the sides parted are compared as a whole: the stack of the C functions
 * is to stay below 1 MiB. */
#define DEPTH_MAX 2000

static int align_lists(struct aligner *x, const struct within *in, const struct region_items lists[2]);

/* Whether the list's item i is the stretch's own first step; of a spine never. */
static bool is_first(const struct within *in, const struct region_items *l, int side, size_t i)
{
	return i == 0 && !in->spine && l->v[i].start == in->start[side];
}

/* Two items whose labels are equal and whose insides are not. 0, -ENOMEM, -E2BIG. */
static int align_inside(struct aligner *x, const struct within *in, const struct region_items lists[2],
                        const size_t at[2])
{
	const struct align_side *side = x->w.side;
	const struct reading *reading = x->w.reading;
	struct within inner = {0};
	struct region_items got[2][3] = {0};
	struct region region[2];
	size_t from[2], to[2];
	bool left[2] = {false, false};
	int r = 0;
	for (int s = 0; s < 2; s++) {
		from[s] = lists[s].v[at[s]].start;
		to[s] = region_items_end(&lists[s], at[s]);
		region_of(reading, side[s].v[from[s]], in->kind, is_first(in, &lists[s], s, at[s]), &region[s]);
	}
	if (region[0].kind == REGION_STEP || region[0].kind != region[1].kind)
		return align_emit_match(&x->w, from[0], from[1], 1);
	if (x->depth == DEPTH_MAX) {
		x->w.result->exact = false;
		return align_emit_match(&x->w, from[0], from[1], 1);
	}
	inner.kind = (enum region_kind)region[0].kind;
	inner.of = region[0].of;
	inner.loop = region[0].id;
	bool own = inner.kind == REGION_CALL || inner.kind == REGION_BRANCH;
	if (own)
		r = align_emit_match(&x->w, from[0], from[1], 1);
	for (int s = 0; r == 0 && s < 2; s++) {
		struct region_stack stack = {0};
		struct region outer = {.kind = REGION_LOOP, .of = region[s].of, .id = region[s].id};
		size_t level = 1;
		inner.start[s] = region[s].start = from[s];
		if (inner.kind == REGION_ITERATION) { /* so that its head begins no other */
			r = region_push(&stack, &outer);
			level = 2;
		}
		if (r == 0)
			r = region_push(&stack, &region[s]);
		if (r == 0)
			r = regions_read(reading, side[s].v, from[s] + own, to[s], true, &stack, got[s], NULL);
		if (level == 2) {
			struct region_items turn = got[s][2];
			got[s][2] = got[s][1];
			got[s][1] = turn;
		}
		left[s] = inner.kind == REGION_CALL && got[s][1].end < to[s];
		region_stack_release(&stack);
	}
	if (r == 0) {
		struct region_items inside[2] = {got[0][1], got[1][1]};
		x->depth++;
		r = align_lists(x, &inner, inside);
		x->depth--;
	}
	if (r == 0 && left[0] && left[1])
		r = align_emit_match(&x->w, got[0][1].end, got[1][1].end, 1);
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < 3; i++)
			region_items_release(&got[s][i]);
	return r;
}

/* Items that are equal by hash, and so in length. What align_emit_match gives. */
static int emit_equal_items(struct aligner *x, const struct region_items lists[2], size_t a, size_t b)
{
	size_t n = region_items_end(&lists[0], a) - lists[0].v[a].start;
	return align_emit_match(&x->w, lists[0].v[a].start, lists[1].v[b].start, n);
}

/* Sets aside what is known of the innermost loop, for the time of what is in another. */
struct loop_state {
	uint32_t function, loop;
	size_t iterations[2];
};
/* Gives what was, for loop_back. */
static struct loop_state loop_enter(struct aligner *x, uint32_t function, uint32_t loop, size_t a, size_t b)
{
	struct loop_state was = {x->w.loop_function, x->w.loop, {x->w.iterations[0], x->w.iterations[1]}};
	x->w.loop_function = function;
	x->w.loop = loop;
	x->w.iterations[0] = a;
	x->w.iterations[1] = b;
	return was;
}
/* Leaves a loop: the state is as it was before. */
static void loop_back(struct aligner *x, struct loop_state was)
{
	loop_enter(x, was.function, was.loop, was.iterations[0], was.iterations[1]);
}

/* Turns of a loop, by items: the last one does not count if it only found that the loop is over. */
static size_t count_iterations(const struct aligner *x, const struct region_items *l, int side, size_t before)
{
	size_t n = l->n;
	if (n && region_items_end(l, n - 1) - l->v[n - 1].start == 1 &&
	    x->w.reading->symbols->v[x->w.side[side].v[l->v[n - 1].start]].chooses)
		n--;
	return before + n;
}

/* Items a and b, which may be equal. 0, -ENOMEM, -E2BIG. */
static int align_pair(struct aligner *x, const struct within *in, const struct region_items lists[2], size_t a,
                      size_t b)
{
	if (lists[0].v[a].hash == lists[1].v[b].hash)
		return emit_equal_items(x, lists, a, b);
	bool last[2] = {a + 1 == lists[0].n, b + 1 == lists[1].n};
	bool other = in->kind == REGION_CALL || (in->kind == REGION_LOOP && last[0] == last[1]);
	/* A loop's turns are another number because of what is in this turn only if it is the last on one side. */
	struct loop_state was = {0};
	if (other)
		was = loop_enter(x, LAYOUT_NONE, 0, 0, 0);
	size_t at[2] = {a, b};
	int r = align_inside(x, in, lists, at);
	if (other)
		loop_back(x, was);
	return r;
}

/* Items from[] to to[] of both sides that are no pairs, where the reading says that regions are not all that counts: by
 * calls and single steps. */
static int align_without_regions(struct aligner *x, const struct region_items lists[2], const size_t from[2],
                                 const size_t to[2])
{
	const struct reading *reading = x->w.reading;
	struct reading flat = *reading;
	struct region_items got[2] = {0};
	const struct within in = {.kind = REGION_STEP, .spine = true};
	int r = 0;
	if (!reading->goes_on || from[0] >= to[0] || from[1] >= to[1])
		return 0;
	flat.flat = true;
	flat.goes_on = false;
	for (int s = 0; r == 0 && s < 2; s++) {
		struct region_stack stack = {0};
		r = regions_read(&flat, x->w.side[s].v, lists[s].v[from[s]].start, region_items_end(&lists[s], to[s] - 1), true,
		                 &stack, &got[s], NULL);
		region_stack_release(&stack);
	}
	x->w.reading = &flat;
	if (r == 0)
		r = align_lists(x, &in, got);
	x->w.reading = reading;
	region_items_release(&got[0]);
	region_items_release(&got[1]);
	return r;
}

/* What lies between two pairs of equal items: paired by label. */
/* What lies between two pairs of equal items: paired by label. 0, -ENOMEM, -E2BIG. */
static int align_gap(struct aligner *x, const struct within *in, const struct region_items lists[2], size_t a0,
                     size_t a1, size_t b0, size_t b1)
{
	size_t n[2] = {a1 - a0, b1 - b0}, from[2] = {a0, b0};
	uint64_t *label[2] = {NULL, NULL};
	uint32_t *match = NULL;
	int r = 0;
	if (!n[0] || !n[1])
		return 0;
	for (int s = 0; r == 0 && s < 2; s++) {
		label[s] = malloc(n[s] * sizeof(*label[s]));
		if (!label[s])
			r = -ENOMEM;
		for (size_t i = 0; r == 0 && i < n[s]; i++)
			label[s][i] = region_label(x->w.reading, x->w.side[s].v[lists[s].v[from[s] + i].start], in->kind,
			                           is_first(in, &lists[s], s, from[s] + i));
	}
	match = malloc(n[0] * sizeof(*match));
	if (!match)
		r = -ENOMEM;
	if (r == 0)
		r = match_rows(label[0], n[0], label[1], n[1], match, &x->w.result->exact);
	for (size_t i = 0; r == 0 && i < n[0]; i++) {
		if (match[i] == MATCH_NONE)
			continue;
		r = align_without_regions(x, lists, from, (const size_t[]){a0 + i, b0 + match[i]});
		if (r == 0)
			r = align_pair(x, in, lists, a0 + i, b0 + match[i]);
		from[0] = a0 + i + 1;
		from[1] = b0 + match[i] + 1;
	}
	if (r == 0)
		r = align_without_regions(x, lists, from, (const size_t[]){a1, b1});
	free(label[0]);
	free(label[1]);
	free(match);
	return r;
}

/* Do both lists begin where the sides parted, with items that may be a pair? Then they are, for all before is the same.
 */
static bool pair_at_fork(const struct aligner *x, const struct within *in, const struct region_items lists[2])
{
	uint64_t label[2];
	for (int s = 0; s < 2; s++) {
		if (lists[s].v[0].start != x->fork)
			return false;
		label[s] = region_label(x->w.reading, x->w.side[s].v[x->fork], in->kind, is_first(in, &lists[s], s, 0));
	}
	return label[0] == label[1];
}

/* Pairs what two stretches have in common, as match_rows, of what lies in no regions: as many steps as can be, not
 * items. */
static int match_by_steps(const struct region_items lists[2], uint64_t *const hash[2], size_t skip, const size_t n[2],
                          uint32_t *ret_match)
{
	uint32_t *weight = malloc((n[0] + 1) * sizeof(*weight));
	for (size_t i = 0; weight && i < n[0]; i++)
		weight[i] = (uint32_t)(region_items_end(&lists[0], skip + i) - lists[0].v[skip + i].start);
	int r = weight ? match_heaviest(hash[0], weight, n[0], hash[1], n[1], ret_match) : -ENOMEM;
	free(weight);
	return r;
}

/* Aligns two lists of items. Both lists have items. 0, -ENOMEM, -E2BIG. */
static int align_items(struct aligner *x, const struct within *in, const struct region_items lists[2])
{
	uint64_t *hash[2] = {NULL, NULL};
	uint32_t *match = NULL;
	size_t skip = pair_at_fork(x, in, lists), a = skip, b = skip;
	size_t n[2] = {lists[0].n - skip, lists[1].n - skip};
	int r = skip ? align_pair(x, in, lists, 0, 0) : 0;
	for (int s = 0; r == 0 && s < 2; s++) {
		hash[s] = malloc((n[s] + 1) * sizeof(*hash[s]));
		if (!hash[s])
			r = -ENOMEM;
		for (size_t i = 0; r == 0 && i < n[s]; i++)
			hash[s][i] = lists[s].v[skip + i].hash;
	}
	match = malloc((n[0] + 1) * sizeof(*match));
	if (!match)
		r = -ENOMEM;
	if (r == 0 && x->w.reading->flat && n[0] * n[1] <= MATCH_HEAVY)
		r = match_by_steps(lists, hash, skip, n, match);
	else if (r == 0)
		r = match_rows(hash[0], n[0], hash[1], n[1], match, &x->w.result->exact);
	free(hash[0]);
	free(hash[1]);
	for (size_t i = 0; r == 0 && i < n[0]; i++) {
		if (match[i] == MATCH_NONE)
			continue;
		size_t with[2] = {skip + i, skip + match[i]};
		r = align_gap(x, in, lists, a, with[0], b, with[1]);
		if (r == 0)
			r = emit_equal_items(x, lists, with[0], with[1]);
		a = with[0] + 1;
		b = with[1] + 1;
	}
	if (r == 0)
		r = align_gap(x, in, lists, a, lists[0].n, b, lists[1].n);
	free(match);
	return r;
}

/* What has no partner on the other side is told as such. 0, -ENOMEM, -E2BIG. */
static int align_lists(struct aligner *x, const struct within *in, const struct region_items lists[2])
{
	struct loop_state was = {0};
	int r = 0;
	if (in->kind == REGION_LOOP)
		was = loop_enter(x, in->of, in->loop, count_iterations(x, &lists[0], 0, in->before),
		                 count_iterations(x, &lists[1], 1, in->before));
	if (lists[0].n && lists[1].n)
		r = align_items(x, in, lists);
	if (r == 0) /* what is left here belongs here */
		align_emit_unmatched(&x->w, lists[0].n ? lists[0].end : 0, lists[1].n ? lists[1].end : 0);
	if (in->kind == REGION_LOOP)
		loop_back(x, was);
	return r;
}

/* ---- from the fork outwards ---- */

/* Where both sides come back, after the fork, into a call that was open there, and are equal from then on: nothing
 * behind it need be read. Depth counts calls from the fork. */
static void find_cut(const struct reading *reading, const struct align_side side[2], size_t fork, size_t ret_cut[2])
{
	size_t n[2] = {side[0].n, side[1].n}, same = 0;
	size_t most = (n[0] < n[1] ? n[0] : n[1]) - fork;
	int64_t depth[2] = {0, 0}, low[2] = {0, 0};
	ret_cut[0] = n[0];
	ret_cut[1] = n[1];
	while (same < most && side[0].v[n[0] - 1 - same] == side[1].v[n[1] - 1 - same])
		same++;
	if (!same)
		return;
	for (int s = 0; s < 2; s++)
		for (size_t i = fork; i < n[s] - same; i++) {
			unsigned kind = reading->symbols->v[side[s].v[i]].kind;
			depth[s] += kind == STEP_ENTER ? 1 : kind == STEP_LEAVE ? -1 : 0;
			if (depth[s] < low[s])
				low[s] = depth[s];
		}
	if (depth[0] != depth[1])
		return;
	int64_t floor = low[0] < low[1] ? low[0] : low[1], now = depth[0];
	for (size_t k = same; k > 0; k--) {
		unsigned kind = reading->symbols->v[side[0].v[n[0] - k]].kind;
		now += kind == STEP_ENTER ? 1 : kind == STEP_LEAVE ? -1 : 0;
		if (kind == STEP_LEAVE && now < floor) {
			ret_cut[0] = n[0] - k + 1;
			ret_cut[1] = n[1] - k + 1;
			return;
		}
	}
}

/* From the innermost region that was open where the sides parted, to the outermost. 0, -ENOMEM, -E2BIG. */
static int align_outwards(struct aligner *x, const struct region_stack *at_fork, struct region_items *lists[2],
                          const size_t live[2], const size_t cut[2])
{
	int r = 0;
	for (size_t level = at_fork->n + 1; r == 0 && level-- > 0;) {
		struct region_items both[2] = {lists[0][level], lists[1][level]};
		struct within in = {.kind = REGION_STEP, .spine = true};
		if (level) {
			const struct region *region = &at_fork->v[level - 1];
			in.kind = (enum region_kind)region->kind;
			in.of = region->of;
			in.loop = region->id;
			in.before = region->items + 1; /* the turn that is open */
		}
		r = align_lists(x, &in, both);
		if (in.kind == REGION_CALL || in.kind == REGION_LOOP)
			loop_enter(x, LAYOUT_NONE, 0, 0, 0);
		/* The steps that left a call. */
		if (r == 0 && in.kind == REGION_CALL && level > live[0] && level > live[1] && both[0].end < cut[0] &&
		    both[1].end < cut[1])
			r = align_emit_match(&x->w, both[0].end, both[1].end, 1);
	}
	return r;
}

/* The innermost loop around the fork that is over after this turn on one side only. */
static void loop_at_fork(struct aligner *x, const struct region_stack *at_fork, struct region_items *lists[2],
                         const size_t live[2])
{
	for (size_t level = at_fork->n; level-- > 0;) {
		const struct region *o = &at_fork->v[level];
		bool last[2];
		if (o->kind == REGION_CALL || live[0] > level || live[1] > level)
			return;
		if (o->kind != REGION_LOOP)
			continue;
		for (int s = 0; s < 2; s++) {
			const struct region_items *l = &lists[s][level + 1];
			last[s] = !l->n || (l->n == 1 && l->v[0].start == x->fork);
		}
		if (last[0] == last[1])
			continue;
		loop_enter(x, o->of, o->id, count_iterations(x, &lists[0][level + 1], 0, o->items + 1),
		           count_iterations(x, &lists[1][level + 1], 1, o->items + 1));
		return;
	}
}

/* 0; -ENOMEM; -E2BIG. ret->max may be set before; pairs may be NULL. */
int align_sides(const struct reading *reading, const struct align_side side[2], const struct align_pairs *pairs,
                struct align_result *ret)
{
	struct aligner x = {
	    .w = {.reading = reading, .side = side, .pairs = pairs, .result = ret, .loop_function = LAYOUT_NONE}};
	struct region_stack at_fork = {0};
	struct region_items *lists[2] = {NULL, NULL};
	size_t live[2], cut[2];
	int r;
	ret->exact = true;
	x.fork = align_prefix(side);
	r = align_emit_match(&x.w, 0, 0, x.fork);
	if (r == 0 && x.fork == side[0].n && x.fork == side[1].n)
		return 0;
	if (r == 0)
		r = regions_read(reading, side[0].v, 0, x.fork, false, &at_fork, NULL, NULL);
	find_cut(reading, side, x.fork, cut);
	for (int s = 0; r == 0 && s < 2; s++) {
		struct region_stack stack = {0};
		lists[s] = calloc(at_fork.n + 1, sizeof(*lists[s]));
		if (!lists[s])
			r = -ENOMEM;
		for (size_t i = 0; r == 0 && i < at_fork.n; i++)
			r = region_push(&stack, &at_fork.v[i]);
		if (r == 0)
			r = regions_read(reading, side[s].v, x.fork, cut[s], cut[s] == side[s].n, &stack, lists[s], &live[s]);
		region_stack_release(&stack);
	}
	if (r == 0) {
		loop_at_fork(&x, &at_fork, lists, live);
		r = align_outwards(&x, &at_fork, lists, live, cut);
	}
	if (r == 0 && cut[0] < side[0].n)
		r = align_emit_match(&x.w, cut[0], cut[1], side[0].n - cut[0]);
	if (r == 0)
		r = align_emit_end(&x.w);
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; lists[s] && i <= at_fork.n; i++)
			region_items_release(&lists[s][i]);
		free(lists[s]);
	}
	region_stack_release(&at_fork);
	return r;
}
