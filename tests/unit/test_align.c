/* test_align.c - alignment of traces, against what its definition says, tried by brute force.
 *
 * Programs are graphs made at random, irreducible ones included; traces are walks through them, of which the second
 * takes some decisions otherwise. The reference knows nothing of stacks, hashes or O(ND): joins and loops by taking
 * nodes away and looking what can still be reached, regions by cutting lists into pieces, and the longest common
 * subsequence by the table that everybody knows. */
#include "spec/align/align.h"
#include "spec/align/align_noise.h"
#include "spec/align/match.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(v) (sizeof(v) / sizeof(*(v)))

static uint32_t state;
static uint32_t draw(uint32_t below)
{
	state = state * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(state >> 8) * below >> 24);
}

static uint32_t scatter(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15u + b) * 0xbf58476d1ce4e5b9u;
	h = ((h ^ h >> 29) + c) * 0x94d049bb133111ebu;
	h = ((h ^ h >> 31) + d) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 33);
}

/* ---- programs ---- */

#define NODES 14
#define FUNCTIONS 4
enum { QUIET, DECISION, CALL };
struct function {
	uint32_t n, n_edges;
	struct layout_edge edges[NODES * 4];
	int kind[NODES];
	uint32_t callee[NODES]; /* FUNCTIONS: a library's */
	bool seen[NODES];
	struct flow_layout layout;
};
static struct function program[FUNCTIONS];

static void make_function(struct function *f, uint32_t self)
{
	f->n = 3 + draw(NODES - 3);
	f->n_edges = 0;
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t out = i + 1 == f->n ? 0 : 1 + (draw(5) < 2) + (draw(10) == 0);
		f->kind[i] = QUIET;
		for (uint32_t k = 0; k < out; k++) {
			/* mostly forwards and near, sometimes back */
			uint32_t to = draw(4) == 0 ? draw(f->n) : i + 1 + draw(f->n - i - 1 < 3 ? f->n - i - 1 : 3);
			f->edges[f->n_edges++] = (struct layout_edge){i, to};
		}
		if (out > 1)
			f->kind[i] = draw(8) ? DECISION : QUIET;
		else if (i && out == 1 && draw(2))
			f->kind[i] = CALL;
		f->callee[i] = draw(3) ? FUNCTIONS : self + 1 + draw(FUNCTIONS - self); /* FUNCTIONS and more: no call */
		f->seen[i] = f->kind[i] != QUIET;
	}
}

static void make_program(void)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		struct function *f = &program[i];
		make_function(f, i);
		assert_int_equal(flow_layout_make(f->n, f->seen, 0, f->edges, f->n_edges, &f->layout), 0);
	}
}

static void release_program(void)
{
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		flow_layout_release(&program[i].layout);
}

/* ---- joins and loops, by definition ---- */

/* In the graph of seen nodes (and the exit, node n): thin[a][b], a path from a to b through unseen ones only. */
static bool thin[NODES + 1][NODES + 1];

static void through(const struct function *f, uint32_t from, uint32_t at, bool *visited)
{
	bool any = false;
	for (uint32_t e = 0; e < f->n_edges; e++)
		if (f->edges[e].from == at) {
			uint32_t to = f->edges[e].to;
			any = true;
			if (visited[to])
				continue;
			visited[to] = true;
			if (f->seen[to])
				thin[from][to] = true;
			else
				through(f, from, to, visited);
		}
	if (!any)
		thin[from][f->n] = true;
}

/* Which nodes of `in` can be reached from `from`, without `without`. */
static void reach(uint32_t n, uint32_t from, uint32_t without, const bool *in, bool *ret)
{
	for (uint32_t to = 0; to <= n; to++)
		if (thin[from][to] && to != without && (!in || in[to]) && !ret[to]) {
			ret[to] = true;
			reach(n, to, without, in, ret);
		}
}

/* Is `head` in a cycle with `node`, in `in`? */
static bool together(uint32_t n, uint32_t a, uint32_t b, const bool *in, uint32_t not_into)
{
	bool ra[NODES + 1] = {false}, rb[NODES + 1] = {false}, inside[NODES + 1];
	for (uint32_t i = 0; i <= n; i++)
		inside[i] = (!in || in[i]) && i != not_into;
	reach(n, a, LAYOUT_NONE, inside, ra);
	reach(n, b, LAYOUT_NONE, inside, rb);
	return ra[b] && rb[a];
}

