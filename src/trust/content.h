/* content.h - which bytes a version has, as a digest: one that some run told of it (query/digest_told.h), else that of
 * the file as it lies, where it still is the version. Nothing is changed; for the thread that has the store. */
#ifndef STEMMA_TRUST_CONTENT_H
#define STEMMA_TRUST_CONTENT_H

#include "query/digest_told.h"

/* Of the file as it lies at its name, where it looks as the version did (base/os/still.h). most: bytes that are read
 * for it, 0 any. False: it is not so, cannot be read, or is larger. cache: may be NULL. */
bool content_now(struct digest_cache *cache, const struct version_info *v, const struct file_info *f, uint64_t most,
                 char ret[DIGEST_TEXT]);

#endif
