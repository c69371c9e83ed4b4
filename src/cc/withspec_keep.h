/* withspec_keep.h - what of a program that was linked with a specification is kept beside the record, by the build-id.
 *
 * spec/BUILD-ID.spec is the specification, spec/BUILD-ID.bc the bitcode that slices are made of (doc/slices.md). */
#ifndef STEMMA_CC_WITHSPEC_KEEP_H
#define STEMMA_CC_WITHSPEC_KEEP_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define WITHSPEC_BITCODE_MOST (64u << 20) /* bytes; lua, 30,000 lines, has two million */

/* Keeps the specification of a program, and its bitcode, below home by the program's build-id. bitcode: its file,
 * NULL: none is to be kept. 0, also where the linker was told to make no build-id; -errno with a sentence. -EFBIG:
 * the bitcode is larger than that, and only the specification was kept. */
int withspec_keep(const char *program, const char *spec, const char *bitcode, const char *home, struct err *err);

/* Is bitcode kept of the program with that build-id, n bytes? Then its path is appended to ret. */
bool withspec_kept_bitcode(const char *home, const unsigned char *id, size_t n, struct buf *ret);

#endif
