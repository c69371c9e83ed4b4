#include "spec/align/steps.h"

#include <errno.h>
#include <stdlib.h>

/* Equal symbols have the same (symbol_same). */
static uint64_t symbol_hash(const struct symbol *s)
{
	uint64_t h = (s->kind + 1) * 0x9e3779b97f4a7c15u;
	h = (h ^ ((uint64_t)s->of << 32 | s->node)) * 0xbf58476d1ce4e5b9u;
	h = ((h ^ h >> 29) + s->value) * 0x94d049bb133111ebu;
	h = (h ^ h >> 32) * 0x9fb21c651e98df25u;
	return h ^ h >> 31;
}

/* What it chooses by does not count. */
static bool symbol_same(const struct symbol *a, const struct symbol *b)
{
	return a->kind == b->kind && a->of == b->of && a->node == b->node && a->value == b->value;
}

/* Makes the table of symbols larger. 0, -ENOMEM; nothing is lost then. */
static int grow_symbols(struct symbols *t)
{
	uint32_t n_slots = t->n_slots ? 2 * t->n_slots : 1024;
	uint32_t *slot = calloc(n_slots, sizeof(*slot));
	struct symbol *v = realloc(t->v, n_slots / 2 * sizeof(*v));
	if (v)
		t->v = v;
	if (!slot || !v) {
		free(slot);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t at = (uint32_t)v[i].hash & (n_slots - 1);
		while (slot[at])
			at = (at + 1) & (n_slots - 1);
		slot[at] = i + 1;
	}
	free(t->slot);
	t->slot = slot;
	t->n_slots = n_slots;
	t->cap = n_slots / 2;
	return 0;
}

int symbols_number(struct symbols *t, const struct symbol *s, uint32_t *ret)
{
	if (t->n == t->cap) {
		int r = t->n >= SYMBOLS_MAX ? -ENOMEM : grow_symbols(t);
		if (r < 0)
			return r;
	}
	uint64_t hash = symbol_hash(s);
	uint32_t at = (uint32_t)hash & (t->n_slots - 1);
	while (t->slot[at] && !symbol_same(&t->v[t->slot[at] - 1], s))
		at = (at + 1) & (t->n_slots - 1);
	if (!t->slot[at]) {
		t->v[t->n] = *s;
		t->v[t->n].hash = hash;
		t->slot[at] = ++t->n;
	}
	*ret = t->slot[at] - 1;
	return 0;
}

/* t is empty then. */
void symbols_release(struct symbols *t)
{
	free(t->v);
	free(t->slot);
	*t = (struct symbols){0};
}

int steps_add(struct steps *s, uint32_t symbol)
{
	if (s->n == s->cap) {
		size_t cap = s->cap ? s->cap + s->cap / 2 : 1024; /* by half: two of 10 million are to fit into 200 MB */
		if (s->n >= STEPS_MAX)
			return -E2BIG;
		uint32_t *v = realloc(s->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		s->v = v;
		s->cap = cap;
	}
	s->v[s->n++] = symbol;
	return 0;
}

/* s is empty then. */
void steps_release(struct steps *s)
{
	free(s->v);
	*s = (struct steps){0};
}
