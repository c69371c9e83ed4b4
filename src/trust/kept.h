/* kept.h - copies of inputs, by their digests: `stemma run --keep-inputs`, and where `stemma rerun` takes them from. A
 * folder `kept` in the record, a file a digest, 0400. Whoever forgets a run sweeps: what no digest of the record names
 * any more goes. */
#ifndef STEMMA_TRUST_KEPT_H
#define STEMMA_TRUST_KEPT_H

#include "base/digest.h"
#include "base/err.h"
#include "store/store.h"

/* What copies may take where the file system cannot share blocks. */
struct kept_bounds {
	uint64_t bytes; /* of data; the copy takes it from here */
	int64_t until;  /* ns, CLOCK_MONOTONIC: the copy is given up then; INT64_MAX never */
};

/* Bytes that may be written below the folder so that its file system keeps 5 % of its room, or 1 GiB where that is
 * less. ret_free (may be NULL): bytes that a user may still take there. 0 also: it does not tell. */
uint64_t kept_room(const char *folder, uint64_t *ret_free);
/* Copies the open file, which had the digest, unless it is there already; shares its blocks where the file system can;
 * else within kept_room. 0; -ESTALE: it was changed meanwhile; -ENOSPC: there is no room; -errno. */
int kept_put(const char *home, int fd, const struct digest *d);
/* Keeps a copy that lies in the record already, and is not written any more, as kept_add does: it gets a second
 * name. 0 or -errno. */
int kept_link(const char *home, const char *path, const struct digest *d);
/* Writes the copy to a new file at path. 0; -ENOENT there is none; -EBADMSG it is not what it was; -errno. */
int kept_get(const char *home, const struct digest *d, const char *path);
/* Removes copies that no digest event of the store names; how many. 0 also where there are none; -errno. */
int kept_sweep(struct store *s, uint64_t *ret_n);

/* Copies all of `from` to a new file, with its time of modification; mode as given. b: NULL no bounds. 0; -ENOSPC,
 * -ETIME: the bounds do not allow it, and nothing is left at path; -errno. */
int kept_copy(int from, const char *path, unsigned mode, struct kept_bounds *b);

#endif
