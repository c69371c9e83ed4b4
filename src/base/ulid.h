/* ulid.h - run ids: 48 bits of milliseconds and 80 random bits, 26 characters of Crockford's base 32 that sort by time.
 */
#ifndef STEMMA_BASE_ULID_H
#define STEMMA_BASE_ULID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ULID_LEN 26

/* Is it one? */
bool ulid_is(const char *p, size_t n);
/* A new id, NUL-terminated. 0, or -errno if the kernel gives no random bytes. */
int ulid_new(char ret[ULID_LEN + 1]);
/* Makes a ULID: that of something that is known by a hash, NUL-terminated: the same time (ns since 1970; 0 where it
 * is earlier) and hash give the same id. */
void ulid_of_hash(int64_t time, uint64_t hash, char ret[ULID_LEN + 1]);

#endif
