/* trace_joins.h - programs and the libraries that came to their traces: their specifications as one, for both sides. */
#ifndef STEMMA_ANSWER_TRACE_TRACE_JOINS_H
#define STEMMA_ANSWER_TRACE_TRACE_JOINS_H

#include "answer/trace/trace_set.h"

#define TRACE_PARTS (1 + 2 * TRACE_LIBRARIES_TOLD)

/* One that was made, of these parts. */
struct trace_join {
	const struct spec *part[TRACE_PARTS];
	size_t n;
	struct spec *joined; /* owned */
};
struct trace_joins {
	struct trace_join *v;
	size_t n;
};

/* What the numbers of both traces go by. A library of one side only stands on the other one, too, so that it is no
 * difference of the programs. Where no library was traced it is the program's own. ret: NULL where that is not known. 0
 * or -errno. */
int trace_joins_find(struct trace_joins *j, const struct trace_file *const f[2], const struct spec *ret[2]);
/* The parts that a specification of this kind has; 0: it is none, but one program's. */
size_t trace_joins_parts(const struct trace_joins *j, const struct spec *s, const struct spec *const **ret);
void trace_joins_release(struct trace_joins *j);

#endif
