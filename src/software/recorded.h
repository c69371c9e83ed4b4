/* recorded.h - which bytes a recorded version has: the digest that was recorded of it, or that of the file as it lies
 * there, if that still is the version.
 *
 * What lies at a recorded path is hostile: it is opened only where its identity, size and time are those of the
 * record. */
#ifndef STEMMA_SOFTWARE_RECORDED_H
#define STEMMA_SOFTWARE_RECORDED_H

#include "base/digest.h"
#include "store/store.h"

/* The recorded digest of version v of file f. One that the run told goes before those of others; run 0: none does.
 * Where those that count differ, the file changed within one tick of the clock and nobody knows which it was: none. 1,
 * 0 (none is known), -errno. */
int recorded_digest(struct store *s, store_id run, const struct file_info *f, const struct version_info *v,
                    struct digest *ret);
/* Is the file at the recorded path, through no link at its end, still version v: by identity, size and modification
 * time? 1, 0, -errno of the store. It opens nothing. */
int recorded_lies_there(struct store *s, const struct file_info *f, const struct version_info *v);
/* The digest of the file as it lies there, if that is version v, before and after it was read. 1, 0, -errno of the
 * store. */
int recorded_digest_now(struct store *s, const struct file_info *f, const struct version_info *v, struct digest *ret);

#endif
