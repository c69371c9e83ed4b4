/* tape.h - what the library in a compiler's programs (libstemma-cc.so) and `stemma cc` share: one file in memory, which
 * both map. The programs append entries, the wrapper reads them when the compiler has ended.
 *
 * An entry: its size (a multiple of 8; written last, so that one whose writer was killed ends what can be read), what
 * it is, whose, and one or two strings with their NULs. Room is reserved by adding to `used`; what finds none is
 * counted in `lost`. Nobody waits for anybody. The programs are the user's: nothing that is read here is believed. */
#ifndef STEMMA_CC_TAPE_H
#define STEMMA_CC_TAPE_H

#include <assert.h>
#include <stdint.h>

#define TAPE_MAGIC 0x3163637469746573u /* of this layout */
#define TAPE_ENV "STEMMA_CC"           /* the path by which the programs find it */
#define TAPE_SIZE (16u << 20)          /* of pages that cost nothing before they are written */

struct tape {
	uint64_t magic;
	uint64_t used; /* bytes of entries, or more */
	uint64_t lost;
	uint64_t rest[5];
};
static_assert(sizeof(struct tape) == 64, "layout");

enum tape_kind {
	TAPE_IMAGE = 1, /* a program began; text: its file */
	TAPE_OPEN,      /* a file was opened; value: flags; text: its path, absolute as far as that could be told */
	TAPE_NAME,      /* renamed; texts: old and new path */
	TAPE_EXEC,      /* about to run; value: TAPE_ALONE or 0; text: path */
};
#define TAPE_ALONE 1u /* the library cannot go along */

struct tape_entry {
	uint32_t size;
	uint16_t kind, pad;
	uint32_t pid;
	uint32_t value;
	/* strings */
};
static_assert(sizeof(struct tape_entry) == 16, "layout");

#endif
