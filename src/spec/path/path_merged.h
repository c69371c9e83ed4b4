/* path_merged.h - of path_calls.c: states that stand for many stacks, where each stack by itself would be too many.
 *
 * Between two calls control may come, silently, through a tree of functions to a call in any of its leaves: each way
 * down the tree is another stack, and of them there are exponentially many. But what is called first in a function does
 * not depend on who called it. So of each function it is found out once, for each name of a call, where that may be
 * made and which calls lead on to it; and a cell is "this function, come to from one of these calls" (a root: calls,
 * each in its cell). Who its caller is, is asked when it returns. Every stack of such a state can be reached by the
 * calls so far, so nothing is followed that no path has; recursion has no bound.
 *
 * How many stacks there are is not counted, so of the answer less is certain: only what leaves no choice at all. In the
 * end one stack is taken for each state, from the last call back to the first, and becomes a state of the other kind.
 */
#ifndef STEMMA_SPEC_PATH_PATH_MERGED_H
#define STEMMA_SPEC_PATH_PATH_MERGED_H

#include "spec/path/path_search.h"

/* Sets x->merging. 0 or -ENOMEM. */
int merged_begin(struct search *x);
void merged_end(struct search *x);
/* The states in which the program may be when it makes the next call. As search_next. 0, -ENOMEM, -E2BIG. */
int merged_next(struct search *x, uint32_t state, uint32_t bit_number, uint32_t *ret, uint32_t *ret_n);
/* Does it stand for one stack only? */
bool merged_is_single(struct search *x, uint32_t state);
/* Takes a stack for each state of a path, which calls with these bits made: then its states are search_state's. 0,
 * -E2BIG, -ENOMEM. */
int merged_choose(struct search *x, const uint8_t *bit, struct chosen *path, uint32_t n);

#endif
