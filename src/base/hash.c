#include "base/hash.h"

#include <xxhash.h>

/* The same for all runs on any machine: it may be stored. */
uint64_t hash_bytes(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

uint64_t hash_more(uint64_t seed, const void *p, size_t n)
{
	return XXH3_64bits_withSeed(p, n, seed);
}
