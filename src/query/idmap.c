#include "query/idmap.h"

#include <stdlib.h>

/* Row ids are dense: a multiplicative hash spreads neighbours over the table. */
static size_t idmap_hash_slot(const struct idmap *m, uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 20) & (m->cap - 1);
}

/* The key's slot, or the free one where it would be. */
static struct idmap_slot *idmap_probe(const struct idmap *m, uint64_t key)
{
	size_t i = idmap_hash_slot(m, key);
	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

/* Makes the table larger. false: no memory; it is as it was. */
static bool idmap_grow(struct idmap *m)
{
	struct idmap bigger = {.cap = m->cap ? m->cap * 2 : 64, .n = m->n};
	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return false;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			*idmap_probe(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	*m = bigger;
	return true;
}

uint32_t *idmap_find(const struct idmap *m, uint64_t key)
{
	if (!m->cap)
		return NULL;
	struct idmap_slot *s = idmap_probe(m, key);
	return s->key ? &s->value : NULL;
}

uint32_t *idmap_add(struct idmap *m, uint64_t key, uint32_t value, bool *ret_new)
{
	if ((m->n + 1) * 2 > m->cap && !idmap_grow(m))
		return NULL;
	struct idmap_slot *s = idmap_probe(m, key);
	*ret_new = !s->key;
	if (!s->key) {
		s->key = key;
		s->value = value;
		m->n++;
	}
	return &s->value;
}

/* m is empty then. */
void idmap_release(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){0};
}