static void check_shape(const struct function *f)
{
	const struct flow_layout *s = &f->layout;
	bool alive[NODES + 1] = {false};
	memset(thin, 0, sizeof(thin));
	for (uint32_t i = 0; i < f->n; i++)
		if (f->seen[i] || i == 0) {
			bool visited[NODES] = {false};
			through(f, i, i, visited);
		}
	alive[0] = true;
	reach(f->n, 0, LAYOUT_NONE, NULL, alive);
	/* Loops: what the forest says of each loop holds by definition, and nothing that cycles is in none. */
	for (uint32_t l = 0; l < s->n_loops; l++) {
		uint32_t parent = s->loops[l].parent, members = 0;
		bool within[NODES + 1];
		for (uint32_t i = 0; i <= f->n; i++)
			within[i] = i < f->n && alive[i] && (parent == LAYOUT_NONE || (layout_in_loop(s, i, parent)));
		uint32_t not_into = parent == LAYOUT_NONE ? LAYOUT_NONE : s->loops[parent].head;
		assert_true(layout_in_loop(s, s->loops[l].head, l));
		for (uint32_t i = 0; i < f->n; i++)
			if (within[i]) {
				assert_int_equal(layout_in_loop(s, i, l), together(f->n, i, s->loops[l].head, within, not_into));
				members += layout_in_loop(s, i, l);
			}
		assert_true(members > 0);
	}
	for (uint32_t i = 0; i < f->n; i++)
		if (alive[i] && (f->seen[i] || i == 0))
			assert_int_equal(s->loop[i] != LAYOUT_NONE, together(f->n, i, i, NULL, LAYOUT_NONE));
	/* Joins, where every node can end the function: there the definition needs no more. */
	for (uint32_t i = 0; i < f->n; i++) {
		bool r[NODES + 1] = {false};
		if (alive[i])
			reach(f->n, i, LAYOUT_NONE, NULL, r);
		if (alive[i] && !r[f->n])
			return;
	}
	for (uint32_t d = 0; d < f->n; d++) {
		bool post[NODES + 1] = {false};
		uint32_t ways = 0, join = LAYOUT_NONE;
		if (!f->seen[d] || !alive[d])
			continue;
		for (uint32_t i = 0; i <= f->n; i++)
			ways += thin[d][i];
		for (uint32_t m = 0; m < f->n; m++) {
			bool r[NODES + 1] = {false};
			reach(f->n, d, m, NULL, r);
			post[m] = m != d && !r[f->n];
		}
		for (uint32_t m = 0; m < f->n; m++) { /* the nearest: all others come behind it */
			bool nearest = post[m];
			for (uint32_t o = 0; nearest && o < f->n; o++) {
				bool r[NODES + 1] = {false};
				if (post[o] && o != m) {
					reach(f->n, m, o, NULL, r);
					nearest = !r[f->n];
				}
			}
			if (nearest)
				join = m;
		}
		uint32_t loop = s->loop[d];
		bool region = ways > 1 && join != LAYOUT_NONE &&
		              (loop == LAYOUT_NONE || (layout_in_loop(s, join, loop) && s->loops[loop].head != join));
		assert_int_equal(s->join[d], region ? join : LAYOUT_NONE);
	}
}

static void test_shape(void **unused)
{
	(void)unused;
	for (state = 1; state < 4000; state += 2) {
		uint32_t was = state;
		make_program();
		for (uint32_t i = 0; i < FUNCTIONS; i++)
			check_shape(&program[i]);
		release_program();
		state = was;
	}
}

/* ---- walks ---- */

static struct symbols symbols;
struct walk {
	struct steps steps;
	uint32_t seed, other[4], visits[FUNCTIONS][NODES];
	unsigned n_other;
	uint32_t decisions, moves;
	size_t most;
};

static void step(struct walk *w, struct symbol s)
{
	uint32_t number;
	assert_int_equal(symbols_number(&symbols, &s, &number), 0);
	assert_int_equal(steps_add(&w->steps, number), 0);
}

