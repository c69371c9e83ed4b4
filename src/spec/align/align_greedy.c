/* Algorithm 2 of ProvScope, as published: per function, the first node of A's path from here on that B's path has, too,
 * is aligned with its first place there. It needs no regions, and is not symmetric. For comparison. */
#include "spec/align/align.h"

#include <errno.h>
#include <stdlib.h>

#define DEPTH_MAX 2000

struct place {
	uint64_t label;
	size_t at;
};

/* Order of qsort: by label, then by place. */
static int compare_places_by_label(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* The first place of the label that is not before `from`; SIZE_MAX there is none. */
static size_t find_from(const struct place *v, size_t n, uint64_t label, size_t from)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (v[mid].label < label || (v[mid].label == label && v[mid].at < from))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && v[lo].label == label ? v[lo].at : SIZE_MAX;
}

static int align_path_greedily(struct align_writer *w, const size_t from[2], const size_t to[2], bool call,
                               unsigned depth);

/* Aligns a pair of items and what they contain. Depth: of calls within calls; beyond DEPTH_MAX the insides are not
 * aligned. 0, -ENOMEM. */
static int greedy_pair(struct align_writer *w, const struct region_items lists[2], size_t i, size_t k, unsigned depth)
{
	size_t from[2] = {lists[0].v[i].start, lists[1].v[k].start};
	size_t to[2] = {region_items_end(&lists[0], i), region_items_end(&lists[1], k)};
	if (lists[0].v[i].hash == lists[1].v[k].hash)
		return align_emit_match(w, from[0], from[1], to[0] - from[0]);
	if (w->reading->symbols->v[w->side[0].v[from[0]]].kind == STEP_ENTER && depth < DEPTH_MAX)
		return align_path_greedily(w, from, to, true, depth + 1);
	if (depth == DEPTH_MAX)
		w->result->exact = false;
	return align_emit_match(w, from[0], from[1], 1);
}

/* One function's path on both sides. 0, -ENOMEM. */
static int align_path_greedily(struct align_writer *w, const size_t from[2], const size_t to[2], bool call,
                               unsigned depth)
{
	struct region_items got[2][2] = {0}, lists[2];
	struct place *match = NULL;
	int r = 0;
	for (int s = 0; r == 0 && s < 2; s++) {
		struct region_stack stack = {0};
		struct region region = {.kind = REGION_CALL, .start = from[s]};
		if (call)
			r = region_push(&stack, &region);
		if (r == 0)
			r = regions_read(w->reading, w->side[s].v, from[s] + call, to[s], true, &stack, got[s], NULL);
		region_stack_release(&stack);
		lists[s] = got[s][call];
	}
	if (r == 0 && call)
		r = align_emit_match(w, from[0], from[1], 1);
	size_t i = 0, k = 0, na = lists[0].n, nb = lists[1].n;
	while (r == 0 && i < na && k < nb) {
		uint64_t label = region_label(w->reading, w->side[0].v[lists[0].v[i].start], REGION_CALL, false);
		if (label == region_label(w->reading, w->side[1].v[lists[1].v[k].start], REGION_CALL, false)) {
			r = greedy_pair(w, lists, i++, k++, depth);
			continue;
		}
		if (!match) {
			match = malloc(nb * sizeof(*match));
			if (!match)
				r = -ENOMEM;
			for (size_t q = 0; r == 0 && q < nb; q++)
				match[q] =
				    (struct place){region_label(w->reading, w->side[1].v[lists[1].v[q].start], REGION_CALL, false), q};
			if (r == 0)
				qsort(match, nb, sizeof(*match), compare_places_by_label);
		}
		for (; r == 0 && i < na; i++) {
			size_t at = find_from(match, nb,
			                      region_label(w->reading, w->side[0].v[lists[0].v[i].start], REGION_CALL, false), k);
			if (at != SIZE_MAX) {
				k = at;
				r = greedy_pair(w, lists, i++, k++, depth);
				break;
			}
		}
	}
	if (r == 0)
		align_emit_unmatched(w, na ? lists[0].end : 0, nb ? lists[1].end : 0);
	if (r == 0 && call && lists[0].end < to[0] && lists[1].end < to[1])
		r = align_emit_match(w, lists[0].end, lists[1].end, 1);
	for (int s = 0; s < 4; s++)
		region_items_release(&got[s / 2][s % 2]);
	free(match);
	return r;
}

int align_greedy(const struct reading *reading, const struct align_side side[2], const struct align_pairs *pairs,
                 struct align_result *ret)
{
	struct reading flat = *reading;
	struct align_writer w = {
	    .reading = &flat, .side = side, .pairs = pairs, .result = ret, .loop_function = LAYOUT_NONE};
	size_t from[2] = {0, 0}, to[2] = {side[0].n, side[1].n};
	flat.flat = true;
	ret->exact = true;
	int r = align_path_greedily(&w, from, to, false, 0);
	return r < 0 ? r : align_emit_end(&w);
}
