/* still.h - is a file on disk still what was recorded of it? One answer for all who run something again: `stemma
 * rerun`, `diff --trace`, and a build from its record.
 *
 * By its bytes, where the record has a digest or a build-id; else by what the file system said of it. What is a
 * symbolic link is followed. Nothing is changed; any thread. */
#ifndef STEMMA_BASE_OS_STILL_H
#define STEMMA_BASE_OS_STILL_H

#include "base/digest.h"

#include <stdbool.h>

/* What a file system says of a file. */
struct still_print {
	struct str domain; /* fileid.h */
	uint64_t ino, gen, size;
	int64_t mtime; /* ns */
};
/* What the record has. */
struct still_was {
	const char *content; /* "sha256:..." or "build-id:..."; "" not known */
	bool has_size;       /* size: of these bytes; not for a build-id, which several files may have */
	uint64_t size;
	const struct still_print *print; /* NULL not known */
};
enum still {
	STILL_SAME,
	STILL_OTHER,  /* other bytes, or no regular file any more */
	STILL_GONE,   /* nothing has the name */
	STILL_UNKNOWN /* it cannot be read, or the record does not say enough */
};
struct still_seen {
	bool print_same; /* it looks as it was; no proof of its bytes */
	unsigned mode;   /* permissions; 0: there is no regular file */
	uint64_t size;
	int64_t mtime; /* ns; both where mode is not 0 */
};

/* cache, ret: may be NULL. */
enum still still_look(struct digest_cache *cache, const char *path, const struct still_was *was,
                      struct still_seen *ret);
/* By what it shows that a regular file was changed since: "its size", "its time". NULL: it looks as it was, or differs
 * in identity only, as what was copied with its times; or there is none. */
const char *still_changed_words(const struct still_seen *seen, const struct still_print *was);
/* Has the open file that content, which is not ""? 1, 0, -errno: it cannot be read. */
int still_holds(struct digest_cache *cache, int fd, const char *content);
/* Does the file at path look so? False, too, where that cannot be found out. */
bool still_looks_so(const char *path, const struct still_print *print);

#endif
