/* match.h - which elements of two rows of hashes are the same, in order: a longest common subsequence.
 *
 * Myers's O(ND) way (1986) in linear space, after equal ends and elements that only one side has were put aside. Of
 * several longest ones the choice does not depend on the order of the arguments. Where N * D passes a bound (4 * 10^8
 * comparisons, about a second), what is left is matched at elements that each side has once, and `exact` says so.
 * Memory: 12 bytes an element. Pure. */
#ifndef STEMMA_SPEC_ALIGN_MATCH_H
#define STEMMA_SPEC_ALIGN_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MATCH_NONE UINT32_MAX

/* Pairs equal elements of two rows, as many as can be. ret_match[i]: the element of b that is that of a, or
 * MATCH_NONE; increasing. *exact is cleared where it may not be the longest. 0; -ENOMEM; -E2BIG for rows of 2^31
 * elements. */
int match_rows(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint32_t *ret_match, bool *exact);
/* The heaviest common subsequence in place of the longest: weight[i] is that of a[i], and of what is equal to it. Only
 * for small rows: na * nb at most MATCH_HEAVY, of which memory is 5 bytes each. 0; -ENOMEM; -E2BIG. */
#define MATCH_HEAVY 4000000u
/* Pairs equal elements of two rows so that the weight of the pairs is the greatest. */
int match_heaviest(const uint64_t *a, const uint32_t *weight, size_t na, const uint64_t *b, size_t nb,
                   uint32_t *ret_match);

#endif
