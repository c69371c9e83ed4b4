/* path_jumps.h - where functions were left of which a trace does not say so.
 *
 * A function may end with a jump into another one, or to where its caller goes on, and whoever looks for returns does
 * not see that. In the trace all that its caller calls next then stands within it, up to the end of a function that was
 * open before. The specification tells such calls apart: what the function cannot call next by its graph, and one that
 * was open before it can, is that one's call, and the functions between were left before it. Where both could call it,
 * the innermost did.
 *
 * Cost: for each call the edges of the nodes that the open function may be at; bounded, as every input is hostile: at
 * most 64 functions are left at once, and 5 * 10^7 edges are looked at in all. */
#ifndef STEMMA_SPEC_PATH_PATH_JUMPS_H
#define STEMMA_SPEC_PATH_PATH_JUMPS_H

#include "spec/trace/provscope.h"

/* Puts these ends into e. ret: how many. 0 or -ENOMEM. */
int path_find_jumps(const struct spec *s, struct call_events *e, uint64_t *ret);

#endif
