/* diff_content.h - for a diff: do two versions have the same bytes? By digests that runs told, else by those of the
 * files where they still are as recorded (trust/content.h). Larger files than DIFF_CONTENT_FILE are not read, and no
 * more than DIFF_CONTENT_ALL for one diff: what is left is not known. */
#ifndef STEMMA_ANSWER_DIFF_DIFF_CONTENT_H
#define STEMMA_ANSWER_DIFF_DIFF_CONTENT_H

#include "base/digest.h"
#include "query/diff.h"

#define DIFF_CONTENT_FILE (64ull << 20)
#define DIFF_CONTENT_ALL (512ull << 20) /* bytes: 0.3 s */

struct diff_content_source {
	struct store *s;
	struct digest_cache *cache; /* NULL none */
	uint64_t read;              /* bytes so far */
};
/* For diff_options, with such a source as arg. */
enum diff_content diff_content_of(void *arg, store_id a, store_id b);

#endif
