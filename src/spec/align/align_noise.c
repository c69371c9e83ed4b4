#include "spec/align/align_noise.h"

#include <errno.h>

/* Of a function and a node in it. */
static uint64_t noise_key(uint32_t function, uint32_t node)
{
	return (uint64_t)function << 32 | node;
}

int align_noise_add(struct align_noise *n, uint32_t function, uint32_t node, unsigned kinds)
{
	unsigned there = align_noise_at(n, function, node);
	if ((there & kinds) == kinds)
		return 0;
	return map_set(&n->at, noise_key(function, node), there | kinds) ? 1 : -ENOMEM;
}

unsigned align_noise_at(const struct align_noise *n, uint32_t function, uint32_t node)
{
	uint32_t v = n ? map_get(&n->at, noise_key(function, node)) : VEC_NONE;
	return v == VEC_NONE ? 0 : v;
}

/* It may be used again. */
void align_noise_release(struct align_noise *n)
{
	map_release(&n->at);
}

/* Does a way of the decision lead out of the loop? */
static bool leaves_loop(const struct noise_place *at, uint32_t loop)
{
	for (uint32_t i = 0; at->node && i < at->node->n_edges; i++) {
		uint32_t to = spec_edge(at->spec, at->node, i)->to;
		if (to >= at->layout->n || !layout_in_loop(at->layout, to, loop))
			return true;
	}
	return false;
}

/* Begins to pass over what a noisy decision leads to, up to where its ways meet again. Without a layout nothing is
 * known of that. */
static void begin_skip(struct noise_skip *k, const struct noise_place *at, uint32_t node)
{
	const struct flow_layout *l = at->layout && node < at->layout->n ? at->layout : NULL;
	*k = (struct noise_skip){.depth = at->depth, .join = LAYOUT_NONE, .loop = LAYOUT_NONE, .layout = l};
	if (!l)
		return;
	k->join = l->join[node];
	k->loop = l->loop[node];
	k->exits = k->join == LAYOUT_NONE && k->loop != LAYOUT_NONE && leaves_loop(at, k->loop);
}

/* Is what was chosen over, at a step of the function itself? */
static bool is_over(const struct noise_skip *k, uint32_t node)
{
	if (k->call)
		return true;
	if (k->join != LAYOUT_NONE)
		return node == k->join;
	if (k->loop == LAYOUT_NONE || node >= k->layout->n)
		return false;
	return !layout_in_loop(k->layout, node, k->loop) || (!k->exits && node == k->layout->loops[k->loop].head);
}

/* Whether the step is to be left out. Takes the outcome from steps that stay. */
bool noise_skips(struct noise_skip *k, const struct align_noise *n, const struct noise_place *at, struct symbol *step)
{
	if (k->depth) {
		bool left = at->depth < k->depth;
		if (!left && (step->kind != STEP_AT || at->depth > k->depth || !is_over(k, step->node)))
			return true;
		k->depth = 0;
	}
	if (step->kind == STEP_SILENT)
		return align_noise_at(n, step->of, SPEC_NONE) & NOISE_SILENT;
	unsigned kinds = step->kind == STEP_AT ? align_noise_at(n, step->of, step->node) : 0;
	if (kinds & NOISE_WAY && step->chooses) {
		step->value = 0;
		begin_skip(k, at, step->node);
	} else if (kinds & NOISE_CALLED && !step->chooses) {
		*k = (struct noise_skip){.depth = at->depth, .call = true};
	} else if (kinds & NOISE_SOMETIMES && !step->chooses) {
		*k = (struct noise_skip){.depth = at->depth, .call = true};
		return true;
	}
	return false;
}
