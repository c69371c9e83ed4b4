/* vec.h - growing arrays, and memory that is given back all at once.
 *
 * Indices are 32 bits, VEC_NONE is none. Nothing here aborts: a failed allocation gives NULL or false and the caller
 * remembers it. Memory belongs to the array; vec_release frees it. */
#ifndef STEMMA_BASE_VEC_H
#define STEMMA_BASE_VEC_H

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

/* Doubles *cap by halves; `need` elements of `size` bytes. False: no memory, or too many; *v is as it was. */
bool vec_grow(void **v, size_t *cap, size_t need, size_t size);

/* Room for one more behind n elements, whatever the members of the array are called; cap is a size_t. */
#define vec_has_room(v, n, cap) ((n) < (cap) || vec_grow((void **)&(v), &(cap), (n) + 1, sizeof *(v)))

#define vec_room(vec, more)                                                                                            \
	((vec)->n + (more) <= (vec)->cap || vec_grow((void **)&(vec)->v, &(vec)->cap, (vec)->n + (more), sizeof *(vec)->v))
/* The address of a new last element, not cleared, or NULL. */
#define vec_add(vec) (vec_room(vec, 1) ? &(vec)->v[(vec)->n++] : NULL)
#define vec_release(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

/* Memory that is given back all at once: small things by the hundred thousand. arena_take: NULL: no memory. Aligned to
 * 16 bytes, not zeroed. */
struct arena {
	char *p;
	size_t left;
	VEC(void *) chunks;
};
void *arena_take(struct arena *a, size_t n); /* aligned for anything; NULL without memory */
void arena_release(struct arena *a);

#endif
