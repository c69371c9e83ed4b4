/* copies.h - a file that nobody was recorded making: does a version of the record, which somebody made, have the same
 * bytes? Only versions that a run made a digest of are found (`stemma run --digest`, `digest = lazy`). Equal bytes do
 * not prove that one was copied from the other, so the answer says no more than that they are equal. If there is none,
 * a stamp in the file may name the version that it is a copy of (stamp.h).
 *
 * Cost: a digest of the file, and some 10 us a version with its digest. */
#ifndef STEMMA_ANSWER_COPIES_COPIES_H
#define STEMMA_ANSWER_COPIES_COPIES_H

#include "answer/source.h"
#include "base/buf.h"
#include "base/digest.h"

#define COPIES_FILE (1ull << 30) /* bytes of a file that is digested for it: 0.6 s */

struct copies {
	char digest[DIGEST_TEXT];
	store_id version; /* the latest of those that somebody made; 0 none */
	bool stamped;     /* found by a stamp: the bytes are not known to be the same */
	size_t more;      /* others that have the same bytes */
};
/* Finds what is recorded of copies of the file at path, which the record does not know. Empty ones, and larger ones
 * than COPIES_FILE, are found by a stamp alone. 0 or -errno of the store. */
int copies_of_file(const struct answer_source *a, const char *path, struct copies *ret);
/* Finds what is recorded of copies of a version, by the digest that a run told of it, else of the file where it
 * still is as recorded. 0 with ret->digest empty: it has none, or is no regular file with content. As find_equal,
 * which may find none. */
int copies_of_version(const struct answer_source *a, store_id version, struct copies *ret);
/* ", the same bytes as results/a.vcf@{2}", " and 3 more" behind it; or ", with the stamp of results/a.vcf@{2}". 0 or
 * -errno. */
int copies_format(const struct answer_source *a, const struct copies *c, struct buf *b);

#endif
