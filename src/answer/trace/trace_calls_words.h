/* trace_calls_words.h - of `diff --trace`: what is said where the traces are of calls (spec/trace/calls.h). */
#ifndef STEMMA_ANSWER_TRACE_TRACE_CALLS_WORDS_H
#define STEMMA_ANSWER_TRACE_TRACE_CALLS_WORDS_H

#include "answer/trace/trace_answer.h"
#include "spec/align/align_calls.h"

struct pair_calls {
	struct calls c[2];
	struct called_steps steps;
	bool searched; /* the functions are those of a path through the specification */
};
/* Reads both. 0 or -errno; release in any case. */
int pair_calls_load(const char *const path[2], struct err *err, struct pair_calls *ret);
/* Steps of what was loaded: by stacks, where both have them; by the specification of both, where there is one (NULL)
 * and a path is found in it; else the calls alone. ret_said: what could not be decided, in words, or NULL; free it.
 * partial: is that much? 0, -errno with a sentence. */
int pair_calls_steps(struct pair_calls *p, const struct spec *s, struct err *err, char **ret_said, bool *ret_partial);
void pair_calls_release(struct pair_calls *p);

/* "read() of descriptor 3, file data.txt: nothing more" */
void call_words(const struct trace_pair *p, int side, size_t step, struct buf *b);
/* What two calls of equal kind have different: "a.txt | b.txt", "gave 3 | 7". */
void call_words_data(const struct trace_pair *p, const struct spot at[2], struct buf *b);
/* The call as an object; null where the step is of none. */
json_t *call_json(const struct trace_pair *p, int side, size_t step);
/* Which call it is, from 1, of what comes at or behind the step. */
size_t call_number(const struct trace_pair *p, int side, size_t step);
/* Are there functions? */
bool call_has_functions(const struct trace_pair *p);

/* "it was chosen at integ.c:88", "one of these chose: ...", a line: the nodes of the function of which one went
 * different ways, eight of them at most; nothing where there is none. */
void trace_decisions_words(const struct spec *s, uint32_t function, const uint32_t *decisions, uint32_t n_decisions,
                           struct buf *b);

#endif
