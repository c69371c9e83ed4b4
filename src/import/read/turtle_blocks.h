/* turtle_blocks.h - a document in Turtle that is not whole, cut into blocks that can be read one by one.
 *
 * Several writers that wrote to one file at once tear each other's statements apart; and some write a literal where
 * Turtle wants a subject. A block begins where a line begins with a subject or a directive, in the first column, and
 * goes on to the next such line: what is torn costs the statements of its block from there on, and no others. Lines
 * within a string of several lines begin nothing. Pure, in one pass over the bytes; no memory but of the subject. */
#ifndef STEMMA_IMPORT_TURTLE_BLOCKS_H
#define STEMMA_IMPORT_TURTLE_BLOCKS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct turtle_blocks {
	const char *p, *end; /* of what is left */
	uint32_t line;       /* of p, from 1 */
};
struct turtle_block {
	const char *p, *end;
	uint32_t line;
};
/* The next block; false: there are no more. What stands before the first subject is a block, too. */
bool turtle_blocks_next(struct turtle_blocks *b, struct turtle_block *ret);
/* Of a block that begins with a literal: appends a name for it, in brackets, and moves the block's beginning behind the
 * literal. The name is urn:stemma:literal: and the text between the quotes. False: it begins with something else. */
bool turtle_block_literal_subject(struct turtle_block *b, struct buf *ret);

#endif
