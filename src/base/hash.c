#include "base/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

uint64_t hash_more(uint64_t seed, const void *p, size_t n)
{
	return XXH3_64bits_withSeed(p, n, seed);
}