static void walk_function(struct walk *w, uint32_t of)
{
	const struct function *f = &program[of];
	uint32_t at = 0;
	step(w, (struct symbol){.kind = STEP_ENTER, .of = of});
	for (;;) {
		uint32_t out[8], n = 0, way = 0;
		for (uint32_t e = 0; e < f->n_edges; e++)
			if (f->edges[e].from == at)
				out[n++] = f->edges[e].to;
		if (!n)
			break;
		if (n > 1) {
			way = scatter(w->seed, of, at, w->visits[of][at]++) % n;
			for (unsigned i = 0; i < w->n_other; i++)
				if (w->decisions == w->other[i])
					way = (way + 1) % n;
			w->decisions++;
		}
		if (w->steps.n > w->most || w->moves++ > 5000)
			return; /* as if it had been killed */
		if (f->kind[at] == DECISION)
			step(w, (struct symbol){.kind = STEP_AT, .chooses = true, .of = of, .node = at, .value = way});
		else if (f->kind[at] == CALL) {
			step(w, (struct symbol){.kind = STEP_AT, .of = of, .node = at});
			if (f->callee[at] < FUNCTIONS)
				walk_function(w, f->callee[at]);
			if (w->steps.n > w->most || w->moves > 5000)
				return;
		}
		at = out[way];
	}
	step(w, (struct symbol){.kind = STEP_LEAVE});
}

/* ---- the definition ---- */

struct piece {
	enum region_kind kind;
	uint32_t of, id;
	size_t from, to;
};
static const uint32_t *step_of[2];
static const size_t *pair_of[2]; /* SIZE_MAX: not aligned */
static size_t fork_at;

static const struct symbol *sym(int side, size_t i)
{
	return &symbols.v[step_of[side][i]];
}

/* The end of the call that begins at i. */
static size_t call_end(int side, size_t i, size_t to)
{
	size_t depth = 0;
	for (; i < to; i++) {
		depth += sym(side, i)->kind == STEP_ENTER;
		if (sym(side, i)->kind == STEP_LEAVE && --depth == 0)
			return i + 1;
	}
	return to;
}

/* Cuts [from, to), which is of one function and one region, into its pieces. */
static size_t pieces(int side, size_t from, size_t to, enum region_kind in, struct piece *ret)
{
	size_t n = 0;
	for (size_t i = from, end; i < to; i = end) {
		const struct symbol *s = sym(side, i);
		struct piece p = {REGION_STEP, s->of, 0, i, i + 1};
		if (s->kind == STEP_ENTER) {
			p.kind = REGION_CALL;
			p.to = call_end(side, i, to);
		} else if (s->kind == STEP_AT) {
			const struct flow_layout *layout = &program[s->of].layout;
			uint32_t loop = layout->loop[s->node];
			bool head = loop != LAYOUT_NONE && layout->loops[loop].head == s->node;
			if (head && !(in == REGION_ITERATION && i == from)) {
				p.kind = in == REGION_LOOP ? REGION_ITERATION : REGION_LOOP;
				p.id = loop;
				while (p.to < to) { /* steps of its nodes and calls from there */
					const struct symbol *q = sym(side, p.to);
					if (q->kind == STEP_ENTER)
						p.to = call_end(side, p.to, to);
					else if (!layout_in_loop(layout, q->node, loop) ||
					         (p.kind == REGION_ITERATION && q->node == s->node))
						break;
					else
						p.to++;
				}
			} else if (layout->join[s->node] != LAYOUT_NONE) {
				p.kind = REGION_BRANCH;
				p.id = s->node;
				while (p.to < to) {
					const struct symbol *q = sym(side, p.to);
					if (q->kind == STEP_ENTER)
						p.to = call_end(side, p.to, to);
					else if (q->node == layout->join[s->node] || q->node == s->node)
						break;
					else
						p.to++;
				}
			}
		}
		end = p.to;
		ret[n++] = p;
	}
	return n;
}

static bool same_piece(const struct piece *a, const struct piece *b)
{
	return a->to - a->from == b->to - b->from && a->kind == b->kind &&
	       memcmp(step_of[0] + a->from, step_of[1] + b->from, (a->to - a->from) * sizeof(uint32_t)) == 0;
}

