/* chain_head.h - what this host knows of its own chain beside the log: the number and hash of its last seal, in
 * <home>/seals/<host>. So a log that lost its newest seals is known to be cut, and a seal can be added without reading
 * the whole record.
 *
 * Where seals have a key (chain_key.h) it has the key of the next seal; the one before is overwritten on the disk.
 *
 * Whoever may write the record may write this file, too: it shows accidents and those who do not know of it. The head
 * that somebody else has, or the start key, shows the others. */
#ifndef STEMMA_TRUST_CHAIN_CHAIN_HEAD_H
#define STEMMA_TRUST_CHAIN_CHAIN_HEAD_H

#include "base/digest.h"
#include "base/err.h"
#include "trust/chain/chain_key.h"

#include <stdint.h>

struct chain_head {
	uint64_t number; /* of the last seal; 0: there is none yet */
	int64_t time;    /* of it, ns since 1970 */
	struct digest hash;
	bool keyed;
	struct digest start;  /* keyed: the name of the start key */
	struct chain_key key; /* ... the key of the next seal */
};

/* Reads the head of a host's chain: the last seal and the key. 1; 0: there is none; -EBADMSG: it is damaged; -errno.
 * host: as keep_host has it. */
int chain_head_read(const char *home, const char *host, struct chain_head *ret);
/* Makes it the host's head, and waits for the disk. 0, or -errno with a sentence. */
int chain_head_write(const char *home, const char *host, const struct chain_head *h, struct err *err);
/* Between the two a seal is being made: where that was cut off (chain_head_open says so), the log may have one more
 * than the head says. open: 1: it was; 0; -errno. */
int chain_head_open(const char *home, const char *host);
void chain_head_done(const char *home, const char *host);

#endif
