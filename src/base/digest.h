/* digest.h - which bytes a file has: SHA-256, by libcrypto (the fastest of the libraries at hand on the machines we
 * measured: 1.8 GB/s with the processor's own instructions, BLAKE2b 0.8; in-toto wants it, too).
 *
 * A digest's text names its algorithm: "sha256:" and 64 hex digits. Files of other kinds than regular are refused
 * (-EINVAL). A file of 1 MiB or more is mapped, so that it takes the library's time and no more; one that shrinks
 * meanwhile is an error (-ESTALE): for that SIGBUS is caught while a file is read. Safe for threads.
 *
 * The cache keeps digests by what the file system says of a file: device, inode, size, mtime and ctime. What changed
 * too short a time ago to be told from a change that is yet to come is computed and not kept. One file of at most 3
 * MiB, shared by all processes of a user without locks: an entry that two wrote at once fails its checksum and is none.
 * A writer that keeps a shared mapping of a file may change it without a new mtime for up to half a minute: then a kept
 * digest is that of before. */
#ifndef STEMMA_BASE_DIGEST_H
#define STEMMA_BASE_DIGEST_H

#include "base/str.h"

#include <stdint.h>
#include <sys/stat.h>

#define DIGEST_BYTES 32
#define DIGEST_TEXT 72 /* bytes of its text with the NUL */

struct digest {
	unsigned char b[DIGEST_BYTES];
};

/* Are the digests equal? */
static inline bool digest_eq(const struct digest *a, const struct digest *b)
{
	return memcmp(a->b, b->b, DIGEST_BYTES) == 0;
}
void digest_text(const struct digest *d, char ret[DIGEST_TEXT]);
/* Reads a digest as text, sha256: and 64 hexadecimal digits. False: it is none, or one of an algorithm that is not
 * ours. */
bool digest_parse(struct str text, struct digest *ret);

void digest_bytes(const void *p, size_t n, struct digest *ret);
/* A digest of several pieces, one after the other: begin, add each, end, which leaves nothing to release. A copy of the
 * sum goes on by itself. */
struct digest_sum {
	uint64_t room[16];
};
void digest_begin(struct digest_sum *s);
/* Adds n bytes to what is summed. */
void digest_add(struct digest_sum *s, const void *p, size_t n);
void digest_end(struct digest_sum *s, struct digest *ret);

/* HMAC-SHA-256 (RFC 2104) of n bytes. */
void digest_hmac(const void *key, size_t n_key, const void *p, size_t n, struct digest *ret);

struct digest_cache;
/* The cache in the directory dir (made 0700 where missing), which is to be on local disk. NULL where there can be none:
 * all that takes a cache takes NULL. */
struct digest_cache *digest_cache_open(const char *dir);
void digest_cache_close(struct digest_cache *c);

/* Holes of a file are read, too, at 1.8 GB/s; of one with more than this nobody would see the end: -EFBIG. */
#define DIGEST_HOLES ((uint64_t)16 << 30)

/* Of the file at path, or of the open file fd (its offset stays where it is); st: what fstat said just before the bytes
 * were read, may be NULL. 0 or -errno. digest_fd: -EINVAL: no regular file; -EFBIG: it is mostly holes. *ret is set
 * where it is 0. */
int digest_file(struct digest_cache *c, int dirfd, const char *path, struct digest *ret, struct stat *st);
/* The same of an open regular file, whose offset stays. -EINVAL: it is none. */
int digest_fd(struct digest_cache *c, int fd, struct digest *ret, struct stat *st);

#endif