static bool like_piece(const struct piece *a, const struct piece *b)
{
	const struct symbol *x = sym(0, a->from), *y = sym(1, b->from);
	if (a->kind == REGION_ITERATION && b->kind == REGION_ITERATION)
		return true;
	return x->kind == y->kind && x->of == y->of && x->node == y->node &&
	       (a->kind == REGION_LOOP) == (b->kind == REGION_LOOP);
}

static size_t longest(const struct piece *a, size_t na, const struct piece *b, size_t nb,
                      bool (*equal)(const struct piece *, const struct piece *))
{
	size_t *row = calloc((na + 1) * (nb + 1), sizeof(*row)), w = nb + 1, n;
	for (size_t i = 1; i <= na; i++)
		for (size_t k = 1; k <= nb; k++) {
			size_t up = row[(i - 1) * w + k], left = row[i * w + k - 1];
			row[i * w + k] = equal(&a[i - 1], &b[k - 1]) ? row[(i - 1) * w + k - 1] + 1 : up > left ? up : left;
		}
	n = row[na * w + nb];
	free(row);
	return n;
}

static void check_lists(size_t a0, size_t a1, size_t b0, size_t b1, enum region_kind in);

/* Was the call left, not cut off? */
static bool is_left(int side, const struct piece *p)
{
	size_t depth = 0;
	for (size_t i = p->from; i < p->to; i++)
		depth += sym(side, i)->kind == STEP_ENTER ? 1 : sym(side, i)->kind == STEP_LEAVE ? (size_t)-1 : 0;
	return depth == 0;
}

static void check_inside(const struct piece *a, const struct piece *b)
{
	if (a->kind == REGION_STEP || a->kind != b->kind)
		return;
	size_t own = a->kind == REGION_CALL || a->kind == REGION_BRANCH;
	size_t ends[2] = {a->to, b->to};
	if (a->kind == REGION_CALL) {
		bool left[2] = {is_left(0, a), is_left(1, b)};
		ends[0] -= left[0];
		ends[1] -= left[1];
		if (left[0] && left[1])
			assert_int_equal(pair_of[0][a->to - 1], b->to - 1);
	}
	check_lists(a->from + own, ends[0], b->from + own, ends[1], a->kind);
}

/* All that was aligned between the two stretches is what the definition says. */
static void check_lists(size_t a0, size_t a1, size_t b0, size_t b1, enum region_kind in)
{
	struct piece *a = malloc((a1 - a0 + 1) * sizeof(*a)), *b = malloc((b1 - b0 + 1) * sizeof(*b));
	size_t na = pieces(0, a0, a1, in, a), nb = pieces(1, b0, b1, in, b), same = 0, first = 0;
	size_t *with = malloc((na + 1) * sizeof(*with)), k = 0;
	for (size_t i = 0; i < na; i++) { /* which piece is aligned with which: increasing, and of equal labels */
		bool own = a[i].kind != REGION_LOOP && a[i].kind != REGION_ITERATION;
		size_t to = SIZE_MAX;
		with[i] = SIZE_MAX;
		for (size_t q = a[i].from; to == SIZE_MAX && q < (own ? a[i].from + 1 : a[i].to); q++)
			to = pair_of[0][q];
		if (to == SIZE_MAX)
			continue;
		while (k < nb && b[k].to <= to)
			k++;
		assert_true(k < nb && b[k].from <= to && (!own || b[k].from == to));
		assert_true(like_piece(&a[i], &b[k]));
		with[i] = k++;
	}
	/* The prefix is aligned with itself, up to the piece in which the sides part. */
	while (first < na && first < nb && a[first].from == b[first].from && a[first].from < fork_at) {
		assert_int_equal(with[first], first);
		if (same_piece(&a[first], &b[first]))
			for (size_t i = a[first].from; i < a[first].to; i++)
				assert_int_equal(pair_of[0][i], i);
		else
			check_inside(&a[first], &b[first]);
		first++;
	}
	if (first < na && first < nb && a[first].from == fork_at && b[first].from == fork_at &&
	    like_piece(&a[first], &b[first])) {
		assert_int_equal(with[first], first);
		check_inside(&a[first], &b[first]);
		first++;
	}
	/* Of the rest, as many as can be are equal ... */
	size_t ga = first, gb = first;
	for (size_t i = first; i <= na; i++) {
		bool equal = i < na && with[i] != SIZE_MAX && same_piece(&a[i], &b[with[i]]);
		if (!equal && i < na)
			continue;
		size_t to = i < na ? with[i] : nb, like = 0;
		/* ... between these as many as can be are alike ... */
		for (size_t q = ga; q < i; q++)
			if (with[q] != SIZE_MAX) {
				like++;
				check_inside(&a[q], &b[with[q]]);
			}
		assert_int_equal(like, longest(a + ga, i - ga, b + gb, to - gb, like_piece));
		if (i < na) {
			same++;
			for (size_t s = 0; s < a[i].to - a[i].from; s++)
				assert_int_equal(pair_of[0][a[i].from + s], b[to].from + s);
		}
		ga = i + 1;
		gb = to + 1;
	}
	assert_int_equal(same, longest(a + first, na - first, b + first, nb - first, same_piece));
	/* ... and what has no partner has none inside either. */
	for (size_t i = 0; i < na; i++)
		for (size_t s = a[i].from; with[i] == SIZE_MAX && s < a[i].to; s++)
			assert_int_equal(pair_of[0][s], SIZE_MAX);
	free(a);
	free(b);
	free(with);
}

