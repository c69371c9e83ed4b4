/* hash.h - XXH3, 64 bits: checksums of what stemma writes and keys of its tables. Not for secrets. */
#ifndef STEMMA_BASE_HASH_H
#define STEMMA_BASE_HASH_H

#include "base/str.h"

#include <stdint.h>

/* The hash of n bytes: the same for all runs on any machine, so that it may be stored. */
uint64_t hash_bytes(const void *p, size_t n);
/* The hash of n bytes with a seed, so that hashes of several pieces can be chained: h = hash_more(h, ...). */
uint64_t hash_more(uint64_t seed, const void *p, size_t n);
static inline uint64_t hash_str(struct str s)
{
	return hash_bytes(s.p, s.n);
}

#endif
