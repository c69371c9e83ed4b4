/* align_calls.h - two traces of calls as steps, so that they are compared like any others (align_traces.h).
 *
 * What makes two calls the same is what decides the program's way: name, descriptor, what kind of thing that is, and
 * what came of it (done, nothing more to read, which error). Which file it was and how many bytes are data: runs with
 * other inputs go the same way. Without stacks a thread is one function; with them functions are entered
 * and left as the stacks of successive calls differ. How places follow one another in a function is not known. */
#ifndef STEMMA_SPEC_ALIGN_ALIGN_CALLS_H
#define STEMMA_SPEC_ALIGN_ALIGN_CALLS_H

#include "spec/align/align_traces.h"
#include "spec/trace/calls.h"

struct called_steps {
	struct spec *spec; /* of both: functions and the calls in them; spec_free */
	struct symbols symbols;
	struct steps steps[2];
	uint32_t *call[2]; /* by step: the call that it led to; free */
	bool stacks;
};
/* Makes steps that can be aligned of two traces of system calls. 0 or -ENOMEM. Release in any case. */
int called_steps_make(const struct calls c[2], struct called_steps *ret);
void called_steps_release(struct called_steps *s);
/* Takes the steps of s. m: of its specification. 0 or -errno. */
int compare_calls(const struct atlas *m, const struct calls c[2], struct called_steps *s,
                  const struct compare_options *o, struct err *err, struct compared *ret);

#endif