struct told {
	size_t *pair[2];
	size_t last[2];
	bool any;
};

static void take(void *of, size_t a, size_t b, size_t n)
{
	struct told *t = of;
	if (t->any) {
		assert_true(a >= t->last[0]);
		assert_true(b >= t->last[1]);
	}
	for (size_t i = 0; i < n; i++) {
		t->pair[0][a + i] = b + i;
		t->pair[1][b + i] = a + i;
	}
	t->last[0] = a + n;
	t->last[1] = b + n;
	t->any = true;
}

static void run(struct walk w[2], bool turned, struct told *told, struct align_result *result,
                int (*way)(const struct reading *, const struct align_side[2], const struct align_pairs *,
                           struct align_result *))
{
	const struct flow_layout *layouts[FUNCTIONS];
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		layouts[i] = &program[i].layout;
	struct reading reading = {&symbols, layouts, FUNCTIONS, false};
	struct align_side side[2] = {{w[turned].steps.v, w[turned].steps.n}, {w[!turned].steps.v, w[!turned].steps.n}};
	struct align_pairs pairs = {take, told};
	*told = (struct told){0};
	for (int s = 0; s < 2; s++) {
		told->pair[s] = malloc((side[s].n + 1) * sizeof(size_t));
		memset(told->pair[s], 0xff, (side[s].n + 1) * sizeof(size_t));
	}
	*result = (struct align_result){0};
	assert_int_equal(way(&reading, side, &pairs, result), 0);
}

/* The divergences are the maximal stretches between aligned pairs, and the decisions that went different ways. */
static void check_divergences(struct walk w[2], const struct told *told, const struct align_result *r)
{
	size_t n = 0, a = 0, b = 0, at[2] = {ALIGN_START, ALIGN_START};
	bool open = false, decision = false;
	while (a <= w[0].steps.n) {
		size_t to = a < w[0].steps.n ? told->pair[0][a] : w[1].steps.n;
		if (to == SIZE_MAX) {
			a++;
			open = true;
			continue;
		}
		open |= to != b;
		if (open) {
			assert_true(n < r->n);
			const struct divergence *d = &r->v[n++];
			assert_int_equal(d->at[0], at[0]);
			assert_int_equal(d->at[1], at[1]);
			assert_int_equal(d->end[0], a);
			assert_int_equal(d->end[1], to);
			assert_int_equal(d->decision, decision);
		}
		if (a == w[0].steps.n)
			break;
		at[0] = a++;
		at[1] = to;
		b = to + 1;
		open = decision = w[0].steps.v[at[0]] != w[1].steps.v[at[1]];
	}
	assert_int_equal(n, r->n);
	assert_int_equal(n, r->total);
}

