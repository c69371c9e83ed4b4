/* kept.h - copies of inputs, by their digests: `stemma run --keep-inputs`, and where `stemma rerun` takes them from. A
 * folder `kept` in the record, a file a digest, 0400. Whoever forgets a run sweeps: what no digest of the record names
 * any more goes. */
#ifndef STEMMA_TRUST_KEPT_H
#define STEMMA_TRUST_KEPT_H

#include "base/digest.h"
#include "base/err.h"
#include "store/store.h"

/* Copies the open file, which had the digest, unless it is there already; shares its blocks where the file system can.
 * 0; -ESTALE: it was changed meanwhile; -errno. */
int kept_put(const char *home, int fd, const struct digest *d);
/* Writes the copy to a new file at path. 0; -ENOENT there is none; -EBADMSG it is not what it was; -errno. */
int kept_get(const char *home, const struct digest *d, const char *path);
/* Removes copies that no digest event of the store names; how many. 0 also where there are none; -errno. */
int kept_sweep(struct store *s, uint64_t *ret_n);

/* Copies all of `from` to a new file, with its time of modification; mode as given. 0 or -errno. */
int kept_copy(int from, const char *path, unsigned mode);

#endif
