/* reach.h - whether an argument of a program can reach what it outputs, by the static slice of its bitcode
 * (doc/slices.md).
 *
 * Not for several threads. A slice is made once for each program, by the helper that knows LLVM: that takes up to
 * seconds. */
#ifndef STEMMA_ANSWER_REACH_H
#define STEMMA_ANSWER_REACH_H

#include <stddef.h>

enum reach {
	REACH_UNKNOWN, /* there is no slice, or nothing can be told from it */
	REACH_MAY,     /* that it cannot is not proved */
	REACH_CANNOT   /* proved, of each output, under the conditions of stemma-slice(1) */
};
struct reach_slice;
struct reach_slices {
	const char *home; /* of the record */
	struct reach_slice *v;
	size_t n;
};
/* build_id: hexadecimal. argument: 1 is the first behind the program's name. What fails is REACH_UNKNOWN. */
enum reach reach_of_argument(struct reach_slices *c, const char *build_id, size_t argument);
void reach_release(struct reach_slices *c);
/* Static: "may", "cannot"; NULL: not known. */
const char *reach_word(enum reach r);

#endif