static void check_turned(const struct align_result *a, const struct align_result *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		for (int s = 0; s < 2; s++) {
			assert_int_equal(a->v[i].at[s], b->v[i].at[!s]);
			assert_int_equal(a->v[i].end[s], b->v[i].end[!s]);
			assert_int_equal(a->v[i].decision, b->v[i].decision);
			assert_int_equal(a->v[i].loop_function, b->v[i].loop_function);
			assert_int_equal(a->v[i].iterations[s], b->v[i].iterations[!s]);
		}
}

static void told_release(struct told *t)
{
	free(t->pair[0]);
	free(t->pair[1]);
}

static void test_align(void **unused)
{
	(void)unused;
	size_t parted = 0, equal = 0, rejoined = 0, looped = 0, killed = 0;
	for (uint32_t round = 0; round < 6000; round++) {
		struct walk w[2] = {0};
		struct told told, turned;
		struct align_result result, back, greedy;
		state = 7 * round + 1;
		make_program();
		w[0].seed = w[1].seed = draw(1000000);
		w[0].most = w[1].most = 20 + draw(300);
		w[1].n_other = draw(5);
		for (unsigned i = 0; i < w[1].n_other; i++)
			w[1].other[i] = draw(12);
		if (draw(20) == 0)
			w[1].seed++;
		walk_function(&w[0], 0);
		walk_function(&w[1], 0);
		run(w, false, &told, &result, align_sides);
		/* The first divergence is the end of the common prefix. */
		for (fork_at = 0;
		     fork_at < w[0].steps.n && fork_at < w[1].steps.n && w[0].steps.v[fork_at] == w[1].steps.v[fork_at];)
			fork_at++;
		if (fork_at == w[0].steps.n && fork_at == w[1].steps.n) {
			assert_int_equal(result.total, 0);
			equal++;
		} else {
			assert_true(result.n > 0);
			const struct divergence *d = &result.v[0];
			assert_int_equal(d->at[0], d->at[1]);
			assert_int_equal(d->at[0], d->decision ? fork_at : fork_at - 1);
			parted++;
			rejoined += d->end[0] < w[0].steps.n;
			looped += d->loop_function != LAYOUT_NONE;
		}
		killed += symbols.v[w[0].steps.v[w[0].steps.n - 1]].kind != STEP_LEAVE;
		for (int s = 0; s < 2; s++) {
			step_of[s] = w[s].steps.v;
			pair_of[s] = told.pair[s];
		}
		check_divergences(w, &told, &result);
		check_lists(0, w[0].steps.n, 0, w[1].steps.n, REGION_STEP);
		run(w, true, &turned, &back, align_sides);
		check_turned(&result, &back);
		told_release(&turned);
		run(w, false, &turned, &greedy, align_greedy);
		check_divergences(w, &turned, &greedy);
		assert_int_equal(greedy.total == 0, result.total == 0);
		told_release(&told);
		told_release(&turned);
		align_result_release(&result);
		align_result_release(&back);
		align_result_release(&greedy);
		for (int s = 0; s < 2; s++)
			steps_release(&w[s].steps);
		symbols_release(&symbols);
		release_program();
	}
	/* That the test met what it is about. */
	printf("# %zu parted, %zu equal, %zu met again, %zu by turns, %zu killed\n", parted, equal, rejoined, looped,
	       killed);
	assert_true(parted > 1000 && equal > 1000 && rejoined > 500 && looped > 100 && killed > 300);
}

static void test_match(void **unused)
{
	(void)unused;
	for (state = 1; state < 40000; state += 3) {
		uint32_t was = state;
		uint64_t a[40], b[40];
		uint32_t match[40], back[40];
		size_t na = draw(40), nb = draw(40), table[41][41] = {{0}}, n = 0, next = 0;
		uint32_t kinds = 1 + draw(12);
		bool exact = true;
		for (size_t i = 0; i < na; i++)
			a[i] = draw(kinds);
		for (size_t i = 0; i < nb; i++)
			b[i] = draw(8) && i < na ? a[i] : draw(kinds);
		assert_int_equal(match_rows(a, na, b, nb, match, &exact), 0);
		assert_true(exact);
		for (size_t i = 1; i <= na; i++)
			for (size_t k = 1; k <= nb; k++)
				table[i][k] = a[i - 1] == b[k - 1]                ? table[i - 1][k - 1] + 1
				              : table[i - 1][k] > table[i][k - 1] ? table[i - 1][k]
				                                                  : table[i][k - 1];
		for (size_t i = 0; i < na; i++)
			if (match[i] != MATCH_NONE) {
				assert_true(match[i] >= next && match[i] < nb);
				assert_true(a[i] == b[match[i]]);
				next = match[i] + 1;
				n++;
			}
		assert_int_equal(n, table[na][nb]);
		assert_int_equal(match_rows(b, nb, a, na, back, &exact), 0);
		for (size_t i = 0; i < na; i++)
			assert_true(match[i] == MATCH_NONE || back[match[i]] == i);
		state = was;
	}
}

