#include "base/vec.h"

bool vec_grow(void **v, size_t *cap, size_t need, size_t size)
{
	if (need >= VEC_NONE || need > SIZE_MAX / 2 / size)
		return false;
	size_t n = *cap ? *cap + *cap / 2 : 16;
	if (n < need)
		n = need;
	void *p = realloc(*v, n * size);
	if (!p)
		return false;
	*v = p;
	*cap = n;
	return true;
}

#define ARENA_CHUNK (256u << 10)

/* Aligned to 16 bytes, not zeroed. NULL: no memory. */
void *arena_take(struct arena *a, size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (n > a->left) {
		bool own = n > ARENA_CHUNK / 4; /* a big one does not end the chunk */
		void **slot = vec_add(&a->chunks);
		void *p = slot ? malloc(own ? n : ARENA_CHUNK) : NULL;
		if (!p) {
			a->chunks.n -= slot != NULL;
			return NULL;
		}
		*slot = p;
		if (own)
			return p;
		a->p = p;
		a->left = ARENA_CHUNK;
	}
	char *p = a->p;
	a->p += n;
	a->left -= n;
	return p;
}

/* Frees all that was taken of it; a is empty then. */
void arena_release(struct arena *a)
{
	for (size_t i = 0; i < a->chunks.n; i++)
		free(a->chunks.v[i]);
	vec_release(&a->chunks);
	*a = (struct arena){0};
}
