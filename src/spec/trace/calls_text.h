/* calls_text.h - the words of the lines of a trace of calls, and its lines about stacks. Of calls.c and calls_stacks.c
 * alone. Nothing is read at or behind `end`. */
#ifndef STEMMA_SPEC_TRACE_CALLS_TEXT_H
#define STEMMA_SPEC_TRACE_CALLS_TEXT_H

#include "base/buf.h"
#include "spec/trace/calls.h"

enum { CALLS_TEXT = 16384 }; /* bytes of a name, its NUL with it */

/* The name that a line has from p on, its bytes put back, in a place of its own; false: it is none. */
bool calls_text(const char *p, const char *end, char *ret, size_t size);
/* A decimal number, and the space behind it; false: there is none. */
bool calls_number(const char **p, const char *end, int64_t *ret);
/* The next word, and the space behind it. Its length. */
size_t calls_token_at(const char **p, const char *end, const char **ret);

/* A line `m`, `f` or `k`. 0, -EBADMSG, -ENOMEM. */
int traced_stacks_line(struct calls *c, char letter, const char *p, const char *end);
/* A line `s`: which stack holds from here on, and whether one is known. */
int traced_stacks_holds(const struct calls *c, const char *p, const char *end, uint32_t *ret, uint32_t *ret_known);
void traced_stacks_release(struct traced_stacks *s);

#endif