/* The same with weights, which are those of what is equal. */
static void test_match_heaviest(void **unused)
{
	(void)unused;
	for (state = 2; state < 30000; state += 3) {
		uint32_t was = state;
		uint64_t a[30], b[30], table[31][31] = {{0}}, sum = 0;
		uint32_t weight[30], of[12], match[30], back[30], weight_b[30];
		size_t na = draw(30), nb = draw(30), next = 0;
		uint32_t kinds = 1 + draw(LENGTH(of));
		for (size_t i = 0; i < LENGTH(of); i++)
			of[i] = 1 + draw(20);
		for (size_t i = 0; i < na; i++)
			weight[i] = of[a[i] = draw(kinds)];
		for (size_t i = 0; i < nb; i++)
			weight_b[i] = of[b[i] = draw(kinds)];
		assert_int_equal(match_heaviest(a, weight, na, b, nb, match), 0);
		for (size_t i = 1; i <= na; i++)
			for (size_t k = 1; k <= nb; k++) {
				table[i][k] = table[i - 1][k] > table[i][k - 1] ? table[i - 1][k] : table[i][k - 1];
				if (a[i - 1] == b[k - 1] && table[i - 1][k - 1] + weight[i - 1] > table[i][k])
					table[i][k] = table[i - 1][k - 1] + weight[i - 1];
			}
		for (size_t i = 0; i < na; i++)
			if (match[i] != MATCH_NONE) {
				assert_true(match[i] >= next && match[i] < nb && a[i] == b[match[i]]);
				next = match[i] + 1;
				sum += weight[i];
			}
		assert_int_equal(sum, table[na][nb]);
		assert_int_equal(match_heaviest(b, weight_b, nb, a, na, back), 0);
		for (size_t i = 0; i < na; i++)
			assert_true(match[i] == MATCH_NONE || back[match[i]] == i);
		state = was;
	}
	assert_int_equal(match_heaviest(NULL, NULL, 3000, NULL, 3000, NULL), -E2BIG);
}

/* What is left of steps of one function, by node, without what the noisy ones lead to; '<' and '>' enter and leave
 * another. */
static void without_noise(const struct spec *spec, const struct flow_layout *layout, const struct align_noise *noise,
                          const char *steps, char *ret)
{
	struct noise_skip skip = {0};
	size_t depth = 1;
	for (const char *p = steps; *p; p++) {
		struct symbol s = {.kind = *p == '<' ? STEP_ENTER : *p == '>' ? STEP_LEAVE : STEP_AT, .of = depth > 1};
		depth += *p == '<' ? 1 : *p == '>' ? (size_t)-1 : 0;
		struct noise_place at = {
		    .depth = depth, .function = depth > 1, .layout = depth > 1 ? NULL : layout, .spec = spec};
		if (s.kind == STEP_AT) {
			s.node = (uint32_t)(*p - '0');
			s.chooses = spec->nodes[s.node].kind == SPEC_DECISION;
			s.value = 1;
			at.node = depth > 1 ? NULL : &spec->nodes[s.node];
		}
		if (noise_skips(&skip, noise, &at, &s))
			continue;
		*ret++ = *p;
		if (s.chooses && !s.value)
			*ret++ = '*';
	}
	*ret = '\0';
}

/* 0 entry -> 1 head of a loop -> 2 if -> 3 call or 4 call -> 5 joined -> 6 if -> 7 call -> 1, or 6 -> 1; 1 -> 8 behind
 * the loop -> 9 return. */
