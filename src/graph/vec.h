/* vec.h - growing arrays and an open-addressing table, for data that lives as long as one indexing.
 *
 * Indices are 32 bits, VEC_NONE is none. Nothing here aborts: a failed allocation gives NULL or false and the caller
 * remembers it. Memory belongs to the array; vec_release and table_release free it. */
#ifndef STEMMA_GRAPH_VEC_H
#define STEMMA_GRAPH_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VEC_NONE UINT32_MAX

#define VEC(type)                                                                                                      \
	struct {                                                                                                           \
		type *v;                                                                                                       \
		size_t n, cap;                                                                                                 \
	}

bool vec_grow(void **v, size_t *cap, size_t need, size_t size);

#define vec_room(vec, more)                                                                                            \
	((vec)->n + (more) <= (vec)->cap || vec_grow((void **)&(vec)->v, &(vec)->cap, (vec)->n + (more), sizeof *(vec)->v))
/* The address of a new last element, not cleared, or NULL. */
#define vec_add(vec) (vec_room(vec, 1) ? &(vec)->v[(vec)->n++] : NULL)
#define vec_release(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

/* Memory that is given back all at once: small things by the hundred thousand. */
struct arena {
	char *p;
	size_t left;
	VEC(void *) chunks;
};
void *arena_take(struct arena *a, size_t n); /* aligned for anything; NULL without memory */
void arena_release(struct arena *a);

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

/* Iterates over the values filed under hash: start with *pos = TABLE_START; VEC_NONE at the end. */
#define TABLE_START SIZE_MAX
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
/* VEC_NONE where the key is not in it. */
uint32_t map_get(const struct map *m, uint64_t key);
/* Adds or replaces; val must not be VEC_NONE. */
bool map_set(struct map *m, uint64_t key, uint32_t val);
void map_clear(struct map *m);
void map_release(struct map *m);

/* The same for keys that mostly count up from 1: those are places in an array, the others go to a map. */
struct dense {
	uint32_t *v;
	size_t n, cap, used;
	struct map rest;
};
static inline uint32_t dense_get(const struct dense *d, uint64_t key)
{
	if (key < d->n && d->v[key] != VEC_NONE)
		return d->v[key];
	return d->rest.n ? map_get(&d->rest, key) : VEC_NONE;
}
bool dense_set(struct dense *d, uint64_t key, uint32_t val);
void dense_clear(struct dense *d);
void dense_release(struct dense *d);

#endif
