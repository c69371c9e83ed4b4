/* condition.h - the words of a condition in the source, from the place that a compiler gives it: of
 * `if (!p || d < tol)` with the place of the `<`, "d < tol".
 *
 * It reads tokens, not the language: what belongs together is found by brackets and by the operators that end an
 * operand (&& || ? : , ; =). Where it is not sure it says nothing. The source is any bytes; what is said is at most
 * CONDITION_MAX bytes of it. */
#ifndef STEMMA_SPEC_CONDITION_H
#define STEMMA_SPEC_CONDITION_H

#include "base/buf.h"

#include <stdint.h>

#define CONDITION_SOURCE_MAX (16u << 20) /* bytes; of a longer source nothing is known */
#define CONDITION_MAX 240                /* bytes, with the mark of what was cut off */

struct condition_source;
/* text must stay while the result is used. NULL: no memory, or too long. */
struct condition_source *condition_source(struct str text);
void condition_source_free(struct condition_source *s);

/* What a compiler says of a branch. It is used to find the words, and to check what was read: places are inherited from
 * what stands around where an expression has none of its own. */
struct condition {
	uint32_t line, column;               /* of what is compared: bytes, from 1 */
	uint32_t branch_line, branch_column; /* of the branch; of an operand with && or || behind it, that operator's */
	bool opposite;                       /* what is compared is the opposite of the condition; of a macro it may be */
	bool arms;                           /* its ways lead to the arms of a ?: */
};

/* The operand of && || ?: or the whole condition, as it would have to be written to be true where the condition is: an
 * operand of `!(a && b)` as `!a`. Of a macro that is a statement, "in CHECK(n < 3)". Of a statement's word (while, for,
 * switch), what the statement tests. With spaces as they stand in the source, one at most.
 *
 * 1: words were added to b. 0: they are not known. -1: they are, and by the source c->opposite is not so; what the
 * compiler's true is then is not known. */
int condition_text(const struct condition_source *s, const struct condition *c, struct buf *b);

#endif
