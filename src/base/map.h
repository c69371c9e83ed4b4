/* map.h - open-addressing tables of numbers, for data that lives as long as one indexing.
 *
 * Values are 32 bits, VEC_NONE is none. Nothing here aborts: false says that there was no memory. *_release frees. */
#ifndef STEMMA_BASE_MAP_H
#define STEMMA_BASE_MAP_H

#include "base/vec.h"

/* Maps hashes to 32-bit values; the caller compares keys. Linear probing, at most 2/3 full. */
struct table {
	struct table_slot {
		uint32_t hash, val;
	} * slot;
	size_t mask, n;
};

/* Cheap mixing of one or two words into a hash. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	a = (a ^ (b * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
	return a ^ (a >> 32);
}
static inline uint32_t hash_fold(uint64_t h)
{
	return (uint32_t)(h ^ (h >> 32));
}

/* Iterates over the values filed under hash: start with *pos = TABLE_START; VEC_NONE at the end. Values of the same
 * hash stay beside each other. False: no memory. */
#define TABLE_START SIZE_MAX
/* The next value with that hash, from *pos on, which begins with TABLE_START. VEC_NONE: no more. */
static inline uint32_t table_next(const struct table *t, uint32_t hash, size_t *pos)
{
	if (!t->slot)
		return VEC_NONE;
	size_t i = *pos == TABLE_START ? hash & t->mask : (*pos + 1) & t->mask;
	for (;; i = (i + 1) & t->mask) {
		if (t->slot[i].val == VEC_NONE)
			return VEC_NONE;
		if (t->slot[i].hash == hash) {
			*pos = i;
			return t->slot[i].val;
		}
	}
}
bool table_add(struct table *t, uint32_t hash, uint32_t val);
void table_clear(struct table *t);
void table_release(struct table *t);

/* uint64_t -> uint32_t, for the numbers that sessions and logs give to things. */
struct map {
	struct map_slot {
		uint64_t key;
		uint32_t val;
	} * slot;
	size_t mask, n;
};
/* The value of the key. VEC_NONE where the key is not in it. */
uint32_t map_get(const struct map *m, uint64_t key);
/* Adds or replaces; val must not be VEC_NONE. False: no memory, and m is as it was. map_clear: it is empty then; a
 * large table is given back. */
bool map_set(struct map *m, uint64_t key, uint32_t val);
void map_clear(struct map *m);
void map_release(struct map *m);

/* The same for keys that mostly count up, from 1 or from where others left off: those are places in an array, the
 * others go to a map. False: no memory. */
struct dense {
	uint32_t *v;
	size_t n, cap, used;
	uint64_t base; /* the key of v[0] */
	struct map rest;
};
/* The value of the key, VEC_NONE: it has none. */
static inline uint32_t dense_get(const struct dense *d, uint64_t key)
{
	if (key - d->base < d->n && d->v[key - d->base] != VEC_NONE)
		return d->v[key - d->base];
	return d->rest.n ? map_get(&d->rest, key) : VEC_NONE;
}
bool dense_set(struct dense *d, uint64_t key, uint32_t val);
void dense_clear(struct dense *d);
void dense_release(struct dense *d);

#endif
