/* digest_told.h - the digest that a run told of a version. Nothing is read from the disk but the record. */
#ifndef STEMMA_QUERY_DIGEST_TOLD_H
#define STEMMA_QUERY_DIGEST_TOLD_H

#include "base/digest.h"
#include "store/store.h"

/* The digest that any run told of a version of this file, size and time. 1; 0: nobody did, or its size is not known;
 * -errno. */
int digest_told(struct store *s, const struct version_info *v, const struct file_info *f, char ret[DIGEST_TEXT]);

#endif
