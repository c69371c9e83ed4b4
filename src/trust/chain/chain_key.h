/* chain_key.h - keys that only go forward. A seal has a mac by the key of its number; the key of the next number is a
 * SHA-256 of it, and then it is erased. So whoever takes the host over learns the key of the next seal, and can make no
 * earlier one again. Whoever has the start key, which is kept elsewhere, can check them all.
 *
 * A key is secret: chain_key_erase when it is done with. */
#ifndef STEMMA_TRUST_CHAIN_CHAIN_KEY_H
#define STEMMA_TRUST_CHAIN_CHAIN_KEY_H

#include "base/digest.h"
#include "base/err.h"

#include <stdint.h>

#define CHAIN_KEY_STEPS 100000000 /* by how many numbers a key is brought forward at most: half a minute */

struct chain_key {
	unsigned char b[DIGEST_BYTES];
};
void chain_key_erase(struct chain_key *k);
/* Brings it forward by so many numbers. False: too many; then it is as it was. */
bool chain_key_forward(struct chain_key *k, uint64_t steps);
/* HMAC-SHA-256 of a seal's hash. */
void chain_key_mac(const struct chain_key *k, const struct digest *hash, struct digest *ret);
/* What names a start key, and does not tell it. */
void chain_key_name(const struct chain_key *k, struct digest *ret);

/* A start key as its file has it: the key of seal `number` of a chain. */
struct chain_start {
	char chain[256];
	uint64_t number;
	struct chain_key key;
};
/* Makes the start key of a new chain. 0, or -errno with a sentence. */
int chain_start_new(const char *chain, uint64_t number, struct err *err, struct chain_start *ret);
/* To a new file, which only its owner can read; waits for the disk. 0, or -errno with a sentence: -EEXIST. */
int chain_start_write(const char *path, const struct chain_start *s, struct err *err);
/* Reads a start key from its file. 0; -EBADMSG: the file is none; -errno; with a sentence. */
int chain_start_read(const char *path, struct err *err, struct chain_start *ret);

#endif