static void test_noise(void **unused)
{
	(void)unused;
	static const struct layout_edge edges[] = {{0, 1}, {1, 2}, {1, 8}, {2, 3}, {2, 4}, {3, 5},
	                                           {4, 5}, {5, 6}, {6, 7}, {6, 1}, {7, 1}, {8, 9}};
	struct spec_node nodes[10] = {0};
	struct spec_edge spec_edges[LENGTH(edges)] = {0};
	struct spec_function function = {.name = "f", .n_nodes = 10};
	struct spec spec = {.functions = &function, .n_functions = 1, .nodes = nodes, .n_nodes = 10, .edges = spec_edges};
	bool seen[10];
	struct flow_layout layout;
	char left[80];
	for (uint32_t i = 0, e = 0; i < 10; i++) {
		seen[i] = true;
		nodes[i].kind = i == 1 || i == 2 || i == 6 ? SPEC_DECISION : SPEC_CALL;
		nodes[i].first_edge = e;
		while (e < LENGTH(edges) && edges[e].from == i) {
			spec_edges[e].to = edges[e].to;
			e++;
		}
		nodes[i].n_edges = e - nodes[i].first_edge;
	}
	assert_int_equal(flow_layout_make(10, seen, 0, edges, LENGTH(edges), &layout), 0);
	static const struct {
		uint32_t node;
		unsigned kinds;
		const char *steps, *left;
	} cases[] = {
	    {9, NOISE_WAY, "12356712456189", "12356712456189"},  /* it decides nothing */
	    {2, NOISE_WAY, "12356712456189", "12*56712*56189"},  /* up to the join */
	    {6, NOISE_WAY, "12356712456189", "12356*12456*189"}, /* up to the head */
	    {1, NOISE_WAY, "12356712456189", "1*89"},            /* whatever number of turns */
	    {1, NOISE_WAY, "189", "1*89"},                       /* ... none, too */
	    {2, NOISE_WAY, "123<12>56189", "12*56189"},          /* with what is called */
	    {2, NOISE_WAY, "123<12>>", "12*>"},                  /* at the latest to the end */
	    {3, NOISE_CALLED, "123<12>56189", "12356189"},       /* whatever was called */
	    {4, NOISE_CALLED, "123<12>56189", "123<12>56189"},
	    {3, NOISE_SOMETIMES, "123<12>561356189",
	     "12561"
	     "56189"}, /* it may as well not be there */
	};
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct align_noise noise = {0};
		assert_int_equal(align_noise_add(&noise, 0, cases[i].node, cases[i].kinds), 1);
		assert_int_equal(align_noise_add(&noise, 0, cases[i].node, cases[i].kinds), 0);
		assert_int_equal(align_noise_at(&noise, 0, cases[i].node), cases[i].kinds);
		without_noise(&spec, &layout, &noise, cases[i].steps, left);
		assert_string_equal(left, cases[i].left);
		align_noise_release(&noise);
	}
	assert_int_equal(align_noise_at(NULL, 0, 1), 0);
	flow_layout_release(&layout);
}

/* Rows that have little in common, and are long: bounded, and still in order. */
static void test_match_bound(void **unused)
{
	(void)unused;
	size_t n = 200000, matched = 0, next = 0;
	uint64_t *a = malloc(n * sizeof(*a)), *b = malloc(n * sizeof(*b));
	uint32_t *match = malloc(n * sizeof(*match));
	bool exact = true;
	state = 5;
	for (size_t i = 0; i < n; i++) {
		a[i] = i % 100 == 0 ? 1000000 + i : draw(1000);
		b[i] = i % 100 == 50 ? 1000000 + i - 50 : draw(1000);
	}
	assert_int_equal(match_rows(a, n, b, n, match, &exact), 0);
	assert_false(exact);
	for (size_t i = 0; i < n; i++)
		if (match[i] != MATCH_NONE) {
			assert_true(match[i] >= next && a[i] == b[match[i]]);
			next = match[i] + 1;
			matched++;
		}
	assert_true(matched >= n / 100);
	free(a);
	free(b);
	free(match);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_match), cmocka_unit_test(test_match_heaviest), cmocka_unit_test(test_match_bound),
	    cmocka_unit_test(test_noise), cmocka_unit_test(test_shape),          cmocka_unit_test(test_align),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
