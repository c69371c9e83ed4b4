#include "base/map.h"

#include <string.h>

/* Puts a value that is not in the table. The table must have an empty slot. */
static void slot_put(struct table *t, uint32_t hash, uint32_t val)
{
	size_t i = hash & t->mask;
	while (t->slot[i].val != VEC_NONE)
		i = (i + 1) & t->mask;
	t->slot[i] = (struct table_slot){hash, val};
}

/* Several values may have one hash. False: no memory. */
bool table_add(struct table *t, uint32_t hash, uint32_t val)
{
	if (!t->slot || t->n * 3 >= t->mask * 2) {
		size_t size = t->slot ? (t->mask + 1) * 2 : 64;
		struct table old = *t;
		t->slot = malloc(size * sizeof *t->slot);
		if (!t->slot) {
			t->slot = old.slot;
			return false;
		}
		memset(t->slot, 0xff, size * sizeof *t->slot);
		t->mask = size - 1;
		for (size_t i = 0; old.slot && i <= old.mask; i++)
			if (old.slot[i].val != VEC_NONE)
				slot_put(t, old.slot[i].hash, old.slot[i].val);
		free(old.slot);
	}
	slot_put(t, hash, val);
	t->n++;
	return true;
}

/* Keeps the memory. */
void table_clear(struct table *t)
{
	if (t->n)
		memset(t->slot, 0xff, (t->mask + 1) * sizeof *t->slot);
	t->n = 0;
}

/* t is empty then. */
void table_release(struct table *t)
{
	free(t->slot);
	*t = (struct table){0};
}

/* The slot of the key, or the free one where it belongs. The map has slots, one free at least. */
static size_t map_find(const struct map *m, uint64_t key)
{
	size_t i = hash_mix(key, 0) & m->mask;
	while (m->slot[i].val != VEC_NONE && m->slot[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

uint32_t map_get(const struct map *m, uint64_t key)
{
	return m->slot ? m->slot[map_find(m, key)].val : VEC_NONE;
}

bool map_set(struct map *m, uint64_t key, uint32_t val)
{
	if (!m->slot || m->n * 3 >= m->mask * 2) {
		size_t size = m->slot ? (m->mask + 1) * 2 : 64;
		struct map old = *m;
		m->slot = malloc(size * sizeof *m->slot);
		if (!m->slot) {
			m->slot = old.slot;
			return false;
		}
		memset(m->slot, 0xff, size * sizeof *m->slot);
		m->mask = size - 1;
		for (size_t i = 0; old.slot && i <= old.mask; i++)
			if (old.slot[i].val != VEC_NONE)
				m->slot[map_find(m, old.slot[i].key)] = old.slot[i];
		free(old.slot);
	}
	size_t i = map_find(m, key);
	if (m->slot[i].val == VEC_NONE)
		m->n++;
	m->slot[i] = (struct map_slot){key, val};
	return true;
}

/* A large table is given back, a small one is kept. */
void map_clear(struct map *m)
{
	/* A small session after a huge one should not pay for the huge one's table. */
	if (m->mask > 4095) {
		map_release(m);
		return;
	}
	if (m->n)
		memset(m->slot, 0xff, (m->mask + 1) * sizeof *m->slot);
	m->n = 0;
}

/* m is empty then. */
void map_release(struct map *m)
{
	free(m->slot);
	*m = (struct map){0};
}

/* An array of at most 4 places per key, so that hostile numbers cannot make it large. */
static bool dense_fits(const struct dense *d, uint64_t key)
{
	return key >= d->base && (key - d->base < d->n || (key - d->base) / 4 <= d->used + 1024);
}

/* The array begins with the key from now on; what it has goes to the map. Once, while that is little: a session that is
 * gone on with names a few old numbers, then new ones that count up. False: no memory. */
static bool dense_rebase(struct dense *d, uint64_t key)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->v[i] != VEC_NONE && !map_set(&d->rest, i, d->v[i]))
			return false;
	d->n = d->used = 0;
	d->base = key;
	return true;
}

/* Adds or replaces. False: no memory. */
bool dense_set(struct dense *d, uint64_t key, uint32_t val)
{
	if (!d->base && d->used < 1024 && !dense_fits(d, key) && !dense_rebase(d, key))
		return false;
	if (!dense_fits(d, key))
		return map_set(&d->rest, key, val);
	size_t at = (size_t)(key - d->base);
	if (at >= d->n) {
		if (at >= d->cap && !vec_grow((void **)&d->v, &d->cap, at + 1, sizeof(*d->v)))
			return false;
		memset(d->v + d->n, 0xff, (at + 1 - d->n) * sizeof(*d->v));
		d->n = at + 1;
	}
	d->used++;
	d->v[at] = val;
	return true;
}

/* Keeps the array's memory. */
void dense_clear(struct dense *d)
{
	d->n = d->used = 0;
	d->base = 0;
	map_clear(&d->rest);
}

/* d is empty then. */
void dense_release(struct dense *d)
{
	free(d->v);
	map_release(&d->rest);
	*d = (struct dense){0};
}
