#include "query/idmap.h"

#include <stdlib.h>

/* Row ids are dense: a multiplicative hash spreads neighbours over the table. Where they are of one kind, it spreads
 * groups of eight rows, 16 slots each (256 bytes): one slot for the first execution or version, one for the second; of
 * further ones each two are spread by themselves. Which of the 16 is whose differs by group: where only one row in many
 * is there, they are spread all the same. */
static size_t idmap_hash_slot(const struct idmap *m, uint64_t key)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ull, mask = m->cap - 1;
	if (!m->near)
		return (size_t)(key * golden >> 20 & mask);
	uint64_t row = key >> m->near, n = key & ((UINT64_C(1) << m->near) - 1);
	uint64_t group = (row >> 3) + (n >> 1) * 0xff51afd7ed558ccdull;
	group ^= group >> 29;
	return (size_t)((group * golden >> 20 & mask) ^ ((row & 7) << 1 | (n & 1)));
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
	struct idmap bigger = {.cap = m->cap ? m->cap * 2 : 64, .n = m->n, .near = m->near};
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
